//! How each node of a fleet is getting on, from its attempts and from what its launcher says.
use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::Serialize;

use crate::{Attempts, Fleet, Folder, Seen, best, conduct::CANCELLED};

/// How a node is getting on.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum State {
    /// Its task was not started yet.
    NotStarted,
    /// Its task waits for the node.
    Pending,
    /// Its task runs.
    Running,
    /// Its task waits to run again.
    Requeued,
    /// All of its blocks are there.
    Done,
    /// Its task ended before its last block, and will not go on by itself.
    Lost,
    /// It was not needed: everything was decided before.
    NotNeeded,
    /// The fleet was cancelled before its task was started.
    Cancelled,
}

impl State {
    /// For people.
    #[must_use]
    pub fn words(self) -> &'static str {
        match self {
            State::NotStarted => "not started",
            State::Pending => "pending",
            State::Running => "running",
            State::Requeued => "requeued",
            State::Done => "done",
            State::Lost => "lost",
            State::NotNeeded => "not needed",
            State::Cancelled => "cancelled",
        }
    }
}

/// One node of a fleet.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct NodeStanding {
    /// Its position in the drawn order, from 0.
    pub position: u32,
    /// Its name.
    pub node: String,
    /// How it is getting on.
    pub state: State,
    /// Complete blocks of the attempt that counts.
    pub blocks: u32,
    /// Blocks that it is to run.
    pub of: u32,
    /// How often its task began.
    pub attempts: u32,
    /// The attempt that counts, from 0.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub counts: Option<u32>,
    /// Whether the latest attempt says that everything was restored; absent where none began.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub restored: Option<bool>,
    /// Why it is so, where there is more to say.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub why: Option<String>,
}

impl NodeStanding {
    /// Whether nothing more comes of it, unless the fleet is resumed.
    #[must_use]
    pub fn is_final(&self) -> bool {
        matches!(self.state, State::Done | State::Lost | State::NotNeeded | State::Cancelled)
    }
}

/// How all nodes are getting on, in the drawn order; `seen`: what the launcher says, where it could be asked.
#[must_use]
pub fn standings(fleet: &Fleet, folder: &Folder, attempts: &Attempts, seen: &BTreeMap<u32, Seen>) -> Vec<NodeStanding> {
    let starts = folder.starts();
    let unstarted = folder.ended().map_or(State::NotStarted, |ended| match ended.reason.as_str() {
        CANCELLED => State::Cancelled,
        _ => State::NotNeeded,
    });
    let standing = |(position, node): (u32, &crate::Node)| {
        let all = attempts.get(&position).map_or(&[][..], Vec::as_slice);
        let counts = best(all);
        let (state, why) = state_of(all, seen.get(&position), starts.get(&position), unstarted);
        NodeStanding {
            position,
            node: node.name.clone(),
            state,
            blocks: counts.map_or(0, |attempt| attempt.blocks()),
            of: fleet.blocks,
            attempts: u32::try_from(all.len()).unwrap_or(u32::MAX),
            counts: counts.map(|attempt| attempt.number),
            // An attempt that opened its machine found what those before it left, and restored it.
            restored: all.iter().rev().find(|attempt| attempt.header.is_some()).map(crate::Attempt::is_restored),
            why,
        }
    };
    (0..).zip(&fleet.nodes).map(standing).collect()
}

fn state_of(
    attempts: &[crate::Attempt],
    seen: Option<&Seen>,
    start: Option<&crate::Start>,
    unstarted: State,
) -> (State, Option<String>) {
    if best(attempts).is_some_and(crate::Attempt::is_complete) {
        return (State::Done, None);
    }
    let why = attempts.iter().rev().find_map(crate::Attempt::why_incomplete);
    match (seen, start) {
        (_, Some(start)) if start.given_up => (State::Lost, start.refused.clone()),
        (Some(Seen::Running), _) => (State::Running, None),
        (Some(Seen::Waiting { why, .. }), _) => {
            let reason = Some(why.clone()).filter(|why| !why.is_empty() && why != "None");
            (if attempts.is_empty() { State::Pending } else { State::Requeued }, reason)
        }
        (Some(Seen::Ended(ended)), _) if !attempts.is_empty() || ended.is_some() => {
            (State::Lost, Some(why.or_else(|| ended.clone()).unwrap_or_else(without_a_word)))
        }
        (_, Some(start)) if attempts.is_empty() && start.refused.is_some() => (State::Lost, start.refused.clone()),
        (_, Some(start)) => (State::Lost, Some(why.or_else(|| start.refused.clone()).unwrap_or_else(without_a_word))),
        (_, None) if !attempts.is_empty() => (State::Lost, Some(why.unwrap_or_else(without_a_word))),
        (_, None) => (unstarted, None),
    }
}

fn without_a_word() -> String {
    "its task ended without saying why".into()
}
