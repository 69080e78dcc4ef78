//! Whether a level, or a difference, stays within a limit: trials are the unit of chance, and looks are paid for.

use crate::latency::stretched_error;
use crate::mixed::Contrast;
use crate::predict::{Forecast, Prediction, soonest};
use crate::rules::Spend;
use crate::spending::Spending;

/// Trials before anything is said of a level: with three, one bound in ten misses at a nominal 5 %.
pub const MIN_TRIALS: u32 = 5;
/// Trials a block where levels are held against a limit, so that two trials of one setting are far enough apart: what is
/// correlated by 0.7 from trial to trial is by 0.24 at this distance.
pub const MIN_BLOCK: usize = 4;

/// What is known of a limit.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct LimitStanding {
    /// Chance that what is measured is truly within it.
    pub probability: f64,
    /// Whether it is shown to be, to be not, or neither (both false).
    pub holds: bool,
    /// Whether it is shown to be beyond.
    pub broken: bool,
    /// The p this look asks for.
    pub level: f64,
    /// Trials (or blocks) after which it would be decided, while it is open.
    pub predicted: Option<Prediction>,
}

/// A limit on the scale of what is measured.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Limit {
    /// The limit.
    pub at: f64,
    /// Whether it is an upper one.
    pub upper: bool,
    /// The trial or block of the first look.
    pub first_look: u32,
}

/// The level of trials in the order of time, all on the scale they are to be held against: their mean, or `merged` where the
/// quantile of all values together is known; wider by what successive trials have in common. None of fewer than two.
#[must_use]
pub fn level(trials: &[f64], merged: Option<f64>) -> Option<Contrast> {
    let (mean, error) = stretched_error(trials)?;
    Some(Contrast::of_one(trials.len() as u32, merged.unwrap_or(mean), error, trials.len() as f64 - 1.0))
}

impl Limit {
    /// Holds a level or a difference against the limit, by one-sided tests at this look's part of `alpha`.
    #[must_use]
    pub fn held(&self, contrast: &Contrast, alpha: f64, spending: &Spending) -> LimitStanding {
        let inside = if self.upper { self.at - contrast.effect } else { contrast.effect - self.at };
        let known = contrast.standard_error() == 0.0;
        let enough = contrast.blocks >= self.first_look;
        let level =
            if enough { spending.nominal(Spend::OpenEnded, alpha, self.first_look, contrast.blocks) } else { 0.0 };
        // On the limit is within it; without any spread there is no doubt either way.
        let beyond = match known {
            true if inside >= 0.0 => 0.0,
            true => 1.0,
            false if self.upper => contrast.p_not_below(self.at),
            false => contrast.p_not_above(self.at),
        };
        let (holds, broken) = (enough && beyond <= level, enough && 1.0 - beyond <= level);
        let course = Forecast {
            spending,
            spend: Spend::OpenEnded,
            first: self.first_look,
            difference: alpha,
            same: alpha,
            margin: 0.0,
        };
        let open = !holds && !broken && !known && contrast.blocks > 1;
        let predicted = open.then(|| soonest(contrast, &course, inside.abs(), alpha, 1.0)).flatten();
        LimitStanding { probability: 1.0 - beyond, holds, broken, level, predicted: predicted.map(Prediction::new) }
    }

    /// The end of the interval that faces the limit, and the other, at the level of this look; infinite before the first.
    #[must_use]
    pub fn bounds(contrast: &Contrast, level: f64) -> (f64, f64) {
        contrast.interval(2.0 * level)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const UPPER: Limit = Limit { at: 0.0, upper: true, first_look: MIN_TRIALS };

    #[test]
    fn five_trials_before_anything_is_said() {
        let (alpha, spending) = (0.045, Spending::new());
        let far = [-3.0, -3.1, -2.9, -3.0, -3.05];
        let four = UPPER.held(&level(&far[..4], None).unwrap(), alpha, &spending);
        assert!(!four.holds && !four.broken && four.probability > 0.99);
        let five = UPPER.held(&level(&far, None).unwrap(), alpha, &spending);
        assert!(five.holds && !five.broken);
        let lower = Limit { upper: false, ..UPPER }.held(&level(&far, None).unwrap(), alpha, &spending);
        assert!(lower.broken && !lower.holds && lower.probability < 0.01);
        let same = UPPER.held(&level(&[0.0; 5], None).unwrap(), alpha, &spending);
        assert!(same.holds, "on the limit is within it");
        let merged = UPPER.held(&level(&far, Some(5.0)).unwrap(), alpha, &spending);
        assert!(merged.broken, "the merged quantile is the estimate");
        assert!(level(&[1.0], None).is_none());
    }

    #[test]
    fn an_open_limit_says_when_it_would_be_decided() {
        let (alpha, spending) = (0.045, Spending::new());
        let near = [-0.5, 0.3, -0.6, 0.2, -0.4, 0.1, -0.3];
        let held = UPPER.held(&level(&near, None).unwrap(), alpha, &spending);
        assert!(!held.holds && !held.broken && (0.5..1.0).contains(&held.probability), "{held:?}");
        assert!(held.predicted.unwrap().blocks > 7);
    }
}
