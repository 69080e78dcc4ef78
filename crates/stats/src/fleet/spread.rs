//! Standard deviation of effects between nodes: generalised Q-profile (Viechtbauer 2007), with quantiles of F because the
//! noise is estimated too.

use super::within::{Effects, rising_root};
use crate::distribution::f_upper;
use serde::{Deserialize, Serialize};

/// Degrees of freedom beyond which the noise counts as known: a tail of F changes by less than a millionth from there on.
const MAX_DF: f64 = 1e6;

/// Confidence limit of the standard deviation between nodes: it lies below with probability `p`. None where nothing
/// separates noise from differences between nodes, or with fewer than two nodes.
#[must_use]
pub fn spread(effects: &Effects, p: f64) -> Option<f64> {
    if effects.df() <= 0.0 || effects.len() < 2 {
        return None;
    }
    let df = (effects.len() - 1) as f64;
    let noise = effects.mean_variance();
    // Where nodes differ much the noise matters little, so that its own uncertainty does not either.
    let noise_df = |between: f64| {
        let share = (between + noise) / noise;
        (effects.df() * share * share).min(MAX_DF.max(effects.df()))
    };
    let above = |between: f64| f_upper(effects.weighted(between).q / df, df, noise_df(between)) > p;
    if above(0.0) {
        return Some(0.0);
    }
    Some(rising_root(effects.upper_guess(), above).sqrt())
}

/// Test of "the setting does the same on every node".
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Heterogeneity {
    /// Variance between nodes over what noise explains.
    pub f: f64,
    /// Degrees of freedom above and below.
    pub df: (f64, f64),
    /// Chance of an F as large where nodes do not differ.
    pub p: f64,
}

/// Tests whether nodes differ in the effect; none where no node has two blocks, or with fewer than two nodes.
#[must_use]
pub fn heterogeneity(effects: &Effects) -> Option<Heterogeneity> {
    if effects.df() <= 0.0 || effects.len() < 2 {
        return None;
    }
    let df = ((effects.len() - 1) as f64, effects.df());
    let f = effects.weighted(0.0).q / df.0;
    Some(Heterogeneity { f, df, p: f_upper(f, df.0, df.1) })
}
