//! Experiments, `set`, `undo` and `with` on a machine where anything may go wrong, held against what must be true afterwards.
//!
//! One seed is one story: a machine, what its owners do one after the other, what strikes them. The checkers are pure
//! functions over what the story left behind.
mod careless;
mod course;
mod draw;
mod files;
mod going_on;
mod ledger_replays;
mod mutants;
mod no_foreign_overwrite;
mod play;
mod reduced;
mod restored;
mod resume_is_equivalent;
mod rolls_back;
mod story;
mod sweep;

use play::Record;

/// A checker: its name, and what it says of a story.
type Checker = (&'static str, fn(&Record) -> Result<(), String>);

/// All of them.
const CHECKERS: [Checker; 5] = [
    ("restored", restored::check),
    ("ledger_replays", ledger_replays::check),
    ("no_foreign_overwrite", no_foreign_overwrite::check),
    ("rolls_back", rolls_back::check),
    ("resume_is_equivalent", resume_is_equivalent::check),
];

/// What the first checker that is not content says, with its name.
fn judge(record: &Record) -> Result<(), (&'static str, String)> {
    CHECKERS.iter().try_for_each(|(name, check)| check(record).map_err(|sentence| (*name, sentence)))
}
