//! What a machine's noise is, from an experiment in which nothing is turned: how far trials scatter, how they hang together,
//! whether the method keeps its error rate on them, what can be seen in how long, and what would help.

use crate::drift::{ChangePoint, Drift, change_point, drift};
use crate::error::Error;
use crate::median::{MAD_TO_SD, median};
use crate::modes::{Modes, modes};
use crate::rules::{Rules, Scale};
use crate::spending::Spending;
use crate::trials::on_scale;
use std::sync::Arc;

mod advice;
mod check;
mod reach;

pub use advice::CalibrationAdvice;
pub use check::{FalseAlarmRate, HalvesTest};
pub use reach::{DetectableEffect, detectable, time_needed};

/// Trials further than this many robust standard deviations from their neighbours' median are outliers.
const OUTLIER_SDS: f64 = 5.0;
/// Neighbours on either side of a trial that its outlyingness is seen against.
const NEIGHBOURS: usize = 2;
/// Lags of which the autocorrelation is told.
const LAGS: usize = 5;
/// Two regimes whose trials come in runs longer than chance gives (z of Wald and Wolfowitz' test, 1 %) are a change in time.
const RUNS_Z: f64 = -2.326;
/// The least margin that is proposed, relative.
pub const MIN_MARGIN: f64 = 0.01;
/// A margin of this many standard deviations of a trial can be proved in a few blocks.
pub const MARGIN_SIGMAS: f64 = 2.0;

/// A valid trial.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct CalibrationTrial {
    /// Its block; blocks are what noise is measured inside.
    pub block: u32,
    /// Its value, in the metric's unit.
    pub value: f64,
}

/// What is to be calibrated.
#[derive(Debug, Clone)]
pub struct CalibrationQuestion<'a> {
    /// Valid trials in the order of time.
    pub trials: &'a [CalibrationTrial],
    /// How long a trial takes, from turning to restoring, seconds.
    pub trial_s: f64,
    /// Error rate; the scale is found from the values, the margin from the noise.
    pub rules: &'a Rules,
    /// How often the blocks are labelled anew to measure the rate of false alarms; 0 leaves that out.
    pub relabels: u32,
    /// Seed of the labels.
    pub seed: u64,
}

/// What was found. Where the scale is [`Scale::Log`] deviations are relative (0.01 is 1 %, in logarithms), else in the
/// metric's unit.
#[derive(Debug, Clone, PartialEq)]
pub struct Calibrated {
    /// The scale of everything below.
    pub scale: Scale,
    /// Trials used.
    pub trials: usize,
    /// Blocks with two trials or more.
    pub blocks: usize,
    /// Typical value: geometric mean on the log scale, else the mean.
    pub level: f64,
    /// Standard deviation of one trial, block means removed.
    pub sigma: f64,
    /// Its degrees of freedom.
    pub sigma_df: f64,
    /// The same from the median absolute difference inside blocks: outliers do not move it.
    pub sigma_robust: f64,
    /// Correlation of successive trials, its bias in short series taken out.
    pub rho: f64,
    /// Autocorrelation at lags 1 to 5, as computed.
    pub autocorrelation: Vec<f64>,
    /// Slope of the block means; none below three blocks.
    pub drift: Option<Drift>,
    /// Likeliest step of the block means.
    pub change_point: Option<ChangePoint>,
    /// Trials beyond five robust standard deviations of their neighbours, by their place in the order of time.
    pub outliers: Vec<usize>,
    /// Two normal parts of the trials, if there are enough trials.
    pub modes: Option<Modes>,
    /// Whether they fall into two regimes that alternate, which a step in time does not.
    pub bimodal: bool,
    /// Trials of the upper regime, by their place; empty unless `bimodal`.
    pub upper: Vec<usize>,
    /// Standard deviation of single trials over that of two neighbours' mean: √2 when trials are independent, 1 or less when
    /// what disturbs them lasts longer. None below eight trials.
    pub gain_of_doubling: Option<f64>,
    /// Whether the first block lies outside what the others let expect (99 %).
    pub first_block_apart: bool,
    /// How often the whole procedure claims a difference when the labels are drawn anew; none below eight blocks.
    pub false_alarm: Option<FalseAlarmRate>,
    /// What running first one half, then the other would have claimed.
    pub back_to_back: Option<HalvesTest>,
    /// The margin it lets propose, relative: twice the noise, at least 1 %.
    pub default_margin: f64,
    /// What would help, in the order of importance.
    pub advice: Vec<CalibrationAdvice>,
}

impl Calibrated {
    /// Share of the trials that are outliers.
    #[must_use]
    pub fn outlier_share(&self) -> f64 {
        self.outliers.len() as f64 / self.trials.max(1) as f64
    }
}

fn relative(scale: Scale, sigma: f64, level: f64) -> f64 {
    match scale {
        Scale::Log => sigma,
        Scale::Linear if level == 0.0 => 0.0,
        Scale::Linear => sigma / level.abs(),
    }
}

/// Calibrates one metric.
///
/// # Errors
/// `TooFewTrials` unless two blocks hold two trials each; `NotFinite` for a value that is no number; as
/// [`crate::MetricJudge::new`] for rules that cannot be used.
pub fn calibrate(question: &CalibrationQuestion<'_>, spending: &Arc<Spending>) -> Result<Calibrated, Error> {
    let values = scaled(question.trials)?;
    let (scale, values) = values;
    let blocks = Blocks::of(question.trials, &values);
    let full: Vec<&Vec<f64>> = blocks.values.iter().filter(|block| block.len() > 1).collect();
    if full.len() < 2 {
        return Err(Error::TooFewTrials { have: values.len() });
    }
    let sigma_df = full.iter().map(|block| block.len() - 1).sum::<usize>() as f64;
    let squares: f64 = full.iter().map(|block| squares(block)).sum();
    let sigma = (squares / sigma_df).sqrt();
    let sigma_robust = robust(&full);
    let mean = mean(&values);
    let level = if scale == Scale::Log { libm::exp(mean) } else { mean };
    let autocorrelation: Vec<f64> = (1..=LAGS).map(|lag| autocorrelation(&values, lag)).collect();
    let rho = unbiased(autocorrelation[0], values.len());
    let found = modes(&values);
    let upper = upper_regime(&values, found.as_ref());
    let default_margin = MIN_MARGIN.max(MARGIN_SIGMAS * relative(scale, sigma, level));
    let margin = if scale == Scale::Log { default_margin } else { default_margin * level.abs() };
    let rules = Rules { scale: Scale::Linear, margin: margin_on(scale, margin), ..question.rules.clone() };
    let mut calibrated = Calibrated {
        scale,
        trials: values.len(),
        blocks: full.len(),
        level,
        sigma,
        sigma_df,
        sigma_robust,
        rho,
        autocorrelation,
        drift: drift(&blocks.means()),
        change_point: change_point(&blocks.means()),
        outliers: outliers(&values, sigma_robust),
        modes: found,
        bimodal: !upper.is_empty(),
        upper,
        gain_of_doubling: gain_of_doubling(&values),
        first_block_apart: first_block_apart(&blocks.means()),
        false_alarm: check::false_alarm(&blocks.values, &rules, spending, question.relabels, question.seed)?,
        back_to_back: check::back_to_back(&values),
        default_margin,
        advice: Vec::new(),
    };
    calibrated.advice = advice::advice(&calibrated);
    Ok(calibrated)
}

/// The margin on the scale that differences of values already scaled are taken on.
fn margin_on(scale: Scale, margin: f64) -> f64 {
    if scale == Scale::Log { libm::log1p(margin) } else { margin }
}

/// Logarithms where all values have one.
fn scaled(trials: &[CalibrationTrial]) -> Result<(Scale, Vec<f64>), Error> {
    let scale = if trials.iter().all(|trial| trial.value > 0.0) { Scale::Log } else { Scale::Linear };
    let value = |trial: &CalibrationTrial| {
        let block = trial.block as usize;
        if !trial.value.is_finite() {
            return Err(Error::NotFinite { setting: 0, block });
        }
        on_scale(scale, trial.value, 0, block)
    };
    Ok((scale, trials.iter().map(value).collect::<Result<_, _>>()?))
}

/// Trials by block, in the order in which blocks began.
struct Blocks {
    values: Vec<Vec<f64>>,
}

impl Blocks {
    fn of(trials: &[CalibrationTrial], values: &[f64]) -> Self {
        let mut order: Vec<u32> = Vec::new();
        let mut blocks: Vec<Vec<f64>> = Vec::new();
        for (trial, value) in trials.iter().zip(values) {
            match order.iter().rposition(|block| *block == trial.block) {
                Some(place) => blocks[place].push(*value),
                None => {
                    order.push(trial.block);
                    blocks.push(vec![*value]);
                }
            }
        }
        Self { values: blocks }
    }

    fn means(&self) -> Vec<f64> {
        self.values.iter().filter(|block| block.len() > 1).map(|block| mean(block)).collect()
    }
}

fn mean(values: &[f64]) -> f64 {
    values.iter().sum::<f64>() / values.len().max(1) as f64
}

/// Sum of squared deviations from the mean.
fn squares(values: &[f64]) -> f64 {
    let mean = mean(values);
    values.iter().map(|value| (value - mean) * (value - mean)).sum()
}

/// From the differences of all pairs inside blocks, whose median is zero by the random order.
fn robust(blocks: &[&Vec<f64>]) -> f64 {
    let pairs = |block: &&Vec<f64>| -> Vec<f64> {
        let pair =
            |(place, value): (usize, &f64)| block[place + 1..].iter().map(|other| (value - other).abs()).collect();
        block.iter().enumerate().flat_map(|at| -> Vec<f64> { pair(at) }).collect()
    };
    let mut all: Vec<f64> = blocks.iter().flat_map(pairs).collect();
    MAD_TO_SD * median(&mut all) / std::f64::consts::SQRT_2
}

fn autocorrelation(values: &[f64], lag: usize) -> f64 {
    let (mean, all) = (mean(values), squares(values));
    // What only rounding moves has no course.
    let rounding = 1e-14 * values.iter().fold(0.0, |most: f64, value| most.max(value.abs()));
    if all <= rounding * rounding * values.len() as f64 || values.len() <= lag {
        return 0.0;
    }
    values.iter().zip(&values[lag..]).map(|(a, b)| (a - mean) * (b - mean)).sum::<f64>() / all
}

/// The bias of a first autocorrelation in `n` values taken out (Kendall 1954, Marriott and Pope 1954).
fn unbiased(first: f64, n: usize) -> f64 {
    (first + (1.0 + 3.0 * first) / (n as f64 - 1.0)).clamp(-1.0, 1.0)
}

/// Places further from the median of their neighbourhood than five robust standard deviations.
fn outliers(values: &[f64], sigma: f64) -> Vec<usize> {
    if sigma <= 0.0 {
        return Vec::new();
    }
    let width = 2 * NEIGHBOURS + 1;
    let far = |place: &usize| {
        // At either end the window keeps its width, or an outlier there would be compared with few.
        let from = place.saturating_sub(NEIGHBOURS).min(values.len().saturating_sub(width));
        let mut near = values[from..(from + width).min(values.len())].to_vec();
        (values[*place] - median(&mut near)).abs() > OUTLIER_SDS * sigma
    };
    (0..values.len()).filter(far).collect()
}

/// Places of the upper of two regimes; none unless there are two that alternate.
fn upper_regime(values: &[f64], modes: Option<&Modes>) -> Vec<usize> {
    let Some(modes) = modes.filter(|modes| modes.two) else { return Vec::new() };
    let middle = 0.5 * (modes.low_mean + modes.high_mean);
    let upper: Vec<usize> = (0..values.len()).filter(|&place| values[place] > middle).collect();
    let (n, high) = (values.len() as f64, upper.len() as f64);
    let changes = values.windows(2).filter(|pair| (pair[0] > middle) != (pair[1] > middle)).count() as f64;
    // Runs of a random order (Wald and Wolfowitz 1940): far fewer say that a level changed in time.
    let both = 2.0 * high * (n - high);
    let (expected, variance) = (both / n + 1.0, both * (both - n) / (n * n * (n - 1.0)));
    let z = (changes + 1.0 - expected) / variance.max(f64::MIN_POSITIVE).sqrt();
    if z < RUNS_Z { Vec::new() } else { upper }
}

/// By successive differences, which a drift or a step hardly moves.
fn gain_of_doubling(values: &[f64]) -> Option<f64> {
    const MIN: usize = 8;
    let spread = |values: &[f64]| {
        let steps = values.windows(2).map(|pair| (pair[1] - pair[0]) * (pair[1] - pair[0]));
        steps.sum::<f64>() / (values.len() as f64 - 1.0)
    };
    if values.len() < MIN {
        return None;
    }
    let doubled: Vec<f64> = values.chunks_exact(2).map(mean).collect();
    let (single, double) = (spread(values), spread(&doubled));
    (single > 0.0 && double > 0.0).then(|| (single / double).sqrt())
}

/// Whether the first mean is outside the 99 % interval that the others give for one more.
fn first_block_apart(means: &[f64]) -> bool {
    const TAIL: f64 = 0.005;
    let [first, others @ ..] = means else { return false };
    if others.len() < 3 {
        return false;
    }
    let n = others.len() as f64;
    let sd = (squares(others) / (n - 1.0)).sqrt();
    let reach = crate::distribution::t_upper_quantile(TAIL, n - 1.0) * sd * (1.0 + 1.0 / n).sqrt();
    (first - mean(others)).abs() > reach
}
