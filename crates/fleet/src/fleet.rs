//! What a fleet is, decided before its start: the plan, the drawn order of its nodes, and how their tasks are started.
use powerband_record::FleetTask;
use serde::{Deserialize, Serialize};

use crate::seed_of;

/// Version of the shape.
pub(crate) const VERSION: u32 = 1;

/// A fleet, as its folder and its tasks have it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Fleet {
    /// Version of this shape.
    pub version: u32,
    /// 32 hexadecimal digits that no other fleet has.
    pub key: String,
    /// The plan's file, for people.
    pub plan_file: String,
    /// The plan's text.
    pub plan: String,
    /// The machine of each node, where it is not the plan's; `{node}` in it is the node's number.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub machine: Option<String>,
    /// The seed of the order and of the tasks.
    pub seed: u64,
    /// Blocks that each node runs.
    pub blocks: u32,
    /// How many nodes measure at once.
    pub at_once: u32,
    /// The nodes in the order drawn.
    pub nodes: Vec<Node>,
    /// How tasks are started.
    pub via: Via,
    /// The program of the tasks, as nodes find it.
    pub program: String,
    /// A store that tasks write to besides, where they can reach one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub store: Option<String>,
    /// When it began, Unix seconds.
    pub started_unix_s: u64,
    /// The words it was called with.
    pub command_line: Vec<String>,
}

/// A node of a fleet.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Node {
    /// Its name, as the launcher knows it.
    pub name: String,
    /// Its number: what `{node}` in the name of a machine becomes.
    pub number: u32,
}

/// How tasks are started.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", tag = "kind")]
pub enum Via {
    /// By Slurm, as a batch job for each node.
    Slurm {
        /// The partition, if not the default one.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        partition: Option<String>,
        /// More options of sbatch.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        options: Vec<String>,
    },
    /// By a command that runs a command on a node, `ssh {node}`; an empty one runs it here.
    Command {
        /// The command, with `{node}` for the node's name.
        command: String,
    },
}

/// What one task is to do, for one that has no folder to read it from.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Task {
    /// Its fleet.
    pub fleet: Fleet,
    /// Its position in the order.
    pub position: u32,
    /// Which attempt.
    pub attempt: u32,
}

impl Task {
    /// The line it prints first. What comes before is the launcher's talk, what follows are results.
    #[must_use]
    pub fn hello(&self) -> String {
        format!("powerband task {} {}.{}", self.fleet.key, self.position, self.attempt)
    }
}

impl Fleet {
    /// How many nodes it has.
    #[must_use]
    pub fn size(&self) -> u32 {
        u32::try_from(self.nodes.len()).unwrap_or(u32::MAX)
    }

    /// The node at a position.
    #[must_use]
    pub fn node(&self, position: u32) -> Option<&Node> {
        self.nodes.get(usize::try_from(position).ok()?)
    }

    /// The beginning of its key, by which people name it.
    #[must_use]
    pub fn short(&self) -> &str {
        self.key.get(..12).unwrap_or(&self.key)
    }

    /// The seed of the task at a position.
    #[must_use]
    pub fn seed_at(&self, position: u32) -> u64 {
        seed_of(self.seed, position)
    }

    /// What an attempt at a position says of itself.
    #[must_use]
    pub fn task(&self, position: u32, attempt: u32) -> Option<FleetTask> {
        Some(FleetTask {
            fleet: self.key.clone(),
            node: self.node(position)?.name.clone(),
            position,
            nodes: self.size(),
            attempt,
            facts: std::collections::BTreeMap::new(),
        })
    }
}
