//! Recorded searches: the settings they run in order, their end and what they report of it, by kind of problem. A change of any
//! rule of the search shows in the snapshot; whether it is a better rule is for the error rates (bench/chance).

use powerband_advice::{Candidate, Observation, Problem, Search};
use powerband_testkit::replay::ReplayTable;
use std::fmt::Write as _;

use crate::{few, just_above, louder, searched, server};

/// What is asked of a table in place of its plain problem.
type Change = fn(&mut ReplayTable, &mut Problem);

#[test]
fn searches_and_races() {
    let plain: Change = |_, _| ();
    let safe: Change = |_, problem| problem.safe = Some(0.1);
    let unbound: Change = |_, problem| problem.bounds[0].limit = 99.0;
    let against_start: Change = |table, problem| {
        problem.bounds[0].above_start = Some(table.limit - table.start.1);
        problem.bounds[0].limit = f64::MAX;
    };
    let impossible: Change = |table, problem| problem.bounds[0].limit = table.limit - 3.0;
    let above: Change = |table, _| just_above(table);
    let slow: Change = |_, problem| problem.space.factors[0].switch_s = 120.0;
    let cases = [
        ("plain", plain, 1.0),
        ("safe", safe, 1.0),
        ("without a bound", unbound, 1.0),
        ("against the start", against_start, 1.0),
        ("impossible", impossible, 1.0),
        ("slow to change", slow, 1.0),
        ("noisy", plain, 4.0),
        ("just above the limit", above, 1.0),
    ];
    let mut text = String::new();
    for (name, change, times) in cases {
        // Near a limit chance decides which way a search takes.
        let seeds = if name.starts_with("just above") { 5..9 } else { 6..8 };
        for (seed, is_race) in seeds.flat_map(|seed| [(seed, false), (seed, true)]) {
            let mut table = if is_race { few(&server(seed, 0.6), seed) } else { server(seed, 0.6) };
            let mut problem = table.problem(seed);
            change(&mut table, &mut problem);
            let mut answer = louder(&table, seed, times);
            let mut search = Search::new(problem).unwrap();
            search.set_runs_left(60);
            let (search, asked, end) = searched(search, |candidate, at| match answer(candidate, at) {
                // One setting in a search is refused, another fails.
                _ if candidate == Candidate::Point(2) => Observation::Refused,
                _ if candidate == Candidate::Point(5) => Observation::Failed,
                observation => observation,
            });
            let word = |candidate: &Candidate| candidate.point().map_or("start".to_owned(), |point| point.to_string());
            let asked: Vec<String> = asked.iter().map(word).collect();
            writeln!(text, "{name}, seed {seed}: {}\n  {end:.6?}\n  {:.6?}", asked.join(" "), search.standing())
                .unwrap();
        }
    }
    insta::assert_snapshot!("searches", text);
}
