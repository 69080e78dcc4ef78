//! How far an experiment is, in numbers.
use serde::{Deserialize, Serialize};

/// What an experiment has so far.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct Counts {
    /// Settings, the reference among them.
    pub settings: u32,
    /// Complete blocks.
    pub blocks: u32,
    /// Valid trials in blocks.
    pub trials: u32,
    /// Void trials.
    pub voids: u32,
    /// Judged metrics of settings that are decided.
    pub decided: u32,
    /// Judged metrics of settings that are open.
    pub open: u32,
}
