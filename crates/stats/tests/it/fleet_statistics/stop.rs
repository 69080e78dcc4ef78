//! T5: looks while a fleet runs. In the drawn order the error rate holds; in the order of completion it does not.

use super::{NOISES, count, effects, fleets, measured, most, percent};
use crate::runs::{seed, sweeping};
use crate::tables::spending;
use powerband_stats::fleet::mean;
use powerband_stats::fleet::waves::{FIRST_LOOK, SettingStanding, ends, look};
use powerband_stats::{Claim, Rules};
use powerband_testkit::formula_fleet::{FormulaFleet, SimulatedNode};

const NODES: usize = 64;

fn fleet() -> FormulaFleet {
    FormulaFleet { nodes: NODES, ..FormulaFleet::default() }
}

fn standing(nodes: &[SimulatedNode]) -> SettingStanding {
    let rules = Rules { margin: 0.0, ..Rules::default() };
    look(&vec![true; nodes.len()], &[measured(nodes)], &rules, &spending()).settings[0]
}

fn in_drawn_order(nodes: &[SimulatedNode]) -> bool {
    standing(nodes).claim.is_difference()
}

/// The same looks, at whichever nodes finished first.
fn in_order_of_completion(nodes: &[SimulatedNode]) -> bool {
    let mut finished = nodes.to_vec();
    finished.sort_by(|a, b| a.finished.total_cmp(&b.finished));
    in_drawn_order(&finished)
}

/// Asks for 5 % at each look.
fn peeking(nodes: &[SimulatedNode]) -> bool {
    ends(nodes.len() as u32)
        .filter(|end| *end >= FIRST_LOOK)
        .any(|end| mean(&effects(&nodes[..end as usize])).unwrap().p() < 0.05)
}

#[test]
fn where_nothing_is_there_little_is_claimed() {
    let mut cases: Vec<(String, FormulaFleet)> = Vec::new();
    for &between_sd in if sweeping() { &[0.0, 0.005, 0.01, 0.03][..] } else { &[0.01] } {
        for (name, noise) in NOISES {
            cases.push((format!("{name}, spread {between_sd}"), FormulaFleet { between_sd, noise, ..fleet() }));
        }
    }
    cases.push(("2 to 8 blocks".into(), FormulaFleet { blocks: (2, 8), ..fleet() }));
    cases.push(("a fifth lost".into(), FormulaFleet { lost: 0.2, ..fleet() }));
    for (place, (name, fleet)) in cases.iter().enumerate() {
        let claimed = count(fleet, 25_700 + place as u64, fleets(), in_drawn_order);
        println!("T5 {name}: claimed {:.1}", percent(claimed, fleets()));
        assert!(f64::from(claimed) <= most(0.053, fleets()), "{name}: {claimed}");
    }
}

#[test]
fn looks_in_order_of_completion_err_and_in_drawn_order_do_not() {
    let mut case = 25_800;
    for (correlation, least) in [(0.5, 25.0), (1.0, 95.0)] {
        let tied = FormulaFleet { between_sd: 0.01, tied_to_time: correlation, ..fleet() };
        let drawn = count(&tied, case, fleets(), in_drawn_order);
        let completion = percent(count(&tied, case, fleets(), in_order_of_completion), fleets());
        println!(
            "T5 correlation {correlation}: claimed {:.1} in drawn order, {completion:.1} in order of completion",
            percent(drawn, fleets())
        );
        assert!(f64::from(drawn) <= most(0.053, fleets()), "{drawn}");
        assert!(completion > least, "{completion}");
        case += 1;
    }
    let peeked = percent(count(&fleet(), case, fleets(), peeking), fleets());
    println!("T5 5 % at each look: claimed {peeked:.1}");
    assert!(peeked > 15.0, "{peeked}");
}

#[test]
fn an_effect_is_found_with_few_nodes() {
    let mut case = 25_900;
    for &effect in if sweeping() { &[0.01, 0.02, 0.03][..] } else { &[0.02] } {
        for &between_sd in if sweeping() { &[0.0, 0.005, 0.01, 0.03][..] } else { &[0.005] } {
            let fleet = FormulaFleet { effect, between_sd, ..fleet() };
            let (mut found, mut used, mut holds, mut until) = (0, 0, 0, 0);
            for run in 0..fleets() {
                let standing = standing(&fleet.draw(seed(case, run)));
                found += u32::from(standing.claim == Claim::Higher);
                used += standing.claimed_at.unwrap_or(NODES as u32);
                holds += u32::from(standing.most.is_some());
                until += standing.most.map_or(NODES as u32, |(_, nodes)| nodes);
            }
            let per_fleet = |sum: u32| f64::from(sum) / f64::from(fleets());
            println!(
                "T5 effect {effect}, spread {between_sd}: found {:.0} after {:.1} nodes, holds {:.0} after {:.0}",
                percent(found, fleets()),
                per_fleet(used),
                percent(holds, fleets()),
                per_fleet(until)
            );
            if effect > 0.015 && between_sd < 0.011 {
                assert!(percent(found, fleets()) > 98.0 && per_fleet(used) < 8.0, "{found} {used}");
            }
            case += 1;
        }
    }
}

#[test]
fn holds_while_it_runs_is_seldom_wrong() {
    for (place, &between_sd) in if sweeping() { &[0.005, 0.01, 0.03][..] } else { &[0.01] }.iter().enumerate() {
        let fleet = FormulaFleet { effect: 1.281_551_565_5 * between_sd, between_sd, ..fleet() };
        let wrong = count(&fleet, 26_000 + place as u64, fleets(), |nodes| standing(nodes).most.is_some());
        println!("T5 spread {between_sd}: false holds {:.1}", percent(wrong, fleets()));
        assert!(f64::from(wrong) <= most(0.05, fleets()), "{between_sd}: {wrong}");
    }
}
