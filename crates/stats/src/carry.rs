//! Carry-over: whether a trial keeps part of what the setting before it did.

use crate::distribution::t_upper_quantile;
use crate::error::Error;
use crate::fit::{Fit, Observation};
use crate::rules::Rules;
use crate::table::Table;
use serde::{Deserialize, Serialize};

/// The share of the previous setting's effect that a trial keeps.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct CarryOver {
    /// Estimated share, 0 for none.
    pub share: f64,
    /// Low end of its 95 % interval.
    pub low: f64,
    /// High end of its 95 % interval.
    pub high: f64,
}

/// Shares surely above this ask for a longer settle time.
const SUSPICIOUS: f64 = 0.1;
const INTERVAL_TAIL: f64 = 0.025;

impl CarryOver {
    /// Whether the whole interval lies above 0.1: then "same" is withheld and a longer settle time proposed, for
    /// carry-over shrinks every difference.
    #[must_use]
    pub fn withholds_same(&self) -> bool {
        self.low > SUSPICIOUS
    }
}

/// Estimates the carry-over of a table that knows which trial ran before which; none when nothing can be told:
/// too few trials, or settings that do not differ.
///
/// Regresses the residual of the two-way fit on the previous trial's setting level less the own one. The regressor is
/// swept of settings and blocks first. Settings' estimated levels are themselves shrunk by carry-over, by a share of
/// what carries times the mean of that regressor's slope on the own level; the estimate is corrected for it.
///
/// # Errors
/// As the two-way fit: `TooFewTrials`, `NotFinite`, `NotPositive`.
pub fn carry_over(table: &Table, rules: &Rules) -> Result<Option<CarryOver>, Error> {
    let mut fit = Fit::default();
    fit.load(table, rules.scale, |_, _| true)?;
    // A trial whose forerunner is unknown, or was void, counts as one after its own setting.
    let level_before = |seen: &Observation| fit.levels[seen.before().unwrap_or(seen.setting)];
    let before: Vec<f64> = fit.observations.iter().map(level_before).collect();
    let own: Vec<f64> = fit.observations.iter().map(|seen| fit.levels[seen.setting]).collect();
    let residuals = fit.residuals.clone();
    let steps: Vec<f64> = before.iter().zip(&own).map(|(before, own)| before - own).collect();
    let yardstick = fit.magnitude;
    fit.used.clone_from(&steps);
    fit.solve();
    let swept = &fit.residuals;
    let square: f64 = swept.iter().map(|z| z * z).sum();
    let df = fit.df - 1.0;
    if df < 1.0 || square <= (1e-12 * yardstick) * (1e-12 * yardstick) {
        return Ok(None);
    }
    let slope = swept.iter().zip(&residuals).map(|(z, e)| z * e).sum::<f64>() / square;
    let rss: f64 = swept.iter().zip(&residuals).map(|(z, e)| (e - slope * z) * (e - slope * z)).sum();
    let reach = t_upper_quantile(INTERVAL_TAIL, df) * (rss / df / square).sqrt();
    // Estimated levels are (1 − share·c) of the true ones, c being how far a step undoes the own level on average.
    let own_square: f64 = own.iter().map(|l| l * l).sum();
    let undone = -own.iter().zip(&steps).map(|(l, z)| l * z).sum::<f64>() / own_square;
    let corrected = |slope: f64| {
        let divisor = 1.0 + slope * undone;
        if divisor > 0.0 { slope / divisor } else { f64::NEG_INFINITY }
    };
    let (share, low, high) = (corrected(slope), corrected(slope - reach), corrected(slope + reach));
    Ok(Some(CarryOver { share, low, high }))
}
