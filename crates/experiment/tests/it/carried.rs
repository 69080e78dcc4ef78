//! What a trial keeps of the setting before it, and rare trials far from the typical one: reported, and never called the same.
use powerband_experiment::{FormulaBench, run};
use powerband_record::{Finding, PlannedTrial, Verdict};

use crate::{noisy, rate, started};

/// Forty blocks of settings of these factors, where a trial keeps a share of the one before it.
fn kept(share: f64, factors: [f64; 3], margin: f64) -> Finding {
    let mut experiment = started(&["a", "b", "c"], 3);
    (experiment.margin, experiment.max_blocks, experiment.min_blocks) = (margin, 40, 40);
    let mut own = noisy(3, 0.002, factors.to_vec());
    let mut before = None;
    let answer = move |trial: &PlannedTrial| {
        let value = own(trial)?.metrics["rate_mbit_s"];
        let level = 100.0 * factors[trial.setting as usize];
        let kept = before.map_or(0.0, |before: f64| share * (before - level));
        before = Some(level);
        Ok(rate(value + kept))
    };
    run(&experiment, &mut FormulaBench::new(1_000_000_000, answer), &mut Vec::new()).unwrap()
}

#[test]
fn what_carries_over_is_reported_and_nothing_is_called_the_same() {
    let carried = kept(0.5, [1.0, 1.0, 1.2], 0.05);
    assert!(carried.notes.iter().any(|note| note.contains("of the setting before it")), "{:?}", carried.notes);
    assert!(carried.verdicts.iter().all(|it| it.verdict != Verdict::Same), "{:?}", carried.verdicts);
    let clean = kept(0.0, [1.0, 1.0, 1.2], 0.05);
    assert!(!clean.notes.iter().any(|note| note.contains("of the setting before it")), "{:?}", clean.notes);
    assert_eq!(clean.verdicts[0].verdict, Verdict::Same);
}

/// Twenty blocks of two or four settings that differ in nothing, where the second adds a share to the trial after it.
fn moved(settings: &[&str], share: f64, noise: f64, margin: f64) -> Finding {
    let mut experiment = started(settings, 3);
    (experiment.margin, experiment.max_blocks, experiment.min_blocks) = (margin, 20, 20);
    let mut own = noisy(3, noise, vec![1.0; settings.len()]);
    let mut before = 0;
    let answer = move |trial: &PlannedTrial| {
        let moved = if before == 1 { 1.0 + share } else { 1.0 };
        before = trial.setting;
        Ok(rate(own(trial)?.metrics["rate_mbit_s"] * moved))
    };
    run(&experiment, &mut FormulaBench::new(1_000_000_000, answer), &mut Vec::new()).unwrap()
}

#[test]
fn a_setting_that_moves_the_trial_after_it_is_named_and_nothing_is_called_better_for_it() {
    for settings in [&["a", "b"][..], &["a", "b", "c", "d"]] {
        let (found, clean) = (moved(settings, 0.03, 0.005, 0.0005), moved(settings, 0.0, 0.005, 0.0005));
        let named = |finding: &Finding| {
            finding
                .notes
                .iter()
                .any(|note| note.contains(": b seems to affect the trial after it by +") && note.contains("--settle"))
        };
        assert!(named(&found) && !named(&clean), "{:?} {:?}", found.notes, clean.notes);
        assert!(
            found.verdicts.iter().all(|it| !matches!(it.verdict, Verdict::Better | Verdict::Worse)),
            "{:?}",
            found.verdicts
        );
    }
}

#[test]
fn what_a_meter_without_noise_shows_far_below_the_margin_is_not_worth_a_note() {
    let (small, large) = (moved(&["a", "b"], 0.000_2, 1e-6, 0.01), moved(&["a", "b"], 0.002, 1e-6, 0.01));
    let named =
        |finding: &Finding| finding.notes.iter().any(|note| note.contains("seems to affect the trial after it"));
    assert!(!named(&small) && named(&large), "{:?} {:?}", small.notes, large.notes);
    assert_eq!(small.verdicts[0].verdict, Verdict::Same);
}

#[test]
fn a_rare_slow_trial_is_named_and_is_not_the_same() {
    let slow = |every: u32| {
        let mut experiment = started(&["a", "b"], 4);
        (experiment.margin, experiment.max_blocks, experiment.min_blocks) = (0.01, 60, 60);
        let mut own = noisy(4, 0.01, vec![1.0, 1.0]);
        let mut trials = 0;
        let answer = move |trial: &PlannedTrial| {
            trials += u32::from(trial.setting == 1);
            let is_slow = trial.setting == 1 && trials % every == 0;
            own(trial).map(|it| if is_slow { rate(0.5 * it.metrics["rate_mbit_s"]) } else { it })
        };
        run(&experiment, &mut FormulaBench::new(1_000_000_000, answer), &mut Vec::new()).unwrap()
    };
    let (finding, clean) = (slow(10), slow(1000));
    let named = |finding: &Finding| {
        finding.notes.iter().any(|note| note.contains(" of 60 trials of b are 0.50 times its typical one"))
    };
    assert!(named(&finding) && !named(&clean), "{:?}", finding.notes);
    assert_eq!((finding.verdicts[0].verdict, clean.verdicts[0].verdict), (Verdict::Undecided, Verdict::Same));
}

#[test]
fn interference_in_step_with_the_trials_is_named_with_its_period() {
    let finding = |square: f64| {
        let mut experiment = started(&["a", "b"], 5);
        (experiment.margin, experiment.max_blocks, experiment.min_blocks) = (0.0005, 20, 20);
        let mut own = noisy(5, 0.005, vec![1.0, 1.0]);
        let answer = move |trial: &PlannedTrial| {
            let times = if trial.trial % 6 < 3 { 1.0 } else { 1.0 + square };
            Ok(rate(own(trial)?.metrics["rate_mbit_s"] * times))
        };
        run(&experiment, &mut FormulaBench::new(1_000_000_000, answer), &mut Vec::new()).unwrap()
    };
    let named = |finding: &Finding| {
        let period = "something with a period of 6 trials (about 6 s) disturbs";
        finding.notes.iter().any(|note| note.contains(period))
    };
    let (disturbed, quiet) = (finding(0.05), finding(0.0));
    assert!(named(&disturbed), "{:?}", disturbed.notes);
    assert!(!quiet.notes.iter().any(|note| note.contains("a period of")), "{:?}", quiet.notes);
}
