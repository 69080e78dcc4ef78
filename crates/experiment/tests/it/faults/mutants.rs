//! Each checker sees a mistake made on purpose, and is content with the same stories without it.
use powerband_machine::Rule;
use powerband_testkit::faults::Blunder;

use super::course::{Course, Ground, Slip};
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
    seen("restored", |story| story.blunder = Some(Blunder::Breaks(Rule::IntentFirst)));
}

#[test]
fn forgetting_the_result_is_seen_by_ledger_replays() {
    seen("ledger_replays", |story| story.blunder = Some(Blunder::Breaks(Rule::ResultIsRecorded)));
}

#[test]
fn leaving_what_cannot_be_recorded_is_seen_by_rolls_back() {
    seen("rolls_back", |story| story.blunder = Some(Blunder::Breaks(Rule::UnrecordedIsTakenBack)));
}

#[test]
fn closing_what_could_not_be_undone_is_seen_by_restored() {
    seen("restored", |story| story.blunder = Some(Blunder::Breaks(Rule::FailedUndoStaysOpen)));
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
    seen("no_foreign_overwrite", |story| story.blunder = Some(Blunder::Breaks(Rule::OthersAreLeftAlone)));
}

#[test]
fn believing_every_refusal_is_seen_by_restored() {
    seen("restored", |story| story.blunder = Some(Blunder::Breaks(Rule::RefusalsAreProved)));
}

/// Lets every interrupted experiment be gone on with by a slip, on each of these grounds.
#[track_caller]
fn slipped(slip: Slip, grounds: &[Ground]) {
    for &ground in grounds {
        seen("resume_is_equivalent", |story| {
            let course = Course { ground, ..Course::of(story.seed) };
            judge(&play(&Story { course: Some(course.clone()), ..story.clone() })).unwrap();
            story.course = Some(Course { slip: Some(slip), ..course });
        });
    }
}

#[test]
fn comparing_nothing_is_no_mistake_as_long_as_nothing_else_slips() {
    for seed in 1..=100 {
        for ground in RECALLED {
            let course = Course { ground, slip: Some(Slip::ComparesNothing), ..Course::of(seed) };
            judge(&play(&Story { course: Some(course), ..Story::of(seed) })).unwrap();
        }
    }
}

/// Where trials that stand are answered, not computed again.
const RECALLED: [Ground; 2] = [Ground::Survivor, Ground::Formula];

#[test]
fn an_event_too_many_is_seen_by_resume_is_equivalent() {
    slipped(Slip::KeepsAnEventTooMany, &Ground::ALL);
}

#[test]
fn a_finished_trial_too_few_is_seen_by_resume_is_equivalent() {
    slipped(Slip::LosesAFinishedTrial, &RECALLED);
}

#[test]
fn appending_what_stands_is_seen_by_resume_is_equivalent() {
    slipped(Slip::AppendsWhatStands, &Ground::ALL);
}

#[test]
fn running_a_trial_again_is_seen_by_resume_is_equivalent() {
    slipped(Slip::RunsOneAgain, &RECALLED);
}

#[test]
fn answering_from_another_trial_is_seen_by_resume_is_equivalent() {
    slipped(Slip::AnswersFromAnother, &RECALLED);
}

#[test]
fn a_clock_from_zero_is_seen_by_resume_is_equivalent() {
    slipped(Slip::ClockFromZero, &RECALLED);
}

#[test]
fn leaving_what_is_held_is_seen_by_resume_is_equivalent() {
    slipped(Slip::LeavesWhatIsHeld, &[Ground::Survivor]);
}
