//! What an experiment is judged by: the error rate, the margin, the scale. Fixed before the first trial.

use crate::FIRST_LOOK;
use crate::error::Error;
use serde::{Deserialize, Serialize};

/// The scale on which differences are taken.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum Scale {
    /// Natural logarithm: for meters that are always positive. Effects are ratios, typical values geometric means.
    Log,
    /// The meter's own unit: for meters that may be zero or negative. Effects are differences.
    Linear,
}

/// How the error rate is spread over the looks.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub enum Spend {
    /// A third at the first look and all of it only after infinitely many: no end need be fixed in advance.
    OpenEnded,
    /// Half at the first look: decides large effects a little sooner, small ones later.
    HalfFirst,
    /// In proportion to the blocks done, of a number fixed beforehand (Kim and DeMets 1987, power 1). Suits small
    /// effects; nothing is left to spend after that number.
    Uniform {
        /// Blocks fixed before the first trial.
        blocks: u32,
    },
    /// All of it at the one look there is: for blocks whose number was fixed beforehand, at their end.
    Once,
}

/// Rules of judgement.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Rules {
    /// Chance of any false difference, over all settings and looks together. Default 0.05.
    pub alpha: f64,
    /// Differences smaller than this count as the same: relative on the log scale (0.01 is 1 %), in the meter's unit
    /// on the linear one. Default 0.01.
    pub margin: f64,
    /// Scale of the differences. Default log.
    pub scale: Scale,
    /// Use ranks only: valid by randomisation alone, but silent before the ninth block. Default no.
    pub robust: bool,
    /// Hold the chance of *any* false "same" at `alpha`, instead of that of each setting. Default no.
    pub strict_same: bool,
    /// Share the error rate of differences between the settings (Holm 1979). Default yes.
    pub share_between_settings: bool,
    /// How the error rate is spread over looks. Default open-ended.
    pub spend: Spend,
    /// Block of the first look; by default the third, and the eighth where means are judged.
    pub first_look: Option<u32>,
    /// Judge the mean of the values as measured rather than the typical trial: nothing is pulled in, and claims allow for one
    /// more trial as far out as the furthest seen. For the linear scale, where differences are those of arithmetic means. Default no.
    pub mean: bool,
    /// Pull in outlying trials (Huber, k = 2) once there is enough to know them by. Default yes.
    pub winsorise: bool,
    /// Let the model give each block a level of its own, as where its trials replay one sequence of random numbers. Default yes.
    pub block_levels: bool,
    /// Call nothing the same while carry-over between trials is suspected, which shrinks every difference. Default no.
    pub withhold_carried: bool,
    /// Drop the first block when its spread says that a transient was still going on. Default yes.
    pub drop_first_block: bool,
}

impl Default for Rules {
    fn default() -> Self {
        Self {
            alpha: 0.05,
            margin: 0.01,
            scale: Scale::Log,
            robust: false,
            strict_same: false,
            share_between_settings: true,
            spend: Spend::OpenEnded,
            first_look: None,
            mean: false,
            winsorise: true,
            block_levels: true,
            withhold_carried: false,
            drop_first_block: true,
        }
    }
}

/// The block of the first look where means are judged: fewer trials have rarely seen the tail a mean depends on.
const MEAN_FIRST_LOOK: u32 = 8;
/// Pays for using boundaries of normal theory with t.
const NORMAL_THEORY_FACTOR: f64 = 0.9;
/// The same for the model, and for what it knows too little of: settings of unequal noise.
const MODEL_FACTOR: f64 = 0.7;

impl Rules {
    /// Fewer trials at a higher error rate, about that of ten repeats and Welch's test under independent noise: 20 % a
    /// comparison, not shared between settings. To be labelled wherever it is used.
    #[must_use]
    pub fn quick() -> Self {
        Self { alpha: 0.20, share_between_settings: false, spend: Spend::HalfFirst, ..Self::default() }
    }

    /// Means of the values as measured, on the scale those have.
    #[must_use]
    pub fn mean() -> Self {
        Self { mean: true, winsorise: false, scale: Scale::Linear, ..Self::default() }
    }

    /// The rank-based path.
    #[must_use]
    pub fn robust() -> Self {
        Self { robust: true, ..Self::default() }
    }

    /// Block of the first look; never below 2.
    #[must_use]
    pub fn first_look(&self) -> u32 {
        let usual = if self.mean { MEAN_FIRST_LOOK } else { FIRST_LOOK };
        self.first_look.unwrap_or(usual).max(2)
    }

    /// The margin on the scale of the differences: ln(1 + margin) on the log scale, so that "1 % above" and its
    /// mirror are equally far from none.
    #[must_use]
    pub fn margin_on_scale(&self) -> f64 {
        match self.scale {
            Scale::Log => libm::log1p(self.margin),
            Scale::Linear => self.margin,
        }
    }

    /// An effect on the scale of the differences as it is shown: a ratio less one, or a difference.
    #[must_use]
    pub fn shown(&self, effect: f64) -> f64 {
        match self.scale {
            Scale::Log => libm::expm1(effect),
            Scale::Linear => effect,
        }
    }

    /// The level handed to the boundary for differences that the model judges, `sharing` settings sharing the error rate.
    pub(crate) fn difference_level(&self, sharing: usize) -> f64 {
        self.factor() * self.shared(self.share_between_settings, sharing)
    }

    /// The level handed to the boundary for "same", with `settings` settings in the experiment.
    #[must_use]
    pub fn same_level(&self, settings: usize) -> f64 {
        self.factor() * self.shared(self.strict_same, settings)
    }

    /// As [`Rules::difference_level`] where one mean is judged by Student's t.
    pub(crate) fn difference_level_of_t(&self, sharing: usize) -> f64 {
        NORMAL_THEORY_FACTOR * self.shared(self.share_between_settings, sharing)
    }

    /// As [`Rules::same_level`] where one mean is judged by Student's t.
    #[must_use]
    pub fn same_level_of_t(&self, settings: usize) -> f64 {
        NORMAL_THEORY_FACTOR * self.shared(self.strict_same, settings)
    }

    fn factor(&self) -> f64 {
        if self.robust { NORMAL_THEORY_FACTOR } else { MODEL_FACTOR }
    }

    /// The error rate of each of `sharing` where they share it.
    fn shared(&self, is_shared: bool, sharing: usize) -> f64 {
        self.alpha / if is_shared { sharing.max(1) as f64 } else { 1.0 }
    }

    /// Checks that the rules can be used.
    ///
    /// # Errors
    /// `BadRule` naming the first rule that cannot.
    pub fn check(&self) -> Result<(), Error> {
        if !(self.alpha > 0.0 && self.alpha <= 0.5) {
            return Err(Error::BadRule { rule: "alpha", value: self.alpha, allowed: "above 0, at most 0.5" });
        }
        if !(self.margin >= 0.0 && self.margin.is_finite()) {
            return Err(Error::BadRule { rule: "margin", value: self.margin, allowed: "0 or more" });
        }
        if self.first_look.is_some_and(|block| block < 2) {
            let value = f64::from(self.first_look.unwrap_or(0));
            return Err(Error::BadRule { rule: "first look", value, allowed: "block 2 or later" });
        }
        Ok(())
    }
}
