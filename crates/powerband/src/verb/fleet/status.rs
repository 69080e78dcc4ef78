//! `fleet status`: how each node is getting on, from the folder and from what starts the tasks.
use std::collections::BTreeMap;

use powerband_fleet::{Fleet, Folder, NodeStanding, Reader, Seen, State, Via, standings};
use schemars::JsonSchema;
use serde::Serialize;

use super::{find, launcher};
use crate::cli::{OneFleet, Shared};
use crate::exit::{Answer, Exit, Failure};
use crate::output::{self, Document};

/// A fleet as it is getting on.
#[derive(Serialize, JsonSchema)]
pub(crate) struct FleetStatus {
    /// Its key.
    fleet: String,
    /// Its folder.
    folder: String,
    /// The plan's file.
    plan: String,
    /// The seed that its order was drawn from.
    seed: u64,
    /// Who starts its tasks and waits for them now.
    #[serde(skip_serializing_if = "Option::is_none")]
    conducted_by: Option<String>,
    /// How it ended: `decided`, `nodes` (all were measured) or `cancelled`.
    #[serde(skip_serializing_if = "Option::is_none")]
    ended: Option<String>,
    /// Its nodes in the drawn order.
    nodes: Vec<NodeStanding>,
}

impl Document for FleetStatus {
    const KIND: &'static str = "fleet-status";
}

pub(super) fn run(shared: &Shared, args: &OneFleet) -> Answer {
    let (folder, fleet) = find(args)?;
    print(shared, &fleet, &folder)
}

/// How the nodes are getting on.
pub(super) fn nodes(fleet: &Fleet, folder: &Folder) -> Result<Vec<NodeStanding>, Failure> {
    let attempts = Reader::default().read(folder, fleet)?;
    let seen = match fleet.via {
        Via::Slurm { .. } => launcher(fleet).look(fleet)?,
        // Its tasks live with the one that started them.
        Via::Command { .. } if folder.conducted_by().is_some() => folder
            .starts()
            .into_iter()
            .filter(|(_, start)| start.refused.is_none())
            .map(|(at, _)| (at, Seen::Running))
            .collect(),
        Via::Command { .. } => BTreeMap::new(),
    };
    Ok(standings(fleet, folder, &attempts, &seen))
}

/// Prints how it is getting on.
pub(super) fn print(shared: &Shared, fleet: &Fleet, folder: &Folder) -> Answer {
    let nodes = nodes(fleet, folder)?;
    let status = FleetStatus {
        fleet: fleet.key.clone(),
        folder: folder.path().display().to_string(),
        plan: fleet.plan_file.clone(),
        seed: fleet.seed,
        conducted_by: folder.conducted_by(),
        ended: folder.ended().map(|ended| ended.reason),
        nodes,
    };
    if shared.json {
        return output::print_document(&status);
    }
    output::print(&text(&status, fleet));
    Ok(Exit::Fine as u8)
}

/// How many nodes are in each state.
pub(super) fn summary(nodes: &[NodeStanding]) -> String {
    let states = [
        State::Done,
        State::Running,
        State::Pending,
        State::Requeued,
        State::Lost,
        State::NotStarted,
        State::NotNeeded,
        State::Cancelled,
    ];
    let count = |state: &State| nodes.iter().filter(|node| node.state == *state).count();
    let parts = states.iter().map(|state| (count(state), state)).filter(|(count, _)| *count > 0);
    let parts: Vec<String> = parts.map(|(count, state)| format!("{count} {}", state.words())).collect();
    format!("{} nodes: {}", nodes.len(), parts.join(", "))
}

fn text(status: &FleetStatus, fleet: &Fleet) -> String {
    let end = status.ended.as_deref().map_or(String::new(), |reason| match reason {
        "decided" => "; everything is decided".to_owned(),
        "cancelled" => "; cancelled".to_owned(),
        _ if status.nodes.iter().all(|node| node.state == State::Done) => "; every node was measured".to_owned(),
        _ => "; no other node is left to measure".to_owned(),
    });
    let mut text = format!("fleet {}, {}: {}{end}\n", fleet.short(), status.plan, summary(&status.nodes));
    let width = status.nodes.iter().map(|node| node.node.len()).max().unwrap_or(0).max(4);
    text += &format!("\n  #    {:<width$}  state        blocks  attempts  reason\n", "node");
    for node in &status.nodes {
        let why = node.why.as_deref().unwrap_or_default();
        let blocks = format!("{} of {}", node.blocks, node.of);
        let line = format!(
            "  {:<3}  {:<width$}  {:<11}  {blocks:<6}  {:<8}  {why}",
            node.position + 1,
            node.node,
            node.state.words(),
            node.attempts
        );
        text += line.trim_end();
        text.push('\n');
    }
    text
}
