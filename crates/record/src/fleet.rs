//! The part of a fleet that one experiment is: what one node measured for `fleet run`.
use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

/// Which node of which fleet an experiment was run on.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct FleetTask {
    /// The fleet's key: 32 hexadecimal digits.
    pub fleet: String,
    /// The node's name, as the launcher knows it.
    pub node: String,
    /// Its position in the order that was drawn before the start, from 0. Results are looked at in this order alone.
    pub position: u32,
    /// How many nodes the order has.
    pub nodes: u32,
    /// Which attempt this is, from 0: a task that was requeued runs again.
    pub attempt: u32,
    /// What may make nodes of different kinds: CPU model, stepping, microcode, BIOS, kernel. Name and value.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub facts: BTreeMap<String, String>,
}
