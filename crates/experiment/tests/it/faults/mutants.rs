//! Each checker sees a mistake made on purpose, and is content with the same stories without it.
use powerband_sim::Blunder;

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
