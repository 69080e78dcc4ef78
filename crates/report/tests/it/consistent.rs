//! No headline, recommendation or journal contradicts the table: a check of any journal, and a few hundred random experiments.
mod checker;
mod plans;
pub(crate) mod random;

use powerband_record::{CloseReason, Event, SettingVerdict, Verdict};
use powerband_report::{Model, advice, load, no_advice, sentence};

use crate::compared::compared;
use crate::journals::{changed, governors, router};
use crate::{cases, shown};
use checker::{contradictions, outside_margin};

/// Random experiments on every change; twenty times as many in a sweep.
const RUNS: u64 = 300;

fn seeds() -> std::ops::Range<u64> {
    let shift: u64 = std::env::var("POWERBAND_SWEEP_SEED").ok().and_then(|text| text.parse().ok()).unwrap_or(0);
    let runs = if std::env::var("POWERBAND_SWEEP").is_ok_and(|value| value == "1") { 20 * RUNS } else { RUNS };
    shift..shift + runs
}

#[test]
fn sweep_random_experiments_do_not_contradict_themselves() {
    let mut wrong = Vec::new();
    let (mut knees, mut none, mut recommended, mut decided) = (0, 0, 0, 0);
    for seed in seeds() {
        let events = random::experiment(seed);
        let found = contradictions(&events);
        let model = Model::from_events(&events).unwrap();
        knees += u32::from(model.knee.as_ref().is_some_and(|it| it.knee.is_some()));
        none += u32::from(model.knee.as_ref().is_some_and(|it| it.none));
        recommended += u32::from(advice(&model).is_some());
        decided += u32::from(matches!(model.end, powerband_report::ExperimentEnd::Closed(CloseReason::Decided)));
        wrong.extend(found.into_iter().map(|why| format!("seed {seed}: {why}; {}", sentence::headline(&model))));
    }
    println!("{knees} knees, {none} times none, {recommended} recommended, {decided} decided");
    assert!(wrong.is_empty(), "{} contradictions:\n{}", wrong.len(), wrong.join("\n"));
    // The check must have had something to check.
    assert!(knees >= 30 && none >= 3 && recommended >= 40 && decided >= 60);
}

#[test]
fn journals_made_by_hand_do_not_contradict_themselves() {
    for (name, events) in cases::cases() {
        // A crowd has no intervals of its own levels, and the limited knee is not decided.
        assert_eq!(contradictions(&events), Vec::<String>::new(), "{name}");
    }
}

#[test]
fn the_checker_sees_what_it_is_for() {
    let undecided =
        |it: &mut SettingVerdict| (it.verdict, it.low, it.high) = (Verdict::Undecided, Some(-0.1), Some(0.1));
    for (what, events) in [
        ("a knee that is open", changed(router(), |_, it| undecided(&mut it.verdicts[1]))),
        ("open at the end", changed(governors(), |_, it| undecided(&mut it.verdicts[0]))),
        ("same outside the margin", changed(router(), |_, it| it.verdicts[0].high = Some(0.06))),
        ("worse across zero", changed(governors(), |_, it| it.verdicts[1].high = Some(0.001))),
        ("no number", changed(governors(), |_, it| it.levels[0].typical = f64::INFINITY)),
    ] {
        assert_ne!(contradictions(&events), Vec::<String>::new(), "{what}");
    }
}

/// Four settings better than the reference in power, the same in requests, as on a server whose threshold is raised.
fn thresholds() -> Vec<Event> {
    random::made(
        &[("requests_per_s", true, 0.001), ("power_w", false, 0.001)],
        &[[1.0, 1.0], [0.998, 0.958], [0.994, 0.953], [0.996, 0.945], [0.995, 0.935]],
    )
}

#[test]
fn of_several_that_are_better_the_best_is_recommended_with_its_price() {
    let events = thresholds();
    let model = Model::from_events(&events).unwrap();
    assert_eq!(contradictions(&events), Vec::<String>::new());
    let found = advice(&model).unwrap();
    assert_eq!(model.label(found.setting), "s4", "{}", found.why);
    let (power, requests) = (&found.changes[1], &found.changes[0]);
    assert_eq!((power.verdict, power.price), (Some(Verdict::Better), false));
    assert_eq!((requests.verdict, requests.price), (Some(Verdict::Same), true));
    // Compared with one another, not only with the reference.
    let words: Vec<&str> = found.changes.iter().map(|it| it.words.as_str()).collect();
    shown::kept("best-of-several", &format!("{}\n{}\n{}", found.why, found.gain_and_price(), words.join("\n")));
}

#[test]
fn where_everything_is_the_same_nothing_is_recommended() {
    let events = random::made(&[("requests_per_s", true, 0.001)], &[[1.0, 1.0], [0.998, 1.0], [0.994, 1.0]]);
    let model = Model::from_events(&events).unwrap();
    assert_eq!(advice(&model), None);
    assert_eq!(no_advice(&model).unwrap(), "no setting is recommended: no setting is shown to be better than s0");
}

#[test]
fn comparisons_of_experiments_show_no_interval_beyond_their_verdict() {
    let mut all: Vec<_> = (0..80).map(|seed| [random::experiment(seed), random::experiment(seed + 80)]).collect();
    // Two runs of the same settings.
    let made = || random::made(&[("requests_per_s", true, 0.001)], &[[1.0, 1.0], [1.0, 1.0], [1.002, 1.0]]);
    all.push([made(), made()]);
    let found: Vec<_> = all.iter().filter_map(|sides| compared(sides)).flat_map(|found| found.rows).collect();
    assert_eq!(outside_margin(&found), Vec::<String>::new());
    assert!(found.iter().filter(|row| row.verdict == Verdict::Same).count() >= 2);
}

#[test]
fn a_load_without_a_peer_runs_over_loopback() {
    let load = serde_json::json!({"kind": "stream", "for": "10s", "direction": "far-to-near"});
    let told = [Some("sim:pc".to_owned()), None].map(|far| {
        let events = changed(router(), |plan, _| (plan.load, plan.far) = (load.clone(), far));
        load::load_of(&Model::from_events(&events).unwrap())
    });
    assert_eq!(told, ["stream, for 10s, direction far-to-near", "stream, for 10s, over loopback (no peer)"]);
}
