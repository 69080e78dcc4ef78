//! Searches as a caller sees them: what is asked for, how they end, and error rates by playing many on known surfaces.

#![expect(clippy::unwrap_used, reason = "what is shared between tests stands outside a test function")]

mod certificates;
mod course;
mod coverage;
mod ends;
mod proof;
mod races;
mod rates;
mod spaces;
mod surfaces;
mod wide;

use powerband_advice::{Ask, Candidate, Observation, Problem, Search, SearchConclusion};
use powerband_stats::{Draws, Purpose};
use powerband_testkit::replay::{FrequencyAxis, ReplayServer, ReplayTable};

/// Whether a sweep asks for the long form.
fn long() -> bool {
    std::env::var("POWERBAND_SWEEP").is_ok_and(|value| value == "1")
}

/// Where seeds begin.
fn first_seed() -> u64 {
    std::env::var("POWERBAND_SWEEP_SEED").ok().and_then(|text| text.parse().ok()).unwrap_or(1)
}

/// Seeds of a test that plays `short` searches, or `long` in a sweep.
fn seeds(short_form: u64, long_form: u64) -> impl Iterator<Item = u64> {
    let first = first_seed();
    (0..if long() { long_form } else { short_form }).map(move |run| first.wrapping_add(run))
}

/// Most events in `runs` that chance allows at a rate `p`: the least k that a binomial exceeds with probability below 0.002.
fn most(runs: usize, p: f64) -> usize {
    let mut probability = (1.0 - p).powi(i32::try_from(runs).unwrap());
    let (mut below, mut k) = (probability, 0);
    while 1.0 - below >= 0.002 && k < runs {
        probability *= (runs - k) as f64 / (k + 1) as f64 * p / (1.0 - p);
        below += probability;
        k += 1;
    }
    k
}

fn quantile(values: &[f64], p: f64) -> f64 {
    let mut sorted = values.to_vec();
    sorted.sort_by(f64::total_cmp);
    sorted[((p * sorted.len() as f64).ceil() as usize).clamp(1, sorted.len()) - 1]
}

const DELAYS_US: [f64; 7] = [2.0, 10.0, 30.0, 60.0, 120.0, 250.0, 400.0];

/// Frequencies as an axis.
fn frequencies_of(freqs_ghz: &[f64]) -> FrequencyAxis {
    FrequencyAxis::Frequencies(freqs_ghz.to_vec())
}

fn frequencies() -> FrequencyAxis {
    FrequencyAxis::Frequencies((0..7).map(|step| 1.2 + 0.3 * f64::from(step)).collect())
}

/// A server drawn by `seed`, 7 frequencies by 7 delays, with the noise of a quiet machine; a fraction `strict` of the settings
/// keeps the limit.
fn server(seed: u64, strict: f64) -> ReplayTable {
    let server = ReplayServer::drawn(&mut Draws::new(seed, Purpose::Trial, 9, 0));
    server.table(&frequencies(), &DELAYS_US, (0.008, 0.014), strict)
}

/// Plays a search in which a run of `candidate` brings what `answer` says, and returns the runs and the end.
fn played(
    problem: Problem,
    mut answer: impl FnMut(Candidate, usize) -> Observation,
) -> (Vec<Candidate>, SearchConclusion) {
    let mut search = Search::new(problem).unwrap();
    let mut asked = Vec::new();
    loop {
        match search.ask() {
            Ask::End(end) => return (asked, end),
            Ask::Run(candidate) => {
                assert!(asked.len() < 3000, "a search that does not end");
                let observation = answer(candidate, asked.len());
                asked.push(candidate);
                search.tell(candidate, observation, 20.0, 0.0);
            }
        }
    }
}

/// What a table answers, with its noise.
fn of_table(table: &ReplayTable, seed: u64) -> impl FnMut(Candidate, usize) -> Observation {
    let mut random = Draws::new(seed, Purpose::Noise, 7, 0);
    move |candidate, _| {
        let (goal, tail) = table.run(candidate, &mut random, 1.0);
        Observation::Valid { goal, bounds: vec![tail] }
    }
}

#[test]
fn limits_are_those_of_the_binomial() {
    assert_eq!(most(100, 0.05), 12);
    assert_eq!(most(20, 0.05), 5);
}
