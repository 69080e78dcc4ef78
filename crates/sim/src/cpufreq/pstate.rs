//! The makers' own drivers, intel_pstate with hardware P-states and amd-pstate, in summary: the files of their folders, the
//! hints of policies, and what stands for the hardware that follows them.
//!
//! In active mode the hardware chooses. In passive mode a governor does, as with any driver. In AMD's guided mode the
//! hardware chooses at or above what a governor asks that follows the load.
use powerband_machine::Errno;

use super::config::{BootConfig, Governor, PstateConfig};
use super::context::Context;
use super::hardware::{DEFAULT_HINT, Hardware, Looked, Mode};
use super::number;
use super::policy::Policy;
use super::state::State;
use super::table::TableRelation;

/// Least time between two looks at the load, ns.
const LOOK_NS: u64 = 10_000_000;

/// What a change takes that the passive driver asks for, ns.
const PASSIVE_LATENCY_NS: u32 = 20_000;

/// The time between two changes that the passive driver asks for on a processor with hardware P-states, µs (Linux 6.1
/// INTEL_CPUFREQ_TRANSITION_DELAY_HWP; 500 without them).
const PASSIVE_DELAY_US: u32 = 5_000;

/// The time between two changes that amd-pstate asks for, µs (Linux 6.12 AMD_PSTATE_TRANSITION_DELAY).
const AMD_DELAY_US: u32 = 1_000;

/// A file of the driver's folder, `intel_pstate` or `amd_pstate`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum PstateFile {
    DynamicBoost,
    MaxPercent,
    MinPercent,
    NoTurbo,
    Prefcore,
    States,
    Status,
    TurboPercent,
}

/// The files of `amd_pstate`.
const AMD_FILES: [(PstateFile, &str, u16); 2] =
    [(PstateFile::Prefcore, "prefcore", 0o444), (PstateFile::Status, "status", 0o644)];

/// The files of `intel_pstate`; the first is there in active mode alone.
const INTEL_FILES: [(PstateFile, &str, u16); 7] = [
    (PstateFile::DynamicBoost, "hwp_dynamic_boost", 0o644),
    (PstateFile::MaxPercent, "max_perf_pct", 0o644),
    (PstateFile::MinPercent, "min_perf_pct", 0o644),
    (PstateFile::NoTurbo, "no_turbo", 0o644),
    (PstateFile::States, "num_pstates", 0o444),
    (PstateFile::Status, "status", 0o644),
    (PstateFile::TurboPercent, "turbo_pct", 0o444),
];

/// The driver's switches.
#[derive(Clone, Debug)]
pub(crate) struct Pstate {
    config: PstateConfig,
    pub(crate) mode: Mode,
    no_turbo: bool,
    min_percent: u32,
    max_percent: u32,
    dynamic_boost: bool,
}

/// What a write to one of its files asks for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Asked {
    /// All limits are worked out again.
    Limits,
    /// The driver begins anew, in this mode.
    Mode(Mode),
    /// The mode is another one, and all else stays.
    Turned,
    Nothing,
}

impl Pstate {
    pub(crate) fn new(config: PstateConfig, mode: Mode) -> Self {
        let mut new = Pstate { mode, no_turbo: false, min_percent: 0, max_percent: 100, dynamic_boost: false, config };
        new.min_percent = new.least_percent();
        new
    }

    /// Its folder in `/sys/devices/system/cpu`.
    pub(crate) fn folder(&self) -> &'static str {
        if self.config.cppc.is_some() { "amd_pstate" } else { "intel_pstate" }
    }

    /// The files of that folder with their names and modes.
    pub(crate) fn files(&self) -> &'static [(PstateFile, &'static str, u16)] {
        match (self.config.cppc, self.mode) {
            (Some(_), _) => &AMD_FILES,
            (None, Mode::Active) => &INTEL_FILES,
            (None, _) => &INTEL_FILES[1..],
        }
    }

    /// The rule of a policy that comes up in active mode under a kernel whose default governor the driver does not know.
    /// AMD's goes by the kind of machine that the firmware names, here a server (Linux 6.12 amd_pstate_epp_cpu_init).
    pub(crate) fn fallback(&self) -> Governor {
        if self.config.cppc.is_some() { Governor::Performance } else { Governor::Powersave }
    }

    fn steps(&self) -> [u32; 3] {
        [self.config.min_khz, self.config.base_khz, self.config.turbo_khz].map(|khz| khz / self.config.step_khz())
    }

    fn least_percent(&self) -> u32 {
        let [min, _, turbo] = self.steps();
        min * 100 / turbo
    }

    /// The highest clock the switches leave, kHz.
    fn turbo_khz(&self) -> u32 {
        if self.no_turbo { self.config.base_khz } else { self.config.turbo_khz }
    }

    fn of_percent(&self, percent: u32) -> u32 {
        let [_, _, turbo] = self.steps();
        (turbo * percent).div_ceil(100) * self.config.step_khz()
    }

    /// Tells a policy what the switches mean for it: requests of its limits, and what the hardware is held to.
    pub(crate) fn bound(&self, policy: &mut Policy) {
        if let Some(hardware) = &mut policy.hardware {
            hardware.mode = self.mode;
        }
        if self.config.cppc.is_some() {
            return;
        }
        let held = (self.of_percent(self.min_percent), self.of_percent(self.max_percent).min(self.turbo_khz()));
        policy.requests.driver = Some(if self.mode == Mode::Active { (0, self.turbo_khz()) } else { held });
        if let Some(hardware) = &mut policy.hardware {
            hardware.held_khz = held;
        }
    }

    pub(crate) fn show(&self, file: PstateFile) -> String {
        let [min, base, turbo] = self.steps();
        let number = match file {
            PstateFile::Status => return format!("{}\n", self.mode.name()),
            // The kernel was not told to leave preferred cores out.
            PstateFile::Prefcore => return "enabled\n".into(),
            PstateFile::DynamicBoost => self.dynamic_boost.into(),
            PstateFile::MaxPercent => self.max_percent,
            PstateFile::MinPercent => self.min_percent,
            PstateFile::NoTurbo => self.no_turbo.into(),
            PstateFile::States => turbo - min + 1,
            PstateFile::TurboPercent => {
                // As the kernel, in fixed point of eight bits.
                let share = ((base - min + 1) << 8) / (turbo - min + 1);
                100 - ((share * 100) >> 8)
            }
        };
        format!("{number}\n")
    }

    pub(crate) fn store(&mut self, file: PstateFile, text: &str) -> Result<Asked, Errno> {
        if file == PstateFile::Status {
            return self.store_status(text.trim_end());
        }
        let value = number::unsigned(text)?;
        match file {
            PstateFile::NoTurbo => {
                self.no_turbo = value > 0;
                let [_, base, turbo] = self.steps();
                if self.no_turbo {
                    self.min_percent = self.min_percent.min(base * 100 / turbo);
                }
            }
            PstateFile::MaxPercent => self.max_percent = value.min(100).max(self.min_percent),
            PstateFile::MinPercent => self.min_percent = value.max(self.least_percent()).min(self.max_percent),
            PstateFile::DynamicBoost => {
                self.dynamic_boost = number::whole(text)? > 0;
                return Ok(Asked::Nothing);
            }
            _ => return Err(Errno::EACCES),
        }
        Ok(Asked::Limits)
    }

    fn store_status(&mut self, word: &str) -> Result<Asked, Errno> {
        let amd = self.config.cppc.is_some();
        let (mode, _) = *match (Mode::ALL.iter().find(|(_, name)| *name == word), word) {
            (Some((Mode::Guided, _)), _) if !amd => return Err(Errno::EINVAL),
            (Some(known), _) => known,
            // Hardware P-states cannot be left to themselves. (amd-pstate can, which this driver does not do.)
            (None, "off") if !amd => return Err(Errno::EBUSY),
            (None, "disable") if amd => return Err(Errno::EBUSY),
            (None, _) => return Err(Errno::EINVAL),
        };
        let stays = mode != Mode::Active && self.mode != Mode::Active;
        Ok(match std::mem::replace(&mut self.mode, mode) {
            old if old == mode => Asked::Nothing,
            _ if stays => Asked::Turned,
            _ => Asked::Mode(mode),
        })
    }

    /// What policies are made of in this mode.
    pub(crate) fn shape(&self, config: &mut BootConfig) {
        for policy in &mut config.policies {
            let (driver, pace) = match (self.config.cppc, self.mode) {
                (None, Mode::Active) => ("intel_pstate", (0, None)),
                (None, _) => ("intel_cpufreq", (PASSIVE_LATENCY_NS, Some(PASSIVE_DELAY_US))),
                (Some(_), Mode::Active) => ("amd-pstate-epp", (0, None)),
                (Some(_), _) => ("amd-pstate", (PASSIVE_LATENCY_NS, Some(AMD_DELAY_US))),
            };
            policy.driver = driver.into();
            (policy.transition_latency_ns, policy.transition_delay_us) = pace;
            policy.range_khz = (self.config.min_khz, self.config.turbo_khz);
            policy.fast_switch = true;
            policy.reads_hardware = false;
        }
    }

    pub(crate) fn base_khz(&self) -> u32 {
        self.config.base_khz
    }

    /// What amd-pstate shows of each policy: the highest level, the highest clock and the lowest non-linear one, kHz.
    pub(crate) fn levels(&self) -> Option<[u32; 3]> {
        let cppc = self.config.cppc?;
        let nominal_mhz = self.config.base_khz / 1_000;
        let khz = |perf| cppc.mhz(perf, nominal_mhz) * 1_000;
        Some([cppc.highest_perf, khz(cppc.highest_perf), khz(cppc.lowest_nonlinear_perf)])
    }

    /// What the hardware of a policy starts with.
    pub(crate) fn hardware(&self, range_khz: (u32, u32)) -> Hardware {
        Hardware {
            mode: self.mode,
            hint: DEFAULT_HINT,
            held_khz: range_khz,
            amd: self.config.cppc.is_some(),
            step_khz: self.config.step_khz(),
            looked: Looked::default(),
            wish_khz: 0,
            asked_khz: 0,
        }
    }
}

impl Policy {
    /// The clocks the hardware may choose among, kHz.
    fn chosen_among(&self, hardware: Hardware) -> (u32, u32) {
        let max = self.max.min(hardware.held_khz.1);
        (self.min.max(hardware.held_khz.0).min(max), max)
    }

    /// Starts the driver's own rule, which the hardware follows.
    pub(crate) fn start_hardware(&mut self, cx: &mut Context<'_>) {
        let cpu = self.online.first().copied().unwrap_or(0);
        self.state = State::Hardware;
        if let Some(hardware) = &mut self.hardware {
            hardware.looked = Looked { at_ns: cx.now_ns, idle_ns: cx.times.idle_ns(cpu) };
            // Intel's driver gives the hint back with another governor, AMD's does not (Linux 6.12
            // amd_pstate_epp_update_limit works on what the hardware holds).
            if hardware.amd && hardware.is_pinned(self.governor) {
                hardware.hint = 0;
            }
        }
        self.hardware_limits(cx);
    }

    /// The limits of the hardware may have changed.
    pub(crate) fn hardware_limits(&mut self, cx: &mut Context<'_>) {
        let Some(hardware) = self.hardware else { return };
        let (min, max) = self.chosen_among(hardware);
        let wanted = if hardware.is_pinned(self.governor) { max } else { self.clock.cur_khz.clamp(min, max) };
        let _ = self.switch(wanted, true, cx);
    }

    /// A clock as the hardware has it.
    pub(crate) fn grained(&self, khz: u32, relation: TableRelation) -> u32 {
        let Some(Hardware { step_khz, .. }) = self.hardware else { return khz };
        let steps = match relation {
            TableRelation::AtLeast => khz.div_ceil(step_khz),
            TableRelation::AtMost => khz / step_khz,
            TableRelation::Closest => (khz + step_khz / 2) / step_khz,
        };
        (steps * step_khz).clamp(self.lo, self.hi)
    }

    /// The clock that comes of what a governor asks for: in guided mode no less than what the hardware would choose.
    pub(crate) fn guided(&mut self, khz: u32) -> u32 {
        let governor = self.governor;
        let Some(hardware) = self.hardware.as_mut().filter(|it| it.mode == Mode::Guided && it.looks(governor)) else {
            return khz;
        };
        hardware.asked_khz = khz;
        khz.max(hardware.wish_khz).min(self.max)
    }

    /// The load is looked at, once a while: the share of busy time, with a headroom that the hint sets, of the highest clock.
    /// Linux does so itself where the hardware does not, with the headroom of a quarter that the default hint has here.
    pub(crate) fn look(&mut self, cpu: u32, cx: &mut Context<'_>) {
        let governor = self.governor;
        let Some(hardware) = self.hardware.as_mut().filter(|hardware| hardware.looks(governor)) else { return };
        let wall_ns = cx.now_ns - hardware.looked.at_ns;
        if wall_ns < LOOK_NS {
            return;
        }
        let idle_ns = cx.times.idle_ns(cpu);
        let idle_for_ns = idle_ns.saturating_sub(hardware.looked.idle_ns).min(wall_ns);
        hardware.looked = Looked { at_ns: cx.now_ns, idle_ns };
        // A quarter above at the default hint of 128, none at 192.
        let headroom = 1_750 - u64::from(hardware.hint) * 250 / 64;
        let wanted = u128::from(hardware.held_khz.1) * u128::from(wall_ns - idle_for_ns) * u128::from(headroom);
        hardware.wish_khz = u32::try_from(wanted / (u128::from(wall_ns) * 1_000)).unwrap_or(u32::MAX);
        let hardware = *hardware;
        let (min, max) = self.chosen_among(hardware);
        let asked_khz = if hardware.is_active() { min } else { hardware.asked_khz };
        let _ = self.change(
            self.grained(hardware.wish_khz.max(asked_khz).clamp(min, max), TableRelation::AtLeast),
            true,
            cx,
        );
    }
}
