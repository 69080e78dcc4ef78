//! Error rates in their short form: the cases that notice a broken method soonest. All of them, each a few thousand times, are in
//! bench/chance.

use crate::tables::{linear, spending};
use powerband_stats::fleet::waves::look;
use powerband_stats::fleet::{Effects, holds, mean, predict_node, spread};
use powerband_stats::noise::Noise;
use powerband_stats::{Claim, Knee, KneeGoal, KneeSearch, Rules, Scale, Slot, Table, block_order};
use powerband_testkit::formula::{Formula, FormulaResult, Limits, race_to_verdict, run_seed};
use powerband_testkit::formula_fleet::{FormulaFleet, SimulatedNode};
use powerband_testkit::machines::all;

/// Experiments of a case. 36 is 5 % of them and what chance adds in 3 of 10,000 cases.
const RUNS: u64 = 400;

/// What is counted, and how often it may be. The levels are those of the settings against a reference at 0; the noise has a
/// standard deviation of 1, times that of each setting, the reference first.
const CASES: &str = "
nothing                          | 0         | gauss  |             | plain    | 0.5 | 20 | differs | 0 36
nothing                          | 0         | ar0.7  |             | plain    | 0.5 | 20 | differs | 0 36
nothing                          | 0         | linear |             | plain    | 0.5 | 20 | differs | 0 36
nothing                          | 0         | sine   |             | plain    | 0.5 | 20 | differs | 0 36
nothing                          | 0         | t3     |             | plain    | 0.5 | 20 | differs | 0 36
nothing                          | 0         | contam |             | plain    | 0.5 | 20 | differs | 0 36
nothing of five                  | 0 0 0 0 0 | gauss  |             | plain    | 0.5 | 20 | differs | 0 36
one of five noisier              | 0 0 0 0 0 | gauss  | 1 5 1 1 1 1 | plain    | 0.5 | 20 | differs | 0 36
the reference noisier            | 0 0       | gauss  | 3 1 1       | plain    | 0.5 | 20 | differs | 0 36
these can fail                   | 0 0 0 0 0 | gauss  |             | quick    | 0.5 | 20 | differs | 37 400
ranks, nothing                   | 0         | t3     |             | ranks    | .25 | 30 | differs | 0 18
ranks, never early               | 6         | gauss  |             | ranks    | .25 | 20 | early   | 0 0
ranks, as another program finds  | 1         | contam |             | ranks    | .25 | 30 | differs | 176 248
at the margin                    | 2         | gauss  |             | plain    | 2   | 20 | same    | 0 36
at the margin                    | 2         | contam |             | plain    | 2   | 20 | same    | 0 36
at the margin, its noise         | 3 0 0     | gauss  | 1 3 1 1     | plain    | 3   | 20 | same    | 0 48
five at the margin, as a family  | 2 2 2 2 2 | gauss  |             | family   | 2   | 20 | any     | 0 36
the same                         | 0         | gauss  |             | plain    | 2   | 20 | same    | 380 400
a difference                     | 1.5       | gauss  |             | plain    | 0.5 | 30 | higher  | 360 400
a difference of one of five      | 1.5 0 0 0 0 | contam |           | plain    | 0.5 | 30 | higher  | 360 400
blocks of 20 until 1 s.d.        | 1         | gauss  |             | plain    | .33 | 30 | blocks  | 6794 8646
blocks until 3 s.d.              | 3         | gauss  |             | plain    | 1   | 30 | blocks  | 1795 2285
blocks until 10 s.d.             | 10        | gauss  |             | plain    | 3.3 | 30 | blocks  | 1091 1389
";

/// What an experiment adds to what is counted.
fn counted(what: &str, ended: &FormulaResult) -> u32 {
    let (first, mut all) = (ended.claims[0], ended.claims.iter());
    match what {
        "differs" => all.any(|claim| claim.is_difference()).into(),
        "early" => (ended.blocks < 9 && all.any(|claim| claim.is_difference())).into(),
        "same" => first.is_same().into(),
        "any" => all.any(|claim| claim.is_same()).into(),
        "higher" => (first == Claim::Higher).into(),
        "blocks" => ended.decided_after[0].unwrap_or(30),
        _ => panic!("{what}"),
    }
}

fn numbers<T: std::str::FromStr<Err: std::fmt::Debug>>(cell: &str) -> Vec<T> {
    cell.split_whitespace().map(|word| word.parse().unwrap()).collect()
}

#[test]
fn verdicts_err_as_seldom_as_promised_and_find_what_is_there() {
    for (case, text) in (0..).zip(CASES.trim().lines()) {
        let cells: Vec<&str> = text.split('|').map(str::trim).collect();
        let noise = Noise::ALL.into_iter().find(|noise| noise.name() == cells[2]).unwrap();
        let mut formula = Formula::new([vec![0.0], numbers(cells[1])].concat(), 1.0, noise);
        formula.noise_sd = Some(numbers(cells[3])).filter(|it| !it.is_empty()).unwrap_or(formula.noise_sd);
        let rules = match cells[4] {
            "quick" => Rules::quick(),
            "ranks" => Rules::robust(),
            plain => Rules { strict_same: plain == "family", ..Rules::default() },
        };
        let rules = Rules { scale: Scale::Linear, margin: cells[5].parse().unwrap(), ..rules };
        let ended = |run| {
            let limits = Limits { blocks: cells[6].parse().unwrap(), warm_up: 0, seed: run_seed(20, case, run) };
            race_to_verdict(&formula, &rules, &spending(), limits).unwrap()
        };
        let sum: u32 = (0..RUNS).map(|run| counted(cells[7], &ended(run))).sum();
        let allowed: Vec<u32> = numbers(cells[8]);
        println!("{sum:>5} {text}");
        assert!((allowed[0]..=allowed[1]).contains(&sum), "{sum} of {RUNS}: {text}");
    }
}

#[test]
fn no_disturbance_makes_what_is_equal_different() {
    for name in [
        "slope of 20 s.d. a trial",
        "square wave of 2 trials",
        "square wave of 4 trials that changes inside blocks",
        "readings in steps of 1 s.d.",
        "one setting skewed, the means alike",
    ] {
        // Of a skewed setting the typical trial differs, its mean does not.
        let rules = if name.contains("skewed") { Rules { margin: 0.5, ..Rules::mean() } } else { linear(0.5) };
        let machine = all().into_iter().find(|machine| machine.name == name).unwrap();
        let ended = |run| machine.experiment(&rules, &spending(), 20, 0.0, run_seed(20, 200, run)).unwrap();
        let wrong = (0..RUNS).filter(|run| ended(*run).claims.iter().any(|claim| claim.is_difference())).count();
        assert!(wrong <= 36, "{name}: {wrong} of {RUNS}");
    }
}

/// The knee that a search finds in at most 30 blocks.
fn knee(levels: &[f64], seed: u64) -> Option<usize> {
    let k = levels.len();
    let formula = Formula::new(levels.to_vec(), 0.5, Noise::Gauss);
    let quest = KneeSearch { cost_order: (0..k).collect(), larger_is_better: true, goal: KneeGoal::Knee, seed };
    let mut knee = Knee::new(quest, linear(1.0), spending()).unwrap();
    let mut bench = formula.start(seed, 30 * k as u32);
    let mut table = Table::new(k - 1);
    for number in 0..30 {
        let racing: Vec<_> = knee.in_race().map(Slot::first).collect();
        let block = table.push_block();
        for slot in block_order(seed, number, &racing) {
            table.set(block, slot, bench.trial(slot.setting)).unwrap();
        }
        let _ = knee.advance(&table);
        if knee.knee().is_some() {
            break;
        }
    }
    knee.knee()
}

#[test]
fn knees_are_seldom_wrong_where_they_are_hardest() {
    const JUST: f64 = 1e-6;
    // All cheaper ones are just too slow, so that only the dearest is right; or just good enough, and only the cheapest is.
    for (levels, right) in [(vec![0.0, 1.0 + JUST], 1), (vec![0.0, 1.0 - JUST], 0), (vec![0.0; 6], 0)] {
        let found = |run| knee(&levels, run_seed(20, 300, run));
        let wrong = (0..RUNS).filter(|run| found(*run).is_some_and(|setting| setting != right)).count();
        assert!(wrong <= 36, "{levels:?}: {wrong} of {RUNS}");
    }
}

/// Effects of the first setting on the nodes that measured it.
fn effects(nodes: &[SimulatedNode]) -> Effects {
    Effects::new(nodes.iter().filter_map(|node| node.effect(1)).collect())
}

#[test]
fn fleets_are_judged_as_seldom_wrong_as_promised() {
    let good = FormulaFleet { effect: 0.03, between_sd: 0.01, ..FormulaFleet::default() };
    let exact = FormulaFleet { effect: 1.281_551_565_5 * 0.01, ..good.clone() };
    let alike = FormulaFleet { effect: 0.0, nodes: 64, lost: 0.2, ..good.clone() };
    let rules = Rules { margin: 0.0, ..Rules::default() };
    let mut wrong = [("mean", 0), ("spread", 0), ("next node", 0), ("holds", 0), ("early difference", 0)];
    for run in 0..RUNS {
        let nodes = good.draw(run_seed(20, 400, run));
        let (all, rest) = (effects(&nodes), effects(&nodes[1..]));
        let (low, high) = mean(&all).unwrap().interval(0.05);
        wrong[0].1 += u32::from(!(low..=high).contains(&0.03));
        let (low, high) = (spread(&all, 0.025).unwrap(), spread(&all, 0.975).unwrap());
        wrong[1].1 += u32::from(!(low..=high).contains(&0.01));
        // The first node is measured with noise, and drawn like the others.
        let (low, high) = predict_node(&rest, &mean(&rest).unwrap(), 0.05).unwrap().effect;
        wrong[2].1 += u32::from(!(low - 0.007..=high + 0.007).contains(&nodes[0].effect(1).unwrap().mean));
        let nine_tenths = effects(&exact.draw(run_seed(20, 401, run)));
        wrong[3].1 += u32::from(holds(&nine_tenths, &mean(&nine_tenths).unwrap(), 0.035).unwrap().above > 0.0);
        let nodes = alike.draw(run_seed(20, 402, run));
        let measured = nodes.iter().map(|node| node.effect(1)).collect();
        let standing = look(&vec![true; nodes.len()], &[measured], &rules, &spending()).settings[0];
        wrong[4].1 += u32::from(standing.claim.is_difference());
    }
    assert!(wrong.iter().all(|(_, wrong)| *wrong <= 40), "{wrong:?} of {RUNS}");
    // Ten thousand nodes give the truth.
    let effects = effects(&FormulaFleet { nodes: 10_000, effect: 0.01, between_sd: 0.01, ..good }.draw(26));
    let mean = mean(&effects).unwrap();
    assert!((mean.effect - 0.01).abs() < 5.0 * mean.standard_error);
    assert!((spread(&effects, 0.5).unwrap() - 0.01).abs() < 0.0005);
    let (low, high) = predict_node(&effects, &mean, 0.05).unwrap().effect;
    assert!((low + 0.0096).abs() < 0.002 && (high - 0.0296).abs() < 0.002, "{low} {high}");
}
