//! What a look says: the shapes handed to those who decide and those who print.

use crate::after::AfterEffect;
use crate::contrast::Contrast;
use crate::drift::{ChangePoint, Drift};
use crate::modes::Modes;
use crate::order::Slot;
use crate::period::Period;
use crate::predict::Prediction;
use crate::rare::Rare;
use serde::{Deserialize, Serialize};

/// What is claimed of a setting against its reference. Which of higher and lower is better, the caller knows.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum Claim {
    /// Nothing yet.
    Open,
    /// Above the reference.
    Higher,
    /// Below the reference.
    Lower,
    /// Within the margin of the reference.
    Same,
    /// Within the margin, and yet shown to differ: the difference is there, and below what matters.
    SameButDifferent,
}

impl Claim {
    /// Whether nothing is claimed yet.
    #[must_use]
    pub fn is_open(self) -> bool {
        self == Self::Open
    }

    /// Whether it is claimed that there is a difference.
    #[must_use]
    pub fn is_difference(self) -> bool {
        matches!(self, Self::Higher | Self::Lower | Self::SameButDifferent)
    }

    /// Whether it is claimed that any difference is below the margin.
    #[must_use]
    pub fn is_same(self) -> bool {
        matches!(self, Self::Same | Self::SameButDifferent)
    }
}

/// One setting at one look. Of a setting already claimed: as it was when it was claimed.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct SettingLook {
    /// The setting, from 1.
    pub setting: usize,
    /// Effect, standard error, degrees of freedom.
    pub contrast: Contrast,
    /// Two-sided p of "no difference": by t, or by exact signed ranks on the rank-based path.
    pub p: f64,
    /// The p this look asks for.
    pub level: f64,
    /// One-sided p of "differs by the margin or more".
    pub p_same: f64,
    /// The p this look asks for to call it the same.
    pub same_level: f64,
    /// Interval valid at every look at once, on the scale of the differences (Jennison and Turnbull 1989); infinite
    /// before the setting's first look.
    pub interval: (f64, f64),
    /// Effect as shown: a ratio less one on the log scale, else a difference.
    pub shown_effect: f64,
    /// Interval as shown.
    pub shown_interval: (f64, f64),
    /// What is claimed.
    pub claim: Claim,
    /// Number of blocks of this setting at the look that claimed it.
    pub claimed_at: Option<u32>,
    /// When an open setting would be decided.
    pub predicted: Option<Prediction>,
    /// Share of its trials that were pulled in.
    pub clipped_share: f64,
    /// Whether its spread stands out or its trials fall into two regimes.
    pub unstable: bool,
    /// Two regimes among its trials, if they were looked for.
    pub modes: Option<Modes>,
    /// Its rare trials far from the typical one.
    pub rare: Option<Rare>,
    /// Interval as shown at the level of the claim, with the likeliest effect of a setting on the trial after it taken out.
    /// Only of a difference; none where it cannot be estimated.
    pub without_after: Option<(f64, f64)>,
}

impl SettingLook {
    /// Whether a difference is claimed that is not shown at the same level once an effect on the next trial is allowed for.
    #[must_use]
    pub fn assumes_no_after_effect(&self) -> bool {
        self.claim.is_difference() && self.without_after.is_some_and(|(low, high)| low <= 0.0 && high >= 0.0)
    }
}

/// One look at all settings.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct TableLook {
    /// Blocks used.
    pub blocks: u32,
    /// Whether the first block was left out.
    pub first_block_dropped: bool,
    /// Standard deviation of one trial, block levels removed, on the scale of the differences.
    pub noise_sd: f64,
    /// Its degrees of freedom.
    pub noise_df: f64,
    /// Step in which the values come, on the scale of the differences; 0 where none is seen.
    pub step: f64,
    /// Share of all trials that were pulled in.
    pub clipped_share: f64,
    /// Those trials: block and slot.
    pub clipped: Vec<(usize, Slot)>,
    /// In order of setting; one compared in fewer than two blocks is not among them.
    pub settings: Vec<SettingLook>,
    /// Rare trials of the reference far from its typical one.
    pub reference_rare: Option<Rare>,
    /// Whether the reference's own spread stands out, which touches every comparison.
    pub reference_unstable: bool,
    /// The largest effect of a setting on the trial after it, shown or not; none where it cannot be estimated, or
    /// while the block levels drift, which is inside blocks as well.
    pub after: Option<AfterEffect>,
    /// The likeliest period of interference in step with the trials, shown or not; none where it cannot be looked for.
    pub period: Option<Period>,
    /// Slope of the block levels.
    pub drift: Option<Drift>,
    /// Likeliest step in the block levels.
    pub change_point: Option<ChangePoint>,
}

impl TableLook {
    /// Settings still open.
    pub fn open(&self) -> impl Iterator<Item = &SettingLook> {
        self.settings.iter().filter(|s| s.claim.is_open())
    }
}
