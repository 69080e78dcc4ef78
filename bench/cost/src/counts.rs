//! What the kernel counts of a process group: time on CPUs and how often its threads went to sleep.
use std::fs;
use std::path::Path;

use rustix::process::{Pid, Signal, kill_process_group};

/// Of all threads that live.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Counts {
    pub(crate) run_ns: u64,
    /// Voluntary switches: each is followed by a wake-up.
    pub(crate) wakeups: u64,
}

impl Counts {
    /// Of the group that `leader` leads.
    pub(crate) fn of_group(leader: u32) -> Counts {
        let mut counts = Counts::default();
        for process in fs::read_dir("/proc").into_iter().flatten().flatten() {
            let folder = process.path();
            if group(&folder) != Some(leader) {
                continue;
            }
            for thread in fs::read_dir(folder.join("task")).into_iter().flatten().flatten() {
                counts.run_ns += run_ns(&thread.path()).unwrap_or(0);
                counts.wakeups += voluntary(&thread.path()).unwrap_or(0);
            }
        }
        counts
    }

    /// What came since.
    pub(crate) fn since(self, before: &Counts) -> Counts {
        Counts {
            run_ns: self.run_ns.saturating_sub(before.run_ns),
            wakeups: self.wakeups.saturating_sub(before.wakeups),
        }
    }
}

/// Ends it.
pub(crate) fn end_group(leader: u32) {
    if let Some(leader) = i32::try_from(leader).ok().and_then(Pid::from_raw) {
        let _ = kill_process_group(leader, Signal::KILL);
    }
}

fn group(process: &Path) -> Option<u32> {
    let text = fs::read_to_string(process.join("stat")).ok()?;
    // The name in brackets may hold anything.
    text.rsplit_once(')')?.1.split_whitespace().nth(2)?.parse().ok()
}

fn run_ns(thread: &Path) -> Option<u64> {
    fs::read_to_string(thread.join("schedstat")).ok()?.split_whitespace().next()?.parse().ok()
}

fn voluntary(thread: &Path) -> Option<u64> {
    let text = fs::read_to_string(thread.join("status")).ok()?;
    text.lines().find_map(|line| line.strip_prefix("voluntary_ctxt_switches:"))?.trim().parse().ok()
}
