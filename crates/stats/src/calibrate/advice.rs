//! What would help, each with its trigger. The thresholds are judgement, not simulation.

use super::Calibrated;

/// One thing to do.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CalibrationAdvice {
    /// Two regimes alternate: find the cause before anything is compared.
    TwoRegimes,
    /// Successive trials are alike, or the level drifts by more than the noise: shorter trials, more blocks.
    ShorterTrials,
    /// A few trials scatter far more than the rest: pin, quieten, look at those trials.
    Outliers,
    /// A trial twice as long would scatter clearly less.
    LongerTrials,
    /// The first block is apart from the others.
    LongerWarmUp,
}

/// Correlation of successive trials from which on they are alike.
const ALIKE: f64 = 0.3;
/// Robust over ordinary standard deviation below which a few trials make the latter.
const TAILS: f64 = 0.6;
/// What doubling a trial's length must gain to be worth it; independent trials give 1.41.
const WORTH: f64 = 1.3;

pub(super) fn advice(found: &Calibrated) -> Vec<CalibrationAdvice> {
    let drifts = found.drift.is_some_and(|drift| drift.per_block.abs() > found.sigma);
    let alike = found.rho > ALIKE;
    let tails = found.sigma_robust < TAILS * found.sigma && !found.outliers.is_empty();
    // Regimes nearer to one another than any margin change no verdict.
    let between = found.modes.map_or(0.0, |modes| modes.high_mean - modes.low_mean);
    let matters = super::relative(found.scale, between, found.level) > super::MIN_MARGIN;
    // Where the noise is below what the least margin allows, nothing is gained.
    let noisy = found.default_margin > super::MIN_MARGIN;
    let longer = noisy && !alike && !found.bimodal && found.gain_of_doubling.is_some_and(|gain| gain > WORTH);
    let all = [
        (found.bimodal && matters, CalibrationAdvice::TwoRegimes),
        (alike || drifts, CalibrationAdvice::ShorterTrials),
        (tails && !found.bimodal, CalibrationAdvice::Outliers),
        (longer, CalibrationAdvice::LongerTrials),
        (found.first_block_apart, CalibrationAdvice::LongerWarmUp),
    ];
    all.into_iter().filter(|(holds, _)| *holds).map(|(_, advice)| advice).collect()
}
