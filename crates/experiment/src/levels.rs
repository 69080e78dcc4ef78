//! The level of a metric at a setting: typical value and its interval, over all valid trials.
use powerband_record::Level;
use powerband_stats::distribution::t_upper_quantile;

/// Tail of the 95 % interval.
const TAIL: f64 = 0.025;

/// Geometric mean with a t interval on the log scale when that is wanted and every value is positive, else the arithmetic mean. Unlike a
/// difference inside blocks, a level is not protected against drift. Of values none of which is negative (times, counts) the
/// interval does not go below zero either. `None` without a trial.
pub(crate) fn level_of(metric: &str, setting: u32, values: &[f64], log: bool) -> Option<Level> {
    if values.is_empty() {
        return None;
    }
    let log = log && values.iter().all(|&value| value > 0.0);
    let scaled: Vec<f64> = if log { values.iter().copied().map(libm::log).collect() } else { values.to_vec() };
    let n = scaled.len() as f64;
    let least = if values.iter().all(|&value| value >= 0.0) { 0.0 } else { f64::NEG_INFINITY };
    let mean = scaled.iter().sum::<f64>() / n;
    let back = |value: f64| if log { libm::exp(value) } else { value };
    let half = (scaled.len() > 1).then(|| {
        let variance = scaled.iter().map(|value| (value - mean).powi(2)).sum::<f64>() / (n - 1.0);
        t_upper_quantile(TAIL, n - 1.0) * (variance / n).sqrt()
    });
    Some(Level {
        setting,
        metric: metric.into(),
        trials: u32::try_from(scaled.len()).unwrap_or(u32::MAX),
        typical: back(mean),
        low: half.map(|half| back(mean - half).max(least)),
        high: half.map(|half| back(mean + half)),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_interval_of_times_does_not_go_below_zero() {
        let level = |values: &[f64]| level_of("sys_s", 1, values, true).unwrap();
        assert_eq!(level(&[0.0, 0.0, 0.01, 0.0]).low, Some(0.0));
        assert!(level(&[-1.0, 0.0, 2.0]).low.unwrap() < 0.0, "what may be negative keeps its interval");
    }
}
