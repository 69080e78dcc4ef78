//! What passes between the engine and cpufreq: CPU clocks in, changes of clock out.

/// What other scheduling classes and interrupts ask of a CPU, each in the CPU's capacity units (0..=1024).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct OtherClasses {
    /// A real-time task is runnable.
    pub rt_runnable: bool,
    /// Utilisation of real-time tasks.
    pub rt: u32,
    /// Utilisation of deadline tasks.
    pub dl: u32,
    /// Bandwidth reserved by deadline tasks.
    pub dl_bandwidth: u32,
    /// Time taken by interrupts.
    pub irq: u32,
}

/// What the engine knows of each CPU at this instant. All times are sums since boot, ns, up to the `now_ns` of the call.
///
/// A kernel that accounts by ticks (2.6.18, or no dynamic ticks) sees whole ticks of these: hand in tick-sampled sums
/// (busy if running at the tick) to have that kernel's view, cpufreq itself only cuts them to ticks.
pub trait CpuTimes {
    /// Idle time without waiting for input or output.
    fn idle_ns(&self, cpu: u32) -> u64;
    /// Idle time with a task of this CPU waiting for input or output.
    fn iowait_ns(&self, cpu: u32) -> u64;
    /// Busy time of tasks of positive nice value; part of the busy time, not of the idle time.
    fn nice_ns(&self, cpu: u32) -> u64;
    /// Whether anything runs on this CPU now. Deferrable timers (2.6.32) wait for it.
    fn running(&self, cpu: u32) -> bool;
    /// Average clock since this was last asked for the CPU, kHz, where the hardware counts it (APERF/MPERF).
    fn average_khz(&self, _cpu: u32) -> Option<u32> {
        None
    }
    /// Demand of other classes, for schedutil.
    fn other_classes(&self, _cpu: u32) -> OtherClasses {
        OtherClasses::default()
    }
    /// Utilisation of the CPU's fair tasks, 0..=1024, if the engine states it (open-loop traces); `None` uses the
    /// tracked signal.
    fn fair_util(&self, _cpu: u32) -> Option<u32> {
        None
    }
}

/// Why the scheduler calls.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Util {
    /// A task became runnable.
    Enqueue,
    /// A task stopped being runnable.
    Dequeue,
    /// The tick of a busy CPU.
    Tick,
    /// A task became runnable that had waited for input or output.
    IoWake,
    /// A real-time or deadline task: always reaches the governor, where the others must wait for the load window
    /// (1024 µs) to advance. Also for open-loop traces that state each callback.
    Direct,
}

/// A change of clock that has taken effect.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FrequencyChange {
    /// Index of the policy in the configuration, which also names its CPUs.
    pub policy: u32,
    /// Clock before, kHz.
    pub from_khz: u32,
    /// Clock from `at_ns` on, kHz.
    pub to_khz: u32,
    /// When, ns.
    pub at_ns: u64,
    /// How long the domain stood still for it, ns.
    pub stall_ns: u32,
}

/// A name in a folder.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct TreeEntry {
    /// File name.
    pub name: String,
    /// Permission bits, e.g. `0o644`.
    pub mode: u16,
    /// A folder.
    pub is_dir: bool,
}
