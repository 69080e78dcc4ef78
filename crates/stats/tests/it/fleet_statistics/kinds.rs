//! T4: kinds of nodes, false and found.

use super::{count, effects, fleets, most, percent};
use crate::runs::sweeping;
use powerband_stats::fleet::kinds::{ALPHA, anova, blind};
use powerband_testkit::formula_fleet::{EffectShape, FormulaFleet, SimulatedNode};

fn values(nodes: &[SimulatedNode]) -> Vec<f64> {
    effects(nodes).nodes().iter().map(|node| node.mean).collect()
}

fn found_blind(nodes: &[SimulatedNode]) -> bool {
    blind(&values(nodes)).is_some_and(|split| split.is_found())
}

fn found_by_fact(nodes: &[SimulatedNode], of_kind: usize) -> bool {
    let parts: Vec<Option<usize>> = (0..nodes.len()).map(|node| Some(usize::from(node < of_kind))).collect();
    anova(&values(nodes), &parts).unwrap().p <= ALPHA
}

#[test]
fn one_kind_is_seldom_split() {
    let sizes: &[usize] = if sweeping() { &[8, 16, 32, 64] } else { &[16] };
    let shapes = [
        ("normal", EffectShape::Normal, 0.006),
        ("t3", EffectShape::T3, 0.006),
        ("uniform", EffectShape::Uniform, 0.18),
    ];
    let mut case = 25_500;
    for &nodes in sizes {
        for (name, shape, rate) in shapes {
            let fleet = FormulaFleet { nodes, shape, between_sd: 0.03, ..FormulaFleet::default() };
            let split = count(&fleet, case, fleets(), found_blind);
            let said = count(&fleet, case, fleets(), |drawn| found_by_fact(drawn, nodes / 4));
            println!(
                "T4 {nodes} nodes, {name}: false kinds blind {:.2}, by a fact {:.2}",
                percent(split, fleets()),
                percent(said, fleets())
            );
            assert!(f64::from(split) <= most(rate, fleets()), "{name} {nodes}: {split}");
            let by_fact = if shape == EffectShape::Normal { 0.006 } else { 0.012 };
            assert!(f64::from(said) <= most(by_fact, fleets()), "{name} {nodes}: {said}");
            case += 1;
        }
    }
}

#[test]
fn two_kinds_are_found() {
    let sizes: &[usize] = if sweeping() { &[8, 16, 64] } else { &[16] };
    let mut case = 25_600;
    for &nodes in sizes {
        for part in [2, 4] {
            for gap in [0.02, 0.04, 0.06] {
                let of_kind = nodes / part;
                let fleet = FormulaFleet { nodes, shifted: (of_kind, -gap), effect: 0.03, ..FormulaFleet::default() };
                let unknown = percent(count(&fleet, case, fleets(), found_blind), fleets());
                let known = percent(count(&fleet, case, fleets(), |drawn| found_by_fact(drawn, of_kind)), fleets());
                println!("T4 {nodes} nodes, 1/{part}, gap {gap}: found blind {unknown:.0}, by a fact {known:.0}");
                if nodes == 16 && part == 2 && gap > 0.05 {
                    assert!(unknown > 90.0 && known > 99.0, "{unknown} {known}");
                }
                case += 1;
            }
        }
    }
}
