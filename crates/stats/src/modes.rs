//! Two regimes among the trials of a setting.

use serde::{Deserialize, Serialize};

/// Trials below which two regimes cannot be told from one.
pub const MODES_LEAST_TRIALS: usize = 8;

/// A fit of two normal parts to one setting's trials.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Modes {
    /// Mean of the lower part.
    pub low_mean: f64,
    /// Mean of the upper part.
    pub high_mean: f64,
    /// Share of trials in the upper part.
    pub high_share: f64,
    /// Distance of the parts in units of their common spread (Ashman, Bird and Zepf 1994): above 2 they are separate.
    pub separation: f64,
    /// Whether two parts explain the trials better than one, normal or skewed, are separate, and hold more than a tenth each.
    pub two: bool,
}

const SEPARATE: f64 = 2.0;
const MIN_SHARE: f64 = 0.1;
/// The common spread is held above this share of the whole one, or pairs of near-equal values would be parts.
const MIN_SPREAD: f64 = 0.1;
/// Twice the gain in log likelihood that a single normal reaches in about 2 % of samples of 8 to 30 (simulated).
const BETTER: f64 = 10.0;
/// The same gain over a single skewed part. Two modes are claimed of 24 trials of a Pareto, exponential or log-normal law
/// in 1 to 4 % then (in 26 to 29 % without), and of two modes six standard deviations apart in 95 % (98 %).
const BETTER_THAN_SKEWED: f64 = 4.0;
const PASSES: u32 = 300;

/// Fits two normal parts of common spread by expectation and maximisation; none below eight trials or when they do not
/// vary.
///
/// Two parts fitted to anything look separate, so they must also explain the trials clearly better than one. A long tail
/// is explained better by two normal parts than by one, and is one mode all the same: hence the skewed single part.
#[must_use]
pub fn modes(trials: &[f64]) -> Option<Modes> {
    let n = trials.len();
    if n < MODES_LEAST_TRIALS {
        return None;
    }
    let count = n as f64;
    let mean = trials.iter().sum::<f64>() / count;
    let mut sorted: Vec<f64> = trials.iter().map(|y| y - mean).collect();
    sorted.sort_by(f64::total_cmp);
    let variance = sorted.iter().map(|y| y * y).sum::<f64>() / count;
    if variance <= 0.0 {
        return None;
    }
    // Start from the widest gap that leaves two trials on each side: deterministic, and right when parts are apart.
    let split = (2..=n - 2)
        .max_by(|&a, &b| (sorted[a] - sorted[a - 1]).total_cmp(&(sorted[b] - sorted[b - 1])))
        .unwrap_or(n / 2);
    let floor = MIN_SPREAD * MIN_SPREAD * variance;
    let mut parts = Parts::at(&sorted, split, floor);
    let mut likelihood = f64::NEG_INFINITY;
    for _ in 0..PASSES {
        let next = parts.improve(&sorted, floor);
        let gained = next - likelihood;
        likelihood = next;
        if gained.abs() < 1e-9 * count {
            break;
        }
    }
    let single = -0.5 * count * (libm::log(2.0 * std::f64::consts::PI * variance) + 1.0);
    let gain = |other: f64| 2.0 * (likelihood - other);
    let two_fit = gain(single) > BETTER && gain(skewed(&sorted)) > BETTER_THAN_SKEWED;
    // With a common spread Ashman's D is the distance in units of it.
    let separation = (parts.means[1] - parts.means[0]) / parts.variance.sqrt();
    let both = parts.high_share > MIN_SHARE && parts.high_share < 1.0 - MIN_SHARE;
    Some(Modes {
        low_mean: mean + parts.means[0],
        high_mean: mean + parts.means[1],
        high_share: parts.high_share,
        separation,
        two: two_fit && both && separation > SEPARATE,
    })
}

/// Log likelihood of sorted values under one skewed part: the likeliest of shifted log-normal laws with the long tail on
/// either side. The shift is at least a fiftieth of the range, or a value at its edge would make anything likely.
fn skewed(sorted: &[f64]) -> f64 {
    const MIN_SHIFT: f64 = 0.02;
    const MAX_SHIFT: f64 = 4.0;
    const STEP: f64 = 1.5;
    let (Some(&lowest), Some(&highest)) = (sorted.first(), sorted.last()) else { return f64::NEG_INFINITY };
    let (n, range) = (sorted.len() as f64, highest - lowest);
    let shifts = std::iter::successors(Some(MIN_SHIFT), |shift| Some(shift * STEP)).take_while(|it| *it < MAX_SHIFT);
    let mut best = f64::NEG_INFINITY;
    let mut logs = vec![0.0; sorted.len()];
    for shift in shifts {
        for up in [true, false] {
            for (log, y) in logs.iter_mut().zip(sorted) {
                *log = libm::log(shift * range + if up { y - lowest } else { highest - y });
            }
            let mean = logs.iter().sum::<f64>() / n;
            let variance = logs.iter().map(|log| (log - mean) * (log - mean)).sum::<f64>() / n;
            // The last term is the derivative of the logarithm.
            let fit = -0.5 * n * (libm::log(2.0 * std::f64::consts::PI * variance) + 1.0) - n * mean;
            best = best.max(fit);
        }
    }
    best
}

#[derive(Debug, Clone, Copy)]
struct Parts {
    /// Lower and upper.
    means: [f64; 2],
    high_share: f64,
    variance: f64,
}

impl Parts {
    /// The two sides of a split of sorted values.
    fn at(sorted: &[f64], split: usize, floor: f64) -> Self {
        let mean = |side: &[f64]| side.iter().sum::<f64>() / side.len() as f64;
        let means = [mean(&sorted[..split]), mean(&sorted[split..])];
        let n = sorted.len() as f64;
        let off = |(place, y): (usize, &f64)| y - means[usize::from(place >= split)];
        let squares: f64 = sorted.iter().enumerate().map(|at| off(at) * off(at)).sum();
        Self { means, high_share: 1.0 - split as f64 / n, variance: (squares / n).max(floor) }
    }

    /// One step; gives the log likelihood of the parts it started from.
    fn improve(&mut self, values: &[f64], floor: f64) -> f64 {
        let n = values.len() as f64;
        let front = 1.0 / (2.0 * std::f64::consts::PI * self.variance).sqrt();
        let (mut likelihood, mut high, mut sums, mut squares) = (0.0, 0.0, [0.0; 2], 0.0);
        for &y in values {
            let density = |mean: f64| front * libm::exp(-0.5 * (y - mean) * (y - mean) / self.variance);
            let low_weight = (1.0 - self.high_share) * density(self.means[0]);
            let high_weight = self.high_share * density(self.means[1]);
            let total = (low_weight + high_weight).max(f64::MIN_POSITIVE);
            likelihood += libm::log(total);
            let share = high_weight / total;
            high += share;
            sums[0] += (1.0 - share) * y;
            sums[1] += share * y;
            squares += y * y;
        }
        if high > 0.0 && high < n {
            self.means = [sums[0] / (n - high), sums[1] / high];
            self.high_share = high / n;
            let between = (n - high) * self.means[0] * self.means[0] + high * self.means[1] * self.means[1];
            self.variance = ((squares - between) / n).max(floor);
        }
        likelihood
    }
}

/// Wilson's 95 % interval for a share seen `hits` times in `n` (Wilson 1927); (0, 1) of nothing.
#[must_use]
pub fn wilson_interval(hits: u64, n: u64) -> (f64, f64) {
    const Z: f64 = 1.959_963_984_540_054;
    if n == 0 {
        return (0.0, 1.0);
    }
    let count = n as f64;
    let share = hits as f64 / count;
    let square = Z * Z / count;
    let middle = (share + 0.5 * square) / (1.0 + square);
    let reach = Z * (share * (1.0 - share) / count + 0.25 * square / count).sqrt() / (1.0 + square);
    // At either end the ends meet exactly, which rounding would miss.
    let low = if hits == 0 { 0.0 } else { (middle - reach).max(0.0) };
    let high = if hits >= n { 1.0 } else { (middle + reach).min(1.0) };
    (low, high)
}
