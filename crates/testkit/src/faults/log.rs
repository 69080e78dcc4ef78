//! Who wrote what: the record of every hand on a file, from which checkers judge.
use powerband_machine::{EntryId, Hold};

/// Whose hand it was.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Hand {
    /// The owner, about to write down what it will turn: nothing is written to the file yet.
    Intent,
    /// The owner, turning.
    Act,
    /// The owner, taking an entry back.
    Undo {
        /// Which.
        entry: EntryId,
        /// How long it was to last.
        hold: Hold,
    },
    /// Another program.
    Stranger,
    /// The kernel or firmware, some time after a write.
    Kernel,
}

/// One write to a file, or its removal.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LoggedWrite {
    /// The owner's step in which it happened.
    pub step: u64,
    /// Whose hand.
    pub hand: Hand,
    /// Where.
    pub path: String,
    /// What read there before, trimmed; `None` when nothing could be read.
    pub was: Option<String>,
    /// What was or will be written, trimmed; `None` for a removal.
    pub text: Option<String>,
    /// What reads there since, trimmed.
    pub reads: Option<String>,
}
