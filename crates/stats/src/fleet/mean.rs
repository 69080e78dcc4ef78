//! Mean effect over nodes by random effects: variance between nodes of Paule and Mandel (1982), standard error of Hartung
//! and Knapp (2001).

use super::within::{Effects, rising_root};
use crate::distribution::{t_two_sided, t_upper, t_upper_quantile};
use serde::{Deserialize, Serialize};

/// Mean effect of a setting over nodes. All on the scale of the differences.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Mean {
    /// Nodes it rests on.
    pub nodes: u32,
    /// Mean effect.
    pub effect: f64,
    /// Its standard error.
    pub standard_error: f64,
    /// Degrees of freedom: nodes less one.
    pub df: f64,
    /// Estimated standard deviation of the true effects between nodes; none where no node has two blocks.
    pub between_sd: Option<f64>,
}

/// The mean effect; none with fewer than two nodes.
///
/// With the same number of blocks on each node this is the plain mean and its t interval. It is that as well where no node
/// has two blocks, because then nothing separates noise from differences between nodes.
#[must_use]
pub fn mean(effects: &Effects) -> Option<Mean> {
    let nodes = u32::try_from(effects.len()).ok().filter(|nodes| *nodes >= 2)?;
    let df = f64::from(nodes - 1);
    if effects.df() <= 0.0 {
        let (effect, squares) = effects.unweighted();
        let standard_error = (squares / (df * f64::from(nodes))).sqrt();
        return Some(Mean { nodes, effect, standard_error, df, between_sd: None });
    }
    let between = if effects.weighted(0.0).q <= df {
        0.0
    } else {
        rising_root(effects.upper_guess(), |between| effects.weighted(between).q < df)
    };
    let at = effects.weighted(between);
    let standard_error = (at.q / (df * at.weight)).sqrt();
    Some(Mean { nodes, effect: at.mean, standard_error, df, between_sd: Some(between.sqrt()) })
}

impl Mean {
    /// The effect in standard errors; 0 where there is no effect at all.
    #[must_use]
    pub fn t(&self) -> f64 {
        if self.effect == 0.0 { 0.0 } else { self.effect / self.standard_error }
    }

    /// Two-sided p of "no effect".
    #[must_use]
    pub fn p(&self) -> f64 {
        t_two_sided(self.t(), self.df)
    }

    /// One-sided p of "differs by the margin or more".
    #[must_use]
    pub fn p_same(&self, margin: f64) -> f64 {
        let room = margin - self.effect.abs();
        if room <= 0.0 {
            return 1.0;
        }
        t_upper(room / self.standard_error, self.df)
    }

    /// The interval that misses with probability `level`.
    #[must_use]
    pub fn interval(&self, level: f64) -> (f64, f64) {
        let half =
            if self.standard_error > 0.0 { t_upper_quantile(0.5 * level, self.df) * self.standard_error } else { 0.0 };
        (self.effect - half, self.effect + half)
    }
}
