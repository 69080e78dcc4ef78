//! Worked examples to a millionth, and what must hold of every fleet.

use super::kinds::{blind, partitions};
use super::odd::{Deviations, find};
use super::plan::{Costs, plan};
use super::waves::{ends, look};
use super::*;
use crate::{Claim, Rules, Spending};
use std::collections::BTreeMap;

fn close(have: f64, want: f64) {
    // Figures are written down with some digits fewer than a millionth in places.
    let written = 10.0_f64.powi(-8) * 0.6;
    assert!((have - want).abs() <= (1e-6 * want.abs()).max(written), "{have} is not {want}");
}

fn percent(nodes: &[&[f64]]) -> Effects {
    let node = |of: &&[f64]| NodeEffect::of(&of.iter().map(|d| d / 100.0).collect::<Vec<f64>>()).unwrap();
    Effects::new(nodes.iter().map(node).collect())
}

const A: [&[f64]; 5] = [&[2.1, 3.4, 2.9], &[1.2, 1.8, 0.9], &[3.0, 4.1, 2.8], &[2.4, 1.5, 2.1], &[3.8, 2.7, 3.1]];

#[test]
fn five_nodes_of_three_blocks() {
    let effects = percent(&A);
    close(effects.variance(), 3.3e-5);
    close(effects.df(), 10.0);
    let mean = mean(&effects).unwrap();
    close(mean.between_sd.unwrap().powi(2), 6.17e-5);
    close(mean.effect, 0.0252);
    close(mean.standard_error, 0.003_813_14);
    close(mean.t(), 6.608_735);
    close(mean.p(), 0.002_717_27);
    let (low, high) = mean.interval(0.05);
    close(low, 0.014_613_04);
    close(high, 0.035_786_96);
    for (p, want) in [(0.025, 0.003_551_77), (0.80, 0.012_860_22), (0.965, 0.022_098_34), (0.975, 0.024_275_97)] {
        close(spread(&effects, p).unwrap(), want);
    }
    let test = heterogeneity(&effects).unwrap();
    close(test.f, 6.609_091);
    close(test.p, 0.007_206_00);
    let next = predict_node(&effects, &mean, 0.05).unwrap();
    close(next.by_limit, 0.037_242_18);
    close(next.by_shown, 0.025_932_65);
    close(next.effect.0, -0.000_732_65);
    close(next.effect.1, 0.051_132_65);
    close(holds(&effects, &mean, 0.035).unwrap().above, -0.005_382_17);
    let level = Spending::shared().nominal(Rules::default().spend, 0.045, 3, 5);
    assert!((0.0114..0.0118).contains(&level) && mean.p() <= level, "{level}");
}

#[test]
fn five_nodes_of_which_some_lost_blocks() {
    let effects = percent(&[A[0], A[1], &A[2][..2], A[3], &A[4][..1]]);
    close(effects.variance(), 3.292_857_14e-5);
    close(effects.df(), 7.0);
    close(effects.mean_variance(), 1.646_428_57e-5);
    let mean = mean(&effects).unwrap();
    close(mean.between_sd.unwrap().powi(2), 9.218_830_9e-5);
    close(mean.effect, 0.026_401_06);
    close(mean.standard_error, 0.004_648_6);
    close(mean.t(), 5.679_355_58);
    close(mean.p(), 0.004_743_84);
    for (p, want) in [(0.025, 0.004_092_65), (0.80, 0.015_765_03), (0.975, 0.029_810_81)] {
        close(spread(&effects, p).unwrap(), want);
    }
    let test = heterogeneity(&effects).unwrap();
    close(test.f, 6.970_896_6);
    close(test.p, 0.013_746_3);
    let next = predict_node(&effects, &mean, 0.05).unwrap();
    close(mean.effect - next.by_shown, -0.005_287_18);
    close(mean.effect + next.by_shown, 0.058_089_3);
    close(holds(&effects, &mean, 0.035).unwrap().above, -0.011_104_94);
}

#[test]
fn an_odd_node_and_one_that_is_only_noisy() {
    let values: Vec<f64> = [3.1, 2.8, 3.5, 2.6, 3.3, 3.0, -2.4, 2.9, 3.4, 2.7].iter().map(|y| y / 100.0).collect();
    let found = find(&values, &[0.0; 10], Deviations::Both, odd::ALPHA);
    assert_eq!(found.odd, 1);
    let first = found.suspects[0];
    assert_eq!(first.node, 6);
    close(first.mean, 0.030_333_33);
    close(first.sd, 0.003_162_28);
    assert!((first.t + 16.3).abs() < 0.05, "{}", first.t);
    close(first.df, 8.0);
    assert!((first.p / 2.019_874_0e-6 - 1.0).abs() < 1e-6, "{}", first.p);
    let second = found.suspects[1];
    assert_eq!(second.node, 2);
    close(second.t, 1.757_865);
    assert!((second.p - 1.0996).abs() < 5e-5, "{}", second.p);
    let mut excess = [0.0; 10];
    excess[6] = 1e-4;
    let noisy = find(&values, &excess, Deviations::Both, odd::ALPHA);
    assert_eq!(noisy.odd, 0);
    close(noisy.suspects[0].t, -5.154_513);
    close(noisy.suspects[0].p, 0.008_694_93);
}

#[test]
fn two_kinds() {
    let values = [3.1, 2.8, 3.3, 3.6, 3.0, 2.9, 3.4, 2.7, -0.4, -0.9, -0.6, -1.1, 3.2, 3.5, -0.7, -0.3];
    let values: Vec<f64> = values.iter().map(|y| y / 100.0).collect();
    let split = blind(&values).unwrap();
    assert_eq!(split.upper.iter().filter(|upper| **upper).count(), 10);
    close(split.means.0, -0.006_666_67);
    close(split.means.1, 0.0315);
    close(split.ratio, 42.732_236);
    close(split.critical, 7.22);
    close(split.distance, 12.630_664);
    assert!(split.is_found());
}

#[test]
fn a_fleet_is_decided_at_its_fifth_node() {
    let node = |y: f64| NodeEffect::of(&[y / 100.0 - 0.001, y / 100.0 + 0.001]);
    let measured: Vec<Option<NodeEffect>> = [2.1, 3.4, 1.2, 2.8, 1.9].map(node).to_vec();
    let spending = Spending::shared();
    for (complete, claim) in [(2, Claim::Open), (3, Claim::Open), (4, Claim::Open), (5, Claim::Higher)] {
        let ended: Vec<bool> = (0..5).map(|position| position < complete).collect();
        let look = look(&ended, std::slice::from_ref(&measured), &Rules::default(), &spending);
        assert_eq!(look.settings[0].claim, claim, "{complete} nodes");
        assert_eq!(look.settings[0].claimed_at, (claim == Claim::Higher).then_some(5));
    }
    // What has finished behind a node that runs is not looked at.
    let ended = [true, true, false, true, true];
    let look = look(&ended, std::slice::from_ref(&measured), &Rules::default(), &spending);
    assert_eq!((look.positions, look.settings[0].claim), (0, Claim::Open));
}

#[test]
fn waves_end_as_written() {
    let all: Vec<u32> = ends(130).collect();
    assert_eq!(all, [3, 4, 5, 6, 8, 10, 12, 16, 20, 24, 32, 40, 48, 64, 80, 100, 125, 130]);
    assert_eq!(ends(2).collect::<Vec<_>>(), [2]);
    assert_eq!(ends(64).last(), Some(64));
    assert_eq!(ends(0).count(), 0);
}

#[test]
fn budgets_are_divided_as_worked_out() {
    let costs = |between: f64| Costs { node: 600.0, block: 90.0, difference_sd: 0.014_14, between_sd: between };
    for (between, blocks, nodes, half) in
        [(0.0025, 7, 11, 0.0040), (0.005, 4, 15, 0.0048), (0.01, 4, 15, 0.0068), (0.03, 2, 18, 0.0157)]
    {
        let plan = plan(4.0 * 3600.0, &costs(between)).unwrap();
        assert_eq!((plan.blocks, plan.nodes), (blocks, nodes), "{between}");
        assert!((plan.half_width - half).abs() < 6e-5, "{}", plan.half_width);
    }
    let long = plan(16.0 * 3600.0, &costs(0.005)).unwrap();
    assert_eq!((long.blocks, long.nodes), (6, 50));
    assert_eq!(plan(3000.0, &costs(0.005)), None);
}

#[test]
fn counting_needs_so_many_nodes() {
    for (against, nodes) in [(0, 59), (1, 93), (2, 124)] {
        assert!(counted(nodes, against, 0.05) && !counted(nodes - 1, against, 0.05), "{nodes}");
    }
    for (nodes, share) in [(3, 0.63), (8, 0.31), (16, 0.17), (29, 0.098), (59, 0.05)] {
        assert!((largest_unseen_kind(nodes) - share).abs() < 0.005, "{nodes}");
    }
}

#[test]
fn equal_partitions_are_one() {
    let facts = |cpu: &str, bios: &str, rack: &str| -> BTreeMap<String, String> {
        [("cpu", cpu), ("bios", bios), ("rack", rack)].map(|(name, value)| (name.into(), value.into())).into()
    };
    let all = [facts("a", "1", "x"), facts("a", "1", "y"), facts("b", "2", "z"), facts("b", "2", "u")];
    let found = partitions(&all.iter().collect::<Vec<_>>());
    assert_eq!(found.len(), 1);
    assert_eq!(found[0].facts, ["bios", "cpu"]);
    assert_eq!(found[0].parts, [Some(0), Some(0), Some(1), Some(1)]);
}

#[test]
fn extremes_give_numbers() {
    let same = Effects::new(vec![NodeEffect::of(&[0.02, 0.02]).unwrap(); 4]);
    let mean_of_same = mean(&same).unwrap();
    assert_eq!((mean_of_same.standard_error, mean_of_same.between_sd), (0.0, Some(0.0)));
    assert_eq!(mean_of_same.p(), 0.0);
    assert_eq!(spread(&same, 0.975), Some(0.0));
    assert!(holds(&same, &mean_of_same, 0.035).unwrap().above > 0.0);
    let single = Effects::new(vec![NodeEffect::of(&[0.01]).unwrap(), NodeEffect::of(&[0.03]).unwrap()]);
    let of_single = mean(&single).unwrap();
    assert_eq!((spread(&single, 0.5), of_single.between_sd), (None, None));
    close(of_single.effect, 0.02);
    assert!(mean(&Effects::new(Vec::new())).is_none());
    assert_eq!(NodeEffect::of(&[]), None);
    assert_eq!(NodeEffect::of(&[f64::NAN]), None);
    // Nothing is known of nodes that all measure the same, and nothing is divided.
    assert_eq!(blind(&[0.5; 12]), None);
    assert_eq!(find(&[0.5; 12], &[0.0; 12], Deviations::Both, odd::ALPHA).odd, 0);
}

#[test]
fn the_order_of_nodes_and_the_unit_do_not_matter() {
    let effects = percent(&A);
    let mut turned = A;
    turned.reverse();
    let turned = percent(&turned);
    let (one, other) = (mean(&effects).unwrap(), mean(&turned).unwrap());
    close(one.effect, other.effect);
    close(spread(&effects, 0.9).unwrap(), spread(&turned, 0.9).unwrap());
    let mirrored = Effects::new(
        effects
            .nodes()
            .iter()
            .map(|node| NodeEffect { mean: -10.0 * node.mean, squares: 100.0 * node.squares, ..*node })
            .collect(),
    );
    let of_mirrored = mean(&mirrored).unwrap();
    close(of_mirrored.t(), -one.t());
    let (ours, theirs) = (holds(&effects, &one, 0.035).unwrap(), holds(&mirrored, &of_mirrored, 0.035).unwrap());
    close(theirs.below, -10.0 * ours.above);
}
