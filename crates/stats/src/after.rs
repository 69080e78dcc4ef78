//! After-effects: whether a setting moves the trial after it, whatever that trial's own setting is.

use crate::contrast::Pool;
use crate::distribution::{t_two_sided, t_upper_quantile};
use crate::fit::Fit;
use serde::{Deserialize, Serialize};

/// How trials right after a setting differ from those after the others.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct AfterEffect {
    /// The setting that ran before.
    pub setting: usize,
    /// Estimated effect on the trial after it, on the scale of the differences.
    pub effect: f64,
    /// Low end of its 95 % interval.
    pub low: f64,
    /// High end of its 95 % interval.
    pub high: f64,
    /// Two-sided p of "no setting has such an effect": corrected for its choice among all settings (Bonferroni).
    pub p: f64,
}

impl AfterEffect {
    /// Whether it is more than chance makes of none in one experiment of twenty.
    #[must_use]
    pub fn is_shown(&self) -> bool {
        self.p <= 0.05
    }
}

/// The largest after-effect of a fit, and what is needed to judge without it.
#[derive(Debug, Clone)]
pub(crate) struct After {
    pub(crate) found: AfterEffect,
    /// 1 for each trial that ran right after the setting.
    pub(crate) marks: Vec<f64>,
    /// Variance of the estimated effect.
    pub(crate) variance: f64,
    /// What the residuals without the effect say about noise.
    pub(crate) pool: Pool,
}

/// The largest after-effect: a regression of the residuals on marks of the trials right after one setting, the marks swept of
/// settings and blocks first. None where nothing tells it apart from the settings' own effects.
///
/// With two settings, an order that is the reverse of the last one shows both effects together, and only a block that begins
/// with the setting the last one ended with shows the own effect alone.
pub(crate) fn after_effect(fit: &Fit, pool: &Pool) -> Option<After> {
    let setting = likeliest(fit)?;
    let mark = |before: Option<usize>| if before == Some(setting) { 1.0 } else { 0.0 };
    let marks: Vec<f64> = fit.observations.iter().map(|seen| mark(seen.before())).collect();
    let mut swept = fit.clone();
    swept.used.clone_from(&marks);
    swept.solve();
    let square: f64 = swept.residuals.iter().map(|z| z * z).sum();
    let df = fit.df - 1.0;
    if df < 1.0 || square < 1e-9 {
        return None;
    }
    let pairs = swept.residuals.iter().zip(&fit.residuals);
    let effect = pairs.clone().map(|(z, e)| z * e).sum::<f64>() / square;
    let squares = pairs.map(|(z, e)| (z * z, (e - effect * z) * (e - effect * z)));
    let rss: f64 = squares.clone().map(|(_, error)| error).sum();
    let before = fit.residuals.iter().map(|e| e * e).sum::<f64>() / fit.df;
    let nothing = (1e-13 * fit.magnitude) * (1e-13 * fit.magnitude);
    if before <= nothing || rss <= nothing {
        return None;
    }
    // The pool's variance is larger than that of the residuals by what was pulled in.
    let noise = (rss / df).max(nothing) * (pool.variance / before);
    // Settings of unequal noise: the variance that each trial's own residual gives (White 1980), where that is the larger.
    let uneven: f64 = squares.map(|(weight, error)| weight * error).sum::<f64>() * fit.raw.len() as f64 / df;
    let variance = (noise / square).max(uneven * (noise / (rss / df).max(nothing)) / (square * square));
    let reach = t_upper_quantile(0.025, df) * variance.sqrt();
    let choices = if fit.settings > 2 { fit.settings as f64 } else { 1.0 };
    let p = (choices * t_two_sided(effect / variance.sqrt(), df)).min(1.0);
    let found = AfterEffect { setting, effect, low: effect - reach, high: effect + reach, p };
    Some(After { found, marks, variance, pool: Pool { variance: noise, df, ..*pool } })
}

/// The setting after which the residuals are furthest from zero, in standard deviations of their sum. Of two settings the one
/// that is no reference: what follows the one does not follow the other.
fn likeliest(fit: &Fit) -> Option<usize> {
    if fit.settings == 2 {
        return Some(1);
    }
    let (mut sums, mut counts) = (vec![0.0; fit.settings], vec![0.0; fit.settings]);
    for (seen, residual) in fit.observations.iter().zip(&fit.residuals) {
        if let Some(before) = seen.before() {
            sums[before] += residual;
            counts[before] += 1.0;
        }
    }
    let known: f64 = counts.iter().sum();
    let score = |setting: &usize| {
        let own = counts[*setting];
        let spread = own * (1.0 - own / known);
        if spread > 0.0 { sums[*setting] * sums[*setting] / spread } else { 0.0 }
    };
    (0..fit.settings).max_by(|one, other| score(one).total_cmp(&score(other))).filter(|it| score(it) > 0.0)
}
