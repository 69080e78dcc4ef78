//! Distributions behind metrics: the histograms of a setting's valid trials added up, and the percentiles of that sum.
use std::collections::BTreeMap;

use powerband_record::{Histogram, unit_of};
use powerband_stats::quantile_interval;

/// The percentiles told, as shares of all values.
const SHARES: [(&str, f64); 4] = [("p50", 0.5), ("p90", 0.9), ("p99", 0.99), ("p99.9", 0.999)];
/// Fewer trials give no interval: it would be too narrow.
const MIN_TRIALS: usize = 5;
/// Error rate of an interval.
const ALPHA: f64 = 0.05;
/// Bits of a value that decide its bin: bins are at most 1/64 of their values wide.
const BIN_BITS: u32 = 7;

/// The values of all valid trials of a setting together.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Distribution {
    /// How often each value came.
    counts: BTreeMap<u64, u64>,
    /// Percentiles of each trial, in the order of [`SHARES`] and of time.
    trials: Vec<[f64; SHARES.len()]>,
}

/// One percentile of a distribution, in the distribution's unit.
#[derive(Clone, Debug, PartialEq)]
pub struct Percentile {
    /// `p99`.
    pub name: &'static str,
    /// The smallest value that this share of all does not exceed.
    pub value: f64,
    /// 95 % interval from how it differs between trials; none of fewer than five.
    pub interval: Option<(f64, f64)>,
}

impl Distribution {
    /// Adds a trial's values; one without values adds nothing.
    pub(crate) fn add(&mut self, trial: &Histogram) {
        let counts: BTreeMap<u64, u64> =
            trial.iter().filter(|(_, count)| *count > 0).fold(BTreeMap::new(), |mut counts, (value, count)| {
                *counts.entry(*value).or_default() += count;
                counts
            });
        if counts.is_empty() {
            return;
        }
        self.trials.push(SHARES.map(|(_, share)| quantile(&counts, share) as f64));
        for (value, count) in counts {
            *self.counts.entry(value).or_default() += count;
        }
    }

    /// Trials in it.
    #[must_use]
    pub fn trials(&self) -> u32 {
        u32::try_from(self.trials.len()).unwrap_or(u32::MAX)
    }

    /// Values in it.
    #[must_use]
    pub fn count(&self) -> u64 {
        self.counts.values().sum()
    }

    /// The least value; 0 of nothing.
    #[must_use]
    pub fn min(&self) -> u64 {
        self.counts.keys().next().copied().unwrap_or(0)
    }

    /// The largest value; 0 of nothing.
    #[must_use]
    pub fn max(&self) -> u64 {
        self.counts.keys().next_back().copied().unwrap_or(0)
    }

    /// p50, p90, p99 and p99.9.
    #[must_use]
    pub fn percentiles(&self) -> Vec<Percentile> {
        let one = |(place, (name, share)): (usize, (&'static str, f64))| {
            let value = quantile(&self.counts, share) as f64;
            let trials: Vec<f64> = self.trials.iter().map(|trial| trial[place]).collect();
            let enough = trials.len() >= MIN_TRIALS;
            let interval = if enough { quantile_interval(value, &trials, ALPHA) } else { None };
            Percentile { name, value, interval }
        };
        SHARES.into_iter().enumerate().map(one).collect()
    }

    /// How often values came, in bins: the largest value of each, ascending, and its count. Bins without values are left
    /// out. The same bins for every setting and experiment, so that they can be added up again.
    #[must_use]
    pub fn bins(&self) -> Vec<(u64, u64)> {
        let mut bins: BTreeMap<u64, u64> = BTreeMap::new();
        for (&value, &count) in &self.counts {
            *bins.entry(bin_end(value)).or_default() += count;
        }
        bins.into_iter().collect()
    }

    /// How many values lie in each of `columns` equal steps of the logarithm from `low` to `high`.
    pub(crate) fn columns(&self, low: u64, high: u64, columns: usize) -> Vec<u64> {
        let (low, high) = (low.max(1) as f64, high.max(2) as f64);
        let step = (high / low).ln().max(1e-9) / columns as f64;
        let mut heights = vec![0; columns];
        for (&value, &count) in &self.counts {
            let place = ((value.max(1) as f64 / low).ln() / step) as usize;
            if let Some(height) = heights.get_mut(place.min(columns.saturating_sub(1))) {
                *height += count;
            }
        }
        heights
    }
}

/// The largest value of the bin a value is in.
fn bin_end(value: u64) -> u64 {
    let shift = (u64::BITS - value.leading_zeros()).saturating_sub(BIN_BITS);
    value | ((1 << shift) - 1)
}

/// The smallest value that this share of all does not exceed.
fn quantile(counts: &BTreeMap<u64, u64>, share: f64) -> u64 {
    let wanted = share * counts.values().sum::<u64>() as f64;
    let mut seen = 0;
    let reaches = |(_, count): &(&u64, &u64)| {
        seen += **count;
        seen as f64 >= wanted
    };
    counts.iter().find(reaches).map_or(0, |(&value, _)| value)
}

/// How a distribution is printed: by what its values are divided, and the unit they then have. Nanoseconds become
/// microseconds.
pub(crate) fn printed(name: &str) -> (f64, &'static str) {
    match unit_of(name) {
        "ns" => (1e3, "us"),
        unit => (1.0, unit),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(trials: &[&[(u64, u64)]]) -> Distribution {
        let mut distribution = Distribution::default();
        trials.iter().for_each(|trial| distribution.add(&trial.to_vec()));
        distribution
    }

    #[test]
    fn percentiles_are_those_of_the_sum_of_all_trials() {
        // The middle of the sum is not the middle of the trials' middles (10, 10, 900).
        let all = of(&[&[(10, 10)], &[(10, 9), (20, 1)], &[(900, 100)]]);
        assert_eq!((all.trials(), all.count(), all.min(), all.max()), (3, 120, 10, 900));
        let values: Vec<f64> = all.percentiles().iter().map(|it| it.value).collect();
        assert_eq!(values, [900.0, 900.0, 900.0, 900.0]);
        assert!(all.percentiles().iter().all(|it| it.interval.is_none()), "three trials are too few");
        let shares = of(&[&[(1, 500), (2, 400), (3, 90), (4, 9), (5, 1)]]);
        let values: Vec<f64> = shares.percentiles().iter().map(|it| it.value).collect();
        assert_eq!(values, [1.0, 2.0, 3.0, 4.0]);
        assert_eq!(of(&[&[], &[(7, 0)]]), Distribution::default());
    }

    #[test]
    fn intervals_come_from_how_trials_differ() {
        let trials: Vec<Vec<(u64, u64)>> = [100, 104, 98, 102, 97, 101].iter().map(|&ns| vec![(ns, 50)]).collect();
        let trials: Vec<&[(u64, u64)]> = trials.iter().map(Vec::as_slice).collect();
        let p50 = of(&trials).percentiles().remove(0);
        let (low, high) = p50.interval.unwrap();
        assert!(low > 95.0 && low < p50.value && p50.value < high && high < 105.0, "{low} {} {high}", p50.value);
        assert!(of(&trials[..4]).percentiles()[0].interval.is_none());
    }

    #[test]
    fn bins_keep_every_value_and_are_narrow() {
        let cells: Vec<(u64, u64)> = (1..2_000).map(|value| (value * value, 2)).collect();
        let all = of(&[&cells]);
        let bins = all.bins();
        assert_eq!(bins.iter().map(|(_, count)| count).sum::<u64>(), all.count());
        assert!(bins.windows(2).all(|pair| pair[0].0 < pair[1].0) && bins.len() < 1_000, "{}", bins.len());
        for value in [1, 63, 127, 128, 1_000, 70_123, u64::MAX] {
            let end = bin_end(value);
            assert!(end >= value && end - value <= value / 64, "{value} {end}");
        }
        assert_eq!(all.columns(1, 1_999 * 1_999, 20).iter().sum::<u64>(), all.count());
    }
}
