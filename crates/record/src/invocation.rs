//! How a command is invoked: its environment, standard input and output, and how often it runs within one trial.
use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

/// How a command is invoked. The default is one run with our environment, an empty input and a captured output.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Invocation {
    /// Environment variables that are set for it alone.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub env: BTreeMap<String, String>,
    /// File its standard input is read from; empty input when absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub input: Option<String>,
    /// File that each run writes its standard output and standard error to; both are captured when absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub output: Option<String>,
    /// Runs, one after the other; 0 means one.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub runs: u32,
    /// Whether further runs follow one that returned another code than 0.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub any_status: bool,
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde calls it by reference")]
fn is_zero(number: &u32) -> bool {
    *number == 0
}

impl Invocation {
    /// Whether it is the default.
    #[must_use]
    pub fn is_plain(&self) -> bool {
        *self == Invocation::default()
    }

    /// Whether the command runs several times.
    #[must_use]
    pub fn repeats(&self) -> bool {
        self.runs > 1
    }
}
