//! Races of few settings: whether a gain is found, what is said of its size, and how soon nothing is given up.
use powerband_advice::{Ask, Factor, FactorKind, Observation, Search, SearchConclusion, Space};
use powerband_stats::{Draws, Purpose};
use powerband_testkit::replay::ReplayTable;

use crate::{most, seeds};

/// Settings of which the first is cheaper than the start and all others by `gain`, at a noise of `sd`.
fn table(settings: usize, gain: f64, sd: f64, seed: u64) -> ReplayTable {
    let mut random = Draws::new(seed, Purpose::Trial, 31, 0);
    let mut goal = vec![4.0; settings];
    goal[0] -= gain;
    let factors = vec![Factor { name: "a".into(), kind: FactorKind::Category(settings), switch_s: 0.0 }];
    ReplayTable {
        space: Space { factors, points: (0..settings).map(|level| vec![Some(level as u16)]).collect() },
        tail: vec![0.0; settings],
        start: (4.0, 0.0),
        residuals: (0..4000).map(|_| (sd * random.normal(), 0.0)).collect(),
        limit: 1.0,
        trends: (vec![0.0], vec![0.0]),
        goal,
    }
}

#[test]
fn sweep_a_gain_of_two_noise_deviations_is_found_and_its_interval_covers_it() {
    for settings in [1, 2, 5, 12] {
        for sd in [0.003, 0.01, 0.02, 0.05] {
            let (mut found, mut missed, mut all) = (0, 0, 0);
            for seed in seeds(120, 1000) {
                let table = table(settings, 2.0 * sd, sd, seed);
                let played = table.play(table.problem(seed), 1.0).unwrap();
                all += 1;
                if let Some(SearchConclusion::Confirmed(it)) = played.end {
                    let gain = it.gain.unwrap();
                    found += usize::from(it.point == 0);
                    missed += usize::from(gain.low > -2.0 * sd || gain.high < -2.0 * sd);
                }
            }
            println!("{settings} settings, noise {sd}: {found} of {all} found, {missed} intervals miss the gain");
            assert!(all - found <= most(all, 0.05), "{settings} settings, noise {sd}: {found} of {all}");
            assert!(missed <= most(found, 0.07), "{settings} settings, noise {sd}: {missed} of {found}");
        }
    }
}

#[test]
fn sweep_settings_alike_are_seldom_called_better() {
    for settings in [1, 2, 5, 12] {
        for sd in [0.003, 0.01, 0.05] {
            let (mut wrong, mut all) = (0, 0);
            for seed in seeds(120, 1000) {
                let table = table(settings, 0.0, sd, seed);
                let played = table.play(table.problem(seed), 1.0).unwrap();
                all += 1;
                wrong += usize::from(matches!(played.end, Some(SearchConclusion::Confirmed(_))));
            }
            println!("{settings} settings alike, noise {sd}: {wrong} of {all} called better");
            assert!(wrong <= most(all, 0.05), "{settings} settings, noise {sd}: {wrong} of {all}");
        }
    }
}

/// The end of a race that has no runs left after `runs`.
fn stopped(table: &ReplayTable, seed: u64, runs: u64) -> SearchConclusion {
    let mut search = Search::new(table.problem(seed)).unwrap();
    let mut random = Draws::new(seed, Purpose::Trial, 32, 0);
    for _ in 0..runs {
        let Ask::Run(candidate) = search.ask() else { break };
        let (goal, tail) = table.run(candidate, &mut random, 1.0);
        search.tell(candidate, Observation::Valid { goal, bounds: vec![tail] }, 1.0, 0.0);
    }
    search.set_runs_left(0);
    let Ask::End(end) = search.ask() else { panic!("it goes on without runs: {:?}", search.ask()) };
    end
}

#[test]
fn sweep_a_race_that_is_stopped_calls_no_more_settings_better() {
    for settings in [1, 2, 5, 12] {
        for sd in [0.003, 0.01, 0.05] {
            let (mut wrong, mut found, mut all) = (0, 0, 0);
            for seed in seeds(120, 1000) {
                let block = settings as u64 + 1;
                let runs = 3 * block + Draws::new(seed, Purpose::Order, 33, 0).below(9 * block);
                let confirmed = |gain| {
                    let end = stopped(&table(settings, gain, sd, seed), seed, runs);
                    usize::from(matches!(end, SearchConclusion::Confirmed(_)))
                };
                all += 1;
                wrong += confirmed(0.0);
                found += confirmed(3.0 * sd);
            }
            println!(
                "{settings} settings, noise {sd}, stopped: {wrong} of {all} alike called better, {found} gains found"
            );
            assert!(wrong <= most(all, 0.05), "{settings} settings, noise {sd}: {wrong} of {all}");
            assert!(2 * found > all, "{settings} settings, noise {sd}: {found} of {all}");
        }
    }
}
