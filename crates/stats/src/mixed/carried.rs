//! The share of a setting's effect that the next trial keeps.

use super::MixedModel;
use super::columns::Columns;
use super::solve::{Gram, Solution};
use super::variants::{Variant, least_squares};
use crate::carry::CarryOver;
use crate::distribution::t_upper_quantile;

const INTERVAL_TAIL: f64 = 0.025;
/// Share of the largest value that differences of levels must be to be more than rounding.
const ROUNDING: f64 = 1e-12;

impl MixedModel {
    /// Estimates the carry-over; none where it is not known what ran before, of too few trials and of settings that do not differ.
    ///
    /// A regression on the previous trial's setting level less the own one, under the walk and the noise of the likeliest variant
    /// that lets no setting affect the next trial. Settings' estimated levels are themselves shrunk by carry-over, by a share of
    /// what carries times the mean of that regressor's slope on the own level; the estimate is corrected for it.
    pub(crate) fn carry_over(&self) -> Option<CarryOver> {
        let (settings, trials) = (self.columns.settings, &self.trials);
        let has_none = |it: &&Variant| !self.columns.disturbances[it.disturbance].after;
        let heavier = |one: &&Variant, other: &&Variant| one.weight.total_cmp(&other.weight);
        let plain = self.variants.iter().filter(has_none).max_by(heavier);
        let variant = plain.or_else(|| self.variants.iter().max_by(heavier))?;
        let taken_out =
            |at: usize| plain.map_or(0.0, |it| self.columns.disturbed(at, it.disturbance, &it.coefficients));
        let values: Vec<f64> = self.values().enumerate().map(|(at, value)| value - taken_out(at)).collect();
        let df = (trials.len() as f64) - settings as f64 - 1.0;
        if df < 1.0 || settings < 2 {
            return None;
        }
        let fit = |more: Option<&[f64]>| -> Option<Solution> {
            let columns = Columns::plain(trials, settings, more, &values);
            let gram = Gram::new(trials, &columns, columns.needed(|_| true), variant.shared, &variant.noise);
            gram.solve(&columns, &columns.disturbances[0], df, least_squares(trials, df))
        };
        let mut levels = [vec![0.0], fit(None)?.coefficients()].concat();
        let middle = levels.iter().sum::<f64>() / settings as f64;
        levels.iter_mut().for_each(|level| *level -= middle);
        let own: Vec<f64> = trials.iter().map(|trial| levels[trial.setting]).collect();
        // A trial whose forerunner is unknown, or was void, counts as one after its own setting.
        let before = trials.iter().map(|trial| levels[trial.before.unwrap_or(trial.setting)]);
        let steps: Vec<f64> = before.zip(&own).map(|(before, own)| before - own).collect();
        let largest = steps.iter().fold(0.0, |most: f64, step| most.max(step.abs()));
        if largest <= ROUNDING * values.iter().fold(0.0, |most: f64, value| most.max(value.abs())) {
            return None;
        }
        let solution = fit(Some(&steps.iter().map(|step| step / largest).collect::<Vec<_>>()))?;
        let slope = solution.coefficients()[settings - 1] / largest;
        let variance = solution.covariance().last()? * solution.squares / df;
        let reach = t_upper_quantile(INTERVAL_TAIL, df) * variance.sqrt() / largest;
        // Estimated levels are (1 - share * c) of the true ones, c being how far a step undoes the own level on average.
        let undone = -own.iter().zip(&steps).map(|(own, step)| own * step).sum::<f64>()
            / own.iter().map(|it| it * it).sum::<f64>();
        let corrected = |slope: f64| {
            let divisor = 1.0 + slope * undone;
            if divisor > 0.0 { slope / divisor } else { f64::NEG_INFINITY }
        };
        let (share, low, high) = (corrected(slope), corrected(slope - reach), corrected(slope + reach));
        Some(CarryOver { share, low, high })
    }
}
