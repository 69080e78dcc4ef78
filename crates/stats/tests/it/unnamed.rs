//! Noises that are no model of a textbook: drift by the trial, interference in step with the blocks, readings in steps.

use crate::runs::{limit, runs, seed};
use crate::tables::{linear, spending};
use powerband_stats::{Claim, Draws, Error, Judge, Purpose, Rules, Table, open_order, slots};

/// A value from the number of the trial, its setting, the setting before it and fresh draws, in standard deviations.
type Machine = dyn Fn(u32, usize, usize, &mut Draws) -> f64;

/// Runs one experiment of up to so many blocks, decided settings leaving, and answers its claims.
fn claims(blocks: u32, rules: &Rules, settings: usize, key: u64, machine: &Machine) -> Vec<Claim> {
    let mut draws = Draws::new(key, Purpose::Trial, 7, 0);
    let mut judge = Judge::new(settings, rules.clone(), spending()).unwrap();
    let mut table = Table::new(settings);
    let mut open: Vec<usize> = (1..=settings).collect();
    let all = slots(rules.copies(settings), &open);
    let (mut trial, mut before) = (0, 0);
    for number in 0..blocks {
        let block = table.push_block();
        for slot in open_order(key, number, &all, &slots(rules.copies(open.len()), &open)) {
            table.set(block, slot, machine(trial, slot.setting, before, &mut draws)).unwrap();
            (trial, before) = (trial + 1, slot.setting);
        }
        match judge.advance(&table) {
            Ok(()) | Err(Error::TooFewBlocks { .. }) => {}
            Err(other) => panic!("{other}"),
        }
        open = judge.claims().enumerate().filter(|(_, claim)| claim.is_open()).map(|(index, _)| index + 1).collect();
        if open.is_empty() {
            break;
        }
    }
    judge.claims().collect()
}

/// Experiments in which any claim is wrong.
fn wrong(name: &str, case: u64, settings: usize, is_wrong: fn(Claim) -> bool, machine: &Machine) -> f64 {
    wrong_of(20, name, case, settings, is_wrong, machine)
}

fn wrong_of(
    blocks: u32,
    name: &str,
    case: u64,
    settings: usize,
    is_wrong: fn(Claim) -> bool,
    machine: &Machine,
) -> f64 {
    let count = runs(400, 4000);
    let rules = linear(0.5);
    let wrong =
        (0..count).filter(|&run| claims(blocks, &rules, settings, seed(case, run), machine).into_iter().any(is_wrong));
    let share = 100.0 * wrong.count() as f64 / f64::from(count);
    println!("{name}: {share:.1} %");
    share
}

/// 5 % and what chance adds to it in so many runs.
fn allowed() -> f64 {
    f64::from(limit(36, 250)) / f64::from(runs(400, 4000)) * 100.0
}

#[test]
fn a_drift_by_the_trial_and_interference_in_step_with_the_blocks_are_no_differences() {
    let normal = |draws: &mut Draws| draws.normal();
    let machines: [(&str, usize, Box<Machine>); 8] = [
        ("2 s.d. a trial", 1, Box::new(move |trial, _, _, draws| normal(draws) + 2.0 * f64::from(trial))),
        ("5 s.d. a trial", 1, Box::new(move |trial, _, _, draws| normal(draws) + 5.0 * f64::from(trial))),
        ("20 s.d. a trial", 1, Box::new(move |trial, _, _, draws| normal(draws) + 20.0 * f64::from(trial))),
        ("square wave of 2 trials", 1, Box::new(move |trial, _, _, draws| normal(draws) + 5.0 * f64::from(trial % 2))),
        (
            "square wave of 4 trials",
            1,
            Box::new(move |trial, _, _, draws| normal(draws) + 5.0 * f64::from(trial / 2 % 2)),
        ),
        ("5 s.d. a trial, 3 settings", 2, Box::new(move |trial, _, _, draws| normal(draws) + 5.0 * f64::from(trial))),
        (
            "square wave of 3 trials, 3 settings",
            2,
            Box::new(move |trial, _, _, draws| normal(draws) + 5.0 * f64::from(trial % 3)),
        ),
        ("20 s.d. a trial, 6 settings", 5, Box::new(move |trial, _, _, draws| normal(draws) + 20.0 * f64::from(trial))),
    ];
    let failed: Vec<_> = machines
        .iter()
        .enumerate()
        .map(|(at, (name, settings, machine))| {
            (name, wrong(name, 2000 + at as u64, *settings, Claim::is_difference, machine))
        })
        .filter(|(_, share)| *share > allowed())
        .collect();
    assert!(failed.is_empty(), "more than {} %: {failed:?}", allowed());
}

/// Readings in steps of 1 where the noise is of the size of a step, and far below it.
#[test]
fn readings_in_steps_are_known_no_better_than_a_step() {
    let rounded = |value: f64| value.round();
    let noise: Box<Machine> = Box::new(move |_, _, _, draws| rounded(100.5 + draws.normal()));
    let share = wrong("in steps of 1 s.d.", 2100, 1, Claim::is_difference, &noise);
    assert!(share <= allowed(), "{share}");
    // Margin 0.5: what truly differs by 0.55 is never the same, though it may read so.
    for (case, sd) in [(2110, 0.02), (2111, 0.1), (2112, 0.3), (2113, 1.0)] {
        let apart: Box<Machine> =
            Box::new(move |_, setting, _, draws| rounded(100.1 + 0.55 * setting as f64 + sd * draws.normal()));
        let share = wrong(&format!("in steps, noise {sd}"), case, 1, Claim::is_same, &apart);
        assert!(share <= allowed(), "{share}");
    }
}

#[test]
fn a_setting_with_rare_slow_trials_is_not_the_same() {
    // Typical trials are alike; a twentieth is 20 s.d. slower, so the mean is 1 s.d. higher, twice the margin.
    let rare: Box<Machine> = Box::new(|_, setting, _, draws| {
        let slow = setting == 1 && draws.uniform() < 0.05;
        draws.normal() + if slow { 20.0 } else { 0.0 }
    });
    let share = wrong_of(60, "rare slow trials", 2200, 1, Claim::is_same, &rare);
    assert!(share <= allowed(), "{share}");
}
