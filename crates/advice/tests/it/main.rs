//! Searches as a caller sees them: what is asked for, how they end, recorded searches, and error rates in short.

#![expect(clippy::unwrap_used, reason = "what is shared between tests stands outside a test function")]

mod chance;
mod course;
mod ends;
mod models;
mod proof;
mod recorded;
mod spaces;
mod wide;

use powerband_advice::{Ask, Candidate, Confirmed, Observation, Problem, Search, SearchConclusion};
use powerband_stats::{Draws, Purpose};
use powerband_testkit::replay::{FrequencyAxis, ReplayServer, ReplayTable};

const DELAYS_US: [f64; 7] = [2.0, 10.0, 30.0, 60.0, 120.0, 250.0, 400.0];

fn frequencies() -> FrequencyAxis {
    FrequencyAxis::Frequencies((0..7).map(|step| 1.2 + 0.3 * f64::from(step)).collect())
}

/// A server drawn by `seed`, 7 frequencies by 7 delays, with the noise of a quiet machine; a fraction `strict` of the settings
/// keeps the limit.
fn server(seed: u64, strict: f64) -> ReplayTable {
    let server = ReplayServer::drawn(&mut Draws::new(seed, Purpose::Trial, 9, 0));
    server.table(&frequencies(), &DELAYS_US, (0.008, 0.014), strict)
}

/// Ten settings of a table, so that they race.
fn few(table: &ReplayTable, seed: u64) -> ReplayTable {
    table.varied(seed, 10.5 / table.goal.len() as f64, table.limit)
}

/// Puts each setting that saves half a percent above the limit: none of them may be kept.
fn just_above(table: &mut ReplayTable) {
    for (goal, tail) in table.goal.iter().zip(&mut table.tail) {
        *tail = if *goal < table.start.0 - 0.01 { table.limit + 0.005 } else { *tail };
    }
}

/// Plays a search in which a run of `candidate` brings what `answer` says, and returns the runs and the end.
fn played(problem: Problem, answer: impl FnMut(Candidate, usize) -> Observation) -> (Vec<Candidate>, SearchConclusion) {
    let (_, asked, end) = searched(Search::new(problem).unwrap(), answer);
    (asked, end)
}

/// Plays a search to its end, and returns it, too.
fn searched(
    mut search: Search,
    mut answer: impl FnMut(Candidate, usize) -> Observation,
) -> (Search, Vec<Candidate>, SearchConclusion) {
    let mut asked = Vec::new();
    loop {
        match search.ask() {
            Ask::End(end) => return (search, asked, end),
            Ask::Run(candidate) => {
                assert!(asked.len() < 3000, "a search that does not end");
                let observation = answer(candidate, asked.len());
                asked.push(candidate);
                search.tell(candidate, observation, 20.0, 0.0);
            }
        }
    }
}

/// What a run brings of the goal and of the one that is limited.
fn valid(goal: f64, tail: f64) -> Observation {
    Observation::Valid { goal, bounds: vec![tail] }
}

/// The setting that a search must have confirmed.
fn kept(end: SearchConclusion) -> Confirmed {
    if let SearchConclusion::Confirmed(kept) = end { kept } else { panic!("{end:?}") }
}

/// What is made of all that is limited in a run that brought something.
fn with_bounds(observation: Observation, change: impl FnOnce(Vec<f64>) -> Vec<f64>) -> Observation {
    match observation {
        Observation::Valid { goal, bounds } => Observation::Valid { goal, bounds: change(bounds) },
        other => other,
    }
}

/// What a table answers, with so many times its noise.
fn louder(table: &ReplayTable, seed: u64, times: f64) -> impl FnMut(Candidate, usize) -> Observation {
    let mut random = Draws::new(seed, Purpose::Noise, 7, 0);
    move |candidate, _| {
        let (goal, tail) = table.run(candidate, &mut random, times);
        valid(goal, tail)
    }
}

/// What a table answers, with its noise.
fn of_table(table: &ReplayTable, seed: u64) -> impl FnMut(Candidate, usize) -> Observation {
    louder(table, seed, 1.0)
}
