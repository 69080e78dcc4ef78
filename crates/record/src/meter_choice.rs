//! Which meter of a machine is read, where it is not the first that is found, and how late its numbers come.
use serde::{Deserialize, Serialize};

use crate::Side;

/// What was asked for of a machine's meter.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct MeterChoice {
    /// Which machine's.
    pub side: Side,
    /// Its name: a boundary (`package-0`), a kind (`hwmon`), or both (`powercap:psys`); the first when `None`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// How late its numbers come, ns; taken as they come when `None`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub lag_ns: Option<u64>,
}
