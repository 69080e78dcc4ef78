//! Drift and steps of the whole machine over an experiment: reported, never part of a verdict.

use crate::distribution::t_upper_quantile;
use serde::{Deserialize, Serialize};

/// A straight line through the block levels.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Drift {
    /// Change per block, on the scale of the differences.
    pub per_block: f64,
    /// Low end of its 95 % interval.
    pub low: f64,
    /// High end of its 95 % interval.
    pub high: f64,
}

impl Drift {
    /// Whether the interval leaves out no drift at all.
    #[must_use]
    pub fn is_shown(&self) -> bool {
        self.low > 0.0 || self.high < 0.0
    }
}

/// Where the block levels look most like two different ones.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct ChangePoint {
    /// Blocks before the change.
    pub after_blocks: usize,
    /// Mean of the blocks after it less that of those before, on the scale of the levels.
    pub size: f64,
    /// Largest excursion of the cumulative sum, in standard deviations over the root of the number of blocks.
    pub excursion: f64,
    /// Whether it exceeds 1.36, Kolmogorov's 5 % point (Brown, Durbin and Evans 1975).
    pub flagged: bool,
}

/// Kolmogorov's 5 % point.
const KOLMOGOROV_5_PERCENT: f64 = 1.36;
const INTERVAL_TAIL: f64 = 0.025;
/// Share of a level that its rounding may be.
const ROUNDING: f64 = 1e-12;

/// The slope of the block levels with its interval; none below three blocks.
#[must_use]
pub fn drift(block_levels: &[f64]) -> Option<Drift> {
    let n = block_levels.len();
    if n < 3 {
        return None;
    }
    if !vary(block_levels) {
        return Some(Drift { per_block: 0.0, low: 0.0, high: 0.0 });
    }
    let count = n as f64;
    let middle = 0.5 * (count - 1.0);
    let mean = block_levels.iter().sum::<f64>() / count;
    let spread: f64 = (0..n).map(|i| (i as f64 - middle) * (i as f64 - middle)).sum();
    let product: f64 = block_levels.iter().enumerate().map(|(i, y)| (i as f64 - middle) * (y - mean)).sum();
    let per_block = product / spread;
    let rss: f64 = block_levels
        .iter()
        .enumerate()
        .map(|(i, y)| {
            let e = y - mean - per_block * (i as f64 - middle);
            e * e
        })
        .sum();
    let error = (rss / (count - 2.0) / spread).sqrt();
    let reach = t_upper_quantile(INTERVAL_TAIL, count - 2.0) * error;
    Some(Drift { per_block, low: per_block - reach, high: per_block + reach })
}

/// Whether levels differ by more than the rounding of a mean.
fn vary(levels: &[f64]) -> bool {
    let (least, most) = levels.iter().fold((f64::INFINITY, f64::NEG_INFINITY), |(l, m), y| (l.min(*y), m.max(*y)));
    most - least > ROUNDING * least.abs().max(most.abs())
}

/// The likeliest change point of the block levels; none below four blocks or when they do not vary.
#[must_use]
pub fn change_point(block_levels: &[f64]) -> Option<ChangePoint> {
    let n = block_levels.len();
    if n < 4 || !vary(block_levels) {
        return None;
    }
    let count = n as f64;
    let mean = block_levels.iter().sum::<f64>() / count;
    let variance = block_levels.iter().map(|y| (y - mean) * (y - mean)).sum::<f64>() / (count - 1.0);
    let unit = (variance * count).sqrt();
    let mut sum = 0.0;
    let mut best = ChangePoint { after_blocks: 0, size: 0.0, excursion: 0.0, flagged: false };
    // Behind the last block the sum is nothing but rounding.
    for (done, y) in block_levels[..n - 1].iter().enumerate() {
        sum += y - mean;
        let excursion = sum.abs() / unit;
        if excursion > best.excursion {
            let before = (done + 1) as f64;
            // What the first lack of their sum the others have.
            let size = -sum / before - sum / (count - before);
            best = ChangePoint { after_blocks: done + 1, size, excursion, flagged: excursion > KOLMOGOROV_5_PERCENT };
        }
    }
    Some(best)
}
