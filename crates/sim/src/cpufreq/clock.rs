//! The clock of a domain: what the core believes, what the silicon does, and changes under way.
use std::collections::VecDeque;

use powerband_machine::Errno;

/// A clock and its changes.
///
/// `cur_khz` is the core's view and moves when a change is asked for, because the kernel's callers wait until the change
/// is done; the silicon follows when the change completes.
#[derive(Clone, Debug)]
pub(crate) struct Clock {
    pub(crate) cur_khz: u32,
    pub(crate) silicon_khz: u32,
    under_way: Option<(u32, u64)>,
    waiting: VecDeque<u32>,
    latency_ns: u64,
    pub(crate) fault: Option<Errno>,
}

impl Clock {
    pub(crate) fn new(khz: u32, latency_ns: u32) -> Self {
        let latency_ns = if latency_ns == u32::MAX { 0 } else { u64::from(latency_ns) };
        let waiting = VecDeque::new();
        Clock { cur_khz: khz, silicon_khz: khz, under_way: None, waiting, latency_ns, fault: None }
    }

    /// Starts a change, behind those under way. `fast` changes take no time.
    pub(crate) fn start(&mut self, khz: u32, now_ns: u64, fast: bool) {
        self.cur_khz = khz;
        if self.under_way.is_some() {
            self.waiting.push_back(khz);
        } else {
            self.under_way = Some((khz, now_ns + if fast { 0 } else { self.latency_ns }));
        }
    }

    pub(crate) fn due_ns(&self) -> Option<u64> {
        self.under_way.map(|(_, due)| due)
    }

    /// The next change that is complete by `now_ns`, as (from, to, when); the one behind it starts.
    pub(crate) fn complete(&mut self, now_ns: u64) -> Option<(u32, u32, u64)> {
        let (khz, at_ns) = self.under_way.filter(|&(_, due)| due <= now_ns)?;
        let from = std::mem::replace(&mut self.silicon_khz, khz);
        self.under_way = self.waiting.pop_front().map(|next| (next, at_ns + self.latency_ns));
        Some((from, khz, at_ns))
    }
}
