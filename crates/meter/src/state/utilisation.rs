//! How busy each CPU was, by `/proc/stat`.
use std::collections::BTreeMap;

use powerband_machine::{Errno, Handle, Look};
use powerband_record::IntoOrdered as _;

use super::{Text, share};

/// `/proc/stat`, open.
#[derive(Debug)]
pub struct Utilisation(Handle);

/// Time of one CPU since boot, in the kernel's ticks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CpuTime {
    /// Neither idle nor waiting for a disk.
    pub busy_ticks: u64,
    /// All of it.
    pub total_ticks: u64,
}

/// Columns that count: user, nice, system, idle, iowait, irq, softirq, steal. Guests' time is in user already.
const COLUMNS: usize = 8;

/// Columns of doing nothing.
const IDLE: [usize; 2] = [3, 4];

impl Utilisation {
    /// Opens it.
    ///
    /// # Errors
    /// The kernel's error number.
    pub fn open(machine: &mut dyn Look) -> Result<Self, Errno> {
        machine.open("/proc/stat").map(Utilisation)
    }

    /// What is read of it.
    #[must_use]
    pub fn handles(&self) -> Vec<Handle> {
        vec![self.0]
    }

    /// The CPUs that are online, from what its handles read.
    #[must_use]
    pub fn snapshot(&self, texts: &[Text]) -> BTreeMap<u32, CpuTime> {
        times(texts)
    }
}

/// The CPUs that are online, from the text of `/proc/stat`.
pub(super) fn times(texts: &[Text]) -> BTreeMap<u32, CpuTime> {
    texts.first().and_then(|text| text.as_ref().ok()).iter().flat_map(|text| text.lines()).filter_map(line).into_map()
}

/// `cpu3 1 2 3 …`; old kernels have fewer columns.
fn line(line: &str) -> Option<(u32, CpuTime)> {
    let (name, rest) = line.strip_prefix("cpu")?.split_once(' ')?;
    let ticks: Vec<u64> = rest.split_whitespace().take(COLUMNS).map_while(|word| word.parse().ok()).collect();
    let total_ticks: u64 = ticks.iter().sum();
    let idle: u64 = IDLE.iter().filter_map(|&place| ticks.get(place)).sum();
    Some((name.parse().ok()?, CpuTime { busy_ticks: total_ticks - idle, total_ticks }))
}

impl CpuTime {
    /// The share of the time since `earlier` in which it was busy, 0 to 1; `None` before a tick has passed. The kernel
    /// corrects its columns now and then, so that one may go back.
    #[must_use]
    pub fn busy_since(&self, earlier: &CpuTime) -> Option<f64> {
        let busy = self.busy_ticks.saturating_sub(earlier.busy_ticks);
        share(busy, self.total_ticks.saturating_sub(earlier.total_ticks))
    }
}
