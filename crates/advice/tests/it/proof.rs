//! What a search can show: in few runs, of settings that hide behind an interaction, near a limit, and within a budget.
use std::sync::Arc;

use powerband_advice::{
    Ask, Candidate, Coordinates, Data, Observation, Prior, Process, Search, SearchConclusion, SearchStage,
    UndecidedReason,
};
use powerband_stats::{Draws, Purpose};

use crate::{of_table, played, server};

/// Six by seven settings whose goal falls with both knobs but for a cheap block where only one of them is high.
fn with_hidden_block(seed: u64) -> powerband_testkit::replay::ReplayTable {
    let mut table = server(seed, 0.99);
    for (point, goal) in table.goal.iter_mut().enumerate() {
        let (row, column) = (point / 7, point % 7);
        let plain = 4.3 + 0.03 * row as f64 - 0.01 * column as f64;
        *goal = if row >= 4 && column <= 1 { plain - 0.4 } else { plain };
    }
    table.start.0 = 4.6;
    table
}

#[test]
fn a_gain_that_only_two_knobs_together_bring_is_found() {
    let mut found = 0;
    for seed in 1..=6 {
        let table = with_hidden_block(seed);
        let (_, end) = played(table.problem(seed), of_table(&table, seed));
        let best = table.best();
        found += u32::from(matches!(end, SearchConclusion::Confirmed(kept) if table.goal[kept.point] < best + 0.05));
    }
    assert!(found >= 5, "{found} of 6 found");
}

/// Plays a search and returns who was run while confirming, and its end.
fn confirmed(
    mut search: Search,
    mut answer: impl FnMut(Candidate, usize) -> Observation,
) -> (Vec<Candidate>, Vec<Candidate>, SearchConclusion) {
    let (mut asked, mut confirming) = (Vec::new(), Vec::new());
    loop {
        match search.ask() {
            Ask::End(end) => return (asked, confirming, end),
            Ask::Run(candidate) => {
                if matches!(search.phase(), SearchStage::Confirming { .. }) {
                    confirming.push(candidate);
                }
                asked.push(candidate);
                search.tell(candidate, answer(candidate, asked.len()), 20.0, 0.0);
            }
        }
    }
}

#[test]
fn the_start_is_run_no_more_once_the_gain_is_shown() {
    let (mut starts, mut candidates) = (0, 0);
    for seed in 1..=6 {
        let mut table = server(seed, 0.7);
        table.start.0 += 0.3;
        let search = Search::new(table.problem(seed)).unwrap();
        let (_, confirming, _) = confirmed(search, of_table(&table, seed));
        starts += confirming.iter().filter(|candidate| **candidate == Candidate::Start).count();
        candidates += confirming.iter().filter(|candidate| **candidate != Candidate::Start).count();
    }
    assert!(starts < candidates || starts <= 12, "{starts} runs of the start for {candidates} of candidates");
}

#[test]
fn a_budget_in_runs_is_kept_and_decides() {
    for seed in 1..=4 {
        let mut table = server(seed, 0.7);
        table.start.0 += 0.3;
        let mut search = Search::new(table.problem(seed)).unwrap();
        search.set_runs_left(14);
        let (asked, _, end) = confirmed(search, of_table(&table, seed));
        assert!(asked.len() <= 14, "{} runs", asked.len());
        assert!(
            matches!(
                end,
                SearchConclusion::Confirmed(_) | SearchConclusion::Undecided { why: UndecidedReason::Time, .. }
            ),
            "{end:?}"
        );
    }
}

#[test]
fn a_search_without_a_budget_makes_at_most_one_run_more_than_there_are_settings() {
    let table = server(5, 0.4);
    let mut random = Draws::new(5, Purpose::Noise, 7, 0);
    let (asked, _) = played(table.problem(5), |candidate, _| {
        let (goal, tail) = table.run(candidate, &mut random, 30.0);
        Observation::Valid { goal, bounds: vec![tail] }
    });
    assert!(asked.len() <= 50, "{} runs of 49 settings", asked.len());
}

#[test]
fn a_setting_on_the_limit_is_named_and_another_confirmed() {
    let mut named = 0;
    for seed in 1..=4 {
        // The cheapest setting that keeps the limit keeps it by nothing, and saves 10 % more than all others.
        let mut table = server(seed, 0.7);
        let best = table.best();
        let point = (0..49).find(|point| table.goal[*point] <= best).unwrap();
        table.tail[point] = table.limit;
        table.goal[point] -= 0.1;
        let mut search = Search::new(table.problem(seed)).unwrap();
        let mut answer = of_table(&table, seed);
        while let Ask::Run(candidate) = search.ask() {
            search.tell(candidate, answer(candidate, 0), 20.0, 0.0);
        }
        let unproved = search.standing().unproved;
        named += u32::from(unproved.iter().any(|it| it.point == point && it.saving > 0.01 && it.bounds.len() == 1));
    }
    assert!(named >= 2, "named {named} of 4 times");
}

#[test]
fn noise_that_grows_with_the_level_is_learned() {
    let table = server(3, 0.5);
    let coordinates = Arc::new(Coordinates::new(&table.space));
    let prior = Prior::tail();
    let ratio = |growth: f64| {
        let mut random = Draws::new(2, Purpose::Trial, 13, 0);
        let mut data = Data::default();
        for (point, level) in [(3, 4.5), (10, 5.0), (20, 5.5), (30, 6.0), (40, 6.5)] {
            let sd = 0.01 * (growth * (level - 4.5_f64)).exp();
            let runs: Vec<f64> = (0..8).map(|_| level + sd * random.normal()).collect();
            data.add(Some(point), &runs);
        }
        let process = Process::fit(&coordinates, &prior, &prior.mean(4.5, &table.trends.1), &data);
        (process.noise_variance(6.5) / process.noise_variance(4.5)).sqrt()
    };
    let (even, growing) = (ratio(0.0), ratio(1.0));
    assert!(even < 1.6, "even noise seems to grow {even} times");
    assert!(growing > 2.5, "noise that grows 7.4 times seems to grow {growing} times");
}
