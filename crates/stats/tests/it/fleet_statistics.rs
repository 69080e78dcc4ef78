//! Error rates of the statistics of a fleet, on fleets with a known truth. Short on every change; 2,000 fleets a case in
//! `cargo xtask sweep --only fleet-statistics`, which prints the tables of docs/design/fleet-statistics.md.

mod interval;
mod kinds;
mod large;
mod next;
mod odd;
mod stop;

use crate::runs::{runs, seed, sweeping};
use powerband_stats::fleet::{Effects, NodeEffect};
use powerband_testkit::formula_fleet::{EffectShape, FormulaFleet, SimulatedNode, TrialNoise};

/// Noises of trials by name.
const NOISES: [(&str, TrialNoise); 3] = [("gauss", TrialNoise::Gauss), ("t3", TrialNoise::T3), ("AR", TrialNoise::Ar)];

/// Fleets of a case.
fn fleets() -> u32 {
    runs(200, 2000)
}

/// Most fleets of a case that may count where at most a share `rate` of them should: four standard errors of chance, and two
/// more fleets where that is few.
fn most(rate: f64, count: u32) -> f64 {
    let expected = rate * f64::from(count);
    expected + 4.0 * (expected * (1.0 - rate)).sqrt() + 2.0
}

/// The sizes of fleets, those of the sweep being all.
fn sizes() -> &'static [usize] {
    if sweeping() { &[3, 8, 16, 64] } else { &[3, 8] }
}

/// Spreads between nodes.
fn spreads() -> &'static [f64] {
    if sweeping() { &[0.0, 0.005, 0.01, 0.03] } else { &[0.0, 0.01] }
}

/// Numbers of blocks on a node.
fn blocks() -> &'static [u32] {
    if sweeping() { &[2, 4, 8] } else { &[4] }
}

/// Effects of the first setting on the nodes that measured it.
fn effects(nodes: &[SimulatedNode]) -> Effects {
    Effects::new(nodes.iter().filter_map(|node| node.effect(1)).collect())
}

/// Effects by position.
fn measured(nodes: &[SimulatedNode]) -> Vec<Option<NodeEffect>> {
    nodes.iter().map(|node| node.effect(1)).collect()
}

/// Number of this case's fleets of which `of` holds.
fn count(fleet: &FormulaFleet, case: u64, fleets: u32, of: impl Fn(&[SimulatedNode]) -> bool) -> u32 {
    (0..fleets).map(|run| u32::from(of(&fleet.draw(seed(case, run))))).sum()
}

/// A share in percent.
fn percent(count: u32, of: u32) -> f64 {
    100.0 * f64::from(count) / f64::from(of)
}

/// Shapes of effects that are not normal.
const NOT_NORMAL: [(&str, EffectShape); 2] = [("t3", EffectShape::T3), ("exponential", EffectShape::Exponential)];
