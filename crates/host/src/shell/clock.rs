//! The clocks behind a shell: times as its words show them, and the clock of the boot made finer.

/// A fine clock is believed when it tells the same time as the clock of the boot, which knows hundredths, ns.
pub(super) const APART_NS: u64 = 50_000_000;

/// `12.34`: seconds to ns.
pub(super) fn nanoseconds(text: &str) -> Option<u64> {
    let (whole, part) = text.trim().split_once('.').unwrap_or((text.trim(), ""));
    let part: String = part.chars().chain(std::iter::repeat('0')).take(9).collect();
    whole.parse::<u64>().ok()?.checked_mul(1_000_000_000)?.checked_add(part.parse().ok()?)
}

/// `1m2.345s`, as `times` prints it, to ns.
pub(super) fn minutes(text: &str) -> Option<u64> {
    let (minutes, seconds) = text.trim().strip_suffix('s')?.split_once('m')?;
    nanoseconds(seconds)?.checked_add(minutes.parse::<u64>().ok()?.checked_mul(60_000_000_000)?)
}

/// The clock of the boot, which knows hundredths, made finer by another one as long as both tell the same time.
#[derive(Debug, Default)]
pub(super) struct Clock {
    ahead_ns: Option<i128>,
}

impl Clock {
    pub(super) fn at_ns(&mut self, times: &str) -> u64 {
        let (up, fine) = times.split_once(' ').unwrap_or((times, ""));
        let up_ns = nanoseconds(up).unwrap_or(0);
        let Ok(fine_ns) = fine.trim().parse::<i128>() else { return up_ns };
        let ahead_ns = *self.ahead_ns.get_or_insert(fine_ns - i128::from(up_ns));
        u64::try_from(fine_ns - ahead_ns).ok().filter(|at_ns| at_ns.abs_diff(up_ns) <= APART_NS).unwrap_or(up_ns)
    }
}
