//! What a look says: the shapes handed to those who decide and those who print.

use crate::carry::CarryOver;
use crate::drift::{ChangePoint, Drift};
use crate::mixed::{AfterEffect, Contrast, Period};
use crate::modes::Modes;
use crate::order::Slot;
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

/// One setting at one look.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct SettingLook {
    /// The setting, from 1.
    pub setting: usize,
    /// Effect and what is known about its error.
    pub contrast: Contrast,
    /// Two-sided p of "no difference": by the model, or by exact signed ranks on the rank-based path.
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
    /// Whether its spread stands out or its trials fall into two regimes.
    pub unstable: bool,
    /// Two regimes among its trials, if they were looked for.
    pub modes: Option<Modes>,
    /// Its rare trials far from the typical one.
    pub rare: Option<Rare>,
}

/// One look at all settings.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct TableLook {
    /// Blocks used.
    pub blocks: u32,
    /// Whether the first block was left out.
    pub first_block_dropped: bool,
    /// Step in which the values come, on the scale of the differences; 0 where none is seen.
    pub step: f64,
    /// Trials that were pulled in: block and slot.
    pub clipped: Vec<(usize, Slot)>,
    /// In order of setting; one compared in fewer than two blocks is not among them.
    pub settings: Vec<SettingLook>,
    /// Rare trials of the reference far from its typical one.
    pub reference_rare: Option<Rare>,
    /// Whether the reference's own spread stands out, which touches every comparison.
    pub reference_unstable: bool,
    /// The largest effect of a setting on the trial after it, shown or not.
    pub after: Option<AfterEffect>,
    /// The likeliest period of interference in step with the trials, shown or not.
    pub period: Option<Period>,
    /// The share of a setting's effect that the next trial keeps.
    pub carried: Option<CarryOver>,
    /// Slope of the block levels where the model is sure that they drift.
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
