//! Hooks: command lines that run before and after trials and are not measured.
use serde::{Deserialize, Serialize};

/// Command lines around trials, each run by the shell of the load. `{NAME}` stands for a parameter.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct Hooks {
    /// Before each trial.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub prepare: Option<String>,
    /// After each trial.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub conclude: Option<String>,
    /// Once, before the first trial of each setting.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub setup: Option<String>,
    /// Once, after the last trial.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cleanup: Option<String>,
}

impl Hooks {
    /// Whether there is none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.all().next().is_none()
    }

    /// Those there are, each with its name, in the order they run.
    pub fn all(&self) -> impl Iterator<Item = (&'static str, &str)> {
        [("setup", &self.setup), ("prepare", &self.prepare), ("conclude", &self.conclude), ("cleanup", &self.cleanup)]
            .into_iter()
            .filter_map(|(name, line)| Some((name, line.as_deref()?)))
    }
}
