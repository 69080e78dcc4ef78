//! Nodes against blocks: how a budget of node time is divided (Kalibera and Jones 2013).

use crate::distribution::t_upper_quantile;
use serde::{Deserialize, Serialize};

/// Blocks a node may be given.
const BLOCKS: std::ops::RangeInclusive<u32> = 2..=8;
/// Fewest nodes worth planning for.
const MIN_NODES: u32 = 5;

/// What a node and a block cost, and how much they vary.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Costs {
    /// Time a node takes before its first block: queue, boot, warm-up. Any unit.
    pub node: f64,
    /// Time of one block, in the same unit.
    pub block: f64,
    /// Standard deviation of one block difference.
    pub difference_sd: f64,
    /// Standard deviation of effects between nodes: its limit of confidence 50 %, never the estimate, which may be 0.
    pub between_sd: f64,
}

/// Nodes and blocks.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct FleetDesign {
    /// Nodes.
    pub nodes: u32,
    /// Blocks on each.
    pub blocks: u32,
    /// Half width of the 95 % interval of the mean effect.
    pub half_width: f64,
}

/// The division of `budget` with the narrowest interval; none where it does not suffice for five nodes of two blocks.
#[must_use]
pub fn plan(budget: f64, costs: &Costs) -> Option<FleetDesign> {
    let of_blocks = |blocks: u32| {
        let nodes = (budget / (costs.node + f64::from(blocks) * costs.block)).floor();
        if !(nodes >= f64::from(MIN_NODES) && nodes < f64::from(u32::MAX)) {
            return None;
        }
        let noise = costs.difference_sd * costs.difference_sd / f64::from(blocks);
        let variance = (costs.between_sd * costs.between_sd + noise) / nodes;
        let half_width = t_upper_quantile(0.025, nodes - 1.0) * variance.sqrt();
        Some(FleetDesign { nodes: nodes as u32, blocks, half_width })
    };
    BLOCKS.filter_map(of_blocks).min_by(|a, b| a.half_width.total_cmp(&b.half_width))
}
