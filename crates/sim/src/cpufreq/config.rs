//! What a machine's cpufreq is made of at boot: kernel rules, policies, tables, which governors are built in.

/// What a tick wakes, it wakes within this time, ns.
const TICK_WORK_NS: u64 = 20_000;

/// Which kernel's behaviour is followed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum KernelRules {
    /// Linux 2.6.18 (the base of RHEL 5): timers in jiffies, folders under `cpuN/cpufreq`.
    V2_6_18,
    /// Linux 2.6.32: load weighted by frequency, deferrable timers.
    V2_6_32,
    /// Linux 6.1: limits as requests, samples taken by the scheduler, schedutil.
    V6_1,
}

/// The governors this crate knows.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Governor {
    /// Steps up and down by a share of the maximum.
    Conservative,
    /// Jumps to the maximum above a threshold, else proportional to load.
    Ondemand,
    /// A frequency written by a program.
    Userspace,
    /// Always the lowest allowed.
    Powersave,
    /// Always the highest allowed.
    Performance,
    /// From the scheduler's own utilisation signal (6.1 only).
    Schedutil,
    /// Android's: jumps under bursts, else the lowest clock that keeps the load below a target (2.6.32 rules only).
    Interactive,
}

/// What stands behind `cpufreq/boost`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub enum BoostSupport {
    /// No such file.
    #[default]
    Absent,
    /// A bit in the hardware: limits and tables stay as they are. Holds the state at boot.
    Hardware(bool),
    /// Table entries marked as boost come and go. Holds the state at boot.
    Table(bool),
    /// A driver without a table ends at its base or at its turbo frequency ([`PstateConfig`]). Holds the state at boot.
    Range(bool),
}

impl BoostSupport {
    /// Whether it is on at boot.
    pub(crate) fn is_on(self) -> bool {
        matches!(self, BoostSupport::Hardware(true) | BoostSupport::Table(true) | BoostSupport::Range(true))
    }
}

/// One entry of a frequency table, in the driver's order.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Step {
    /// Clock, kHz.
    pub khz: u32,
    /// Only usable while boost is on.
    pub boost: bool,
    /// Skipped by the relations that look for an efficient entry.
    pub inefficient: bool,
}

impl From<u32> for Step {
    fn from(khz: u32) -> Self {
        Step { khz, boost: false, inefficient: false }
    }
}

/// One frequency domain.
#[derive(Clone, Debug)]
pub struct PolicyConfig {
    /// Member CPUs, ascending; the first names the folder.
    pub cpus: Vec<u32>,
    /// The driver's table in the driver's order; empty for a driver without one.
    pub table: Vec<Step>,
    /// Lowest and highest kHz of a driver without a table; ignored when there is one.
    pub range_khz: (u32, u32),
    /// How long a change of clock takes, ns; `u32::MAX` when the driver does not know (changes are then instant).
    pub transition_latency_ns: u32,
    /// The time between two changes that the driver asks governors for, µs; `None` where it leaves that to the latency (6.1).
    pub transition_delay_us: Option<u32>,
    /// How long the domain stands still at each change, ns; handed to the engine in [`super::FrequencyChange`].
    pub stall_ns: u32,
    /// What `scaling_driver` shows, at most 15 characters.
    pub driver: String,
    /// The clock can be changed from the scheduler's context, without delay.
    pub fast_switch: bool,
    /// The driver refuses governors that change the clock by themselves.
    pub no_dynamic_switching: bool,
    /// `bios_limit` at boot, kHz; `None` leaves the file out.
    pub bios_limit_khz: Option<u32>,
    /// Whether `cpuinfo_cur_freq` exists.
    pub reads_hardware: bool,
    /// Whether `scaling_cur_freq` shows a measured average where [`super::CpuTimes::average_khz`] has one.
    pub measured_cur_freq: bool,
    /// Clock at boot, kHz.
    pub initial_khz: u32,
    /// Capacity of each member against the machine's biggest CPU, 1..=1024.
    pub capacity: u32,
    /// The utilisation signal is scaled by the current clock (schedutil then works from the highest clock).
    pub invariant: bool,
}

impl PolicyConfig {
    /// What governors' defaults follow from.
    pub(crate) fn pace(&self) -> Pace {
        Pace { latency_ns: self.transition_latency_ns, delay_us: self.transition_delay_us }
    }

    /// An ACPI-like domain: `table_khz` in the driver's order, 10 µs latency, booted at the table's first entry.
    #[must_use]
    pub fn new(cpus: Vec<u32>, table_khz: &[u32]) -> Self {
        PolicyConfig {
            cpus,
            table: table_khz.iter().map(|&khz| Step::from(khz)).collect(),
            range_khz: (0, 0),
            transition_latency_ns: 10_000,
            transition_delay_us: None,
            stall_ns: 0,
            driver: "acpi-cpufreq".to_owned(),
            fast_switch: false,
            no_dynamic_switching: false,
            bios_limit_khz: None,
            reads_hardware: true,
            measured_cur_freq: false,
            initial_khz: table_khz.first().copied().unwrap_or(0),
            capacity: 1024,
            invariant: true,
        }
    }
}

/// How fast a driver changes the clock, and how often it is to be asked to.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Pace {
    /// As [`PolicyConfig::transition_latency_ns`].
    pub(crate) latency_ns: u32,
    /// As [`PolicyConfig::transition_delay_us`].
    pub(crate) delay_us: Option<u32>,
}

impl Pace {
    /// The time between two changes that suits the driver, µs (Linux 6.1 cpufreq_policy_transition_delay_us).
    pub(crate) fn between_us(self) -> u32 {
        self.delay_us.unwrap_or(match self.latency_ns / 1000 {
            0 => 1000,
            latency_us => latency_us.saturating_mul(1000).min(10_000),
        })
    }
}

/// A processor that chooses its clock by itself, with its maker's own driver, which comes up in active mode: each CPU a policy
/// without a table.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PstateConfig {
    /// Lowest clock, kHz; all three are whole steps of [`PstateConfig::step_khz`].
    pub min_khz: u32,
    /// Highest clock without turbo, kHz.
    pub base_khz: u32,
    /// Highest clock, kHz.
    pub turbo_khz: u32,
    /// AMD's levels of performance; `None` for Intel's hardware P-states.
    pub cppc: Option<Cppc>,
}

/// Levels of performance without a unit, in proportion to the clock (ACPI 6.5 section 8.4.6, `_CPC`).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Cppc {
    /// Of the highest clock.
    pub highest_perf: u32,
    /// Of the base clock.
    pub nominal_perf: u32,
    /// Below it less power no longer means less energy for the same work.
    pub lowest_nonlinear_perf: u32,
}

/// Bits behind the point in the driver's ratios (Linux 6.12 SCHED_CAPACITY_SHIFT).
const RATIO_BITS: u32 = 10;

impl Cppc {
    /// The clock of a level, MHz, as amd-pstate works it out of the base clock (Linux 6.12 amd_pstate_init_freq).
    #[must_use]
    pub fn mhz(&self, perf: u32, nominal_mhz: u32) -> u32 {
        let ratio = (u64::from(perf) << RATIO_BITS) / u64::from(self.nominal_perf.max(1));
        u32::try_from((u64::from(nominal_mhz) * ratio) >> RATIO_BITS).unwrap_or(u32::MAX)
    }
}

impl PstateConfig {
    /// The highest clock with turbo or without, kHz.
    #[must_use]
    pub(crate) fn end_khz(&self, turbo: bool) -> u32 {
        if turbo { self.turbo_khz } else { self.base_khz }
    }

    /// Steps of the clock, kHz: 100 MHz with Intel, a level of performance with AMD.
    #[must_use]
    pub fn step_khz(&self) -> u32 {
        self.cppc.map_or(100_000, |cppc| self.base_khz / cppc.nominal_perf.max(1))
    }
}

/// Everything that is fixed at boot.
#[derive(Clone, Debug)]
pub struct BootConfig {
    /// Which kernel.
    pub rules: KernelRules,
    /// Ticks a second.
    pub hz: u32,
    /// The frequency domains, in order of their first CPU.
    pub policies: Vec<PolicyConfig>,
    /// CPUs are numbered below this; one that is in no policy has no cpufreq folder.
    pub possible_cpus: u32,
    /// Governor tunables live in each policy's folder instead of `cpufreq/<governor>/` (6.1 only).
    pub per_policy_governors: bool,
    /// Idle time is accounted to the microsecond (dynamic ticks) instead of by ticks.
    pub nohz: bool,
    /// The governor every policy boots with.
    pub default_governor: Governor,
    /// Governors that are built in or loaded at boot, in the order of `scaling_available_governors`.
    pub available_governors: Vec<Governor>,
    /// Default of ondemand's `io_is_busy`.
    pub io_is_busy: bool,
    /// What stands behind `cpufreq/boost`.
    pub boost: BoostSupport,
    /// Each policy has a `boost` of its own, too (Linux 6.7 and later).
    pub policy_boost: bool,
    /// The maker's own driver, instead of what the policies name.
    pub pstate: Option<PstateConfig>,
    /// Between the numbers of two CPUs that are threads of one core and share its clock, where that is modelled.
    pub thread_stride: Option<u32>,
    /// How long after its multiple a tick is heard, ns.
    pub tick_delay_ns: u32,
    /// By how much later than that at most, by chance, ns.
    pub tick_scatter_ns: u32,
    /// By how much the kernel has each idle time shorter than the time in which nothing ran, ns.
    pub idle_edges_ns: u32,
    /// Whether an idle CPU keeps its tick until one has come, as Linux 6.1 has it without a driver for idle states:
    /// schedutil does not see an idle time without a tick.
    pub keeps_tick: bool,
    /// From a task's waking to its running on a CPU that has nothing better to do, ns: it is runnable meanwhile (6.1).
    pub switch_in_ns: u32,
    /// How much longer the governor's worker takes to a CPU that was idle, ns (6.1).
    pub idle_exit_ns: u32,
    /// What the first tick in an idle time takes of it, ns.
    pub idle_tick_ns: u32,
    /// How far into one of its load windows, of 1024 times 1024 ns, the scheduler's clock is at boot, ns (6.1).
    pub window_phase_ns: u64,
    /// From the scheduler's callback to the governor's worker, ns (6.1).
    pub worker_delay_ns: u32,
    /// From a write of a limit to its taking effect, ns (6.1).
    pub limits_delay_ns: u32,
    /// Thresholds that governors take whatever is written (2.6.18).
    pub deaf: Deaf,
}

/// Governors that are wrong: thresholds they take whatever is written into their files. For showing that what depends on
/// them would be seen.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Deaf {
    /// Of ondemand, upwards, percent.
    pub ondemand_up: Option<u32>,
    /// Of conservative, downwards, percent.
    pub conservative_down: Option<u32>,
}

impl BootConfig {
    /// Linux of the given rules at 250 Hz with dynamic ticks, everything built in, performance at boot.
    #[must_use]
    pub fn new(rules: KernelRules, policies: Vec<PolicyConfig>) -> Self {
        use Governor::{Conservative, Ondemand, Performance, Powersave, Schedutil, Userspace};
        let mut available_governors = vec![Conservative, Ondemand, Userspace, Powersave, Performance];
        if rules == KernelRules::V6_1 {
            available_governors.push(Schedutil);
        }
        let possible_cpus = policies.iter().flat_map(|p| &p.cpus).max().map_or(0, |&cpu| cpu + 1);
        BootConfig {
            rules,
            hz: 250,
            policies,
            possible_cpus,
            per_policy_governors: false,
            nohz: rules != KernelRules::V2_6_18,
            default_governor: Performance,
            available_governors,
            io_is_busy: false,
            boost: BoostSupport::Absent,
            policy_boost: false,
            pstate: None,
            thread_stride: None,
            tick_delay_ns: 0,
            tick_scatter_ns: 0,
            idle_edges_ns: 0,
            keeps_tick: false,
            switch_in_ns: 0,
            idle_exit_ns: 0,
            idle_tick_ns: 0,
            window_phase_ns: 0,
            worker_delay_ns: 0,
            limits_delay_ns: 0,
            deaf: Deaf::default(),
        }
    }

    /// Whether a tick came between these instants, and was over at the second, ns.
    pub(crate) fn ticked(&self, since_ns: u64, now_ns: u64) -> bool {
        now_ns.saturating_sub(TICK_WORK_NS) / self.tick_ns() > since_ns / self.tick_ns()
    }

    /// Length of a tick, ns.
    #[must_use]
    pub fn tick_ns(&self) -> u64 {
        1_000_000_000 / u64::from(self.hz.max(1))
    }

    /// Whether tunables are found below each policy rather than in `cpufreq/<governor>`.
    pub(crate) fn own_folders(&self) -> bool {
        match self.rules {
            KernelRules::V2_6_18 => true,
            KernelRules::V2_6_32 => false,
            KernelRules::V6_1 => self.per_policy_governors,
        }
    }
}
