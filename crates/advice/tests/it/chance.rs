//! Error rates of searches in their short form: the cases that notice a broken method soonest. All of them, each a few hundred
//! times, are in bench/chance.

use powerband_advice::{Factor, FactorKind, SearchConclusion as End, Space};
use powerband_stats::{Draws, Purpose};
use powerband_testkit::replay::{Played, ReplayTable};

use crate::{few, just_above, server};

/// Searches of tables that seeds draw, from the first seed on.
fn all(count: u64, drawn: impl Fn(u64) -> ReplayTable) -> Vec<Played> {
    let one = |seed| {
        let table: ReplayTable = drawn(seed);
        table.play(table.problem(seed), 1.0).unwrap()
    };
    (1..=count).map(one).collect()
}

fn count(all: &[Played], is: impl Fn(&Played) -> bool) -> usize {
    all.iter().filter(|played| is(played)).count()
}

fn confirmed(played: &Played) -> bool {
    matches!(played.end, Some(End::Confirmed(_)))
}

#[test]
fn a_server_is_searched_in_few_settings_and_its_bound_is_kept() {
    let all = all(16, |seed| server(seed, 0.3 + 0.6 * (seed % 7) as f64 / 6.0));
    let tried = |most: usize| count(&all, |played| played.tried.is_none_or(|tried| tried > most));
    assert!(tried(8) <= 8 && tried(14) <= 1, "{} over 8, {} over 14 of 16", tried(8), tried(14));
    assert!(count(&all, |played| played.broken) <= 2);
    assert!(count(&all, confirmed) >= 13, "only {} of 16 confirmed", count(&all, confirmed));
    let regret = all.iter().map(|played| played.regret).sum::<f64>() / 16.0;
    assert!(regret < 0.03, "mean regret {regret}");
}

#[test]
fn nothing_is_claimed_where_nothing_is_better_or_keeps_the_limit() {
    // No knob does anything; and every setting that saves lies half a percent above the limit.
    let idle = all(6, |seed| {
        let mut table = server(seed, 0.9);
        table.goal.fill(table.start.0);
        table.tail.fill(table.start.1);
        table.limit = table.start.1 + 0.2;
        table
    });
    assert!(count(&idle, confirmed) <= 3 && count(&idle, |played| played.runs >= 100) <= 3);
    let above = all(3, |seed| {
        let mut table = server(seed, 0.5).varied(seed, 0.4, server(seed, 0.5).limit);
        just_above(&mut table);
        table
    });
    assert!(count(&above, |played| played.broken) <= 2);
}

#[test]
fn a_safe_search_seldom_exceeds_the_bound() {
    let (mut over, mut runs) = ([0, 0], 0);
    for seed in 1..=4 {
        let table = server(seed, 0.2);
        let mut problem = table.problem(seed);
        over[0] += table.play(problem.clone(), 1.0).unwrap().far_over;
        problem.safe = Some(0.10);
        let safe = table.play(problem, 1.0).unwrap();
        (over[1], runs) = (over[1] + safe.far_over, runs + safe.runs);
    }
    assert!(over[1] * 10 <= runs + 100 && over[1] * 3 < over[0] * 2, "{over:?} of {runs} runs");
}

#[test]
fn a_race_of_ten_takes_fewer_runs_than_ten_repeats_each() {
    let all = all(60, |seed| few(&server(seed, 0.6), seed));
    assert!(count(&all, |played| played.runs < 55) > 30, "ten repeats are 110 runs");
    assert!(count(&all, |played| played.broken) <= 4 && count(&all, |played| played.regret > 0.01) <= 12);
}

/// Settings of which the first is cheaper than the start and all others by `gain`, at a noise of `sd`.
fn race(settings: usize, gain: f64, sd: f64, seed: u64) -> ReplayTable {
    let mut random = Draws::new(seed, Purpose::Trial, 31, 0);
    let factors = vec![Factor { name: "a".into(), kind: FactorKind::Category(settings), switch_s: 0.0 }];
    ReplayTable {
        space: Space { factors, points: (0..settings).map(|level| vec![Some(level as u16)]).collect() },
        goal: (0..settings).map(|setting| if setting == 0 { 4.0 - gain } else { 4.0 }).collect(),
        tail: vec![0.0; settings],
        start: (4.0, 0.0),
        residuals: (0..4000).map(|_| (sd * random.normal(), 0.0)).collect(),
        limit: 1.0,
        trends: (vec![0.0], vec![0.0]),
    }
}

/// A binomial of 120 exceeds 14 at 5 % and 17 at 7 % once in 500 times.
#[test]
fn races_find_a_gain_of_two_noise_deviations_and_call_nothing_else_better() {
    for (settings, sd) in [(1, 0.003), (2, 0.05), (5, 0.01), (12, 0.02)] {
        let there = all(120, |seed| race(settings, 2.0 * sd, sd, seed));
        let gains = there.iter().filter_map(|played| match &played.end {
            Some(End::Confirmed(kept)) if kept.point == 0 => kept.gain,
            _ => None,
        });
        let (found, missed) = gains.fold((0, 0), |(found, missed), gain| {
            (found + 1, missed + u32::from(gain.low > -2.0 * sd || gain.high < -2.0 * sd))
        });
        assert!(found >= 120 - 14 && missed <= 17, "{settings}, {sd}: {found} found, {missed} intervals miss the gain");
        let alike = all(120, |seed| race(settings, 0.0, sd, seed));
        let wrong = count(&alike, confirmed);
        assert!(wrong <= 14, "{settings}, {sd}: {wrong} of 120 called better");
    }
}
