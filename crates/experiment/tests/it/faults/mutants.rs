//! Each checker sees a mistake made on purpose, and is content with the same stories without it.
use powerband_sim::Blunder;

use super::course::{Course, Slip};
use super::judge;
use super::play::play;
use super::story::Story;

/// Seeds in which each mutant must be seen.
const SEEDS: u64 = 1_000;

/// Plays the seeds with a mistake until a checker sees it; answers the checker's name.
#[track_caller]
fn seen(by: &str, mistake: impl Fn(&mut Story)) {
    let mut others = Vec::new();
    for seed in 1..=SEEDS {
        judge(&play(&Story::of(seed))).unwrap();
        let mut story = Story::of(seed);
        mistake(&mut story);
        match judge(&play(&story)) {
            Err((name, _)) if name == by => return,
            Err((name, said)) => others.push(format!("{name}: {said}")),
            Ok(()) => {}
        }
    }
    panic!("{by} did not see it in {SEEDS} stories; others said {others:?}");
}

#[test]
fn acting_before_the_intent_is_seen_by_restored() {
    seen("restored", |story| story.blunder = Some(Blunder::ActsBeforeTheIntent));
}

#[test]
fn acknowledging_too_early_is_seen_by_ledger_replays() {
    seen("ledger_replays", |story| story.blunder = Some(Blunder::AcknowledgesTooEarly));
}

#[test]
fn keeping_a_torn_tail_is_seen_by_ledger_replays() {
    seen("ledger_replays", |story| story.blunder = Some(Blunder::KeepsTheTornTail));
}

#[test]
fn taking_back_the_oldest_first_is_seen_by_restored() {
    seen("restored", |story| story.backwards = true);
}

#[test]
fn forcing_every_undo_is_seen_by_no_foreign_overwrite() {
    seen("no_foreign_overwrite", |story| story.blunder = Some(Blunder::AlwaysForces));
}

/// Lets every interrupted experiment be gone on with by a slip.
#[track_caller]
fn slipped(slip: Slip) {
    seen("resume_is_equivalent", |story| story.course = Some(Course { slip: Some(slip), ..Course::of(story.seed) }));
}

#[test]
fn an_event_too_many_is_seen_by_resume_is_equivalent() {
    slipped(Slip::KeepsAnEventTooMany);
}

#[test]
fn a_finished_trial_too_few_is_seen_by_resume_is_equivalent() {
    slipped(Slip::LosesAFinishedTrial);
}

#[test]
fn appending_what_stands_is_seen_by_resume_is_equivalent() {
    slipped(Slip::AppendsWhatStands);
}

#[test]
fn running_a_trial_again_is_seen_by_resume_is_equivalent() {
    slipped(Slip::RunsOneAgain);
}

#[test]
fn answering_from_another_trial_is_seen_by_resume_is_equivalent() {
    slipped(Slip::AnswersFromAnother);
}

#[test]
fn a_clock_from_zero_is_seen_by_resume_is_equivalent() {
    slipped(Slip::ClockFromZero);
}
