//! Drift inside blocks: how a trial's place in its block moves it while the machine drifts.

use crate::drift::drift;
use crate::fit::Fit;

/// Steepness from which a drift is taken out: so many standard deviations of a trial from block to block. A slower one costs less
/// than the degree of freedom that its estimate takes. By block levels alone, which favour no setting.
const STEEP: f64 = 1.0;

/// A drift inside blocks that was taken out of the values.
#[derive(Debug, Clone)]
pub(crate) struct Trend {
    /// How many trials each ran after the middle of its block.
    pub(crate) course: Vec<f64>,
    /// Variance of the drift by trial.
    pub(crate) variance: f64,
}

/// Takes a steep drift out of the values used, as a line through the trials inside all blocks (analysis of covariance), and leaves
/// the fit solved with one degree of freedom less. None, and nothing is changed, where no drift or no steep one is shown, where it
/// is not known when trials ran, or too few trials are left to estimate it.
pub(crate) fn take_out(fit: &mut Fit) -> Option<Trend> {
    let drift = drift(&fit.block_levels).filter(|drift| drift.is_shown())?;
    let df = fit.df - 1.0;
    let residual_variance = fit.residual_variance();
    if df < 1.0 || drift.per_block * drift.per_block < STEEP * STEEP * residual_variance {
        return None;
    }
    let number = |seen: &crate::fit::Observation| seen.ran.map(|ran| f64::from(ran.trial));
    let mut course: Vec<f64> = fit.observations.iter().map(number).collect::<Option<_>>()?;
    // Around each block's middle, so that the block levels still show the drift.
    for block in fit.starts.windows(2) {
        let own = &mut course[block[0]..block[1]];
        let middle = own.iter().sum::<f64>() / own.len() as f64;
        own.iter_mut().for_each(|at| *at -= middle);
    }
    let mut swept = fit.clone();
    swept.used.clone_from(&course);
    swept.solve();
    let square: f64 = swept.residuals.iter().map(|z| z * z).sum();
    // Where every block has the same order the line is the settings' own.
    if square < 1e-9 {
        return None;
    }
    let slope = swept.residuals.iter().zip(&fit.residuals).map(|(z, e)| z * e).sum::<f64>() / square;
    for (value, z) in fit.used.iter_mut().zip(&course) {
        *value -= slope * z;
    }
    fit.df = df;
    fit.solve();
    Some(Trend { course, variance: fit.residual_variance() / square })
}
