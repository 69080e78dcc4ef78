//! Energy counters: what they advanced by, wraps included. What one step may be is in `health.rs`.
use powerband_record::format_duration;
use serde::Serialize;
use thiserror::Error;

use crate::health::step;

/// Where a counter starts again from 0, and how soon that can happen.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, schemars::JsonSchema)]
pub struct Wrap {
    /// The reading after which it shows 0, uJ.
    pub at_uj: u64,
    /// The most it can draw, W.
    pub at_most_w: u32,
}

impl Wrap {
    /// The shortest time in which it can come round once, ns.
    #[must_use]
    pub fn shortest_ns(self) -> u64 {
        // uJ / W is us.
        (self.at_uj / u64::from(self.at_most_w.max(1))).saturating_mul(1000)
    }
}

/// Why a difference cannot be trusted.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum CounterError {
    /// No wrap is known that would explain it.
    #[error("the counter went back from {from} to {to} uJ: the meter was reset")]
    WentBack {
        /// Earlier reading.
        from: u64,
        /// Later reading.
        to: u64,
    },
    /// A reading beyond the counter's range.
    #[error("the counter shows {reading} uJ, beyond its range of {at} uJ")]
    BeyondRange {
        /// Reading.
        reading: u64,
        /// Where it should wrap.
        at: u64,
    },
    /// So long between two readings that it may have come round more than once.
    #[error("{} passed between two readings, in which the counter may have come round unseen", format_duration(*.passed_ns))]
    Unseen {
        /// How long, ns.
        passed_ns: u64,
    },
    /// More than it can have counted.
    #[error("the counter leapt by {joules} J in {ms} ms, and no more than {at_most_w} W can be drawn there")]
    Leapt {
        /// Whole joules.
        joules: u64,
        /// Whole milliseconds.
        ms: u64,
        /// The most that can be drawn.
        at_most_w: u32,
    },
    /// Too few readings.
    #[error("it was read {0} times, and a difference takes two readings")]
    TooFew(usize),
}

/// What a counter advanced by over readings `(at_ns, uj)` in the order they were taken, uJ.
///
/// # Errors
/// [`CounterError`] when the readings do not tell.
pub fn advance_uj(readings: &[(u64, u64)], wrap: Option<Wrap>) -> Result<u64, CounterError> {
    if readings.len() < 2 {
        return Err(CounterError::TooFew(readings.len()));
    }
    let mut total = 0_u64;
    for pair in readings.windows(2) {
        let (from, to) = (pair[0].1, pair[1].1);
        let step = match wrap {
            Some(wrap) => step(pair[0], pair[1], wrap)?,
            None if to < from => return Err(CounterError::WentBack { from, to }),
            None => to - from,
        };
        total = total.saturating_add(step);
    }
    Ok(total)
}

#[cfg(test)]
mod tests {
    use super::*;

    const S: u64 = 1_000_000_000;
    /// 1000 J at 100 W at most: comes round in 10 s at the soonest.
    const WRAP: Wrap = Wrap { at_uj: 999_999_999, at_most_w: 100 };

    #[test]
    fn wraps_are_counted_each_time() {
        assert_eq!(WRAP.shortest_ns(), 9_999_999_000);
        let readings = [(0, 900_000_000), (8 * S, 500_000_000), (16 * S, 100_000_000), (17 * S, 100_000_000)];
        assert_eq!(advance_uj(&readings, Some(WRAP)), Ok(600_000_000 + 600_000_000));
        assert_eq!(advance_uj(&[(0, 999_999_999), (S, 0)], Some(WRAP)), Ok(1));
        assert_eq!(advance_uj(&[(0, 5), (1000 * S, 12)], None), Ok(7));
    }

    #[test]
    fn what_may_have_wrapped_unseen_is_refused() {
        for (readings, wrap, error) in [
            (vec![(0, 0), (10 * S, 5)], Some(WRAP), CounterError::Unseen { passed_ns: 10 * S }),
            (vec![(0, 7), (S, 5)], None, CounterError::WentBack { from: 7, to: 5 }),
            (
                vec![(0, 7), (S, 1_000_000_000)],
                Some(WRAP),
                CounterError::BeyondRange { reading: 1_000_000_000, at: 999_999_999 },
            ),
            (vec![(0, 7)], None, CounterError::TooFew(1)),
        ] {
            assert_eq!(advance_uj(&readings, wrap), Err(error));
        }
    }
}
