//! What is kept for each CPU: the governors' snapshots, schedutil's boost, interactive's timer, the run queue's signals.
use super::pelt::Queue;

/// One CPU.
#[derive(Clone, Debug)]
pub(crate) struct Cpu {
    /// Index of its policy.
    pub(crate) policy: Option<u32>,
    pub(crate) online: bool,
    pub(crate) queue: Queue,
    pub(crate) load: LoadSnapshot,
    pub(crate) boost: IoBoost,
    pub(crate) interactive: Look,
}

/// Where the last load window of ondemand or conservative ended.
///
/// Times are µs under the newer rules with fine idle accounting, ticks elsewhere.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct LoadSnapshot {
    pub(crate) idle: u64,
    pub(crate) wall: u64,
    /// Nice time, in the unit the rules count it in.
    pub(crate) nice: u64,
    pub(crate) load: u32,
    /// Time the governor's worker kept the CPU awake that nothing else would have, ns since boot.
    pub(crate) worker_ns: u64,
    /// 2.6.18 conservative: idle ticks since the last look downwards.
    pub(crate) idle_down: u32,
}

/// schedutil's view of one CPU.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct IoBoost {
    pub(crate) level: u32,
    pub(crate) pending: bool,
    pub(crate) last_update_ns: u64,
    pub(crate) idle_entries: u64,
    pub(crate) dl_bandwidth: u32,
}

/// What interactive keeps of one CPU.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Look {
    /// When its timer is due, ns; it may be overdue while the CPU sleeps.
    pub(crate) armed_ns: Option<u64>,
    pub(crate) overdue: bool,
    pub(crate) target_khz: u32,
    /// Below this it does not go until it has been asked for no more for a while; since when, ns.
    pub(crate) floor_khz: u32,
    pub(crate) floor_ns: u64,
    /// When it last did not have to wait above hispeed_freq, ns.
    pub(crate) hispeed_ns: u64,
    /// Since when work is summed up, and up to when it is, ns; the idle sum then.
    pub(crate) since_ns: u64,
    pub(crate) counted_ns: u64,
    pub(crate) idle_ns: u64,
    /// Busy µs times the clock then, kHz.
    pub(crate) work: u64,
    pub(crate) io_is_busy: bool,
}
