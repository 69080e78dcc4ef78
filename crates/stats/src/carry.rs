//! Carry-over: whether a trial keeps part of what the setting before it did.

use crate::error::Error;
use crate::rules::Rules;
use crate::table::Table;
use crate::trials::Trials;
use serde::{Deserialize, Serialize};

/// The share of the previous setting's effect that a trial keeps.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct CarryOver {
    /// Estimated share, 0 for none.
    pub share: f64,
    /// Low end of its 95 % interval.
    pub low: f64,
    /// High end of its 95 % interval.
    pub high: f64,
}

/// Shares surely above this ask for a longer settle time.
const SUSPICIOUS: f64 = 0.1;

impl CarryOver {
    /// Whether the whole interval lies above 0.1: then "same" is withheld and a longer settle time proposed, for
    /// carry-over shrinks every difference.
    #[must_use]
    pub fn withholds_same(&self) -> bool {
        self.low > SUSPICIOUS
    }
}

/// Estimates the carry-over of a table that knows which trial ran before which; none when nothing can be told:
/// too few trials, or settings that do not differ.
///
/// # Errors
/// As the model: `TooFewTrials`, `NotFinite`, `NotPositive`.
pub fn carry_over(table: &Table, rules: &Rules) -> Result<Option<CarryOver>, Error> {
    let model = Trials::new(table, rules.scale, |_, _| true)?.model(rules.winsorise, rules.block_levels)?;
    Ok(model.carry_over())
}
