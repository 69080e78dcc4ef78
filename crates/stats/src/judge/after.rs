//! What is claimed where a setting may move the trial after it.

use super::MetricJudge;
use crate::after::{After, after_effect};
use crate::contrast::{Contrast, Differences};
use crate::winsor::pool;

/// The one-sided p that a claim must have with the largest after-effect taken out, although none is shown: what an after-effect
/// alone explains as well is left open. It takes two settings 2 % more trials under normal noise, several hardly any.
const PLAUSIBLE: f64 = 0.1;

impl MetricJudge {
    /// The largest after-effect of the latest fit.
    pub(super) fn after(&self) -> Option<After> {
        after_effect(&self.fit, &pool(&self.fit, &self.winsor))
    }

    /// The largest after-effect where a claim hangs on it: it takes two more solutions of the fit.
    pub(super) fn after_where_claimed(&self, waiting: &[usize], different: &[usize]) -> Option<After> {
        let claims_any = !different.is_empty() || waiting.iter().any(|&index| self.is_same(index));
        if claims_any { self.after() } else { None }
    }

    /// Whether a setting (at its index) found different is so without the after-effect as well: at the level of the look
    /// where the effect is shown, else so far that the effect alone is no likely cause.
    pub(super) fn differs_without(&self, after: Option<&After>, index: usize) -> bool {
        let Some((after, without)) = after.and_then(|it| Some((it, self.without(it, index + 1)?))) else { return true };
        let state = &self.states[index];
        let agrees = state.contrast.is_some_and(|measured| measured.effect * without.effect > 0.0);
        let level = if after.found.is_shown() { state.test.level } else { 2.0 * PLAUSIBLE };
        agrees && without.p_difference() <= level
    }

    /// As [`MetricJudge::differs_without`] for a setting found the same.
    pub(super) fn is_same_without(&self, after: Option<&After>, index: usize) -> bool {
        let Some((after, without)) = after.and_then(|it| Some((it, self.without(it, index + 1)?))) else { return true };
        let level = if after.found.is_shown() { self.states[index].test.same_level } else { PLAUSIBLE };
        without.p_beyond(self.rules.margin_on_scale()) <= level
    }

    /// The interval of a setting (at its index) with the after-effect taken out, as shown, at the level of its test.
    pub(super) fn interval_without(&self, after: &After, index: usize) -> Option<(f64, f64)> {
        let (low, high) = self.without(after, index + 1)?.interval(self.states[index].test.level);
        Some((self.rules.shown(low), self.rules.shown(high)))
    }

    /// A setting (from 1) compared with an after-effect taken out.
    fn without(&self, after: &After, setting: usize) -> Option<Contrast> {
        let marks = self.differences_of(&after.marks, setting);
        let measured = self.differences_of(&self.fit.used, setting);
        let differences: Vec<f64> =
            measured.iter().zip(&marks).map(|(d, mark)| d - after.found.effect * mark).collect();
        if differences.len() < 2 {
            return None;
        }
        let own = Differences::of(&differences, self.differences[setting - 1].weight);
        let mut contrast = Contrast::new(&own, &after.pool);
        let share = marks.iter().sum::<f64>() / marks.len() as f64;
        contrast.variance += share * share * after.variance + self.trend_variance(setting);
        Some(contrast)
    }
}
