//! From experiments to nodes: which attempt of a node counts, which nodes are finished, and what each measured.
use std::collections::{BTreeMap, BTreeSet};

use powerband_record::{CloseReason, Event, ExperimentHeader, FleetTask, InOrder, Metric, Started};

use super::division::{Times, times};
use super::{Fleet, FleetError, MAX_NODES, NodeRow, NodeState};
use crate::words::{and, counted};
use crate::{ExperimentEnd, Model};

/// A fleet's nodes, and what they were asked.
pub(super) struct Gathered {
    pub(super) fleet: String,
    /// The plan of the first node that began.
    pub(super) started: Started,
    /// Settings of all nodes, label and what they set; 0 is the reference.
    pub(super) settings: Vec<(String, String)>,
    /// Decision metrics.
    pub(super) metrics: Vec<Metric>,
    /// By position.
    pub(super) nodes: Vec<Node>,
    pub(super) over: bool,
    /// What nodes and blocks take.
    pub(super) times: Option<Times>,
    pub(super) notes: Vec<String>,
}

/// One node.
pub(super) struct Node {
    pub(super) position: u32,
    pub(super) name: String,
    pub(super) state: NodeState,
    pub(super) attempts: u32,
    /// What counts of it.
    pub(super) measured: Option<Measured>,
}

/// What one experiment measured.
pub(super) struct Measured {
    id: i64,
    task: FleetTask,
    /// Whether it came to its end.
    complete: bool,
    /// Blocks in which a setting and the reference were measured.
    blocks: u32,
    /// Pairs of a setting and the reference in one block.
    pairs: usize,
    /// By block: values by setting of the fleet and metric.
    pub(super) rows: Vec<BTreeMap<usize, Vec<Vec<f64>>>>,
}

impl Node {
    /// Whether nothing more will come of it.
    pub(super) fn ended(&self) -> bool {
        !matches!(self.state, NodeState::Waiting | NodeState::Running)
    }

    /// What may make it a kind of its own.
    pub(super) fn facts(&self) -> Option<&BTreeMap<String, String>> {
        self.measured.as_ref().map(|measured| &measured.task.facts)
    }

    pub(super) fn row(&self) -> NodeRow {
        let measured = self.measured.as_ref();
        NodeRow {
            position: self.position,
            node: self.name.clone(),
            state: self.state,
            experiment: measured.map(|it| it.id),
            attempt: measured.map(|it| it.task.attempt),
            attempts: self.attempts,
            blocks: measured.map_or(0, |it| it.blocks),
            facts: measured.map(|it| it.task.facts.clone()).unwrap_or_default(),
        }
    }

    /// What to call it.
    pub(super) fn called(&self) -> String {
        if self.name.is_empty() { format!("node {}", self.position + 1) } else { self.name.clone() }
    }
}

/// An experiment of the fleet, read.
struct Attempt {
    model: Model,
    task: FleetTask,
    id: i64,
}

pub(super) fn gather(experiments: &[(ExperimentHeader, Vec<Event>)], fleet: &Fleet) -> Result<Gathered, FleetError> {
    let mut attempts = read(experiments)?;
    attempts.order_by_key(|it| (it.task.position, it.task.attempt, it.id));
    let first = attempts.first().ok_or(FleetError::Empty)?;
    let started = first.model.started.clone();
    if started.calibration {
        return Err(FleetError::NotCompared("a calibration"));
    }
    if started.search.is_some() {
        return Err(FleetError::NotCompared("a search"));
    }
    let key = first.task.fleet.clone();
    if let Some(other) = attempts.iter().find(|it| it.task.fleet != key) {
        return Err(FleetError::TwoFleets(key, other.task.fleet.clone()));
    }
    let metrics: Vec<Metric> = started.metrics.iter().filter(|metric| metric.judged).cloned().collect();
    let mut notes = Vec::new();
    left_out(&mut attempts, &started, &metrics, &mut notes);
    let settings = settings(&attempts);
    let mut nodes = positions(&attempts, fleet)?;
    for attempt in &attempts {
        let Some(node) = nodes.get_mut(attempt.task.position as usize) else { continue };
        node.attempts += 1;
        if node.name != attempt.task.node {
            let (known, other) = (node.called(), &attempt.task.node);
            notes
                .push(format!("{known} and {other} have the same position in the drawn order; the second is left out"));
            continue;
        }
        let measured = measured(attempt, &settings, &metrics);
        // The most complete counts, and of equals the first: never by what was measured.
        if node.measured.as_ref().is_none_or(|known| measured.pairs > known.pairs) {
            node.measured = Some(measured);
        }
    }
    for node in &mut nodes {
        node.state = state(node, fleet);
    }
    let over = nodes.iter().all(Node::ended);
    notes.extend(repeated(&nodes));
    let times = times(experiments);
    Ok(Gathered { fleet: key, started, settings, metrics, nodes, over, times, notes })
}

/// Each experiment once.
fn read(experiments: &[(ExperimentHeader, Vec<Event>)]) -> Result<Vec<Attempt>, FleetError> {
    let mut known = BTreeSet::new();
    let mut attempts = Vec::with_capacity(experiments.len());
    for (header, events) in experiments {
        let task = header.fleet.clone().ok_or(FleetError::NoFleet(header.id))?;
        if header.run.as_ref().is_some_and(|run| !known.insert(run.clone())) {
            continue;
        }
        let model = match Model::from_events(events) {
            Ok(model) => model,
            // A node that was lost before it said anything.
            Err(crate::ModelError::Empty) => continue,
            Err(why) => return Err(FleetError::Journal { id: header.id, node: task.node, why }),
        };
        attempts.push(Attempt { model, task, id: header.id });
    }
    Ok(attempts)
}

/// Leaves out what was asked otherwise than the first node: another reference, load or decision metric.
fn left_out(attempts: &mut Vec<Attempt>, started: &Started, metrics: &[Metric], notes: &mut Vec<String>) {
    let reference = |of: &Started| of.settings.first().map(|it| it.turns.clone());
    let same = |attempt: &Attempt| {
        let other = &attempt.model.started;
        let has = |metric: &Metric| other.metrics.iter().any(|it| it.judged && it == metric);
        other.load == started.load && reference(other) == reference(started) && metrics.iter().all(has)
    };
    let mut others: Vec<String> = attempts.iter().filter(|it| !same(it)).map(|it| it.task.node.clone()).collect();
    others.dedup();
    attempts.retain(same);
    if !others.is_empty() {
        notes.push(format!("left out, as they ran another load, reference or metric: {}", and(&others)));
    }
}

/// Settings of all nodes in the order in which they first come.
fn settings(attempts: &[Attempt]) -> Vec<(String, String)> {
    let mut all: Vec<(String, String)> = Vec::new();
    for planned in attempts.iter().flat_map(|it| &it.model.started.settings) {
        let setting = (planned.label.clone(), planned.turns.clone());
        if !all.contains(&setting) {
            all.push(setting);
        }
    }
    all
}

/// All nodes of the order, measured or not.
fn positions(attempts: &[Attempt], fleet: &Fleet) -> Result<Vec<Node>, FleetError> {
    let known = attempts.iter().map(|it| it.task.nodes.max(it.task.position.saturating_add(1)) as usize).max();
    let count = known.unwrap_or(0).max(fleet.order.len());
    if count > MAX_NODES {
        return Err(FleetError::TooMany(count));
    }
    let empty = |position: usize| Node {
        position: u32::try_from(position).unwrap_or(u32::MAX),
        name: fleet.order.get(position).cloned().unwrap_or_default(),
        state: NodeState::Waiting,
        attempts: 0,
        measured: None,
    };
    let mut nodes: Vec<Node> = (0..count).map(empty).collect();
    for attempt in attempts {
        if let Some(node) = nodes.get_mut(attempt.task.position as usize).filter(|node| node.name.is_empty()) {
            node.name.clone_from(&attempt.task.node);
        }
    }
    Ok(nodes)
}

fn measured(attempt: &Attempt, settings: &[(String, String)], metrics: &[Metric]) -> Measured {
    let model = &attempt.model;
    let place_of = |label: &str, turns: &str| settings.iter().position(|(l, t)| l == label && t == turns);
    let places: Vec<Option<usize>> = model.settings.iter().map(|it| place_of(&it.label, &it.turns)).collect();
    let columns: Vec<Option<usize>> =
        metrics.iter().map(|metric| model.started.metrics.iter().position(|it| it.name == metric.name)).collect();
    let mut by_block: BTreeMap<u32, BTreeMap<usize, Vec<Vec<f64>>>> = BTreeMap::new();
    let is_judged = |trial: &&crate::TrialValues| trial.block > 0 && model.failed(trial.setting).is_none();
    for trial in model.values.iter().filter(is_judged) {
        let Some(place) = places.get(trial.setting as usize).copied().flatten() else { continue };
        let row = by_block.entry(trial.block).or_default();
        let values = row.entry(place).or_insert_with(|| vec![Vec::new(); metrics.len()]);
        for (column, values) in columns.iter().zip(values) {
            values.extend(column.and_then(|column| trial.values.get(column).copied().flatten()));
        }
    }
    let pairs_in = |row: &BTreeMap<usize, Vec<Vec<f64>>>| if row.contains_key(&0) { row.len() - 1 } else { 0 };
    let rows: Vec<_> = by_block.into_values().collect();
    let complete = matches!(
        &model.end,
        ExperimentEnd::Closed(
            CloseReason::Decided | CloseReason::Blocks | CloseReason::Budget | CloseReason::LoadFailed { .. }
        )
    );
    Measured {
        id: attempt.id,
        task: attempt.task.clone(),
        complete,
        blocks: u32::try_from(rows.iter().filter(|row| pairs_in(row) > 0).count()).unwrap_or(u32::MAX),
        pairs: rows.iter().map(pairs_in).sum(),
        rows,
    }
}

fn state(node: &Node, fleet: &Fleet) -> NodeState {
    let given_up = fleet.over || fleet.given_up.contains(&node.name);
    match &node.measured {
        Some(measured) if measured.complete && measured.pairs > 0 => NodeState::Finished,
        Some(measured) if measured.complete => NodeState::Lost,
        Some(measured) if given_up && measured.pairs > 0 => NodeState::Partial,
        _ if given_up => NodeState::Lost,
        Some(_) => NodeState::Running,
        None => NodeState::Waiting,
    }
}

/// Says that attempts were merged.
fn repeated(nodes: &[Node]) -> Option<String> {
    let several: Vec<&Node> = nodes.iter().filter(|node| node.attempts > 1).collect();
    let count = u32::try_from(several.len()).unwrap_or(u32::MAX);
    let named = several.iter().take(3).map(|node| node.called()).collect::<Vec<_>>();
    let more = if several.len() > named.len() { " and others" } else { "" };
    (count > 0).then(|| {
        format!(
            "{} ran more than once ({}{more}): of each the most complete attempt counts",
            counted(count, "node"),
            named.join(", ")
        )
    })
}

/// Nodes that are looked at together.
pub(super) struct Look {
    /// Positions of its nodes: the first of the order.
    pub(super) positions: Vec<usize>,
    /// Its share of the error rate.
    pub(super) share: f64,
    /// Whether it is the last, which has every node.
    pub(super) is_last: bool,
}
