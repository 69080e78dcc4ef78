//! Calibrating in the loop: nothing is judged, nobody leaves, and every metric's noise comes with the end.
use powerband_experiment::{FormulaBench, run};
use powerband_record::{CloseReason, Event, Finding, Started, Void};

use crate::{count, noisy, started};

fn calibration(blocks: u32) -> Started {
    let mut started = started(&["a", "b"], 5);
    (started.calibration, started.max_blocks, started.warmup) = (true, blocks, 3);
    started
}

fn measured(started: &Started) -> (Finding, Vec<Event>) {
    let mut journal = Vec::new();
    let mut bench = FormulaBench::new(2_000_000_000, noisy(started.seed, 0.03, vec![1.0, 1.0]));
    (run(started, &mut bench, &mut journal).unwrap(), journal)
}

#[test]
fn every_block_is_run_and_nothing_is_judged() {
    let (finding, journal) = measured(&calibration(12));
    assert_eq!((finding.reason, finding.blocks, finding.trials), (CloseReason::Blocks, 12, 24));
    assert!(finding.verdicts.is_empty());
    assert_eq!(count(&journal, |event| matches!(event, Event::SettingLeft { .. })), 0);
    let found = &finding.calibrations[0];
    assert_eq!((found.metric.as_str(), found.trials, found.blocks), ("rate_mbit_s", 24, 12));
    assert!((0.015..0.05).contains(&found.sigma), "{found:?}");
    assert_eq!(found.false_alarm.unwrap().runs, 2000);
    // Trials of two seconds, two a block: half an hour is 450 blocks and fifteen minutes 225.
    let fifteen = found.mde.iter().find(|it| it.minutes == 15.0).unwrap();
    let expected = (1.96_f64 + 1.28) * found.sigma * (2.0 / 225.0_f64).sqrt();
    assert!(fifteen.effect > expected && fifteen.effect < 2.0 * expected, "{fifteen:?} {expected}");
}

#[test]
fn twelve_trials_are_run_however_short_the_time() {
    let mut short = calibration(10_000);
    short.budget_ns = Some(3_000_000_000);
    let (finding, _) = measured(&short);
    assert_eq!((finding.reason, finding.trials), (CloseReason::Budget, 12));
    assert!(finding.calibrations[0].false_alarm.is_none(), "six blocks are too few to check");
}

#[test]
fn void_trials_are_repeated_and_never_enter() {
    let started = calibration(8);
    let mut steady = noisy(5, 0.03, vec![1.0, 1.0]);
    let mut bench = FormulaBench::new(1, |trial: &powerband_record::PlannedTrial| match trial.trial % 5 {
        4 => Err(Void::NotTurned { why: "hiccup".into() }),
        _ => steady(trial),
    });
    let finding = run(&started, &mut bench, &mut Vec::new()).unwrap();
    assert!(finding.voids >= 4 && finding.calibrations[0].trials == 16, "{finding:?}");
}
