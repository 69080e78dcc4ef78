//! What an experiment that turns nothing says of a metric's noise: figures for the journal, the store and reports.
use serde::{Deserialize, Serialize};

use crate::metric::MetricName;

/// The largest margin a calibration may set: above it nearly everything would be called the same.
pub const MAX_CALIBRATED_MARGIN: f64 = 0.10;

/// The noise of one metric, from trials of the machine as it is. Where `relative`, every deviation is one of logarithms
/// (0.01 is 1 %), else it is in the metric's own unit.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct Calibration {
    /// The metric.
    pub metric: MetricName,
    /// Whether deviations are relative: all values were positive.
    pub relative: bool,
    /// Valid trials.
    pub trials: u32,
    /// Blocks of two trials.
    pub blocks: u32,
    /// Typical value.
    pub level: f64,
    /// Standard deviation of one trial, block means removed.
    pub sigma: f64,
    /// Its degrees of freedom.
    pub sigma_df: f64,
    /// The same from the median absolute difference inside blocks.
    pub sigma_robust: f64,
    /// Correlation of successive trials, its bias in short series taken out.
    pub rho: f64,
    /// Autocorrelation at lags 1 to 5, as computed.
    pub autocorrelation: Vec<f64>,
    /// Slope of the block means, a block.
    pub drift_per_block: f64,
    /// Lower end of its 95 % interval.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub drift_low: Option<f64>,
    /// Upper end.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub drift_high: Option<f64>,
    /// Blocks before a change of the level, if it is likelier than chance makes it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub changed_after: Option<u32>,
    /// Share of the trials far from their neighbours.
    pub outlier_share: f64,
    /// Those trials, by their numbers.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub outliers: Vec<u32>,
    /// Whether the trials fall into two regimes that alternate.
    pub bimodal: bool,
    /// Levels of the two, lower first, in the metric's own unit.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub regimes: Option<(f64, f64)>,
    /// Trials of the upper one, by their numbers.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub upper: Vec<u32>,
    /// Standard deviation of single trials over that of two neighbours' mean; 1.41 when trials are independent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub gain_of_doubling: Option<f64>,
    /// How often a difference is claimed where there is none; absent with too few blocks, and for metrics that are only
    /// shown.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub false_alarm: Option<FalseAlarm>,
    /// What running one half of the trials first and then the other would have claimed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub back_to_back: Option<BackToBack>,
    /// Smallest effects found in nine of ten cases in so many minutes, one setting against its reference.
    pub mde: Vec<Detectable>,
    /// Times in which effects of 1, 3 and 10 % are found in nine of ten cases.
    pub time_for: Vec<Detectable>,
    /// Twice the noise of a trial relative to its level, at least 0.01: the margin of "same" when none is given, unless it is
    /// above [`MAX_CALIBRATED_MARGIN`].
    pub default_margin: f64,
    /// What would help, the most important first.
    pub advice: Vec<NoiseAdvice>,
}

/// A rate with its 95 % interval.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct FalseAlarm {
    /// Share of the runs.
    pub rate: f64,
    /// Lower end.
    pub low: f64,
    /// Upper end.
    pub high: f64,
    /// Runs.
    pub runs: u32,
}

/// A test of the first half of the trials against the second.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct BackToBack {
    /// Two-sided p by Welch.
    pub p: f64,
    /// Whether it would have been called a difference at 5 %.
    pub claims: bool,
}

/// A time and an effect that belong together.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct Detectable {
    /// Time, minutes.
    pub minutes: f64,
    /// Effect, relative to the level (0.01 is 1 %).
    pub effect: f64,
}

/// What would help against noise.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum NoiseAdvice {
    /// Two regimes alternate: find the cause before comparing.
    TwoRegimes,
    /// Successive trials are alike, or the level drifts: shorter trials, more blocks.
    ShorterTrials,
    /// A few trials scatter far more than the rest.
    Outliers,
    /// A trial twice as long would scatter clearly less.
    LongerTrials,
    /// The first block is apart from the others.
    LongerWarmUp,
}
