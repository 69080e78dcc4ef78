//! Interference in step with the trials: a wave of a few trials that is left when settings and blocks are taken out.

use crate::distribution::f_upper;
use crate::fit::Fit;
use serde::{Deserialize, Serialize};

/// The period at which what the fit leaves unexplained looks most like a wave.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Period {
    /// Its length in trials.
    pub trials: u32,
    /// Share of the unexplained variation inside blocks that a sine of this period makes up.
    pub share: f64,
    /// p of "there is none", corrected for the periods that were tried (Bonferroni).
    pub p: f64,
}

impl Period {
    /// Whether it is more than chance makes of none in one experiment of twenty.
    #[must_use]
    pub fn is_shown(&self) -> bool {
        self.p <= 0.05
    }
}

/// Looked for up to so many trials, as it takes time with every trial there is.
const MAX_TRIALS: usize = 2000;
/// Longest period that is looked for: longer ones are drift to a block, and cancel.
const MAX: usize = 24;
/// Degrees of freedom that must be left.
const MIN_DF: f64 = 3.0;
/// A share below this of a wave's square is left by the settings and blocks: it cannot be told from those.
const VISIBLE: f64 = 1e-6;

/// The likeliest period from 2 trials to three blocks: a sine of each is regressed on the trials' numbers, with the settings, the
/// blocks and, while the machine `drifts`, a linear trend taken out of it first. None where it is not known when trials ran, or
/// there are too few.
pub(crate) fn period(fit: &Fit, drifts: bool) -> Option<Period> {
    if fit.raw.len() > MAX_TRIALS {
        return None;
    }
    let numbers: Option<Vec<f64>> = fit.observations.iter().map(|seen| Some(f64::from(seen.ran?.trial))).collect();
    let numbers = numbers?;
    let mut swept = fit.clone();
    let mut sweep = |values: Vec<f64>| {
        swept.used = values;
        swept.solve();
        swept.residuals.clone()
    };
    // In blocks of two trials a trend looks like a wave of two.
    let trend = if drifts { normalised(sweep(numbers.clone()), &[]) } else { None };
    let trend: Vec<Vec<f64>> = trend.into_iter().collect();
    let left = without(fit.residuals.clone(), &trend);
    let (all, df) = (dot(&left, &left), fit.df - trend.len() as f64);
    let block = fit.starts.windows(2).map(|ends| ends[1] - ends[0]).max()?;
    let periods = 2..=(3 * block).min(MAX);
    let tried = periods.clone().count() as f64;
    let mut best: Option<Period> = None;
    for period in periods {
        let mut basis = trend.clone();
        for wave in [libm::cos, libm::sin] {
            let angle = |number: &f64| wave(std::f64::consts::TAU * number / period as f64);
            basis.extend(normalised(sweep(numbers.iter().map(angle).collect()), &basis));
        }
        let waves = &basis[trend.len()..];
        let (count, explained) = (waves.len() as f64, waves.iter().map(|it| dot(it, &left).powi(2)).sum::<f64>());
        if waves.is_empty() || df - count < MIN_DF || all <= (1e-12 * fit.magnitude).powi(2) {
            continue;
        }
        let ratio = (explained / count) / ((all - explained).max(1e-12 * all) / (df - count));
        let p = (tried * f_upper(ratio, count, df - count)).min(1.0);
        // In blocks of two trials a wave of three looks like one of six: then the longer is named.
        if best.is_none_or(|it| p <= 1.001 * it.p) {
            best = Some(Period { trials: period as u32, share: explained / all, p });
        }
    }
    best
}

fn dot(one: &[f64], other: &[f64]) -> f64 {
    one.iter().zip(other).map(|(a, b)| a * b).sum()
}

/// Values less their parts along the vectors of a basis.
fn without(mut values: Vec<f64>, basis: &[Vec<f64>]) -> Vec<f64> {
    for vector in basis {
        let part = dot(&values, vector);
        values.iter_mut().zip(vector).for_each(|(value, unit)| *value -= part * unit);
    }
    values
}

/// What is left of values outside a basis, of length one; none where nothing to speak of is.
fn normalised(values: Vec<f64>, basis: &[Vec<f64>]) -> Option<Vec<f64>> {
    let left = without(values, basis);
    let length = dot(&left, &left).sqrt();
    (length > VISIBLE * left.len() as f64).then(|| left.iter().map(|value| value / length).collect())
}
