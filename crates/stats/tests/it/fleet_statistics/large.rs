//! Fleets of a thousand nodes and of ten thousand.

use super::{count, effects, measured, most, percent};
use crate::runs::{runs, seed};
use crate::tables::spending;
use powerband_stats::Rules;
use powerband_stats::fleet::waves::look;
use powerband_stats::fleet::{heterogeneity, holds, mean, predict_node, spread};
use powerband_testkit::formula_fleet::FormulaFleet;

#[test]
fn a_thousand_nodes_keep_the_rate() {
    let of = runs(20, 2000);
    for (place, between_sd) in [0.005, 0.03].into_iter().enumerate() {
        let fleet = FormulaFleet { nodes: 1000, effect: 0.03, between_sd, ..FormulaFleet::default() };
        let case = 26_100 + place as u64;
        let of_mean = count(&fleet, case, of, |nodes| {
            let (low, high) = mean(&effects(nodes)).unwrap().interval(0.05);
            !(low..=high).contains(&0.03)
        });
        let of_spread = count(&fleet, case, of, |nodes| {
            let effects = effects(nodes);
            !(spread(&effects, 0.025).unwrap()..=spread(&effects, 0.975).unwrap()).contains(&between_sd)
        });
        println!(
            "T1 1000 nodes, spread {between_sd}: mean {:.1}, spread {:.1}",
            percent(of_mean, of),
            percent(of_spread, of)
        );
        assert!(f64::from(of_mean) <= most(0.055, of) && f64::from(of_spread) <= most(0.06, of));
    }
}

#[test]
fn ten_thousand_nodes_give_the_truth() {
    let fleet = FormulaFleet { nodes: 10_000, effect: 0.01, between_sd: 0.01, ..FormulaFleet::default() };
    let nodes = fleet.draw(seed(26_200, 0));
    let effects = effects(&nodes);
    let mean = mean(&effects).unwrap();
    assert!((mean.effect - 0.01).abs() < 5.0 * mean.standard_error);
    assert!(heterogeneity(&effects).unwrap().p < 1e-12);
    assert!((spread(&effects, 0.5).unwrap() - 0.01).abs() < 0.0005);
    assert!((spread(&effects, 0.975).unwrap() - spread(&effects, 0.025).unwrap()).abs() < 0.001);
    let (low, high) = predict_node(&effects, &mean, 0.05).unwrap().effect;
    assert!((low + 0.0096).abs() < 0.002 && (high - 0.0296).abs() < 0.002, "{low} {high}");
    assert!(holds(&effects, &mean, 0.035).unwrap().above < 0.0);
    let look = look(&vec![true; nodes.len()], &[measured(&nodes)], &Rules::default(), &spending());
    assert!(look.settings[0].claim.is_difference());
}
