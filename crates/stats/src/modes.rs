//! Settings that behave unlike the others: a spread that stands out, or two regimes.

use crate::distribution::f_upper;
use serde::{Deserialize, Serialize};

/// A spread stands out when chance would make it so in fewer cases than this.
const UNSTABLE_LEVEL: f64 = 0.01;
/// Blocks a setting marked unstable must have before a verdict on it.
pub const UNSTABLE_BLOCKS: u32 = 8;
/// Trials below which two regimes cannot be told from one.
pub const MODES_LEAST_TRIALS: usize = 8;

/// Whether `own` (mean square of a setting's residuals on `own_df` degrees of freedom) stands out against the
/// `others`' by F at 1 %.
#[must_use]
pub fn stands_out(own: f64, own_df: f64, others: f64, others_df: f64) -> bool {
    if own <= others || own_df <= 0.0 || others_df <= 0.0 {
        return false;
    }
    others <= 0.0 || f_upper(own / others, own_df, others_df) < UNSTABLE_LEVEL
}

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
    /// Whether two parts explain the trials better than one, are separate, and hold more than a tenth each.
    pub two: bool,
}

const SEPARATE: f64 = 2.0;
const LEAST_SHARE: f64 = 0.1;
/// Parts narrower than this share of the whole spread are held there, or a pair of near-equal values would be a part.
const LEAST_PART: f64 = 0.05;

/// Fits two normal parts by expectation and maximisation; none below eight trials or when they do not vary.
///
/// Two parts fitted to anything look separate, so they must also beat a single normal by Schwarz's criterion (three
/// further parameters).
#[must_use]
pub fn modes(trials: &[f64]) -> Option<Modes> {
    let n = trials.len();
    if n < MODES_LEAST_TRIALS {
        return None;
    }
    let count = n as f64;
    let mean = trials.iter().sum::<f64>() / count;
    let variance = trials.iter().map(|y| (y - mean) * (y - mean)).sum::<f64>() / count;
    if variance <= 0.0 {
        return None;
    }
    let mut sorted: Vec<f64> = trials.iter().map(|y| y - mean).collect();
    sorted.sort_by(f64::total_cmp);
    // Start from the widest gap that leaves two trials on each side: deterministic, and right when parts are apart.
    let split = (2..=n - 2)
        .max_by(|&a, &b| (sorted[a] - sorted[a - 1]).total_cmp(&(sorted[b] - sorted[b - 1])))
        .unwrap_or(n / 2);
    let mut parts = [Part::of(&sorted[..split], count), Part::of(&sorted[split..], count)];
    let floor = LEAST_PART * LEAST_PART * variance;
    let mut likelihood = f64::NEG_INFINITY;
    for _ in 0..200 {
        let next = improve(&mut parts, &sorted, floor);
        let gained = next - likelihood;
        likelihood = next;
        if gained.abs() < 1e-10 * count {
            break;
        }
    }
    let single = -0.5 * count * (libm::log(2.0 * std::f64::consts::PI * variance) + 1.0);
    let better = 2.0 * (likelihood - single) > 3.0 * libm::log(count);
    let [a, b] = parts;
    let (low, high) = if a.mean <= b.mean { (a, b) } else { (b, a) };
    let separation = std::f64::consts::SQRT_2 * (high.mean - low.mean) / (high.variance + low.variance).sqrt();
    let both = high.share > LEAST_SHARE && low.share > LEAST_SHARE;
    Some(Modes {
        low_mean: mean + low.mean,
        high_mean: mean + high.mean,
        high_share: high.share,
        separation,
        two: better && both && separation > SEPARATE,
    })
}

#[derive(Debug, Clone, Copy)]
struct Part {
    share: f64,
    mean: f64,
    variance: f64,
}

impl Part {
    fn of(values: &[f64], total: f64) -> Self {
        let count = values.len() as f64;
        let mean = values.iter().sum::<f64>() / count;
        let variance = values.iter().map(|y| (y - mean) * (y - mean)).sum::<f64>() / count;
        Self { share: count / total, mean, variance }
    }

    fn weight(&self, y: f64) -> f64 {
        let z = y - self.mean;
        self.share * libm::exp(-0.5 * z * z / self.variance) / (2.0 * std::f64::consts::PI * self.variance).sqrt()
    }
}

/// One step; gives the log likelihood of the parts it started from.
fn improve(parts: &mut [Part; 2], values: &[f64], floor: f64) -> f64 {
    for part in parts.iter_mut() {
        part.variance = part.variance.max(floor);
    }
    let mut likelihood = 0.0;
    let mut sums = [[0.0; 3]; 2];
    for &y in values {
        let weights = [parts[0].weight(y), parts[1].weight(y)];
        let total = (weights[0] + weights[1]).max(f64::MIN_POSITIVE);
        likelihood += libm::log(total);
        for (sum, weight) in sums.iter_mut().zip(weights) {
            let share = weight / total;
            sum[0] += share;
            sum[1] += share * y;
            sum[2] += share * y * y;
        }
    }
    for (part, [weight, first, second]) in parts.iter_mut().zip(sums) {
        if weight > 0.0 {
            part.share = weight / values.len() as f64;
            part.mean = first / weight;
            part.variance = (second / weight - part.mean * part.mean).max(floor);
        }
    }
    likelihood
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
    ((middle - reach).max(0.0), (middle + reach).min(1.0))
}
