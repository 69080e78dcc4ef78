//! What a search can show: in few runs, of settings that hide behind an interaction, near a limit, and within a budget.
use powerband_advice::{Ask, Candidate, Search, SearchConclusion, SearchStage, UndecidedReason};

use crate::{louder, of_table, played, searched, server};

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
    for seed in 1..=4 {
        let table = with_hidden_block(seed);
        let (_, end) = played(table.problem(seed), of_table(&table, seed));
        let best = table.best();
        found += u32::from(matches!(end, SearchConclusion::Confirmed(kept) if table.goal[kept.point] < best + 0.05));
    }
    assert!(found >= 3, "{found} of 4 found");
}

#[test]
fn the_start_is_run_no_more_once_the_gain_is_shown() {
    let (mut starts, mut candidates) = (0, 0);
    for seed in 1..=6 {
        let mut table = server(seed, 0.7);
        table.start.0 += 0.3;
        let mut search = Search::new(table.problem(seed)).unwrap();
        let mut answer = of_table(&table, seed);
        while let Ask::Run(candidate) = search.ask() {
            let confirming = usize::from(matches!(search.phase(), SearchStage::Confirming { .. }));
            *(if candidate == Candidate::Start { &mut starts } else { &mut candidates }) += confirming;
            search.tell(candidate, answer(candidate, 0), 20.0, 0.0);
        }
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
        let (_, asked, end) = searched(search, of_table(&table, seed));
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
    let (asked, _) = played(table.problem(5), louder(&table, 5, 30.0));
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
        let (search, ..) = searched(Search::new(table.problem(seed)).unwrap(), of_table(&table, seed));
        let unproved = search.standing().unproved;
        named += u32::from(unproved.iter().any(|it| it.point == point && it.saving > 0.01 && it.bounds.len() == 1));
    }
    assert!(named >= 2, "named {named} of 4 times");
}
