//! Claims about means of values as measured, whatever their distribution.

use super::MetricJudge;
use crate::contrast::{Contrast, Differences};
use crate::winsor::pool;

impl MetricJudge {
    /// p of "no difference" and of "beyond the margin" of the means, each the larger of the usual one and that with one more
    /// block against the claim, as far from the mean as the furthest seen. The t test alone takes a tail that has not been
    /// seen yet for none: one setting skewed, the means alike, it finds different in 9 % of experiments.
    pub(super) fn mean_p_values(&self, index: usize, contrast: &Contrast) -> (f64, f64) {
        let margin = self.rules.margin_on_scale();
        let [below, above] = [-1.0, 1.0].map(|side| self.with_one_more(index + 1, side));
        let against = if contrast.effect > 0.0 { &below } else { &above };
        let agrees = against.effect * contrast.effect > 0.0;
        let p = if agrees { contrast.p_difference().max(against.p_difference()) } else { 1.0 };
        (p, contrast.p_beyond(margin).max(below.p_beyond(margin)).max(above.p_beyond(margin)))
    }

    /// A setting (from 1) compared with one more block whose difference is as far to one side as the furthest seen.
    fn with_one_more(&self, setting: usize, side: f64) -> Contrast {
        let mut differences = self.differences_of(&self.fit.raw, setting);
        let seen = differences.len() as f64;
        let mean = differences.iter().sum::<f64>() / seen;
        let furthest = differences.iter().map(|d| (d - mean).abs()).fold(0.0, f64::max);
        differences.push(mean + side * furthest);
        let weight = self.differences[setting - 1].weight * differences.len() as f64 / seen;
        Contrast::new(&Differences::of(&differences, weight), &pool(&self.fit, &self.winsor))
    }
}
