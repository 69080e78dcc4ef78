//! Limits on levels and differences while an experiment runs: seldom wrong, apart enough, and decided before a setting leaves.
use powerband_experiment::{FormulaBench, run};
use powerband_record::{
    Better, CloseReason, Event, Finding, Metric, PlannedTrial, Requirement, Standing, Started, Verdict, Void,
};

use crate::{count, noisy, started};

fn limited(seed: u64, limits: &[&str]) -> Started {
    let mut started = started(&["a", "b"], seed);
    started.requirements = limits.iter().map(|text| Requirement::parse(text).unwrap()).collect();
    started
}

fn measured(started: &Started, sigma: f64, factors: Vec<f64>) -> (Finding, Vec<Event>) {
    let mut journal = Vec::new();
    let mut bench = FormulaBench::new(1_000_000_000, noisy(started.seed, sigma, factors));
    (run(started, &mut bench, &mut journal).unwrap(), journal)
}

fn standings(finding: &Finding, setting: u32) -> Vec<Standing> {
    finding.requirements.iter().filter(|it| it.setting == setting).map(|it| it.found.standing).collect()
}

#[test]
fn each_limit_is_decided_where_it_is_clear() {
    let started = limited(1, &["rate_mbit_s>=90", "rate_mbit_s<=+20%", "rate_mbit_s>=112"]);
    let (finding, journal) = measured(&started, 0.01, vec![1.0, 1.1]);
    assert_eq!(finding.reason, CloseReason::Decided);
    assert_eq!(
        standings(&finding, 0),
        [Standing::Holds, Standing::Broken],
        "the reference has no limit against itself"
    );
    assert_eq!(standings(&finding, 1), [Standing::Holds, Standing::Holds, Standing::Broken]);
    assert!(finding.requirements.iter().all(|it| it.found.trials >= 3 && (0.0..=1.0).contains(&it.found.probability)));
    // Four trials in every block: three of the reference next to the one compared.
    let of_first = |event: &Event| matches!(event, Event::TrialStarted(PlannedTrial { block: 1, .. }));
    assert_eq!(count(&journal, of_first), 4);
    assert!(finding.blocks >= 5, "a level is not told before five trials");
}

#[test]
fn a_limit_against_the_reference_fills_no_block() {
    let (_, journal) = measured(&limited(1, &["rate_mbit_s<=+20%"]), 0.01, vec![1.0, 1.1]);
    let of_first = |event: &Event| matches!(event, Event::TrialStarted(PlannedTrial { block: 1, .. }));
    assert_eq!(count(&journal, of_first), 2);
}

#[test]
fn an_open_limit_keeps_a_setting_in_the_blocks() {
    let mut started = limited(5, &["rate_mbit_s>=110"]);
    started.max_blocks = 12;
    let (finding, _) = measured(&started, 0.02, vec![1.0, 1.1]);
    let open = finding.requirements.iter().find(|it| it.setting == 1).unwrap();
    // Its verdict is clear long before, its limit is where it is: at 110.
    assert_eq!((open.found.standing, finding.blocks), (Standing::Open, 12));
    assert!((0.01..0.99).contains(&open.found.probability) && open.found.predicted.is_some());
}

#[test]
fn a_level_that_drifts_is_known_for_its_session_only() {
    let started = limited(6, &["rate_mbit_s>=50"]);
    let mut journal = Vec::new();
    let mut steady = noisy(6, 0.01, vec![1.0, 1.1]);
    let mut bench = FormulaBench::new(1, |trial: &PlannedTrial| {
        let mut outcome = steady(trial)?;
        outcome.metrics.values_mut().for_each(|value| *value *= 1.0 + 0.05 * f64::from(trial.block));
        Ok(outcome)
    });
    let finding = run(&started, &mut bench, &mut journal).unwrap();
    assert!(
        finding.requirements.iter().all(|it| it.found.standing == Standing::Holds && it.found.this_session),
        "{finding:?}"
    );
}

/// Experiments whose truth lies exactly on the limit: how many claim that it holds, and that it is broken.
fn wrong(limit: &str, factors: &[f64], runs: u64) -> [u32; 2] {
    let mut wrong = [0, 0];
    for seed in 0..runs {
        let mut started = limited(1000 + seed, &[limit]);
        (started.max_blocks, started.margin) = (15, 0.001);
        let (finding, _) = measured(&started, 0.02, factors.to_vec());
        let standing = finding.requirements.iter().find(|it| it.setting == 1).unwrap().found.standing;
        wrong[0] += u32::from(standing == Standing::Holds);
        wrong[1] += u32::from(standing == Standing::Broken);
    }
    wrong
}

#[test]
fn sweep_limits_that_are_exactly_met_are_seldom_decided() {
    let long = std::env::var("POWERBAND_SWEEP").is_ok_and(|value| value == "1");
    // 5 % and what chance adds in 3 of 10,000 cases.
    let (runs, allowed) = if long { (2000, 134) } else { (200, 22) };
    for (limit, factors) in [("rate_mbit_s<=110", [1.0, 1.1]), ("rate_mbit_s<=+10%", [1.0, 1.1])] {
        let wrong = wrong(limit, &factors, runs);
        assert!(wrong.iter().all(|wrong| *wrong <= allowed), "{limit}: {wrong:?} of {runs}, at most {allowed} each");
    }
}

/// Drops that seldom come: a reference that is zero in its first blocks, or throughout, has no share to be held against.
fn drops(started: &Started, at: impl Fn(&PlannedTrial) -> f64) -> (Finding, Vec<Event>) {
    let mut started = started.clone();
    started.metrics.push(Metric { name: "drops".into(), better: Better::Lower, judged: false, boundary: None });
    let mut rates = noisy(started.seed, 0.01, vec![1.0, 1.1]);
    let mut bench = FormulaBench::new(1_000_000_000, |trial: &PlannedTrial| {
        let mut outcome = rates(trial)?;
        outcome.metrics.insert("drops".into(), at(trial));
        Ok(outcome)
    });
    let mut journal = Vec::new();
    (run(&started, &mut bench, &mut journal).unwrap(), journal)
}

#[test]
fn a_limit_against_a_reference_of_zero_stays_open_and_says_why() {
    let mut started = limited(21, &["drops<=+10%"]);
    started.max_blocks = 6;
    let always_zero = |trial: &PlannedTrial| f64::from(trial.setting * (trial.trial % 3));
    let zero_at_first = |trial: &PlannedTrial| if trial.block < 3 { 0.0 } else { f64::from(2 + trial.trial % 2) };
    let zero_later = |trial: &PlannedTrial| if trial.block < 3 { 3.0 } else { 0.0 };
    for (which, values) in [
        ("always", &always_zero as &dyn Fn(&PlannedTrial) -> f64),
        ("at first", &zero_at_first),
        ("later", &zero_later),
    ] {
        let (finding, journal) = drops(&started, values);
        assert_eq!(finding.reason, CloseReason::Blocks, "{which}: nothing that is open is decided");
        assert!(standings(&finding, 1).contains(&Standing::Open), "{which}: {:?}", finding.requirements);
        // A number that is none is written as null, and is never read again.
        for event in &journal {
            let text = serde_json::to_string(event).unwrap();
            assert_eq!(&serde_json::from_str::<Event>(&text).unwrap(), event, "{which}: {text}");
        }
    }
    let (finding, _) = drops(&started, always_zero);
    let note = "drops<=+10% stays open: drops is 0 at the reference, of which no share can be taken";
    assert!(finding.notes.iter().any(|told| told.starts_with(note)), "{:?}", finding.notes);
    assert!(finding.requirements.iter().all(|it| it.found.estimate.is_none()));
}

/// A ping that loses as much as is told at its second setting.
fn losing(started: &Started, lost_percent: impl Fn(u32) -> f64) -> Finding {
    let mut started = started.clone();
    started.metrics.push(Metric { name: "lost_percent".into(), better: Better::Lower, judged: true, boundary: None });
    let mut rates = noisy(started.seed, 0.01, vec![1.0, 1.1]);
    let mut bench = FormulaBench::new(1_000_000_000, |trial: &PlannedTrial| {
        let mut outcome = rates(trial)?;
        let lost_percent = if trial.setting == 0 { 0.0 } else { lost_percent(trial.trial) };
        if lost_percent > 1.0 {
            return Err(Void::Lossy { lost_percent, why: format!("{lost_percent} of 100 were lost") });
        }
        outcome.metrics.insert("lost_percent".into(), lost_percent);
        Ok(outcome)
    });
    run(&started, &mut bench, &mut Vec::new()).unwrap()
}

#[test]
fn a_setting_that_loses_its_packets_breaks_a_limit_on_losses_and_is_no_answer_without_one() {
    let finding = losing(&limited(31, &["lost_percent<=1"]), |_| 90.0);
    assert_eq!((finding.reason.clone(), finding.voids), (CloseReason::Decided, 5));
    assert_eq!(standings(&finding, 1), [Standing::Broken]);
    assert_eq!(finding.requirements.iter().find(|it| it.setting == 1).unwrap().found.estimate, Some(90.0));
    let finding = losing(&limited(31, &[]), |_| 90.0);
    let CloseReason::LoadFailed { why } = &finding.reason else { panic!("{:?}", finding.reason) };
    assert!(why.ends_with("90 of 100 were lost") && finding.voids == 3, "{why}");
    // A bad trial at the beginning is repeated, and says nothing of the limit.
    let finding = losing(&limited(31, &["lost_percent<=1"]), |trial| if trial < 4 { 40.0 } else { 0.0 });
    assert_eq!(standings(&finding, 1), [Standing::Holds]);
    assert!(finding.voids > 0);
}

#[test]
fn where_nothing_is_lost_the_losses_are_the_same() {
    let finding = losing(&limited(32, &[]), |_| 0.0);
    assert_eq!(finding.reason, CloseReason::Decided);
    let verdict = |metric: &str| finding.verdicts.iter().find(|it| it.metric == metric).map(|it| it.verdict);
    assert_eq!((verdict("rate_mbit_s"), verdict("lost_percent")), (Some(Verdict::Better), Some(Verdict::Same)));
    let some = losing(&limited(32, &[]), |trial| 0.8 + 0.01 * f64::from(trial % 3));
    assert_eq!(some.verdicts.iter().find(|it| it.metric == "lost_percent").unwrap().verdict, Verdict::Worse);
}
