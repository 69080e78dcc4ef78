//! Somebody on the same machine who sets knobs for us where we have no right to: what is asked of it is knobs and values,
//! never actions, so that it is the other process that knows what they come to.
use serde::{Deserialize, Serialize};

use crate::wire::Refusal;
use crate::{Action, EntryId};

/// A setting as it is asked of another process: all of it is set, or none.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Asked {
    /// Only what these CPUs belong to, as typed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cpus: Option<String>,
    /// The knobs, in the order of the setting.
    pub knobs: Vec<AskedKnob>,
}

/// One knob and its value.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct AskedKnob {
    /// Canonical name.
    pub knob: String,
    /// Site as typed; wherever the knob is without one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub site: Option<String>,
    /// Value as typed.
    pub value: String,
}

/// A process that sets what we may not set ourselves, and holds it for as long as we are connected to it.
pub trait Setter {
    /// Whether we cannot do this ourselves.
    fn is_needed(&self, action: &Action) -> bool;

    /// Sets all of it, held; answers what came of it, in the words of the crate that asked.
    ///
    /// # Errors
    /// [`Refusal`]: nothing of it is set, unless its class says that something could not be restored.
    fn set(&mut self, asked: &Asked) -> Result<serde_json::Value, Refusal>;

    /// Whether it holds this entry, which therefore cannot be kept.
    fn holds(&self, entry: EntryId) -> bool;
}
