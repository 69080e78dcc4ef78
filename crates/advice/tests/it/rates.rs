//! How often a search is right, and how soon, on surfaces of known truth.
use powerband_advice::{FactorKind, SearchConclusion};
use powerband_stats::{Draws, Purpose};
use powerband_testkit::replay::{FrequencyAxis, Played, ReplayServer, ReplayTable};

use crate::{DELAYS_US, most, quantile, seeds, server};

/// Settings tried by a search and how it ended, over many.
fn all(tables: impl Iterator<Item = (u64, ReplayTable)>, louder: f64) -> Vec<(ReplayTable, Played)> {
    tables
        .map(|(seed, table)| {
            let played = table.play(table.problem(seed), louder).unwrap();
            (table, played)
        })
        .collect()
}

fn tried(all: &[(ReplayTable, Played)]) -> Vec<f64> {
    all.iter().map(|(_, played)| played.tried.map_or(50.0, |count| count as f64)).collect()
}

#[test]
fn sweep_a_server_is_searched_in_few_settings_and_its_bound_is_kept() {
    let all = all(seeds(16, 300).map(|seed| (seed, server(seed, 0.3 + 0.6 * (seed % 7) as f64 / 6.0))), 1.0);
    let tried = tried(&all);
    let (median, high) = (quantile(&tried, 0.5), quantile(&tried, 0.95));
    let broken = all.iter().filter(|(_, played)| played.broken).count();
    let confirmed = all.iter().filter(|(_, played)| matches!(played.end, Some(SearchConclusion::Confirmed(_)))).count();
    let regret = all.iter().map(|(_, played)| played.regret).sum::<f64>() / all.len() as f64;
    println!(
        "tried {median} / {high}, broken {broken}, confirmed {confirmed} of {}, mean regret {regret:.4}",
        all.len()
    );
    assert!(median <= 8.0 && high <= 14.0, "tried {median} / {high}");
    assert!(broken <= most(all.len(), 0.01), "{broken} of {} break the bound", all.len());
    assert!(regret < 0.03, "mean regret {regret}");
    assert!(confirmed * 10 >= all.len() * 8, "only {confirmed} of {} confirmed", all.len());
}

#[test]
fn sweep_governors_are_searched_as_categories() {
    let governors = FrequencyAxis::Governors(vec![1.9, 1.2, 3.0, 1.5, 2.4]);
    let table = |seed| {
        let server = ReplayServer::drawn(&mut Draws::new(seed, Purpose::Trial, 9, 0));
        server.table(&governors, &DELAYS_US, (0.008, 0.014), 0.6)
    };
    let all = all(seeds(8, 200).map(|seed| (seed, table(seed))), 1.0);
    assert!(matches!(all[0].0.space.factors[0].kind, FactorKind::Category(5)));
    let tried = tried(&all);
    let (median, high) = (quantile(&tried, 0.5), quantile(&tried, 0.95));
    let broken = all.iter().filter(|(_, played)| played.broken).count();
    println!("tried {median} / {high}, broken {broken} of {}", all.len());
    assert!(median <= 8.0 && high <= 14.0, "tried {median} / {high}");
    assert!(broken <= most(all.len(), 0.01), "{broken} of {} break the bound", all.len());
}

/// A machine on which no knob does anything.
fn idle(seed: u64) -> ReplayTable {
    let mut table = server(seed, 0.9);
    let start = table.start;
    table.goal.fill(start.0);
    table.tail.fill(start.1);
    table.limit = start.1 + 0.2;
    table
}

#[test]
fn sweep_a_machine_without_a_better_setting_keeps_its_start() {
    let all = all(seeds(12, 300).map(|seed| (seed, idle(seed))), 1.0);
    let claims = all.iter().filter(|(_, played)| matches!(played.end, Some(SearchConclusion::Confirmed(_)))).count();
    let runs: Vec<f64> = all.iter().map(|(_, played)| played.runs as f64).collect();
    println!("{claims} false claims of {}, {} runs at the median", all.len(), quantile(&runs, 0.5));
    assert!(claims <= most(all.len(), 0.05), "{claims} false claims of {}", all.len());
    assert!(quantile(&runs, 0.5) < 100.0, "{} runs for nothing", quantile(&runs, 0.5));
}

#[test]
fn sweep_settings_exactly_above_the_bound_are_not_kept() {
    // Every setting that saves lies half a percent above the limit: none of them may be kept.
    let table = |seed| {
        let whole = server(seed, 0.5);
        let mut table = whole.varied(seed, 0.4, whole.limit);
        for (goal, tail) in table.goal.iter().zip(&mut table.tail) {
            if *goal < table.start.0 - 0.01 {
                *tail = table.limit + 0.005;
            }
        }
        table
    };
    let all = all(seeds(3, 300).map(|seed| (seed, table(seed))), 1.0);
    let broken = all.iter().filter(|(_, played)| played.broken).count();
    println!("{broken} of {} break the bound", all.len());
    assert!(broken <= most(all.len(), 0.05), "{broken} of {} break the bound", all.len());
}

#[test]
fn sweep_a_race_of_ten_takes_fewer_runs_than_ten_repeats_each() {
    let table = |seed| {
        let table = server(seed, 0.6);
        let (share, limit) = (10.5 / table.goal.len() as f64, table.limit);
        table.varied(seed, share, limit)
    };
    let all = all(seeds(100, 2000).map(|seed| (seed, table(seed))), 1.0);
    let runs: Vec<f64> = all.iter().map(|(_, played)| played.runs as f64).collect();
    let broken = all.iter().filter(|(_, played)| played.broken).count();
    let far = all.iter().filter(|(_, played)| played.regret > 0.01).count();
    println!(
        "{} runs, 95th percentile {}; {broken} break the bound, {far} of {} over 1 % above the best",
        quantile(&runs, 0.5),
        quantile(&runs, 0.95),
        all.len()
    );
    assert!(all.iter().all(|(table, _)| table.goal.len() == 10));
    assert!(quantile(&runs, 0.5) < 55.0, "{} runs where ten repeats are 110", quantile(&runs, 0.5));
    assert!(broken <= most(all.len(), 0.01), "{broken} of {} break the bound", all.len());
    assert!(far <= most(all.len(), 0.08), "{far} of {} far above the best", all.len());
}

#[test]
fn sweep_a_safe_search_seldom_exceeds_the_bound() {
    let (mut careless, mut careful, mut runs) = (0, 0, [0, 0]);
    for seed in seeds(10, 150) {
        let table = server(seed, 0.2);
        let mut problem = table.problem(seed);
        let played = table.play(problem.clone(), 1.0).unwrap();
        (careless, runs[0]) = (careless + played.far_over, runs[0] + played.runs);
        problem.safe = Some(0.10);
        let played = table.play(problem, 1.0).unwrap();
        (careful, runs[1]) = (careful + played.far_over, runs[1] + played.runs);
    }
    println!("far over the bound: {careless} of {} runs, safe {careful} of {}", runs[0], runs[1]);
    assert!(careful <= most(runs[1], 0.10), "{careful} of {} runs exceed the bound by over 10 %", runs[1]);
    assert!(careful * 3 < careless * 2, "safe {careful}, careless {careless}");
}
