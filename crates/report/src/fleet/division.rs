//! How nodes and blocks would better be divided in a new fleet, where this one has not decided (docs/design/fleet-statistics.md).
use powerband_record::{Event, ExperimentHeader};
use powerband_stats::distribution::t_upper_quantile;
use powerband_stats::fleet::plan::{Costs, plan};
use powerband_stats::fleet::{Effects, spread};

use super::NodePlan;

/// Steps of the search for the smallest budget.
const HALVINGS: u32 = 40;
/// What another division must save to be worth a word.
const MIN_SAVED: f64 = 0.1;

/// What a node costs before its first block, and what a block costs, s.
#[derive(Clone, Copy, Debug)]
pub(super) struct Times {
    node: f64,
    block: f64,
}

/// Medians over the nodes that ran a block; time in a queue is unknown and not among them.
pub(super) fn times(experiments: &[(ExperimentHeader, Vec<Event>)]) -> Option<Times> {
    let of_node = |events: &Vec<Event>| {
        let mut trials = events.iter().filter_map(|event| match event {
            Event::TrialStarted(trial) if trial.block > 0 => Some(trial.at_ns),
            _ => None,
        });
        let blocks = events.iter().filter_map(|event| match event {
            Event::BlockDone(block) => Some(block.at_ns),
            _ => None,
        });
        let (first, blocks): (u64, Vec<u64>) = (trials.next()?, blocks.collect());
        let last = *blocks.last()?;
        let seconds = |ns: u64| ns as f64 / 1e9;
        Some((seconds(first), seconds(last.saturating_sub(first)) / blocks.len() as f64))
    };
    let (nodes, blocks): (Vec<f64>, Vec<f64>) = experiments.iter().filter_map(|(_, events)| of_node(events)).unzip();
    Some(Times { node: median(nodes)?, block: median(blocks).filter(|block| *block > 0.0)? })
}

fn median(mut values: Vec<f64>) -> Option<f64> {
    values.sort_by(f64::total_cmp);
    values.get(values.len() / 2).copied()
}

/// The cheapest fleet whose interval is as narrow as that of this one after `nodes` nodes in all, where it saves node time. The spread
/// between nodes is its limit of confidence 50 %, never the estimate, which may be 0.
pub(super) fn cheaper(effects: &Effects, nodes: u32, times: &Times) -> Option<NodePlan> {
    let (between_sd, variance) = (spread(effects, 0.5)?, effects.variance());
    let blocks = variance / effects.mean_variance();
    let costs = Costs { node: times.node, block: times.block, difference_sd: variance.sqrt(), between_sd };
    let count = f64::from(nodes);
    let one = between_sd * between_sd + effects.mean_variance();
    let wanted = t_upper_quantile(0.025, count - 1.0) * (one / count).sqrt();
    let present = count * (times.node + blocks * times.block);
    let suffices = |budget: f64| plan(budget, &costs).filter(|plan| plan.half_width <= wanted);
    let (mut low, mut high) = (0.0, present);
    let mut best = suffices(high)?;
    for _ in 0..HALVINGS {
        let middle = 0.5 * (low + high);
        match suffices(middle) {
            Some(plan) => (high, best) = (middle, plan),
            None => low = middle,
        }
    }
    (high <= (1.0 - MIN_SAVED) * present).then_some(NodePlan { nodes: best.nodes, blocks: best.blocks })
}
