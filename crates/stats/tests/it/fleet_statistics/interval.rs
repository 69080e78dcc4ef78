//! T1: how often the interval of the mean effect and that of the spread miss the truth, and two ways that fail.

use super::{NOISES, NOT_NORMAL, blocks, count, effects, fleets, most, percent, sizes, spreads};
use crate::runs::sweeping;
use powerband_stats::distribution::t_two_sided;
use powerband_stats::fleet::{mean, spread};
use powerband_testkit::formula_fleet::{FormulaFleet, SimulatedNode, TrialNoise};

const EFFECT: f64 = 0.03;

fn mean_misses(nodes: &[SimulatedNode], truth: f64) -> bool {
    let Some(mean) = mean(&effects(nodes)) else { return false };
    let (low, high) = mean.interval(0.05);
    truth < low || truth > high
}

fn spread_misses(nodes: &[SimulatedNode], truth: f64) -> bool {
    let effects = effects(nodes);
    let limit = |p| spread(&effects, p).unwrap();
    truth < limit(0.025) || truth > limit(0.975)
}

/// Checks a case, and gives both rates in percent.
fn check(name: &str, fleet: &FormulaFleet, case: u64, allowed: (f64, f64)) -> (f64, f64) {
    let of = fleets();
    let of_mean = count(fleet, case, of, |nodes| mean_misses(nodes, fleet.effect));
    let of_spread = count(fleet, case, of, |nodes| spread_misses(nodes, fleet.between_sd));
    assert!(f64::from(of_mean) <= most(allowed.0, of), "{name}: mean misses in {of_mean} of {of}");
    assert!(f64::from(of_spread) <= most(allowed.1, of), "{name}: spread misses in {of_spread} of {of}");
    (percent(of_mean, of), percent(of_spread, of))
}

#[test]
fn intervals_keep_their_rate() {
    let mut case = 24_000;
    for &nodes in sizes() {
        let (mut mean, mut spread) = ((100.0_f64, 0.0_f64), (100.0_f64, 0.0_f64));
        for &per_node in blocks() {
            for (noise_name, noise) in NOISES {
                for &between_sd in spreads() {
                    let fleet = FormulaFleet {
                        nodes,
                        blocks: (per_node, per_node),
                        effect: EFFECT,
                        between_sd,
                        noise,
                        ..FormulaFleet::default()
                    };
                    let name = format!("{nodes} nodes, {per_node} blocks, {noise_name}, spread {between_sd}");
                    let rates = check(&name, &fleet, case, (0.055, 0.06));
                    mean = (mean.0.min(rates.0), mean.1.max(rates.0));
                    spread = (spread.0.min(rates.1), spread.1.max(rates.1));
                    case += 1;
                }
            }
        }
        println!("T1 {nodes} nodes: mean {:.1}-{:.1}, spread {:.1}-{:.1}", mean.0, mean.1, spread.0, spread.1);
    }
}

#[test]
fn lost_blocks_and_nodes_cost_nothing() {
    let fleets: [(&str, FormulaFleet); 2] = [
        ("2 to 8 blocks", FormulaFleet { blocks: (2, 8), effect: EFFECT, ..FormulaFleet::default() }),
        ("a quarter lost", FormulaFleet { lost: 0.25, nodes: 16, effect: EFFECT, ..FormulaFleet::default() }),
    ];
    for (place, (name, fleet)) in fleets.iter().enumerate() {
        let (mean, spread) = check(name, fleet, 24_500 + place as u64, (0.057, 0.06));
        println!("T1 {name}: mean {mean:.1}, spread {spread:.1}");
    }
}

#[test]
fn skewed_effects_are_known_to_be_worse() {
    if !sweeping() {
        return;
    }
    let mut case = 24_600;
    for (name, shape) in NOT_NORMAL {
        for nodes in [8, 16, 64] {
            for between_sd in [0.005, 0.03] {
                let fleet = FormulaFleet { nodes, shape, between_sd, effect: EFFECT, ..FormulaFleet::default() };
                let allowed = (0.10, 0.50);
                let (mean, spread) = check(name, &fleet, case, allowed);
                println!("T1 {name}, {nodes} nodes, spread {between_sd}: mean {mean:.1}, spread {spread:.1}");
                case += 1;
            }
        }
    }
}

/// Blocks taken for independent observations, whatever node they come from.
fn blocks_as_units(nodes: &[SimulatedNode]) -> bool {
    let d: Vec<f64> = nodes.iter().flat_map(|node| node.differences(1)).collect();
    let n = d.len() as f64;
    let mean = d.iter().sum::<f64>() / n;
    let variance = d.iter().map(|x| (x - mean).powi(2)).sum::<f64>() / (n - 1.0);
    t_two_sided((mean - EFFECT) / (variance / n).sqrt(), n - 1.0) <= 0.05
}

/// Nodes weighted by their own variances alone.
fn own_weights(nodes: &[SimulatedNode]) -> bool {
    let (mut weight, mut sum) = (0.0, 0.0);
    for effect in nodes.iter().filter_map(|node| node.effect(1)) {
        let w = f64::from(effect.blocks) / effect.own_variance().unwrap();
        weight += w;
        sum += w * effect.mean;
    }
    let at = |x: f64| (sum / weight - x) * weight.sqrt();
    t_two_sided(at(EFFECT), 1e6) <= 0.05
}

#[test]
fn taking_blocks_for_nodes_and_own_weights_fail() {
    let of = fleets();
    let fleet = FormulaFleet { effect: EFFECT, between_sd: 0.03, noise: TrialNoise::Gauss, ..FormulaFleet::default() };
    let blocks = percent(count(&fleet, 24_700, of, blocks_as_units), of);
    let still = FormulaFleet { between_sd: 0.0, blocks: (2, 2), ..fleet };
    let weights = percent(count(&still, 24_701, of, own_weights), of);
    println!("T1 failed: blocks as units {blocks:.1}, own variances as weights {weights:.1}");
    assert!(blocks > 20.0 && weights > 20.0, "{blocks} {weights}");
}
