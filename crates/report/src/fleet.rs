//! One experiment on many nodes: what the settings do over the fleet, as data, as text and as charts.
//!
//! Every node's task is an ordinary experiment. [`answer`] takes the experiments of one fleet and judges them together, by
//! [`powerband_stats::fleet`]: nodes are looked at in the order that was drawn before the start, whatever order they finish in.
use std::collections::{BTreeMap, BTreeSet};

use powerband_record::{Better, CpuList, Event, ExperimentHeader, Verdict};
use serde::Serialize;
use thiserror::Error;

use crate::ModelError;

mod applications;
mod division;
mod gather;
mod group;
mod kinds;
mod lines;
mod looks;
mod lost;
mod odd;
mod recommended;
pub(crate) mod text;
mod words;

use looks::Apart;

pub use applications::{ApplicationRow, ApplicationTable, Applications, applications};
pub use lines::SlurmRequest;
pub use recommended::{Choice, Recommended};

/// Most nodes of a fleet.
pub const MAX_NODES: usize = 1_000_000;

/// Why experiments give no answer.
#[derive(Clone, Debug, PartialEq, Error)]
#[non_exhaustive]
pub enum FleetError {
    /// Nothing was given.
    #[error("no node of this fleet has stored anything yet")]
    Empty,
    /// An experiment that belongs to no fleet.
    #[error("experiment {0} is no part of a fleet")]
    NoFleet(i64),
    /// Experiments of two fleets.
    #[error("experiments of two fleets were given: {0} and {1}")]
    TwoFleets(String, String),
    /// More nodes than any fleet has: a damaged header.
    #[error("the header of an experiment speaks of {0} nodes, more than {MAX_NODES}; it is damaged")]
    TooMany(usize),
    /// A journal that cannot be read.
    #[error("experiment {id} of node {node}: {why}")]
    Journal {
        /// Its number.
        id: i64,
        /// The node.
        node: String,
        /// Why.
        why: ModelError,
    },
    /// Nothing that is compared with a reference.
    #[error("this fleet ran {0}, which compares no settings")]
    NotCompared(&'static str),
    /// An error rate or margin that makes no sense.
    #[error(transparent)]
    Stats(#[from] powerband_stats::Error),
}

/// What is known of the fleet besides what its nodes stored.
#[derive(Clone, Debug, Default)]
pub struct Fleet {
    /// Names of all nodes in the drawn order; empty where only those are known that began.
    pub order: Vec<String>,
    /// Nodes on which nothing will run any more.
    pub given_up: BTreeSet<String>,
    /// Nothing runs or waits any more: every node is finished or given up.
    pub over: bool,
    /// Nodes that were named and are not in the order, as everything was decided without them.
    pub not_needed: u32,
    /// Nodes that were named and are not in the order, as it was cancelled.
    pub cancelled: u32,
    /// What is typed to start again what was lost, where that can be.
    pub resume: Option<String>,
}

/// What the settings do over a fleet.
#[derive(Clone, Debug, PartialEq, Serialize, schemars::JsonSchema)]
pub struct FleetAnswer {
    /// The fleet's key.
    pub fleet: String,
    /// Title of the plan, if any.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub title: Option<String>,
    /// The finding in one sentence.
    pub finding: String,
    /// Error rate of all "better" and "worse" together.
    pub alpha: f64,
    /// Margin of "same", relative.
    pub margin: f64,
    /// Whether every node is finished or given up.
    pub over: bool,
    /// How many nodes of the drawn order were looked at: all before that position are finished or given up.
    pub looked_at: u32,
    /// The nodes in the drawn order.
    pub nodes: Vec<NodeRow>,
    /// Nodes that were named besides, and not needed to decide everything.
    #[serde(skip_serializing_if = "is_zero")]
    pub not_needed: u32,
    /// Nodes that were named besides, and cancelled.
    #[serde(skip_serializing_if = "is_zero")]
    pub cancelled: u32,
    /// The reference that settings are compared with.
    pub reference: String,
    /// The CPUs that settings are for, where the plan names some.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cpus: Option<CpuList>,
    /// Answers by decision metric.
    pub metrics: Vec<MetricAnswer>,
    /// Nodes that do not belong to the others: by baseline first, then by effect, then by noise. They are looked for at the first 16, 64,
    /// 256 and 1,024 nodes of the order and at the end, with one error rate for all.
    pub odd: Vec<OddNode>,
    /// Kinds of nodes, where there are any; before the end they are notes.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub kinds: Option<Kinds>,
    /// The setting to use.
    #[serde(flatten)]
    pub choice: Choice,
    /// What is typed to start lost nodes again, where something is undecided without them.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub resume: Option<String>,
    /// What must be known with it, a sentence each.
    pub notes: Vec<String>,
}

/// How far a node is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, schemars::JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum NodeState {
    /// Nothing is stored of it yet.
    Waiting,
    /// It runs, or will be gone on with.
    Running,
    /// All its blocks are there.
    Finished,
    /// It was given up with some blocks, which count.
    Partial,
    /// It was given up with nothing that counts.
    Lost,
}

/// One node.
#[derive(Clone, Debug, PartialEq, Serialize, schemars::JsonSchema)]
pub struct NodeRow {
    /// Its position in the drawn order, from 0.
    pub position: u32,
    /// Its name; empty where only its position is known.
    pub node: String,
    /// How far it is.
    pub state: NodeState,
    /// The experiment that counts, of several attempts the most complete.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub experiment: Option<i64>,
    /// Which attempt that is, from 0.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub attempt: Option<u32>,
    /// Attempts that are stored.
    pub attempts: u32,
    /// Complete blocks that count.
    pub blocks: u32,
    /// What may make it a kind of its own.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub facts: BTreeMap<String, String>,
}

/// One decision metric.
#[derive(Clone, Debug, PartialEq, Serialize, schemars::JsonSchema)]
pub struct MetricAnswer {
    /// The metric.
    pub metric: String,
    /// Which way is better.
    pub better: Better,
    /// Whether changes are in the metric's own unit, not relative.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub absolute: bool,
    /// Margin of "same": relative, or in the metric's own unit.
    pub margin: f64,
    /// Settings without the reference, in the order of the plan.
    pub settings: Vec<SettingAnswer>,
}

/// One setting in one metric.
#[derive(Clone, Debug, PartialEq, Serialize, schemars::JsonSchema)]
pub struct SettingAnswer {
    /// Its label.
    pub setting: String,
    /// What it sets, as it can be typed again.
    pub turns: String,
    /// What is found over all nodes. Where there are kinds it depends on the mixture of them.
    pub fleet: GroupAnswer,
    /// Effect by node, in the drawn order; nodes that measured none are left out.
    pub effects: Vec<NodeEffectRow>,
    /// The nodes that died did so under this setting more often than chance allows; "same" and "holds" are withheld.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub lost_under: bool,
}

/// What a setting does over some nodes. Changes are relative (0.05 = 5 % more) unless the metric's are absolute.
#[derive(Clone, Debug, PartialEq, Serialize, schemars::JsonSchema)]
pub struct GroupAnswer {
    /// What is found.
    pub verdict: Verdict,
    /// Nodes it rests on.
    pub nodes: u32,
    /// Nodes at which it was decided.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub decided_at: Option<u32>,
    /// Mean effect over nodes.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub change: Option<f64>,
    /// Its interval, valid at every look at once.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub low: Option<f64>,
    /// Upper end.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub high: Option<f64>,
    /// Two-sided p of "no difference".
    #[serde(skip_serializing_if = "Option::is_none")]
    pub p: Option<f64>,
    /// The p that a difference needs at this look.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub p_asked: Option<f64>,
    /// How much effects differ between nodes.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub spread: Option<Spread>,
    /// Where the effect on a node that was not measured lies, in 95 % of fleets: low and high.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub next_node: Option<(f64, f64)>,
    /// What holds on at least 90 % of nodes.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub holds: Option<Holds>,
    /// How many nodes more would decide it, low and high.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub more_nodes: Option<(u32, u32)>,
    /// A new fleet that would decide it in less node time, as nodes and blocks are divided better.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub new_fleet: Option<NodePlan>,
}

/// Nodes, and blocks on each.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, schemars::JsonSchema)]
pub struct NodePlan {
    /// Nodes.
    pub nodes: u32,
    /// Blocks on each.
    pub blocks: u32,
}

/// Differences between nodes in the effect.
#[derive(Clone, Debug, PartialEq, Serialize, schemars::JsonSchema)]
pub struct Spread {
    /// Standard deviation of true effects between nodes, estimated.
    pub sd: f64,
    /// Its 95 % interval, lower end.
    pub low: f64,
    /// Upper end.
    pub high: f64,
    /// Whether nodes are shown to differ at all, at 5 %.
    pub disagree: bool,
    /// p of "the same effect on every node".
    pub p: f64,
}

/// What holds on at least 90 % of nodes.
#[derive(Clone, Debug, PartialEq, Serialize, schemars::JsonSchema)]
pub struct Holds {
    /// `better`, `worse`, or `same` for "not worse by more than the margin"; absent where nothing is shown.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub on_most: Option<Verdict>,
    /// It is shown only if effects of nodes are bell-shaped; otherwise by counting nodes.
    pub if_bell_shaped: bool,
    /// The effect that at least 90 % of nodes reach, if effects are bell-shaped: towards better.
    pub reached: f64,
    /// A kind of node may make up as large a share of the fleet without any of it having been measured (5 %).
    pub unseen_share: f64,
    /// In words.
    pub words: String,
}

/// A setting's effect on one node.
#[derive(Clone, Debug, PartialEq, Serialize, schemars::JsonSchema)]
pub struct NodeEffectRow {
    /// The node's position in the drawn order.
    pub position: u32,
    /// Mean change over its blocks.
    pub change: f64,
    /// Interval of 95 % by the noise of all nodes; lower end.
    pub low: f64,
    /// Upper end.
    pub high: f64,
    /// Blocks it rests on.
    pub blocks: u32,
}

/// In what a node is odd.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, schemars::JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum OddIn {
    /// Its level under the reference.
    Baseline,
    /// The effect of a setting.
    Effect,
    /// How much its trials scatter.
    Noise,
}

/// A node that does not belong to the others. At most 1 % of fleets of good nodes name one.
#[derive(Clone, Debug, PartialEq, Serialize, schemars::JsonSchema)]
pub struct OddNode {
    /// The node.
    pub node: String,
    /// Its position in the drawn order.
    pub position: u32,
    /// In what.
    pub odd_in: OddIn,
    /// In which metric.
    pub metric: String,
    /// Under which setting, where it is an effect.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub setting: Option<String>,
    /// Its value: change against the mean of the others, effect, or noise as a multiple of theirs.
    pub value: f64,
    /// The others' effect, where it is an effect.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub others: Option<f64>,
    /// Chance of one so odd among so many good nodes.
    pub p: f64,
    /// In words.
    pub words: String,
}

/// Kinds of nodes.
#[derive(Clone, Debug, PartialEq, Serialize, schemars::JsonSchema)]
pub struct Kinds {
    /// Facts that divide the nodes; empty where the values alone do, which is a reason to look for a cause and no claim.
    pub facts: Vec<String>,
    /// In which metric they differ most.
    pub metric: String,
    /// Under which setting; absent for the baseline.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub setting: Option<String>,
    /// Chance of such a difference by a fact that matters not; absent where no fact divides them.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub p: Option<f64>,
    /// The kinds.
    pub parts: Vec<NodeKind>,
    /// In words.
    pub words: String,
}

/// One kind of nodes.
#[derive(Clone, Debug, PartialEq, Serialize, schemars::JsonSchema)]
pub struct NodeKind {
    /// Value of the first fact, or `lower` and `higher`.
    pub name: String,
    /// Positions of its nodes.
    pub positions: Vec<u32>,
    /// By metric and setting, as in the fleet's own answer, each kind having its share of the error rate.
    pub metrics: Vec<Vec<GroupAnswer>>,
}

/// Judges the experiments of one fleet together.
///
/// Several attempts of one node count as the most complete of them, never by what was measured; an experiment given twice
/// counts once. A node that ran other settings than the first is compared in those that both have.
///
/// # Errors
/// [`FleetError`] where they are no experiments of one fleet.
pub fn answer(experiments: &[(ExperimentHeader, Vec<Event>)], fleet: &Fleet) -> Result<FleetAnswer, FleetError> {
    let gathered = gather::gather(experiments, fleet)?;
    let all: Vec<usize> = (0..gathered.nodes.len()).collect();
    let lost_under = lost::settings(experiments, &gathered);
    let whole = group::judge(&gathered, &all, 1.0);
    let Apart { kinds, odd, named } = looks::apart(&gathered, &whole, &lost_under);
    let metrics: Vec<MetricAnswer> =
        whole.iter().map(|metric| group::metric_answer(&gathered, metric, &lost_under, kinds.as_ref())).collect();
    let cpus = gathered.started.cpus.clone();
    let choice = match gathered.started.requirements.first() {
        Some(limit) => Choice::nothing("", &format!("the plan's limit {limit} is not judged over a fleet")),
        None => recommended::choose(&metrics, kinds.as_ref(), cpus.as_ref()),
    };
    let mut notes = gathered.notes.clone();
    notes.extend(words::notes(&gathered, &metrics, kinds.as_ref()));
    notes.extend(named);
    let mut answer = FleetAnswer {
        fleet: gathered.fleet.clone(),
        title: gathered.started.title.clone(),
        finding: String::new(),
        alpha: gathered.started.alpha,
        margin: gathered.started.margin,
        over: gathered.over,
        looked_at: whole.first().map_or(0, |metric| metric.looked_at),
        nodes: gathered.nodes.iter().map(gather::Node::row).collect(),
        not_needed: fleet.not_needed,
        cancelled: fleet.cancelled,
        reference: gathered.started.settings.first().map(|it| it.label.clone()).unwrap_or_default(),
        cpus,
        metrics,
        odd,
        kinds,
        choice,
        resume: None,
        notes,
    };
    answer.resume = fleet.resume.clone().filter(|_| is_open_for_losses(&answer));
    answer.finding = words::finding(&answer);
    Ok(answer)
}

/// Whether it is over and undecided, with nodes that were lost or given up.
fn is_open_for_losses(answer: &FleetAnswer) -> bool {
    let lost = answer.nodes.iter().any(|node| matches!(node.state, NodeState::Lost | NodeState::Partial));
    let mut settings = answer.metrics.iter().flat_map(|metric| &metric.settings);
    answer.over && lost && settings.any(|it| it.fleet.verdict == Verdict::Undecided)
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde calls it so")]
fn is_zero(count: &u32) -> bool {
    *count == 0
}

impl FleetAnswer {
    /// Prints what a terminal of 24 lines shows at once, the finding and what to type last.
    #[must_use]
    pub fn brief(&self, width: usize) -> String {
        text::brief(self, width)
    }

    /// Prints all of it for `width` columns.
    #[must_use]
    pub fn render(&self, width: usize) -> String {
        text::render(self, width)
    }
}
