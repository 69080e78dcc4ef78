//! Commands that fail where failures are ignored: what they measured is kept, and nothing is judged by it.
use powerband_experiment::{FormulaBench, run};
use powerband_record::{CloseReason, CommandEnd, Event, ExitStatus, Finding, PlannedTrial, Verdict, Void};

use crate::{noisy, started};

const SECOND: u64 = 1_000_000_000;

/// Settings whose speeds differ by a tenth, in trials some of which fail.
fn failing(
    seed: u64,
    cost_order: Vec<u32>,
    fails: impl Fn(&PlannedTrial) -> Option<CommandEnd>,
) -> (Finding, Vec<Event>) {
    let mut experiment = started(&["base", "quick", "slow"], seed);
    (experiment.margin, experiment.cost_order) = (0.03, cost_order);
    let mut formula = noisy(seed, 0.01, vec![1.0, 1.1, 0.9]);
    let mut bench = FormulaBench::new(SECOND, |trial: &PlannedTrial| {
        let outcome = formula(trial)?;
        Ok::<_, Void>(powerband_record::Outcome { ended: fails(trial), ..outcome })
    });
    let mut journal = Vec::new();
    let finding = run(&experiment, &mut bench, &mut journal).unwrap();
    (finding, journal)
}

fn end(accepted: bool) -> Option<CommandEnd> {
    Some(CommandEnd { status: ExitStatus::Code(1), accepted })
}

fn reasons(journal: &[Event]) -> Vec<&str> {
    let mut reasons = Vec::new();
    for event in journal {
        if let Event::SettingLeft { why, .. } = event {
            reasons.push(why.as_str());
        }
    }
    reasons
}

#[test]
fn a_setting_whose_command_fails_has_no_verdict_and_the_others_have_theirs() {
    // Once after good trials, or always.
    for first in [1, 3] {
        let (finding, journal) =
            failing(31, Vec::new(), |trial| (trial.setting == 1 && trial.block >= first).then(|| end(false)).flatten());
        assert_eq!(finding.reason, CloseReason::Decided);
        let verdicts: Vec<_> = finding.verdicts.iter().map(|it| (it.setting, it.verdict)).collect();
        assert_eq!(verdicts, [(2, Verdict::Worse)], "from block {first}");
        assert!(finding.levels.iter().any(|level| level.setting == 1), "what it took is shown");
        assert!(reasons(&journal).iter().any(|why| why.starts_with("failed in ")), "{:?}", reasons(&journal));
    }
}

#[test]
fn nothing_is_compared_with_a_reference_whose_command_fails() {
    let (finding, journal) = failing(32, Vec::new(), |trial| (trial.setting == 0).then(|| end(false)).flatten());
    assert!(finding.verdicts.is_empty(), "{:?}", finding.verdicts);
    assert_eq!((finding.reason, reasons(&journal).len()), (CloseReason::Decided, 2), "no blocks are wasted on it");
}

#[test]
fn a_status_that_counts_as_success_changes_nothing() {
    let (plain, _) = failing(33, Vec::new(), |_| None);
    let (accepted, _) = failing(33, Vec::new(), |_| end(true));
    assert_eq!(plain.verdicts, accepted.verdicts);
}

#[test]
fn a_setting_whose_command_fails_is_no_knee() {
    let (finding, _) = failing(34, vec![1, 2, 0], |trial| (trial.setting == 1).then(|| end(false)).flatten());
    let knee = finding.knee.unwrap();
    assert_ne!(knee.knee, Some(1));
    assert!(!knee.alike.contains(&1));
}
