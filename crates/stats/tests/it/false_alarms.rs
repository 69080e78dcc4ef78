//! Nothing is changed, and how often something is claimed: the error rate every verdict promises.

use crate::runs::{limit, runs, seed};
use crate::tables::{linear, spending};
use powerband_stats::Rules;
use powerband_stats::noise::Noise;
use powerband_testkit::formula::{Formula, Limits, race_to_verdict};

/// Experiments in which any difference was claimed.
pub(crate) fn alarms(formula: &Formula, rules: &Rules, case: u64, count: u32, blocks: u32) -> u32 {
    let spending = spending();
    let mut alarms = 0;
    for run in 0..count {
        let limits = Limits { blocks, warm_up: 0, seed: seed(case, run) };
        let ended = race_to_verdict(formula, rules, &spending, limits).unwrap();
        alarms += u32::from(ended.claims.iter().any(|claim| claim.is_difference()));
    }
    alarms
}

fn check(m: usize) {
    // A sweep brings fresh seeds, under which a true 5.0 % would exceed 117 of 2,000 in 4 % of cases: where the rate is
    // that near its limit, ask for the same 5.85 % over more runs.
    let (count, allowed) = if m <= 2 { (runs(400, 8000), limit(36, 468)) } else { (runs(400, 2000), limit(36, 117)) };
    let rules = linear(0.5);
    let mut failed = Vec::new();
    for (index, noise) in Noise::ALL.into_iter().enumerate() {
        let formula = Formula::new(vec![0.0; m + 1], 1.0, noise);
        let alarms = alarms(&formula, &rules, 100 * m as u64 + index as u64, count, 20);
        println!("m {m} {}: {:.1} %", noise.name(), 100.0 * f64::from(alarms) / f64::from(count));
        if alarms > allowed {
            failed.push((noise.name(), alarms));
        }
    }
    assert!(failed.is_empty(), "m {m}: more than {allowed} of {count}: {failed:?}");
}

#[test]
fn one_setting() {
    check(1);
}

#[test]
fn two_settings() {
    check(2);
}

#[test]
fn five_settings() {
    check(5);
}

#[test]
fn nine_settings() {
    check(9);
}
