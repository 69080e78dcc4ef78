//! Pulling in outlying trials: pseudo-values around a robust fit (Huber 1981, chapter 7), with k = 2.

use std::ops::Range;

use super::MixedTrial;
use super::columns::Columns;
use super::shared::SHARED;
use super::solve::Gram;
use super::variants::least_squares;
use crate::median::{MAD_TO_SD, median};

/// Half-width of what is believed, in robust standard deviations. 1.5 breaks the error rate under skewed noise.
const CLIP: f64 = 2.0;
/// At most one trial in so many is an outlier: a block that contradicts four others is none.
const ONE_IN: usize = 8;
/// Upper quartile of the absolute value of a standard normal.
const UPPER_QUARTILE: f64 = 1.1503;
/// Pulling in starts with this many residual degrees of freedom …
const MIN_DF: f64 = 8.0;
/// … and this many blocks.
const MIN_BLOCKS: usize = 4;
/// Sweeps of medians that give the first fit, and neighbouring trials of a median.
const SWEEPS: usize = 3;
const NEIGHBOURS: usize = 7;
const PASSES: usize = 5;
/// Limits are held from here on, so that the passes settle.
const LIMIT_PASSES: usize = 4;
/// An excess over the limit by less than this share of it is rounding.
const ROUNDING: f64 = 1e-9;

/// Share of trials that were not pulled in.
pub(super) fn kept_share(clipped: &[bool]) -> f64 {
    let count = clipped.iter().filter(|clipped| **clipped).count();
    1.0 - count as f64 / clipped.len().max(1) as f64
}

/// Values pulled in from one first fit.
struct Pulled {
    values: Vec<f64>,
    clipped: Vec<bool>,
    /// Place of the likeliest that trials have in common.
    likely: usize,
    /// Logarithm of how likely the trials are under Huber's density: normal up to the limit, exponential beyond.
    ln_likelihood: f64,
}

/// Pulls in the outlying values of `columns`, if there is enough data. Gives which were, and the place of the likeliest that trials have in
/// common.
///
/// The passes end where their first fit leads them, so there are two where blocks may have levels: by neighbours in time and by blocks.
pub(super) fn pull_in(trials: &[MixedTrial], columns: &mut Columns, step: f64, wanted: bool) -> (Vec<bool>, usize) {
    let mut blocks: Vec<usize> = trials.iter().map(|trial| trial.block).collect();
    blocks.dedup();
    let df = (trials.len() - columns.settings) as f64;
    if !wanted || df < MIN_DF || blocks.len() < MIN_BLOCKS {
        return (vec![false; trials.len()], 0);
    }
    let mut found = pulled(trials, columns, step, by_medians(trials, columns.settings, |at| near(trials, at)));
    if columns.has_blocks() && found.clipped.contains(&true) {
        let other = pulled(trials, columns, step, by_medians(trials, columns.settings, |at| block_of(trials, at)));
        if other.ln_likelihood > found.ln_likelihood {
            found = other;
        }
    }
    found.values.iter().enumerate().for_each(|(at, value)| columns.set_value(at, *value));
    (found.clipped, found.likely)
}

/// Alternates between the likeliest fit and pulling in, from a first fit.
fn pulled(trials: &[MixedTrial], columns: &Columns, step: f64, first: Vec<f64>) -> Pulled {
    let (mut columns, mut fitted) = (columns.clone(), first);
    let df = (trials.len() - columns.settings) as f64;
    let (mut limits, mut clip) = (Vec::new(), CLIP);
    let mut found =
        Pulled { values: Vec::new(), clipped: vec![false; trials.len()], likely: 0, ln_likelihood: f64::NEG_INFINITY };
    for pass in 0..=PASSES {
        if pass > 0 {
            // From the third fit on it is near the last one.
            let near = |shared: usize| pass == 1 || shared.abs_diff(found.likely) <= 1;
            let Some((ln_weight, shared, fit)) = likeliest(trials, &columns, df, near) else { break };
            let beyond = (0..trials.len()).filter(|at| found.clipped[*at]);
            let beyond = beyond.map(|at| (trials[at].value - fitted[at]).abs() / limits[trials[at].setting] - 1.0);
            found.ln_likelihood = ln_weight - clip * clip * beyond.sum::<f64>();
            (found.likely, fitted) = (shared, fit);
            if pass == PASSES || (pass > 1 && !found.clipped.contains(&true)) {
                break;
            }
        }
        if pass < LIMIT_PASSES {
            (limits, clip) = measure_limits(trials, columns.settings, &fitted, step);
        }
        for (at, trial) in trials.iter().enumerate() {
            let (error, limit) = (trial.value - fitted[at], limits[trial.setting]);
            found.clipped[at] = error.abs() > limit * (1.0 + ROUNDING);
            columns.set_value(at, if found.clipped[at] { fitted[at] + limit.copysign(error) } else { trial.value });
        }
    }
    found.values = (0..trials.len()).map(|at| columns.value(at)).collect();
    found
}

/// Places of the trials near one in time.
fn near(trials: &[MixedTrial], at: usize) -> Range<usize> {
    at.saturating_sub(NEIGHBOURS / 2)..(at + NEIGHBOURS / 2 + 1).min(trials.len())
}

/// Places of the trials of one's block.
fn block_of(trials: &[MixedTrial], at: usize) -> Range<usize> {
    let block = trials[at].block;
    trials.partition_point(|trial| trial.block < block)..trials.partition_point(|trial| trial.block <= block)
}

/// A first fit by medians in turn of settings and of the trials around each (Tukey 1977): medians do not know an outlier's size.
fn by_medians(trials: &[MixedTrial], settings: usize, around: impl Fn(usize) -> Range<usize>) -> Vec<f64> {
    let mut levels = vec![0.0; settings];
    let mut course = vec![0.0; trials.len()];
    for _ in 0..SWEEPS {
        for (at, level) in course.iter_mut().enumerate() {
            let mut left: Vec<f64> = trials[around(at)].iter().map(|it| it.value - levels[it.setting]).collect();
            *level = median(&mut left);
        }
        for (setting, own) in by_setting(trials, settings, |at| trials[at].value - course[at]).iter_mut().enumerate() {
            levels[setting] = median(own);
        }
    }
    trials.iter().zip(&course).map(|(trial, course)| levels[trial.setting] + course).collect()
}

fn by_setting(trials: &[MixedTrial], settings: usize, value: impl Fn(usize) -> f64) -> Vec<Vec<f64>> {
    let mut all = vec![Vec::new(); settings];
    for (at, trial) in trials.iter().enumerate() {
        all[trial.setting].push(value(at));
    }
    all
}

/// What the likeliest of all that trials may have in common, with or without a drift, expects of each trial, among those allowed.
fn likeliest(
    trials: &[MixedTrial],
    columns: &Columns,
    df: f64,
    allowed: impl Fn(usize) -> bool,
) -> Option<(f64, usize, Vec<f64>)> {
    let is_plain = |place: usize| !columns.disturbances[place].after && columns.disturbances[place].period.is_none();
    let (needed, alike) = (columns.needed(is_plain), vec![1.0; columns.settings]);
    let least = least_squares(trials, df);
    let mut best: Option<(f64, usize, usize, Vec<f64>)> = None;
    let shared = SHARED[..columns.shared].iter().enumerate();
    for (shared, (course, weight)) in shared.filter(|(shared, _)| allowed(*shared)) {
        let gram = Gram::new(trials, columns, needed.clone(), *course, &alike);
        for (place, disturbance) in columns.disturbances.iter().enumerate().filter(|(place, _)| is_plain(*place)) {
            let Some(solution) = gram.solve(columns, disturbance, df, least) else { continue };
            let ln_weight = solution.ln_evidence + libm::log(weight * disturbance.weight);
            if best.as_ref().is_none_or(|(most, ..)| ln_weight > *most) {
                best = Some((ln_weight, shared, place, solution.coefficients()));
            }
        }
    }
    let (ln_weight, shared, place, coefficients) = best?;
    let fixed: Vec<f64> = (0..trials.len())
        .map(|at| columns.level(at, &coefficients) + columns.disturbed(at, place, &coefficients))
        .collect();
    let left: Vec<f64> = fixed.iter().enumerate().map(|(at, fixed)| columns.value(at) - fixed).collect();
    let course = SHARED[shared].0.course(trials, &left, &alike);
    Some((ln_weight, shared, fixed.iter().zip(course).map(|(fixed, course)| fixed + course).collect()))
}

/// Limits by setting, by the values as measured: a common robust scale or the setting's own, whichever is larger, as a common
/// one alone would clip a setting that really is noisier into false certainty. Of its own it is the upper quartile: of few
/// trials two may be near their level by chance. Gives how many scales a limit is as well.
fn measure_limits(trials: &[MixedTrial], settings: usize, fitted: &[f64], step: f64) -> (Vec<f64>, f64) {
    let error = |at: usize| (trials[at].value - fitted[at]).abs();
    let inflate = (trials.len() as f64 / (trials.len() - settings) as f64).sqrt();
    let mut all: Vec<f64> = (0..trials.len()).map(error).collect();
    let shared = (inflate * MAD_TO_SD * median(&mut all)).max(step);
    let own = |errors: &mut Vec<f64>| {
        errors.sort_by(f64::total_cmp);
        let quartile = errors.get((3 * errors.len()).div_ceil(4).saturating_sub(1)).copied().unwrap_or(0.0);
        shared.max(quartile * inflate / UPPER_QUARTILE)
    };
    let scales: Vec<f64> = by_setting(trials, settings, error).iter_mut().map(own).collect();
    let mut ratios: Vec<f64> =
        (0..trials.len()).map(|at| error(at) / scales[trials[at].setting].max(f64::MIN_POSITIVE)).collect();
    ratios.sort_by(|a, b| b.total_cmp(a));
    let most = ratios[trials.len() / ONE_IN].max(CLIP);
    let nothing = 1e-13 * trials.iter().fold(0.0, |most: f64, trial| most.max(trial.value.abs()));
    // Where most errors are exactly zero no scale is known: nothing is pulled in.
    (scales.iter().map(|scale| if *scale > nothing { most * scale } else { f64::INFINITY }).collect(), most)
}
