//! The place where a test may let things go wrong: what stands between a machine and its owner. The program puts nothing there.
use powerband_machine::{Action, EntryId, Errno, Hold, Rule};

use crate::board::Board;

/// A refusal with the words that go with it.
pub(crate) type Refusal = (Errno, Option<String>);

/// Where the owner of a machine is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OwnerStep {
    /// Reads, lists or opens.
    Look,
    /// Is about to act.
    Perform,
    /// Reads what came of it. No other hand moves before it: what it wrote could not be told from what came of ours.
    ReadBack,
    /// Reads before taking back. No other hand moves from here until it is undone: no comparison could see that.
    Compare,
    /// Is about to take back.
    TakeBack,
    /// Starts a load.
    Spawn,
    /// Waits.
    Wait,
}

/// What every step of a machine's owner passes through.
pub trait Interference {
    /// A step that changes nothing itself.
    ///
    /// # Errors
    /// What the owner gets for an answer.
    fn meet(&self, board: &mut Board, step: OwnerStep) -> Result<(), Errno>;

    /// The owner is about to record what it will do.
    fn announced(&self, action: &Action);

    /// The owner acts, or takes an entry back that was to last as long as `Hold` says.
    ///
    /// # Errors
    /// What the owner gets for an answer, and the words that go with it.
    fn perform(
        &self,
        board: &mut Board,
        action: &Action,
        undoes: Option<(EntryId, Hold)>,
    ) -> Result<(), (Errno, Option<String>)>;

    /// Whether the owner has ended, and nothing it does has effect.
    fn has_ended(&self) -> bool;

    /// Whether a part of the write-ahead rule is broken on purpose.
    fn breaks(&self, rule: Rule) -> bool;
}
