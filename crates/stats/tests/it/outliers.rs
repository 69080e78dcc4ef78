//! Outliers, ranks and latencies: what must hold whatever the values.

use crate::tables::{linear, spending};
use powerband_stats::noise::Noise;
use powerband_stats::{Claim, Draws, Latencies, MetricJudge, Purpose, Slot, Table, signed_rank, slots};
use powerband_testkit::formula::{Formula, run_seed};
use proptest::prelude::*;

/// A table with one outlier of `size` in it, judged once at its end.
fn claims_with_outlier(case: u64, size: f64) -> (Vec<Claim>, f64) {
    let m = 3;
    let formula = Formula::new(vec![0.0, 0.0, 1.0, 2.0], 1.0, Noise::Gauss);
    let key = run_seed(20, 600, case);
    let mut bench = formula.start(key, 100);
    let mut table = Table::new(m);
    let rules = linear(2.5);
    for _ in 0..8 {
        bench.block(&mut table, key, &slots(1, &[1, 2, 3]), rules.scale).unwrap();
    }
    let mut draws = Draws::new(case, Purpose::Trial, 0, 0);
    let slot = Slot::first(draws.below(4) as usize);
    let block = 1 + draws.below(7) as usize;
    let clean = table.get(block, slot).unwrap();
    table.set(block, slot, clean + size).unwrap();
    let mut judge = MetricJudge::new(m, rules, spending()).unwrap();
    let look = judge.look(&table).unwrap();
    (look.settings.iter().map(|s| s.claim).collect(), look.settings[1].contrast.effect)
}

#[test]
fn a_larger_outlier_changes_no_verdict() {
    let mut changed = Vec::new();
    for case in 0..300 {
        for (near, far) in [(30.0, 300.0), (-30.0, -300.0)] {
            if claims_with_outlier(case, near).0 != claims_with_outlier(case, far).0 {
                changed.push(case);
            }
        }
    }
    assert!(changed.is_empty(), "{changed:?}");
}

/// p by going through all signs.
fn enumerated(differences: &[f64]) -> f64 {
    let sizes: Vec<f64> = differences.iter().copied().filter(|d| *d != 0.0).collect();
    let n = sizes.len();
    if n == 0 {
        return 1.0;
    }
    let rank = |i: usize| -> f64 {
        let below = sizes.iter().filter(|d| d.abs() < sizes[i].abs()).count() as f64;
        let equal = sizes.iter().filter(|d| d.abs() == sizes[i].abs()).count() as f64;
        below + 0.5 * (equal + 1.0)
    };
    let ranks: Vec<f64> = (0..n).map(rank).collect();
    let half = 0.5 * ranks.iter().sum::<f64>();
    let seen: f64 = ranks.iter().zip(&sizes).filter(|(_, d)| **d > 0.0).map(|(r, _)| r).sum();
    let as_extreme = (0..1_u32 << n)
        .filter(|signs| {
            let sum: f64 = (0..n).filter(|i| signs >> i & 1 == 1).map(|i| ranks[i]).sum();
            (sum - half).abs() >= (seen - half).abs() - 1e-9
        })
        .count();
    (as_extreme as f64 / f64::from(1_u32 << n)).min(1.0)
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 60, rng_seed: proptest::test_runner::RngSeed::Fixed(31), failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn signed_rank_p_is_the_enumerated_one(whole in prop::collection::vec(-6_i32..=9, 1..=12)) {
        // Whole numbers, so that ties and zeros occur.
        let differences: Vec<f64> = whole.into_iter().map(f64::from).collect();
        let (exact, ours) = (enumerated(&differences), signed_rank::p_two_sided(&differences));
        prop_assert!((exact - ours).abs() < 1e-12, "{exact} {ours}");
        let mirrored: Vec<f64> = differences.iter().map(|d| -d).collect();
        prop_assert_eq!(ours, signed_rank::p_two_sided(&mirrored));
    }

    /// The interval holds exactly the shifts that the test does not reject.
    #[test]
    fn walsh_interval_inverts_the_test(differences in prop::collection::vec(-10.0..10.0_f64, 6..=14), level in 0.03..0.3_f64) {
        let (low, high) = signed_rank::interval(&differences, level);
        let p = |shift: f64| signed_rank::p_two_sided(&differences.iter().map(|d| d - shift).collect::<Vec<_>>());
        if low.is_finite() {
            prop_assert!(p(low - 1e-7) <= level && p(low + 1e-7) > level);
            prop_assert!(p(high + 1e-7) <= level && p(high - 1e-7) > level);
            let middle = signed_rank::hodges_lehmann(&differences);
            prop_assert!(low <= middle && middle <= high);
        } else {
            prop_assert!(p(-100.0) > level);
        }
    }

    #[test]
    fn merging_latencies_is_associative_and_commutative(trials in prop::collection::vec(prop::collection::vec(1_u64..5_000_000, 1..60), 3)) {
        let one = |values: &Vec<u64>| {
            let mut latencies = Latencies::new();
            for v in values {
                latencies.record(*v, 1);
            }
            latencies
        };
        let parts: Vec<Latencies> = trials.iter().map(one).collect();
        let merged = |order: [usize; 3]| {
            let mut sum = parts[order[0]].clone();
            sum.merge(&parts[order[1]]);
            sum.merge(&parts[order[2]]);
            sum
        };
        let mut right = parts[1].clone();
        right.merge(&parts[2]);
        let mut nested = parts[0].clone();
        nested.merge(&right);
        let all = merged([0, 1, 2]);
        prop_assert_eq!(all.len(), trials.iter().map(|t| t.len() as u64).sum::<u64>());
        for quantile in [0.0, 0.1, 0.5, 0.9, 0.99, 1.0] {
            let q = all.quantile(quantile).unwrap();
            prop_assert_eq!(Some(q), merged([2, 0, 1]).quantile(quantile));
            prop_assert_eq!(Some(q), nested.quantile(quantile));
            let single: Vec<u64> = parts.iter().filter_map(|p| p.quantile(quantile)).collect();
            prop_assert!(single.iter().min().unwrap() <= &q && &q <= single.iter().max().unwrap());
        }
    }
}
