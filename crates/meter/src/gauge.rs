//! Gauges: the time-weighted mean of what was recorded, or why there is none.
use serde::Serialize;
use thiserror::Error;

/// What stretch of time one number of a gauge stands for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, schemars::JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Window {
    /// The meter's interval that ended when it was read: the meter averages.
    Before,
    /// The moment it was read.
    Instant,
}

/// Why there is no mean.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum GaugeError {
    /// The work was over too soon for this meter.
    #[error(
        "the load ran for {} ms and this meter makes a number every {} ms; make the load last ten of those ({} s), \
         e.g. by repeating it", .ran_ns / 1_000_000, .interval_ns / 1_000_000, (.interval_ns * PERIODS).div_ceil(1_000_000_000)
    )]
    TooShort {
        /// How long the load ran, ns.
        ran_ns: u64,
        /// The meter's interval, ns.
        interval_ns: u64,
    },
    /// The file did not read for too much of the time.
    #[error("{missing} of {samples} readings failed, the last one with: {why}")]
    Missing {
        /// Readings that failed.
        missing: usize,
        /// Readings taken.
        samples: usize,
        /// The last failure.
        why: String,
    },
    /// It shows nothing but 0.
    #[error("it showed 0 in all of {0} readings: the meter is dead")]
    Dead(usize),
}

/// A load must last this many of a gauge's intervals.
pub(crate) const PERIODS: u64 = 10;

/// One failed reading in this many is borne.
const BORNE: usize = 10;

/// One reading: when, ns, and what, uW or uJ, or why not.
pub type GaugeSample = (u64, Result<u64, String>);

/// Time-weighted mean over the time from `start_ns` to `end_ns`, uW. A number that stands for the interval before it
/// weighs as long as the time since the reading before; an instantaneous one counts half to each side (trapezoids, the
/// outermost numbers held to the ends).
///
/// # Errors
/// [`GaugeError`] when the readings do not tell.
pub fn mean(
    samples: &[GaugeSample],
    (start_ns, end_ns): (u64, u64),
    interval_ns: u64,
    window: Window,
) -> Result<f64, GaugeError> {
    let ran_ns = end_ns.saturating_sub(start_ns);
    if ran_ns < interval_ns.saturating_mul(PERIODS) {
        return Err(GaugeError::TooShort { ran_ns, interval_ns });
    }
    let inside: Vec<&GaugeSample> = samples.iter().filter(|(at, _)| (start_ns..=end_ns).contains(at)).collect();
    let good: Vec<(u64, u64)> = inside.iter().filter_map(|(at, value)| Some((*at, *value.as_ref().ok()?))).collect();
    let missing = inside.len() - good.len();
    if good.len() < 2 || missing * BORNE > inside.len() {
        let last = inside.iter().rev().find_map(|(_, value)| value.as_ref().err().cloned());
        let why = last.unwrap_or_else(|| "too few readings were taken".into());
        return Err(GaugeError::Missing { missing, samples: inside.len(), why });
    }
    if good.iter().all(|&(_, value)| value == 0) {
        return Err(GaugeError::Dead(good.len()));
    }
    Ok(match window {
        Window::Before => weigh_before(&good, start_ns),
        Window::Instant => weigh_instants(&good, start_ns, end_ns),
    })
}

fn weigh_before(good: &[(u64, u64)], start_ns: u64) -> f64 {
    let (mut sum, mut time, mut since) = (0.0, 0.0, start_ns);
    for &(at, value) in good {
        let weight = (at - since) as f64;
        sum += value as f64 * weight;
        time += weight;
        since = at;
    }
    // Two readings inside a stretch of at least ten intervals: some time has passed between them.
    sum / time
}

fn weigh_instants(good: &[(u64, u64)], start_ns: u64, end_ns: u64) -> f64 {
    let (mut sum, mut since) = (0.0, (start_ns, good[0].1));
    for &(at, value) in good.iter().chain(&[(end_ns, good[good.len() - 1].1)]) {
        sum += (value as f64 + since.1 as f64) / 2.0 * (at - since.0) as f64;
        since = (at, value);
    }
    sum / (end_ns - start_ns) as f64
}

#[cfg(test)]
mod tests {
    use super::*;

    const S: u64 = 1_000_000_000;

    fn ramp(n: u64) -> Vec<GaugeSample> {
        (0..=n).map(|i| (i * S, Ok(i * 1000))).collect()
    }

    #[test]
    fn means_weigh_by_time() {
        // A ramp from 0 to 10: instants average to the middle, intervals that end at 1..10 to 5.5.
        assert_eq!(mean(&ramp(10), (0, 10 * S), S, Window::Instant), Ok(5000.0));
        assert_eq!(mean(&ramp(10), (0, 10 * S), S, Window::Before), Ok(5500.0));
        let uneven = [(0, Ok(100)), (9 * S, Ok(100)), (10 * S, Ok(1100))];
        assert_eq!(mean(&uneven, (0, 10 * S), S, Window::Before), Ok(200.0));
        assert_eq!(mean(&uneven, (0, 10 * S), S, Window::Instant), Ok(150.0));
        assert_eq!(mean(&[(2 * S, Ok(3)), (8 * S, Ok(3))], (0, 10 * S), S, Window::Instant), Ok(3.0));
    }

    #[test]
    fn what_cannot_be_told_is_refused() {
        assert_eq!(
            mean(&ramp(10), (0, 10 * S - 1), S, Window::Before).unwrap_err().to_string(),
            "the load ran for 9999 ms and this meter makes a number every 1000 ms; make the load last ten of those \
             (10 s), e.g. by repeating it"
        );
        let dead: Vec<GaugeSample> = (0..20).map(|i| (i * S, Ok(0))).collect();
        assert_eq!(mean(&dead, (0, 19 * S), S, Window::Before), Err(GaugeError::Dead(20)));
        let mut holes = ramp(20);
        holes[5].1 = Err("gone".into());
        assert!(mean(&holes, (0, 20 * S), S, Window::Instant).is_ok(), "one in twenty-one is borne");
        holes[6].1 = Err("gone".into());
        holes[7].1 = Err("gone".into());
        assert_eq!(
            mean(&holes, (0, 20 * S), S, Window::Instant),
            Err(GaugeError::Missing { missing: 3, samples: 21, why: "gone".into() })
        );
        assert!(matches!(mean(&[], (0, 20 * S), S, Window::Instant), Err(GaugeError::Missing { .. })));
    }
}
