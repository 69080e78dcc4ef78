//! The scheduler's utilisation signals: geometric decay, clocks that run at the CPU's speed, run queues and tasks.
//!
//! Linux 6.1 kernel/sched/pelt.c and fair.c. A window is 1024 units of 1024 ns; a signal halves in 32 windows. The clock
//! behind a CPU's signals advances with its capacity and its present clock while it runs, and catches up when it idles,
//! so that the signal says how much of the *biggest* CPU at its *highest* clock would be needed.

mod queue;
mod task;

pub use queue::Queue;
pub use task::SchedTask;

/// The value a signal's sum tends to, in units.
const SUM_MAX: u64 = 47_742;
const WINDOW: u64 = 1024;

/// The shortest time that counts, ns.
const UNIT_NS: u64 = 1024;

/// floor((2^32 - 1) * 2^(-k/32)).
const INVERSE: [u64; 32] = [
    4_294_967_295,
    4_202_935_002,
    4_112_874_772,
    4_024_744_346,
    3_938_502_374,
    3_854_108_390,
    3_771_522_795,
    3_690_706_838,
    3_611_622_601,
    3_534_232_977,
    3_458_501_652,
    3_384_393_093,
    3_311_872_528,
    3_240_905_929,
    3_171_459_998,
    3_103_502_150,
    3_037_000_499,
    2_971_923_841,
    2_908_241_641,
    2_845_924_020,
    2_784_941_737,
    2_725_266_178,
    2_666_869_343,
    2_609_723_833,
    2_553_802_832,
    2_499_080_104,
    2_445_529_971,
    2_393_127_306,
    2_341_847_523,
    2_291_666_560,
    2_242_560_871,
    2_194_507_416,
];

fn decay(value: u64, windows: u64) -> u64 {
    if windows > 2016 {
        return 0;
    }
    let rest = (windows % 32) as usize;
    ((value >> (windows / 32)) * INVERSE[rest]) >> 32
}

/// Share of time something ran, recent time weighing more.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Signal {
    sum: u64,
    into_window: u64,
    last_ns: u64,
    util: u32,
}

impl Signal {
    /// A signal at zero as of `clock_ns`.
    #[must_use]
    pub fn zero(clock_ns: u64) -> Self {
        Signal { sum: 0, into_window: 0, last_ns: clock_ns, util: 0 }
    }

    /// The same, `phase_ns` after the beginning of a window.
    #[must_use]
    pub(crate) fn zero_within(clock_ns: u64, phase_ns: u64) -> Self {
        let into_window = phase_ns / UNIT_NS % WINDOW;
        Signal { sum: 0, into_window, last_ns: clock_ns.saturating_sub(phase_ns % UNIT_NS), util: 0 }
    }

    /// Utilisation as of the last window's end, 0..=1024.
    #[must_use]
    pub fn util(&self) -> u32 {
        self.util
    }

    /// Brings the signal to `clock_ns`; `running` is what was true since the last update. True if a window ended, which
    /// is when [`Signal::util`] moves.
    #[inline]
    pub fn update(&mut self, clock_ns: u64, running: bool) -> bool {
        self.is_behind(clock_ns) && self.count(clock_ns, running)
    }

    /// Whether an update to `clock_ns` would change anything: at one instant most come in vain.
    #[inline]
    fn is_behind(&self, clock_ns: u64) -> bool {
        clock_ns.saturating_sub(self.last_ns) >= UNIT_NS
    }

    fn count(&mut self, clock_ns: u64, running: bool) -> bool {
        let units = clock_ns.saturating_sub(self.last_ns) / UNIT_NS;
        self.last_ns += units * UNIT_NS;
        let reach = units + self.into_window;
        let windows = reach / WINDOW;
        let mut contribution = units;
        if windows > 0 {
            self.sum = decay(self.sum, windows);
            let head = decay(WINDOW - self.into_window, windows);
            let middle = SUM_MAX - decay(SUM_MAX, windows) - WINDOW;
            contribution = head + middle + reach % WINDOW;
        }
        self.into_window = reach % WINDOW;
        if running {
            self.sum += contribution * WINDOW;
        }
        if windows > 0 {
            // Both fit: the sum stays below 48 million. A 64-bit division would be the dearest thing here.
            #[expect(clippy::cast_possible_truncation, reason = "below 2^26")]
            let (sum, divider) = (self.sum as u32, (SUM_MAX - WINDOW + self.into_window) as u32);
            self.util = sum / divider;
        }
        windows > 0
    }

    /// The same utilisation in another's windows.
    fn rebase(&mut self, other: &Signal) {
        (self.last_ns, self.into_window) = (other.last_ns, other.into_window);
        self.sum = u64::from(self.util) * (SUM_MAX - WINDOW + self.into_window);
    }

    /// Whether so much was running that time lost to a slow clock cannot be told from demand.
    fn is_saturated(&self) -> bool {
        self.sum >= (SUM_MAX - WINDOW) * WINDOW - SUM_MAX
    }
}

#[cfg(test)]
mod tests;
