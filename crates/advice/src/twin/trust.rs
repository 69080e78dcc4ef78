//! Whether the twin may be trusted: what it and the plain process make of measured settings they have not seen.

use super::{Fitted, Law};
use crate::{Data, Prediction};

/// Tried settings are left out in so many parts.
const FOLDS: usize = 4;

/// An error counts at most so much (of the logarithm): one saturated setting must not decide.
const MOST_ERROR: f64 = 0.7;

/// The quantile of squared errors that decides how far intervals are widened, and the square of the normal quantile it
/// would be if the intervals were right.
const WIDENING_QUANTILE: f64 = 0.9;
const RIGHT_QUANTILE: f64 = 2.71;
const MOST_WIDENING: f64 = 25.0;

/// Above these median errors a twin is not to be trusted, even where it is the best there is.
const WATTS_ERROR_MOST: f64 = 0.05;
const TAIL_ERROR_MOST: f64 = 0.20;

/// How far predictions of settings that were left out lie from what was measured there, on the logarithm.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct Errors {
    /// Mean of the errors, each counted as 0.7 at most: what decides.
    pub mean: f64,
    /// Median of the errors: 0.05 is five percent.
    pub median: f64,
}

/// What a test of the twin found, for one metric.
#[derive(Debug, Clone, PartialEq)]
pub struct Trust {
    /// Settings it was tested on.
    pub tried: usize,
    /// Errors of the fitted law alone.
    pub twin: Errors,
    /// Errors of the plain process.
    pub process: Errors,
    /// Errors of the process around the law.
    pub both: Errors,
    /// Whether the law is used: both together came closer than the plain process.
    pub used: bool,
    /// Whether the law predicts well enough to be believed beyond what was measured: it is used, and the median error is
    /// at most 5 % of power or 20 % of a tail. If not, whoever shows it has to say so.
    pub reliable: bool,
    /// Factor on the variance of the chosen model's predictions wherever they are shown, from 1 to 25.
    pub widening: f64,
    /// The law, fitted to all settings.
    pub fitted: Fitted,
}

/// What one process made of settings that were left out.
pub(super) struct Fold {
    /// One for each.
    pub(super) predictions: Vec<Prediction>,
    /// Variance of one run's noise.
    pub(super) noise_variance: f64,
}

/// What all three made of them.
pub(super) struct Judged {
    /// The law's values.
    pub(super) twin: Vec<f64>,
    pub(super) plain: Fold,
    pub(super) both: Fold,
}

/// Errors, and each squared error over the variance it was expected to have.
#[derive(Default)]
struct Outcome {
    errors: Vec<f64>,
    ratios: Vec<f64>,
}

impl Outcome {
    fn add(&mut self, fold: &Fold, data: &Data, left_out: &[usize], own_sd: f64) {
        for (place, prediction) in left_out.iter().zip(&fold.predictions) {
            let tried = data.tried[*place];
            let error = prediction.mean() - tried.mean;
            let noise = fold.noise_variance / tried.runs.max(1) as f64 + own_sd * own_sd;
            self.errors.push(error.abs());
            self.ratios.push(error * error / (prediction.variance() + noise));
        }
    }

    fn widening(&mut self) -> f64 {
        (quantile(&mut self.ratios, WIDENING_QUANTILE) / RIGHT_QUANTILE).clamp(1.0, MOST_WIDENING)
    }
}

impl Errors {
    fn of(errors: &mut [f64]) -> Self {
        let mean = errors.iter().map(|error| error.min(MOST_ERROR)).sum::<f64>() / errors.len().max(1) as f64;
        Self { mean, median: quantile(errors, 0.5) }
    }
}

/// Leaves out a quarter of the tried settings at a time. `judge` fits law and processes to the data it gets and predicts
/// the settings at the places it gets.
pub(super) fn cross_validate(
    data: &Data,
    law: Law,
    own_sd: f64,
    fitted: Fitted,
    judge: impl Fn(&Data, &[usize]) -> Judged,
) -> Trust {
    let (mut twin, mut plain, mut both) = (Vec::new(), Outcome::default(), Outcome::default());
    for fold in 0..FOLDS {
        // Settings that were tried one after the other fall into different parts: neighbours in time are often
        // neighbours in the space too, and would leave a hole.
        let (left_out, kept): (Vec<usize>, Vec<usize>) = (0..data.tried.len()).partition(|place| place % FOLDS == fold);
        let train = Data { tried: kept.into_iter().map(|place| data.tried[place]).collect(), ..data.clone() };
        let judged = judge(&train, &left_out);
        twin.extend(left_out.iter().zip(&judged.twin).map(|(place, value)| (value - data.tried[*place].mean).abs()));
        plain.add(&judged.plain, data, &left_out, own_sd);
        both.add(&judged.both, data, &left_out, own_sd);
    }
    let (twin, process, together) =
        (Errors::of(&mut twin), Errors::of(&mut plain.errors), Errors::of(&mut both.errors));
    let used = together.mean < process.mean;
    let most = match law {
        Law::Watts => WATTS_ERROR_MOST,
        Law::Tail { .. } => TAIL_ERROR_MOST,
    };
    Trust {
        tried: data.tried.len(),
        twin,
        process,
        both: together,
        used,
        reliable: used && together.median <= most,
        widening: if used { both.widening() } else { plain.widening() },
        fitted,
    }
}

/// The value at the share `p` of the sorted values, interpolated; 0 of none.
fn quantile(values: &mut [f64], p: f64) -> f64 {
    values.sort_by(f64::total_cmp);
    let Some(last) = values.len().checked_sub(1) else { return 0.0 };
    let place = p * last as f64;
    let below = libm::floor(place) as usize;
    let above = (below + 1).min(last);
    values[below] + (place - below as f64) * (values[above] - values[below])
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Part;

    #[test]
    fn quantiles_worked_by_hand() {
        assert_eq!(quantile(&mut [3.0, 1.0, 2.0], 0.5), 2.0);
        assert_eq!(quantile(&mut [0.0, 10.0], 0.9), 9.0);
        assert_eq!(quantile(&mut [], 0.9), 0.0);
    }

    fn data(values: &[f64]) -> Data {
        let mut data = Data::default();
        values.iter().enumerate().for_each(|(point, value)| data.add(Some(point), &[*value]));
        data
    }

    /// A judge whose three models are off by these, with this variance.
    fn judged(offs: [f64; 3], variance: f64) -> impl Fn(&Data, &[usize]) -> Judged {
        move |train, left_out| {
            assert!(left_out.iter().all(|place| train.tried.iter().all(|tried| tried.point != *place)));
            let fold = |off: f64| Fold {
                predictions: left_out
                    .iter()
                    .map(|place| Prediction { parts: vec![Part { weight: 1.0, mean: *place as f64 + off, variance }] })
                    .collect(),
                noise_variance: 0.0,
            };
            let twin = left_out.iter().map(|place| *place as f64 + offs[0]).collect();
            Judged { twin, plain: fold(offs[1]), both: fold(offs[2]) }
        }
    }

    #[test]
    fn the_closer_one_is_chosen_and_widened_as_far_as_it_was_too_sure() {
        let data = data(&[0.0, 1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0, 8.0]);
        let tail = Law::Tail { us_per_unit: 1.0 };
        let fitted = Fitted::new(tail, &[], 0.0);
        let check = |offs, variance| cross_validate(&data, tail, 0.0, fitted.clone(), judged(offs, variance));
        let good = check([0.3, 0.2, 0.1], 0.01 / 2.71 / 4.0);
        assert!(good.used && good.reliable, "{good:?}");
        assert!((good.twin.median - 0.3).abs() < 1e-12 && (good.both.mean - 0.1).abs() < 1e-12, "{good:?}");
        assert!((good.widening - 4.0).abs() < 1e-9, "{good:?}");
        let lost = check([0.05, 0.1, 0.15], 1.0);
        assert!(!lost.used && !lost.reliable && lost.widening == 1.0, "{lost:?}");
        let best_of_bad = check([2.0, 0.9, 0.3], 1e-6);
        assert!(best_of_bad.used && !best_of_bad.reliable, "{best_of_bad:?}");
        assert!((best_of_bad.process.mean - 0.7).abs() < 1e-12 && best_of_bad.widening == 25.0, "{best_of_bad:?}");
    }
}
