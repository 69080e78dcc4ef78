//! Interval for the effect on a node that was not measured.

use super::mean::Mean;
use super::spread::spread;
use super::within::Effects;
use crate::distribution::t_upper_quantile;
use serde::{Deserialize, Serialize};

/// Confidence of the limit of the spread in the first of the two intervals.
const SPREAD_CONFIDENCE: f64 = 0.80;

/// Prediction for one more node of the same fleet, on the scale of the differences.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct NextNode {
    /// Half width for its true effect, by an upper limit of the spread.
    pub by_limit: f64,
    /// Half width for its true effect, by what nodes showed.
    pub by_shown: f64,
    /// Interval of its true effect: the narrower of the two.
    pub effect: (f64, f64),
}

/// Predicts the next node's effect; it misses with probability `level`. None where nothing is known of the noise.
#[must_use]
pub fn predict_node(effects: &Effects, mean: &Mean, level: f64) -> Option<NextNode> {
    let limit = spread(effects, SPREAD_CONFIDENCE)?;
    let between = mean.between_sd?;
    let quantile = t_upper_quantile(0.5 * level, mean.df);
    let of_mean = mean.standard_error * mean.standard_error;
    let by_limit = quantile * (limit * limit + of_mean).sqrt();
    let by_shown = quantile * (between * between + effects.mean_variance() + of_mean).sqrt();
    let half = by_limit.min(by_shown);
    Some(NextNode { by_limit, by_shown, effect: (mean.effect - half, mean.effect + half) })
}
