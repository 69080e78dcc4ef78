//! What is kept for each CPU: the governors' snapshots, schedutil's boost, the run queue's signals.
use super::interactive::Look;
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
