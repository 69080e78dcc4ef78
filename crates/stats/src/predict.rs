//! How much longer: the block at which an open question would be settled, and when to stop waiting for it.

use crate::distribution::t_upper;
use crate::mixed::Contrast;
use crate::rules::Spend;
use crate::spending::Spending;
use serde::{Deserialize, Serialize};

/// Furthest block looked at; beyond it no prediction is given.
const FURTHEST_BLOCK: u32 = 100_000;
/// Measured quartiles of actual ÷ predicted, rounded outward.
const RANGE_LOW: f64 = 0.7;
const RANGE_HIGH: f64 = 2.5;

/// Total blocks after which a setting would be decided, were its effect and noise what they now seem.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Prediction {
    /// Total blocks, those done included.
    pub blocks: u32,
    /// Low end of the range to print.
    pub low: u32,
    /// High end of the range to print.
    pub high: u32,
}

impl Prediction {
    pub(crate) fn new(blocks: u32) -> Self {
        let scaled = |factor: f64| (f64::from(blocks) * factor).round() as u32;
        Self { blocks, low: scaled(RANGE_LOW), high: scaled(RANGE_HIGH) }
    }
}

/// The boundary a prediction runs along.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Forecast<'a> {
    pub(crate) spending: &'a Spending,
    pub(crate) spend: Spend,
    /// Block of the first look.
    pub(crate) first: u32,
    /// Level for a difference.
    pub(crate) difference: f64,
    /// Level for "same".
    pub(crate) same: f64,
    /// Margin on the scale of the differences.
    pub(crate) margin: f64,
}

/// The sooner of "different" and "same"; none when neither is in reach.
pub(crate) fn predict(contrast: &Contrast, course: &Forecast<'_>) -> Option<Prediction> {
    let size = contrast.effect.abs();
    let different = soonest(contrast, course, size, course.difference, 0.5);
    let same = soonest(contrast, course, course.margin - size - contrast.resolution, course.same, 1.0);
    different.into_iter().chain(same).min().map(Prediction::new)
}

/// Smallest total of blocks at which an effect `distance` away from its bound would pass; the standard error is
/// assumed to fall with the root of the blocks and the degrees of freedom to grow with them.
pub(crate) fn soonest(contrast: &Contrast, course: &Forecast<'_>, distance: f64, level: f64, tail: f64) -> Option<u32> {
    if distance <= 0.0 {
        return None;
    }
    let (now, error, df) = (f64::from(contrast.blocks), contrast.standard_error(), contrast.df());
    let passes = |blocks: u32| {
        let more = f64::from(blocks);
        let p = course.spending.nominal(course.spend, level, course.first, blocks);
        t_upper(distance / (error * (now / more).sqrt()), df * (more - 1.0) / (now - 1.0)) <= tail * p
    };
    let mut below = contrast.blocks;
    let mut step = 1;
    let mut above = below + step;
    while !passes(above) {
        below = above;
        step *= 2;
        above = below.saturating_add(step);
        if above > FURTHEST_BLOCK {
            return None;
        }
    }
    while above - below > 1 {
        let middle = below + (above - below) / 2;
        if passes(middle) {
            above = middle;
        } else {
            below = middle;
        }
    }
    Some(above)
}

/// Trials still to run, given the blocks done and the predicted totals of the settings still open: each block costs
/// the open settings and the reference's `copies` of that moment.
#[must_use]
pub fn trials_left(done: u32, totals: &[u32], copies: impl Fn(usize) -> usize) -> u64 {
    let mut totals: Vec<u32> = totals.iter().copied().filter(|total| *total > done).collect();
    totals.sort_unstable();
    let mut trials = 0;
    let mut from = done;
    for (gone, total) in totals.iter().enumerate() {
        let open = totals.len() - gone;
        trials += u64::from(total - from) * (open + copies(open)) as u64;
        from = *total;
    }
    trials
}

/// Remembers for how many looks in a row a setting has seemed out of reach.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Patience {
    hopeless: Vec<u32>,
}

/// Looks in a row after which a setting out of reach is set aside.
const HOPELESS_LOOKS: u32 = 2;

impl Patience {
    /// Takes in a look at `setting` and says whether it should be set aside as undecided: 0.7 times its prediction
    /// has exceeded `budget` blocks at two looks in a row. No prediction counts as beyond any budget.
    ///
    /// A setting set aside may be taken up again when blocks are left at the end.
    pub fn gives_up(&mut self, setting: usize, prediction: Option<Prediction>, budget: u32) -> bool {
        if self.hopeless.len() <= setting {
            self.hopeless.resize(setting + 1, 0);
        }
        let beyond = prediction.is_none_or(|p| RANGE_LOW * f64::from(p.blocks) > f64::from(budget));
        let count = &mut self.hopeless[setting];
        *count = if beyond { *count + 1 } else { 0 };
        *count >= HOPELESS_LOOKS
    }

    /// Forgets a setting that is taken up again.
    pub fn renew(&mut self, setting: usize) {
        if let Some(count) = self.hopeless.get_mut(setting) {
            *count = 0;
        }
    }
}
