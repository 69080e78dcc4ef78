//! Intel's own driver with hardware P-states, in summary: the files of its folder, the hints of policies, and what stands for
//! the hardware that follows them.
use powerband_machine::Errno;

use super::config::{Config, Governor, PstateConfig};
use super::number;
use super::policy::{Context, Policy, State};
use super::table::Relation;

/// Steps of the clock, kHz.
pub(crate) const GRAIN_KHZ: u32 = 100_000;

/// Least time between two looks at the load, ns.
const LOOK_NS: u64 = 10_000_000;

/// What a change takes that the passive driver asks for, ns.
const PASSIVE_LATENCY_NS: u32 = 20_000;

/// The time between two changes that the passive driver asks for on a processor with hardware P-states, µs (Linux 6.1
/// INTEL_CPUFREQ_TRANSITION_DELAY_HWP; 500 without them).
const PASSIVE_DELAY_US: u32 = 5_000;

/// Hints by name, as the processor knows them.
const NAMES: [(&str, u8); 4] =
    [("performance", 0), ("balance_performance", 128), ("balance_power", 192), ("power", 255)];

/// The hint at boot.
const DEFAULT_HINT: u8 = 128;

/// A file of the folder `intel_pstate`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum PstateFile {
    DynamicBoost,
    MaxPercent,
    MinPercent,
    NoTurbo,
    States,
    Status,
    TurboPercent,
}

/// The files with their names and modes; the first is there in active mode alone.
pub(crate) const PSTATE_FILES: [(PstateFile, &str, u16); 7] = [
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
    pub(crate) active: bool,
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
    /// The driver begins anew.
    Mode,
    Nothing,
}

impl Pstate {
    pub(crate) fn new(config: PstateConfig, active: bool) -> Self {
        let mut new =
            Pstate { active, no_turbo: false, min_percent: 0, max_percent: 100, dynamic_boost: false, config };
        new.min_percent = new.least_percent();
        new
    }

    fn steps(&self) -> [u32; 3] {
        [self.config.min_khz, self.config.base_khz, self.config.turbo_khz].map(|khz| khz / GRAIN_KHZ)
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
        (turbo * percent).div_ceil(100) * GRAIN_KHZ
    }

    /// Tells a policy what the switches mean for it: requests of its limits, and what the hardware is held to.
    pub(crate) fn bound(&self, policy: &mut Policy) {
        let held = (self.of_percent(self.min_percent), self.of_percent(self.max_percent).min(self.turbo_khz()));
        policy.requests.driver = Some(if self.active { (0, self.turbo_khz()) } else { held });
        if let Some(hardware) = &mut policy.hardware {
            hardware.held_khz = held;
        }
    }

    pub(crate) fn show(&self, file: PstateFile) -> String {
        let [min, base, turbo] = self.steps();
        let number = match file {
            PstateFile::Status => return if self.active { "active\n" } else { "passive\n" }.into(),
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
            return match text.trim_end() {
                // Hardware P-states cannot be left to themselves.
                "off" => Err(Errno::EBUSY),
                "active" | "passive" if (text.trim_end() == "active") == self.active => Ok(Asked::Nothing),
                "active" | "passive" => Ok(Asked::Mode),
                _ => Err(Errno::EINVAL),
            };
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

    /// What policies are made of in this mode.
    pub(crate) fn shape(&self, config: &mut Config) {
        for policy in &mut config.policies {
            (policy.driver, policy.transition_latency_ns, policy.transition_delay_us) = match self.active {
                true => ("intel_pstate".into(), 0, None),
                false => ("intel_cpufreq".into(), PASSIVE_LATENCY_NS, Some(PASSIVE_DELAY_US)),
            };
            policy.range_khz = (self.config.min_khz, self.config.turbo_khz);
            policy.fast_switch = true;
            policy.reads_hardware = false;
        }
    }

    pub(crate) fn base_khz(&self) -> u32 {
        self.config.base_khz
    }
}

/// What the hardware of a policy is told.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Hardware {
    pub(crate) active: bool,
    hint: u8,
    /// What the driver's percentages leave, kHz.
    held_khz: (u32, u32),
}

/// What the hardware remembers between two looks at the load.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Looked {
    at_ns: u64,
    idle_ns: u64,
}

impl Hardware {
    pub(crate) fn new(active: bool, range_khz: (u32, u32)) -> Self {
        Hardware { active, hint: DEFAULT_HINT, held_khz: range_khz }
    }

    fn is_pinned(self, governor: Option<Governor>) -> bool {
        self.active && governor == Some(Governor::Performance)
    }

    /// The hint in force: a name, or the number that has none.
    pub(crate) fn show(self, governor: Option<Governor>) -> String {
        let hint = if self.is_pinned(governor) { 0 } else { self.hint };
        let name = NAMES.iter().find(|(_, value)| *value == hint);
        name.map_or_else(|| format!("{hint}\n"), |(name, _)| format!("{name}\n"))
    }

    pub(crate) fn store(&mut self, text: &str, governor: Option<Governor>) -> Result<(), Errno> {
        let word = text.trim();
        let hint = match NAMES.iter().find(|(name, _)| *name == word) {
            Some((_, value)) => *value,
            None if word == "default" => DEFAULT_HINT,
            None => word.parse().map_err(|_| Errno::EINVAL)?,
        };
        if !self.is_pinned(governor) {
            self.hint = hint;
        } else if hint > 0 {
            return Err(Errno::EBUSY);
        }
        Ok(())
    }

    /// All hints by name.
    pub(crate) fn offered() -> String {
        let names: String = NAMES.iter().map(|(name, _)| format!("{name} ")).collect();
        format!("default {names}\n")
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
        self.state = State::Hardware(Looked { at_ns: cx.now_ns, idle_ns: cx.times.idle_ns(cpu) });
        self.hardware_limits(cx);
    }

    /// The limits of the hardware may have changed.
    pub(crate) fn hardware_limits(&mut self, cx: &mut Context<'_>) {
        let Some(hardware) = self.hardware else { return };
        let (min, max) = self.chosen_among(hardware);
        let wanted = if hardware.is_pinned(self.governor) { max } else { self.clock.cur_khz.clamp(min, max) };
        self.choose_clock(wanted, cx);
    }

    /// The hardware chooses a clock: a step of the table it does not show.
    fn choose_clock(&mut self, khz: u32, cx: &mut Context<'_>) {
        let to = self.grained(khz, Relation::AtLeast);
        let _ = self.switch(to, true, cx);
    }

    /// A clock as the hardware has it.
    pub(crate) fn grained(&self, khz: u32, relation: Relation) -> u32 {
        if self.hardware.is_none() {
            return khz;
        }
        let steps = match relation {
            Relation::AtLeast => khz.div_ceil(GRAIN_KHZ),
            Relation::AtMost => khz / GRAIN_KHZ,
            Relation::Closest => (khz + GRAIN_KHZ / 2) / GRAIN_KHZ,
        };
        (steps * GRAIN_KHZ).clamp(self.lo, self.hi)
    }

    /// The load is looked at, once a while: the share of busy time, with a headroom that the hint sets, of the highest clock.
    /// Linux does so itself where the hardware does not, with the headroom of a quarter that the default hint has here.
    pub(crate) fn look(&mut self, cpu: u32, cx: &mut Context<'_>) {
        let (State::Hardware(looked), Some(hardware)) = (self.state, self.hardware) else { return };
        let wall_ns = cx.now_ns - looked.at_ns;
        if wall_ns < LOOK_NS || hardware.is_pinned(self.governor) {
            return;
        }
        let idle_ns = cx.times.idle_ns(cpu);
        self.state = State::Hardware(Looked { at_ns: cx.now_ns, idle_ns });
        let busy_ns = wall_ns - idle_ns.saturating_sub(looked.idle_ns).min(wall_ns);
        let (min, max) = self.chosen_among(hardware);
        // A quarter above at the default hint of 128, none at 192.
        let headroom = 1_750 - u64::from(hardware.hint) * 250 / 64;
        let wanted = u128::from(hardware.held_khz.1) * u128::from(busy_ns) * u128::from(headroom);
        let wanted = u32::try_from(wanted / (u128::from(wall_ns) * 1_000)).unwrap_or(u32::MAX);
        self.choose_clock(wanted.clamp(min, max), cx);
    }
}
