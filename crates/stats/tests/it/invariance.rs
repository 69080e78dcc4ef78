//! What must not change a verdict, what must mirror it, and what must be refused.

use crate::tables::{linear, spending, table};
use powerband_stats::{Claim, Error, MetricJudge, Rules, Slot, Table, TableLook, TrialTime};
use proptest::prelude::*;

/// A random experiment: settings, and values in the order of slots, block after block.
fn experiment() -> impl Strategy<Value = (usize, Vec<Vec<f64>>)> {
    (1_usize..=6, 3_usize..=9).prop_flat_map(|(m, blocks)| {
        let effects = prop::collection::vec(-3.0..3.0_f64, m);
        let noise = prop::collection::vec(prop::collection::vec(-1.0..1.0_f64, m + 1), blocks);
        (effects, noise).prop_map(move |(effects, noise)| {
            let effects = [&[0.0], &effects[..]].concat();
            let row = |row: Vec<f64>| row.iter().zip(&effects).map(|(e, effect)| 50.0 + effect + e).collect();
            (m, noise.into_iter().map(row).collect())
        })
    })
}

/// A table of rows in which the settings ran in turn.
fn build(m: usize, rows: &[Vec<f64>]) -> Table {
    build_in_order(rows, &(0..=m).collect::<Vec<_>>())
}

/// A table of rows in each of which the settings ran in this order.
fn build_in_order(rows: &[Vec<f64>], order: &[usize]) -> Table {
    let mut table = Table::new(order.len() - 1);
    let (mut trial, mut before) = (0, None);
    for row in rows {
        let block = table.push_block();
        for setting in order {
            table.set_ran(block, Slot::first(*setting), row[*setting], TrialTime { trial, before }).unwrap();
            (trial, before) = (trial + 1, Some(*setting));
        }
    }
    table
}

/// Every look, as in an experiment.
fn all_looks(table: &Table, rules: &Rules) -> TableLook {
    let mut judge = MetricJudge::new(table.settings(), rules.clone(), spending()).unwrap();
    let mut last = None;
    for blocks in 1..=table.blocks() {
        match judge.look(&table.prefix(blocks)) {
            Ok(look) => last = Some(look),
            Err(Error::TooFewBlocks { .. }) => {}
            Err(other) => panic!("{other}"),
        }
    }
    last.unwrap()
}

fn claims(look: &TableLook) -> Vec<(Claim, Option<u32>)> {
    look.settings.iter().map(|s| (s.claim, s.claimed_at)).collect()
}

fn mirrored(claim: Claim) -> Claim {
    match claim {
        Claim::Higher => Claim::Lower,
        Claim::Lower => Claim::Higher,
        other => other,
    }
}

fn near(a: f64, b: f64) -> bool {
    (a - b).abs() <= 1e-8 * (1.0 + a.abs().max(b.abs()))
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 150, rng_seed: proptest::test_runner::RngSeed::Fixed(30), failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn a_constant_does_not_matter((m, rows) in experiment(), shift in -40.0..40.0_f64) {
        let shifted: Vec<Vec<f64>> = rows.iter().map(|row| row.iter().map(|y| y + shift).collect()).collect();
        let (a, b) = (all_looks(&build(m, &rows), &linear(0.7)), all_looks(&build(m, &shifted), &linear(0.7)));
        prop_assert_eq!(claims(&a), claims(&b));
        for (a, b) in a.settings.iter().zip(&b.settings) {
            prop_assert!(near(a.contrast.effect, b.contrast.effect) && near(a.p, b.p));
        }
    }

    #[test]
    fn the_unit_does_not_matter((m, rows) in experiment(), c in 0.01..100.0_f64) {
        let scaled: Vec<Vec<f64>> = rows.iter().map(|row| row.iter().map(|y| y * c).collect()).collect();
        let a = all_looks(&build(m, &rows), &linear(0.7));
        let b = all_looks(&build(m, &scaled), &linear(0.7 * c));
        prop_assert_eq!(claims(&a), claims(&b));
    }

    #[test]
    fn names_do_not_matter((m, rows) in experiment(), turn in 0_usize..6) {
        // The setting that was called so is called 1 + (its number - 1 + turn) modulo m.
        let name = |setting: usize| if setting == 0 { 0 } else { 1 + (setting - 1 + turn) % m };
        let renamed: Vec<Vec<f64>> = rows
            .iter()
            .map(|row| {
                let mut row = row.clone();
                row[1..].rotate_right(turn % m);
                row
            })
            .collect();
        let a = all_looks(&build(m, &rows), &linear(0.7));
        let b = all_looks(&build_in_order(&renamed, &(0..=m).map(name).collect::<Vec<_>>()), &linear(0.7));
        let mut expected = claims(&a);
        expected.rotate_right(turn % m);
        prop_assert_eq!(expected, claims(&b));
    }

    #[test]
    fn swapping_the_sides_mirrors(rows in prop::collection::vec((-1.0..1.0_f64, 0.0..2.5_f64), 3..12)) {
        let there: Vec<Vec<f64>> = rows.iter().map(|(a, b)| vec![*a, *b]).collect();
        let back: Vec<Vec<f64>> = rows.iter().map(|(a, b)| vec![*b, *a]).collect();
        let (there, back) = (build(1, &there), build_in_order(&back, &[1, 0]));
        let (a, b) = (all_looks(&there, &linear(0.7)), all_looks(&back, &linear(0.7)));
        prop_assert!(near(a.settings[0].contrast.effect, -b.settings[0].contrast.effect));
        prop_assert_eq!(mirrored(a.settings[0].claim), b.settings[0].claim);
        prop_assert_eq!(a.settings[0].claimed_at, b.settings[0].claimed_at);
    }

    #[test]
    fn reciprocals_mirror_on_the_log_scale((m, rows) in experiment()) {
        let rules = Rules { margin: 0.015, ..Rules::default() };
        let turned: Vec<Vec<f64>> = rows.iter().map(|row| row.iter().map(|y| 1.0 / y).collect()).collect();
        let (a, b) = (all_looks(&build(m, &rows), &rules), all_looks(&build(m, &turned), &rules));
        for (a, b) in a.settings.iter().zip(&b.settings) {
            prop_assert!(near(a.contrast.effect, -b.contrast.effect));
            prop_assert_eq!(mirrored(a.claim), b.claim);
        }
    }
}

#[test]
fn equal_data_are_the_same_and_nothing_is_nan() {
    for m in [1, 2, 5] {
        for offset in [0.0, 0.004] {
            let row: Vec<f64> = (0..=m).map(|place| 7.1000001 + if place > 0 { offset } else { 0.0 }).collect();
            let table = build(m, &vec![row; 5]);
            for rules in [linear(0.01), Rules { margin: 0.01, ..Rules::default() }] {
                let look = all_looks(&table, &rules);
                for setting in &look.settings {
                    assert!(setting.claim.is_same(), "{setting:?}");
                    assert_eq!(setting.claim == Claim::SameButDifferent, offset != 0.0, "{setting:?}");
                    assert!(setting.p.is_finite() && setting.contrast.t().is_finite() && setting.contrast.df() > 0.0);
                }
            }
        }
    }
    // All zeros have no yardstick at all.
    let look = all_looks(&build(2, &vec![vec![0.0; 3]; 4]), &linear(0.01));
    assert!(look.settings.iter().all(|s| s.claim == Claim::Same && !s.p.is_nan()));
}

#[test]
fn what_cannot_be_judged_is_refused_by_name() {
    let judge = |m: usize, rules: Rules| MetricJudge::new(m, rules, spending()).unwrap();
    let two = table(&[&[1.0, 2.0], &[1.0, 2.0]]);
    assert_eq!(judge(1, Rules::default()).look(&two), Err(Error::TooFewBlocks { have: 2, need: 3 }));
    let mut one = Table::new(1);
    one.push_block();
    one.set(0, Slot::first(1), 2.0).unwrap();
    assert_eq!(judge(1, Rules::default()).look(&one), Err(Error::TooFewTrials { have: 1 }));
    for _ in 0..3 {
        let block = one.push_block();
        one.set(block, Slot::first(1), 2.0).unwrap();
    }
    assert_eq!(judge(1, Rules::default()).look(&one), Err(Error::NoReference));
    for bad in [f64::NAN, f64::INFINITY, f64::NEG_INFINITY] {
        assert_eq!(one.set(1, Slot::first(0), bad), Err(Error::NotFinite { setting: 0, block: 1 }));
    }
    for bad in [0.0, -3.0] {
        let table = table(&[&[1.0, 2.0], &[1.0, bad], &[1.0, 2.0]]);
        let refused = Err(Error::NotPositive { setting: 1, block: 1, value: bad });
        assert_eq!(judge(1, Rules::default()).look(&table), refused);
        assert!(judge(1, linear(0.01)).look(&table).is_ok());
    }
    assert_eq!(MetricJudge::new(0, Rules::default(), spending()).err(), Some(Error::NoSettings));
    assert!(matches!(judge(2, Rules::default()).look(&two), Err(Error::Shape { .. })));
    let bad = Rules { alpha: 0.0, ..Rules::default() };
    assert!(matches!(MetricJudge::new(1, bad, spending()), Err(Error::BadRule { rule: "alpha", .. })));
    let mut doubled = table(&[&[1.0, 2.0], &[1.0, 2.0], &[1.0, 2.0]]);
    doubled.set(2, Slot { setting: 0, copy: 1 }, 1.0).unwrap();
    assert_eq!(judge(1, Rules::robust()).look(&doubled), Err(Error::RobustNeedsOneReference { block: 2 }));
    assert!(matches!(doubled.set(3, Slot::first(0), 1.0), Err(Error::NoSuchCell { .. })));
    assert!(matches!(doubled.set(0, Slot { setting: 1, copy: 1 }, 1.0), Err(Error::NoSuchCell { .. })));
}

#[test]
fn looking_twice_at_the_same_blocks_tests_once() {
    let rows: [&[f64]; 4] = [&[1.0, 1.2], &[1.1, 1.3], &[0.9, 1.15], &[1.05, 1.2]];
    let table = table(&rows);
    let mut judge = MetricJudge::new(1, linear(0.01), spending()).unwrap();
    let first = judge.look(&table.prefix(3)).unwrap();
    assert_eq!(judge.look(&table.prefix(3)).unwrap(), first);
    assert_ne!(judge.look(&table).unwrap(), first);
}
