//! A search over formulas: what it finds, what it claims where nothing is to be found, how it goes on after an interruption.
use std::collections::BTreeMap;

use powerband_experiment::{FormulaBench, Halt, Past, run};
use powerband_record::{
    Better, CloseReason, Event, Finding, Metric, Outcome, PlannedTrial, Requirement, SearchEnd, SearchFactor,
    SearchFactorKind, SearchGoal, SearchPlan, Started, Void,
};
use powerband_stats::{Draws, Purpose};

use crate::resumed::gone_on;
use crate::{SECOND, count, started};

/// Levels of the clock, GHz, and of the delay, us.
const CLOCKS: [f64; 6] = [1.0, 1.4, 1.8, 2.2, 2.6, 3.0];
const DELAYS: [f64; 5] = [5.0, 20.0, 50.0, 100.0, 200.0];

fn metric(name: &str) -> Metric {
    Metric { name: name.into(), better: Better::Lower, judged: true, boundary: None }
}

fn factor(name: &str, values: &[f64], power: f64, time: f64) -> SearchFactor {
    let trends = BTreeMap::from([("power_w".to_owned(), power), ("p99_us".to_owned(), time)]);
    let kind = SearchFactorKind::Numbers(values.to_vec());
    SearchFactor { name: name.into(), kind, role: None, switch_s: 0.1, trends }
}

/// A search for the least watts with a limit on the tail.
fn search(limit: f64, clocks: &[f64], seed: u64) -> Started {
    let of_clock = |f| (0..DELAYS.len() as u16).map(move |u| vec![Some(f), Some(u)]);
    let points: Vec<Vec<Option<u16>>> = (0..clocks.len() as u16).flat_map(of_clock).collect();
    let plan = serde_json::json!({
        "goal": {"name": "power_w", "better": "lower"}, "points": points,
        "requirements": [Requirement::parse(&format!("p99_us<={limit}")).unwrap()],
        "factors": [factor("freq", clocks, 1.0, -1.0), factor("rx-usecs", &DELAYS, -0.3, 1.0)],
    });
    let labels: Vec<String> = points.iter().map(|point| format!("{point:?}")).collect();
    let labels: Vec<&str> = std::iter::once("baseline").chain(labels.iter().map(String::as_str)).collect();
    let mut started = started(&labels, seed);
    (started.metrics, started.max_blocks) = (vec![metric("power_w"), metric("p99_us")], 10_000);
    started.search = Some(serde_json::from_value(plan).unwrap());
    started
}

fn plan(started: &mut Started) -> &mut SearchPlan {
    started.search.as_mut().unwrap()
}

/// Watts and tail of a setting; as found is 2.6 GHz and 20 us.
fn laws(started: &Started, setting: u32) -> (f64, f64) {
    let found = [2.6, 20.0];
    let values = setting.checked_sub(1).map_or((found[0], found[1]), |point| {
        let plan = started.search.as_ref().unwrap();
        // What a setting leaves alone is as found.
        let levels = &plan.points[point as usize];
        let value = |at: usize| match &plan.factors[at].kind {
            SearchFactorKind::Numbers(values) => levels[at].map_or(found[at], |level| values[usize::from(level)]),
            _ => 0.0,
        };
        (value(0), value(1))
    });
    let (f, u) = values;
    (20.0 + 12.0 * f * f * (1.0 + 5.0 / (20.0 + u)) / 2.0, 60.0 / f + u + 30.0 / (f - 0.7))
}

fn answer(values: (f64, f64), sigma: f64, trial: &PlannedTrial, seed: u64) -> Outcome {
    let mut draws = Draws::new(seed, Purpose::Noise, u64::from(trial.trial), 7);
    let noisy = |value: f64, draws: &mut Draws| value * (sigma * draws.normal()).exp();
    let (power, tail) = (noisy(values.0, &mut draws), noisy(values.1, &mut draws));
    let metrics = [("power_w".to_owned(), power), ("p99_us".to_owned(), tail)].into();
    Outcome { metrics, ..Outcome::default() }
}

fn bench(started: &Started, sigma: f64) -> FormulaBench<impl FnMut(&PlannedTrial) -> Result<Outcome, Void>> {
    let started = started.clone();
    FormulaBench::new(SECOND, move |trial: &PlannedTrial| {
        Ok(answer(laws(&started, trial.setting), sigma, trial, started.seed))
    })
}

fn ran(started: &Started, sigma: f64) -> (Finding, Vec<Event>) {
    let mut journal = Vec::new();
    let finding = run(started, &mut bench(started, sigma), &mut journal).unwrap();
    (finding, journal)
}

#[test]
fn it_finds_the_cheapest_setting_within_the_limit_in_a_part_of_the_trials() {
    let started = search(130.0, &CLOCKS, 3);
    let all = (1..=30).map(|setting| laws(&started, setting)).filter(|(_, tail)| *tail <= 130.0);
    let best = all.map(|(power, _)| power).min_by(f64::total_cmp).unwrap();
    let (finding, journal) = ran(&started, 0.005);
    let found = finding.search.unwrap();
    assert_eq!((finding.reason, found.end), (CloseReason::Decided, SearchEnd::Confirmed));
    let setting = found.setting.unwrap();
    assert!(laws(&started, setting).0 <= 1.05 * best && found.tried <= 15, "{found:?}");
    let change = found.change.unwrap();
    let truth = laws(&started, setting).0 / laws(&started, 0).0 - 1.0;
    assert!((change.low.unwrap()..change.high.unwrap()).contains(&truth), "{change:?} {truth}");
    assert!(found.kept[0].certainty.unwrap() > 0.95 && found.kept[0].typical < 130.0);
    let stands = |event: &Event| matches!(event, Event::BlockDone(done) if done.search.is_some());
    assert_eq!(count(&journal, stands), finding.blocks as usize);
    assert!(finding.verdicts.is_empty() && !finding.levels.is_empty());
}

#[test]
fn a_limit_may_be_against_the_machine_as_found() {
    let mut started = search(0.5, &CLOCKS, 3);
    plan(&mut started).requirements[0].relative = true;
    let found = ran(&started, 0.005).0.search.unwrap();
    assert_eq!(found.end, SearchEnd::Confirmed);
    let ratio = laws(&started, found.setting.unwrap()).1 / laws(&started, 0).1;
    let kept = &found.kept[0];
    assert!(ratio <= 1.5 && (kept.typical - (ratio - 1.0)).abs() < 0.03, "{ratio} {kept:?}");
    assert!(kept.certainty.unwrap() > 0.95);
}

/// What a search finds where every tail below 150 us is read as 0 and every other one as 3; or every tail and all watts below 45 as 0.
fn read_as_zero(clocks: &[f64], watts: bool) -> (Started, Finding) {
    let started = search(1.0, clocks, 5);
    let mut bench = FormulaBench::new(SECOND, |trial: &PlannedTrial| {
        let (power, tail) = laws(&started, trial.setting);
        let mut outcome = answer((power, tail), 0.005, trial, started.seed);
        outcome.metrics.insert("p99_us".into(), if watts || tail < 150.0 { 0.0 } else { 3.0 });
        if watts && power < 45.0 {
            outcome.metrics.insert("power_w".into(), 0.0);
        }
        Ok(outcome)
    });
    let finding = run(&started, &mut bench, &mut Vec::new()).unwrap();
    (started, finding)
}

#[test]
fn readings_of_zero_are_readings() {
    // By the model, and by a race.
    for clocks in [&CLOCKS[..], &CLOCKS[2..4]] {
        let (started, finding) = read_as_zero(clocks, false);
        let found = finding.search.unwrap();
        assert_eq!((found.end, finding.voids, found.kept[0].typical), (SearchEnd::Confirmed, 0, 0.0), "{found:?}");
        let (power, tail) = laws(&started, found.setting.unwrap());
        assert!(tail < 150.0 && power < laws(&started, 0).0, "{power} {tail}");
        let (started, finding) = read_as_zero(clocks, true);
        let found = finding.search.unwrap();
        assert_eq!((found.end, found.change.unwrap().change), (SearchEnd::Confirmed, -1.0), "{found:?}");
        assert!(laws(&started, found.setting.unwrap()).0 < 45.0);
    }
}

#[test]
fn wherever_it_is_cut_the_search_goes_on_to_the_same_end() {
    let limited = Started { budget_ns: Some(30 * SECOND), ..search(130.0, &CLOCKS, 5) };
    let race = search(130.0, &CLOCKS[3..5], 5);
    for started in [search(130.0, &CLOCKS, 5), race, limited] {
        let whole = ran(&started, 0.01).1;
        for end in (1..whole.len()).step_by(11) {
            for past in [Past::Computed, Past::Recalled] {
                let bench = &mut bench(&started, 0.01);
                let journal = gone_on(&started, &whole[..end], past, bench).unwrap();
                assert_eq!(journal, whole, "{past:?} after {end} events");
            }
        }
    }
}

#[test]
fn time_ends_it_with_a_confirmed_answer_or_says_that_it_has_none() {
    let mut started = search(130.0, &CLOCKS, 4);
    for seconds in [3, 12, 25, 40] {
        started.budget_ns = Some(seconds * SECOND);
        let (finding, _) = ran(&started, 0.005);
        let found = finding.search.unwrap();
        assert!(finding.at_ns <= seconds * SECOND);
        match found.end {
            SearchEnd::Confirmed => assert!(laws(&started, found.setting.unwrap()).1 <= 130.0),
            SearchEnd::Unfinished | SearchEnd::Undecided => assert!(found.why.is_some() && seconds < 40),
            other => panic!("{other:?} after {seconds} s"),
        }
    }
}

#[test]
fn a_race_that_time_ends_decides_by_what_it_has_and_says_what_it_would_have_needed() {
    let (mut confirmed, mut early) = (0, 0);
    for (seconds, noise) in (1..90).flat_map(|seconds| [(seconds, 0.005), (seconds, 0.03)]) {
        let mut started = search(130.0, &CLOCKS[3..5], 5);
        started.budget_ns = Some(seconds * SECOND);
        let (finding, journal) = ran(&started, noise);
        let found = finding.search.unwrap();
        let of_baseline = |event: &Event| matches!(event, Event::TrialStarted(trial) if trial.setting == 0);
        let in_time = finding.reason != CloseReason::Budget;
        match found.end {
            SearchEnd::Confirmed => {
                (confirmed, early) = (confirmed + 1, early + u32::from(!in_time));
                assert!(laws(&started, found.setting.unwrap()).1 <= 130.0, "{found:?}");
            }
            // A guess needs the baseline.
            SearchEnd::Undecided => assert!(found.setting.is_none() || journal.iter().any(of_baseline)),
            other => panic!("{other:?} after {seconds} s"),
        }
        assert_eq!(found.trials_needed.is_none(), in_time, "{found:?}");
        assert!(found.trials_needed.is_none_or(|trials| (1..=132).contains(&trials)), "{found:?}");
    }
    assert!(confirmed > 20 && early > 0, "{confirmed}, {early}");
}

#[test]
fn what_is_refused_leaves_at_once_and_what_fails_never_enters() {
    let started = search(130.0, &CLOCKS, 6);
    let laws_of = started.clone();
    let mut trials_at = BTreeMap::new();
    let mut formula = |trial: &PlannedTrial| {
        *trials_at.entry(trial.setting).or_insert(0) += 1;
        match (trial.setting, trial.setting % 3) {
            (1.., 0) => Err(Void::NotTurned { why: "invalid argument".into() }),
            (1.., 1) => Err(Void::LoadFailed { why: "out of cheese".into() }),
            (setting, _) => Ok(answer(laws(&laws_of, setting), 0.005, trial, 6)),
        }
    };
    let mut journal = Vec::new();
    let finding = run(&started, &mut FormulaBench::new(SECOND, &mut formula), &mut journal).unwrap();
    assert!(finding.levels.iter().all(|level| level.setting % 3 == 2 || level.setting == 0));
    assert!(finding.search.unwrap().setting.is_none_or(|setting| setting % 3 == 2));
    for (setting, trials) in trials_at.iter().filter(|(setting, _)| **setting != 0) {
        // What is refused is asked for once, and what fails three times.
        assert!(*trials <= [1, 3, u32::MAX][*setting as usize % 3], "{setting}: {trials}");
    }
    let left = |event: &Event| matches!(event, Event::SettingLeft { why, .. } if why.contains("invalid argument"));
    assert!(count(&journal, left) > 0);
}

#[test]
fn a_stop_tells_the_best_so_far() {
    let started = search(130.0, &CLOCKS, 8);
    let mut whole = bench(&started, 0.005);
    let mut stopping = FormulaBench::new(SECOND, |trial: &PlannedTrial| match trial.trial {
        12 => Err(Void::Stopped),
        _ => Halt::split(powerband_experiment::Bench::trial(&mut whole, trial, &mut Vec::new())).unwrap(),
    });
    let finding = run(&started, &mut stopping, &mut Vec::new()).unwrap();
    assert_eq!(finding.reason, CloseReason::Stopped);
    let found = finding.search.unwrap();
    assert_eq!(found.end, SearchEnd::Unfinished);
    let best = found.setting.unwrap();
    assert!(laws(&started, best).0 < laws(&started, 0).0);
}

#[test]
fn a_knobs_own_value_is_a_goal_without_noise() {
    let mut started = search(130.0, &CLOCKS[1..3], 9);
    let clock = |point: &Vec<Option<u16>>| CLOCKS[1 + usize::from(point[0].unwrap())];
    let known = plan(&mut started).points.iter().map(clock).collect();
    plan(&mut started).goal = SearchGoal { name: "freq".into(), better: Better::Lower, known, found: None };
    let (finding, _) = ran(&started, 0.005);
    let found = finding.search.unwrap();
    // As found there is no value to compare with.
    assert_eq!((found.end, found.change), (SearchEnd::Confirmed, None));
    // Found at a clock that is known, its change is the clock's, to the last digit.
    plan(&mut started).goal.found = Some(2.6);
    let found = ran(&started, 0.005).0.search.unwrap();
    let change = CLOCKS[1 + usize::from(found.setting.unwrap() > 5)] / 2.6 - 1.0;
    assert_eq!(found.change.unwrap().change, change);
    assert!(laws(&started, found.setting.unwrap()).1 <= 130.0);
}

/// Whether a search over settings that are all alike, a little within the limit, claims one to be better.
fn claims(seed: u64, clocks: &[f64]) -> bool {
    let started = search(100.0, clocks, seed);
    let mut bench = FormulaBench::new(SECOND, |trial: &PlannedTrial| Ok(answer((50.0, 90.0), 0.02, trial, seed)));
    let finding = run(&started, &mut bench, &mut Vec::new()).unwrap();
    finding.search.unwrap().end == SearchEnd::Confirmed
}

/// As [`breaks`] of a limit against the baseline: every setting lies a tenth of a percent above that.
fn breaks_against_found(seed: u64, clocks: &[f64]) -> bool {
    let mut started = search(0.02, clocks, seed);
    plan(&mut started).requirements[0].relative = true;
    let mut bench = FormulaBench::new(SECOND, |trial: &PlannedTrial| {
        let (power, tail) = if trial.setting == 0 { (60.0, 100.0) } else { (50.0, 102.1) };
        Ok(answer((power, tail), 0.02, trial, seed))
    });
    let finding = run(&started, &mut bench, &mut Vec::new()).unwrap();
    finding.search.unwrap().end == SearchEnd::Confirmed
}

/// Whether a search confirms a setting although every one of them breaks the limit, by next to nothing.
fn breaks(seed: u64, clocks: &[f64]) -> bool {
    let started = search(100.0, clocks, seed);
    let mut bench = FormulaBench::new(SECOND, |trial: &PlannedTrial| {
        let power = if trial.setting == 0 { 60.0 } else { 50.0 };
        Ok(answer((power, 100.1), 0.02, trial, seed))
    });
    let finding = run(&started, &mut bench, &mut Vec::new()).unwrap();
    finding.search.unwrap().end == SearchEnd::Confirmed
}

/// Counts searches and races that are wrong.
fn seldom(wrong: impl Fn(u64, &[f64]) -> bool) {
    let long = std::env::var("POWERBAND_SWEEP").is_ok_and(|value| value == "1");
    let first = std::env::var("POWERBAND_SWEEP_SEED").ok().and_then(|text| text.parse().ok()).unwrap_or(1);
    // A correct 5 % method exceeds these once in 500.
    let (searches, races, most_searches, most_races) = if long { (400, 1000, 33, 72) } else { (3, 20, 2, 5) };
    for (clocks, runs, most) in [(&CLOCKS[..4], searches, most_searches), (&CLOCKS[..2], races, most_races)] {
        let times = (0..runs).filter(|run| wrong(first + run, clocks)).count();
        assert!(times <= most, "{times} of {runs} over {} clocks, at most {most}", clocks.len());
    }
}

#[test]
fn where_nothing_is_better_that_is_seldom_claimed() {
    seldom(claims);
}

#[test]
fn where_nothing_keeps_the_limit_that_is_seldom_claimed() {
    seldom(breaks);
}

#[test]
fn where_nothing_keeps_the_limit_against_the_machine_as_found_that_is_seldom_claimed() {
    seldom(breaks_against_found);
}
