//! What at least 90 % of nodes reach: a tolerance bound by MOVER (Zou and Donner 2008), and a count of nodes that needs no
//! distribution.

use super::mean::Mean;
use super::spread::spread;
use super::within::Effects;
use crate::distribution::{incomplete_beta, t_upper_quantile};
use serde::{Deserialize, Serialize};

/// Normal quantile of 90 %.
const NINE_TENTHS: f64 = 1.281_551_565_544_600_4;

/// Effects that at least 90 % of nodes reach, where effects of nodes are normal.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Bounds {
    /// At least 90 % of nodes have a higher effect.
    pub above: f64,
    /// At least 90 % of nodes have a lower effect.
    pub below: f64,
}

/// The bounds, each wrong with about probability `p`: 0.035 keeps 5 % in simulation. None where nothing is known of the noise.
#[must_use]
pub fn holds(effects: &Effects, mean: &Mean, p: f64) -> Option<Bounds> {
    let between = mean.between_sd?;
    let of_mean = t_upper_quantile(p, mean.df) * mean.standard_error;
    let of_spread = NINE_TENTHS * (spread(effects, 1.0 - p)? - between).max(0.0);
    let reach = NINE_TENTHS * between + libm::hypot(of_mean, of_spread);
    Some(Bounds { above: mean.effect - reach, below: mean.effect + reach })
}

/// Whether counting alone shows that at least 90 % of nodes have a true effect above zero: `against` of `nodes` measured no
/// gain. A node without a true gain measures none in half of the cases or more where noise is symmetric, so that at most
/// 5 % of nodes may measure none; `level` is the chance of a wrong claim (Clopper and Pearson 1934).
#[must_use]
pub fn counted(nodes: u32, against: u32, level: f64) -> bool {
    const MEASURED_AGAINST: f64 = 0.05;
    if against >= nodes {
        return false;
    }
    let (n, c) = (f64::from(nodes), f64::from(against));
    incomplete_beta(n - c, c + 1.0, 1.0 - MEASURED_AGAINST) <= level
}

/// Largest share of the fleet that a kind of node may have without any of `nodes` being one, with a chance of 5 %.
#[must_use]
pub fn largest_unseen_kind(nodes: u32) -> f64 {
    const CHANCE: f64 = 0.05;
    if nodes == 0 { 1.0 } else { 1.0 - libm::pow(CHANCE, 1.0 / f64::from(nodes)) }
}
