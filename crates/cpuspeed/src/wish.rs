//! What one CPU wishes for after one interval, from two readings of its sums of time.
use crate::DaemonOptions;

/// Sums of a CPU's time since boot as `/proc/stat` shows them, in any one unit. What interrupts, soft interrupts and other
/// guests took is left out, as the daemon leaves it out.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Sums {
    /// In user mode.
    pub user: u64,
    /// In user mode, with a positive nice value.
    pub nice: u64,
    /// In the kernel.
    pub system: u64,
    /// Idle.
    pub idle: u64,
    /// Idle while a process waited for a disk.
    pub iowait: u64,
}

/// What a CPU wishes for; of two wishes the first one here is the faster.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Wish {
    /// The highest clock.
    Fastest,
    /// One step up.
    Faster,
    /// The clock it has.
    Stay,
    /// One step down.
    Slower,
}

/// What a CPU wishes for between two readings: [`wish_of`] its [`idle_percent`].
#[must_use]
pub fn wish(options: &DaemonOptions, before: &Sums, after: &Sums) -> Wish {
    wish_of(options, idle_percent(options, before, after))
}

/// How idle a CPU was between two readings: 100·Δidle/Δtotal, cut to a whole number; `None` where no time has passed. A sum
/// that went back counts as one that stood still.
#[must_use]
pub fn idle_percent(options: &DaemonOptions, before: &Sums, after: &Sums) -> Option<u32> {
    let passed = |part: fn(&Sums) -> u64| part(after).saturating_sub(part(before));
    let counts = |part: u64, ignored: bool| if ignored { 0 } else { part };
    let idle = passed(|sums| sums.idle)
        .saturating_add(counts(passed(|sums| sums.nice), options.ignore_nice))
        .saturating_add(counts(passed(|sums| sums.iowait), options.ignore_iowait));
    let total = passed(|sums| sums.user).saturating_add(passed(|sums| sums.system)).saturating_add(idle);
    let percent = (u128::from(idle) * 100).checked_div(u128::from(total))?;
    u32::try_from(percent).ok()
}

/// What a CPU that was so idle wishes for. No time between two readings leaves the clock alone.
#[must_use]
pub fn wish_of(options: &DaemonOptions, idle_percent: Option<u32>) -> Wish {
    let Some(percent) = idle_percent else { return Wish::Stay };
    match percent.cmp(&options.threshold_percent) {
        _ if percent <= options.fast_up_percent => Wish::Fastest,
        std::cmp::Ordering::Less => Wish::Faster,
        std::cmp::Ordering::Equal => Wish::Stay,
        std::cmp::Ordering::Greater => Wish::Slower,
    }
}
