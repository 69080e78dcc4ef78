//! What ends an experiment, and what the journal says of it.
use powerband_experiment::{Bench, Fatal, FormulaBench, Halt, Journal, JournalError, run};
use powerband_record::{CloseReason, Event, Outcome, PlannedTrial, Void};

use crate::{count, noisy, rate, started};

const SECOND: u64 = 1_000_000_000;

fn failing(why: &str) -> Result<Outcome, Void> {
    Err(Void::LoadFailed { why: why.into() })
}

#[test]
fn a_load_that_fails_in_the_first_reference_trial_ends_it_at_once() {
    let mut bench = FormulaBench::new(SECOND, |_: &PlannedTrial| failing("out of cheese"));
    let mut journal = Vec::new();
    let mut started = started(&["a", "b"], 1);
    started.warmup = 5;
    let finding = run(&started, &mut bench, &mut journal).unwrap();
    assert_eq!(finding.reason, CloseReason::LoadFailed { why: "out of cheese".into() });
    assert_eq!(count(&journal, |event| matches!(event, Event::TrialStarted(_))), 1);
    assert!(matches!(journal.last(), Some(Event::Closed(_))));
}

#[test]
fn a_load_that_may_fail_may_fail_first_but_not_always() {
    // A command whose output a metric is read from: where it fails there is no metric.
    let none = || Err(Void::NoMetric { metric: "rate_mbit_s".into(), why: "its output does not match".into() });
    let mut may_fail = started(&["a", "b"], 5);
    may_fail.warmup = 2;
    may_fail.load = serde_json::json!({"kind": "command", "argv": ["x"], "ignore_failure": true});
    let mut formula = noisy(5, 0.01, vec![1.0, 0.9]);
    let mut first = FormulaBench::new(SECOND, |trial: &PlannedTrial| match trial.trial {
        0 => none(),
        _ => formula(trial),
    });
    let finding = run(&may_fail, &mut first, &mut Vec::new()).unwrap();
    assert_eq!((finding.reason, finding.voids), (CloseReason::Decided, 1));
    let mut always = FormulaBench::new(SECOND, |_: &PlannedTrial| none());
    let finding = run(&may_fail, &mut always, &mut Vec::new()).unwrap();
    assert!(matches!(finding.reason, CloseReason::LoadFailed { .. }) && finding.voids <= 6, "{finding:?}");
}

#[test]
fn void_trials_are_kept_repeated_and_never_enter_a_level() {
    let mut formula = noisy(3, 0.01, vec![1.0, 0.9]);
    let mut bench = FormulaBench::new(SECOND, |trial: &PlannedTrial| {
        if trial.trial % 3 == 1 {
            Err(Void::NoMetric { metric: "rate_mbit_s".into(), why: "hiccup".into() })
        } else {
            formula(trial)
        }
    });
    let mut journal = Vec::new();
    let finding = run(&started(&["a", "b"], 3), &mut bench, &mut journal).unwrap();
    let voids = count(&journal, |event| matches!(event, Event::TrialVoid { .. }));
    assert!(voids > 0);
    assert_eq!(finding.voids as usize, voids);
    assert_eq!(finding.trials as usize, count(&journal, |event| matches!(event, Event::TrialDone { .. })));
    assert_eq!(finding.levels.iter().map(|level| level.trials).sum::<u32>(), finding.trials);
}

#[test]
fn a_setting_that_gives_nothing_valid_is_left_out_and_the_others_go_on() {
    let mut formula = noisy(4, 0.01, vec![1.0, 1.0, 0.8]);
    let mut bench = FormulaBench::new(
        SECOND,
        |trial: &PlannedTrial| if trial.setting == 1 { failing("crash") } else { formula(trial) },
    );
    let mut journal = Vec::new();
    let finding = run(&started(&["a", "broken", "c"], 4), &mut bench, &mut journal).unwrap();
    assert_eq!(finding.reason, CloseReason::Decided);
    assert_eq!(finding.voids, 3);
    assert!(finding.notes.iter().any(|note| note.contains("broken") && note.contains("crash")), "{:?}", finding.notes);
    let verdict = |setting| finding.verdicts.iter().find(|v| v.setting == setting).map(|v| v.verdict);
    assert_eq!(verdict(2), Some(powerband_record::Verdict::Worse));
    assert_ne!(verdict(1), Some(powerband_record::Verdict::Worse), "nothing is claimed of what gave nothing");
}

#[test]
fn a_stop_ends_it_and_keeps_what_was_measured() {
    let mut bench = FormulaBench::new(SECOND, |trial: &PlannedTrial| {
        // Scattered: a straight line would be a drift, and decided.
        if trial.trial < 7 { Ok(rate(100.0 + f64::from(trial.trial * 37 % 11))) } else { Err(Void::Stopped) }
    });
    let mut journal = Vec::new();
    let finding = run(&started(&["a", "b"], 5), &mut bench, &mut journal).unwrap();
    assert_eq!(finding.reason, CloseReason::Stopped);
    assert_eq!(finding.trials, 7);
    assert_eq!(finding.blocks, 3);
    assert!(!finding.levels.is_empty());
}

#[test]
fn time_and_blocks_bound_it() {
    let noisy_alike = || noisy(6, 0.2, vec![1.0, 1.0]);
    let mut limited = started(&["a", "b"], 6);
    limited.max_blocks = 4;
    let finding = run(&limited, &mut FormulaBench::new(SECOND, noisy_alike()), &mut Vec::new()).unwrap();
    assert_eq!((finding.reason, finding.blocks), (CloseReason::Blocks, 4));
    limited.max_blocks = 1000;
    limited.budget_ns = Some(13 * SECOND);
    let finding = run(&limited, &mut FormulaBench::new(SECOND, noisy_alike()), &mut Vec::new()).unwrap();
    assert_eq!((finding.reason, finding.blocks), (CloseReason::Budget, 6), "a seventh block would not fit");
    assert!(finding.at_ns <= 13 * SECOND);
}

/// A journal whose disk fills up.
struct Full(usize);

impl Journal for Full {
    fn record(&mut self, _: &Event) -> Result<(), JournalError> {
        self.0 = self.0.checked_sub(1).ok_or_else(|| JournalError { why: "no space left on device".into() })?;
        Ok(())
    }
}

#[test]
fn a_journal_that_cannot_be_written_ends_it_with_its_own_words() {
    let error =
        run(&started(&["a", "b"], 7), &mut FormulaBench::new(SECOND, noisy(7, 0.01, vec![1.0, 1.0])), &mut Full(9))
            .unwrap_err();
    assert_eq!(error, Fatal::Journal(JournalError { why: "no space left on device".into() }));
}

#[test]
fn a_lost_machine_ends_it() {
    struct Losing;
    impl Bench for Losing {
        fn now_ns(&self) -> u64 {
            0
        }
        fn trial(&mut self, _: &PlannedTrial, _: &mut dyn Journal) -> Result<Outcome, Halt> {
            Err(Fatal::Lost { side: "far".into(), why: "the cable".into() }.into())
        }
    }
    let mut journal = Vec::new();
    let error = run(&started(&["a", "b"], 8), &mut Losing, &mut journal).unwrap_err();
    assert_eq!(error.to_string(), "lost the far machine: the cable");
    assert!(
        matches!(journal.last(), Some(Event::Closed(finding)) if matches!(finding.reason, CloseReason::Failed { .. }))
    );
}

#[test]
fn when_nothing_but_the_reference_runs_nothing_is_decided() {
    let mut formula = noisy(9, 0.01, vec![1.0]);
    let mut bench = FormulaBench::new(
        SECOND,
        |trial: &PlannedTrial| if trial.setting == 0 { formula(trial) } else { failing("crash") },
    );
    let finding = run(&started(&["a", "b", "c"], 9), &mut bench, &mut Vec::new()).unwrap();
    assert_eq!(
        finding.reason,
        CloseReason::LoadFailed { why: "no setting but the reference gave anything valid: crash".into() }
    );
}

#[test]
fn what_could_not_be_put_back_is_in_the_journal() {
    struct Stuck;
    impl Bench for Stuck {
        fn now_ns(&self) -> u64 {
            0
        }
        fn trial(&mut self, _: &PlannedTrial, _: &mut dyn Journal) -> Result<Outcome, Halt> {
            Err(Fatal::CannotRestore { what: "cpufreq.governor at policy0 (EIO)".into() }.into())
        }
    }
    let mut journal = Vec::new();
    run(&started(&["a", "b"], 10), &mut Stuck, &mut journal).unwrap_err();
    let told = journal.iter().find_map(|event| match event {
        Event::Restored { failed, .. } => Some(failed.clone()),
        _ => None,
    });
    assert_eq!(
        told,
        Some(vec!["cpufreq.governor at policy0 (EIO)".to_owned()]),
        "the journal must not say that all is back"
    );
}
