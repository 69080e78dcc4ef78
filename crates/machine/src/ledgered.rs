//! The write-ahead rule, once: a [`Device`] lists, reads, acts and starts, and [`Ledgered`] makes a [`Machine`] of it that never acts
//! before the intent is durable, and that can always undo.
use std::cell::RefCell;

use crate::{
    Acted, Action, Change, Damage, Entry, EntryId, Errno, Finished, Handle, Hold, Identity, Job, LastChange, Ledger,
    LedgerError, LeftBehind, Look, OpenEntry, ProcessId, Run, SpawnError, Turn, Undone, Unwatched, Watch, Written,
};

/// What the ledger reads a file for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LedgerRead {
    /// To write down what is there before an action.
    Intent,
    /// To find out whether what is there is still ours.
    Comparison,
}

/// What came of an action.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Performed {
    /// The kernel's refusal.
    pub errno: Option<Errno>,
    /// Its words beyond the number.
    pub words: Option<String>,
    /// What reads back, without the final newline.
    pub reads_back: Option<String>,
}

/// A part of the rule that a device may have broken, to show that its breach would be seen.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Rule {
    /// The intent is durable before the action.
    IntentFirst,
    /// What came of the action is recorded.
    ResultIsRecorded,
    /// An action whose result cannot be recorded is undone at once.
    UnrecordedIsTakenBack,
    /// A refusal is believed only where what reads back proves it.
    RefusalsAreProved,
    /// What somebody else has written since is left alone.
    OthersAreLeftAlone,
    /// An entry whose undo failed stays open.
    FailedUndoStaysOpen,
}

/// A machine without its ledger, and how it is acted on.
pub trait Device: Run + Watch {
    /// Reads for the ledger.
    ///
    /// # Errors
    /// The kernel's error number.
    fn read_for_ledger(&mut self, path: &str, _purpose: LedgerRead) -> Result<String, Errno> {
        self.read(path)
    }

    /// A turn that this one needs: it goes first, with an entry of its own. Its refusal stops nobody.
    fn needs(&mut self, _turn: &Turn) -> Option<Turn> {
        None
    }

    /// Makes ready for an entry, before anything of it is written down: the turn as it will be done.
    ///
    /// # Errors
    /// [`LedgerError`]: nothing is done.
    fn prepare(&mut self, turn: &Turn) -> Result<Turn, LedgerError> {
        Ok(turn.clone())
    }

    /// Acts and reads back. The intent is durable. A device whose own watchdog restores what is held has told it how before
    /// it acts.
    ///
    /// # Errors
    /// [`LedgerError`] when the machine does not answer: what was done is not known.
    fn perform(&mut self, entry: EntryId, turn: &Turn) -> Result<Performed, LedgerError>;

    /// Takes an action back.
    ///
    /// # Errors
    /// The kernel's error number.
    fn take_back(&mut self, action: &Action, entry: EntryId, hold: Hold) -> Result<(), Errno>;

    /// What the action said that was refused last when it was taken back, where that says more than the error number.
    fn refusal_words(&mut self) -> Option<String> {
        None
    }

    /// What became of an entry that is not to be acted on to undo it; `None` for all others.
    fn settled(&mut self, _entry: &OpenEntry) -> Option<Undone> {
        None
    }

    /// These entries are no longer held: closed, or kept. Nobody has to restore them when we are killed.
    fn let_go(&mut self, _entries: &[EntryId]) {}

    /// An entry was undone and closed, and these are still open; answers the entries that only that one needed.
    fn closed(&mut self, _entry: &OpenEntry, _open: &[OpenEntry]) -> Vec<EntryId> {
        Vec::new()
    }

    /// Why the machine cannot be reached any more: what it did not answer is no outcome.
    fn lost(&self) -> Option<LedgerError> {
        None
    }

    /// As [`Change::unguarded`].
    fn unguarded(&self) -> Option<String> {
        None
    }

    /// Whether this part of the rule is broken, in a test that must see it.
    fn breaks(&self, _rule: Rule) -> bool {
        false
    }
}

/// A device with its ledger.
pub struct Ledgered<D> {
    device: D,
    ledger: Ledger,
}

impl<D: Device> Ledgered<D> {
    /// With what is known to be open in `ledger`.
    #[must_use]
    pub fn new(device: D, ledger: Ledger) -> Self {
        Ledgered { device, ledger }
    }

    /// The device, for what the rule does not concern.
    #[must_use]
    pub fn device(&self) -> &D {
        &self.device
    }

    /// The device, for what the rule does not concern.
    pub fn device_mut(&mut self) -> &mut D {
        &mut self.device
    }

    /// Keeps another ledger from now on.
    pub fn set_ledger(&mut self, ledger: Ledger) {
        self.ledger = ledger;
    }

    /// One entry, from its intent to its result.
    fn act_alone(&mut self, turn: &Turn) -> Result<Acted, LedgerError> {
        let Self { device, ledger } = self;
        ledger.reserve(turn)?;
        let turn = &device.prepare(turn)?;
        let early = device.breaks(Rule::IntentFirst).then(|| device.perform(EntryId(0), turn)).transpose()?;
        let entry = ledger.intend(turn, &mut |path| device.read_for_ledger(path, LedgerRead::Intent))?;
        let done = early.map_or_else(|| device.perform(entry, turn), Ok)?;
        let Performed { errno, words, reads_back } = done;
        if !device.breaks(Rule::ResultIsRecorded) {
            // The intent says how to undo it, should this not become durable; then it is undone here and now.
            ledger.done(entry, errno, reads_back.clone(), &mut |undo| {
                if !device.breaks(Rule::UnrecordedIsTakenBack) {
                    let _refused = device.take_back(undo, entry, turn.hold);
                }
            })?;
        }
        if errno.is_some() && device.breaks(Rule::RefusalsAreProved) {
            ledger.close(entry, Undone::AlreadyBack)?;
        }
        if ledger.find(entry).is_none() {
            device.let_go(&[entry]);
        }
        Ok(Acted { entry, errno, words, reads_back })
    }

    /// Another write to what an entry holds: the intent of that one is durable, and says how to restore.
    fn act_again(&mut self, entry: EntryId, text: &str) -> Result<Acted, LedgerError> {
        let turn = self.device.prepare(&self.ledger.rewritten(entry, text)?)?;
        let Performed { errno, words, reads_back } = self.device.perform(entry, &turn)?;
        Ok(Acted { entry, errno, words, reads_back })
    }

    /// Undoes and closes one entry.
    fn settle(&mut self, entry: &OpenEntry, force: bool) -> Result<Undone, LedgerError> {
        let Self { device, ledger } = self;
        let (id, hold) = (entry.id, entry.turn.hold);
        if let Some(outcome) = device.settled(entry) {
            ledger.close(id, outcome.clone())?;
            return Ok(outcome);
        }
        let force = force || device.breaks(Rule::OthersAreLeftAlone);
        // The ledger reads and acts in turns.
        let shared = RefCell::new(&mut *device);
        let mut read = |path: &str| shared.borrow_mut().read_for_ledger(path, LedgerRead::Comparison);
        let mut act = |action: &Action| shared.borrow_mut().take_back(action, id, hold);
        let mut undone = ledger.undo(id, force, &mut read, &mut act)?;
        if let Undone::Failed { why } = &mut undone
            && let Some(words) = device.refusal_words()
        {
            *why = words;
        }
        if matches!(undone, Undone::Failed { .. }) && device.breaks(Rule::FailedUndoStaysOpen) {
            ledger.close(id, Undone::Undone)?;
        }
        Ok(undone)
    }

    fn undo_all_of(&mut self, entry: &OpenEntry, force: bool) -> Result<Undone, LedgerError> {
        let undone = self.settle(entry, force)?;
        if !undone.stays_open() {
            self.device.let_go(&[entry.id]);
            for needless in self.device.closed(entry, self.ledger.open()) {
                self.undo(needless, false)?;
            }
        }
        Ok(undone)
    }

    /// What went wrong, or that the machine is lost.
    fn or_lost<T>(&self, done: Result<T, LedgerError>) -> Result<T, LedgerError> {
        done.map_err(|error| self.device.lost().unwrap_or(error))
    }
}

impl<D: Device> Change for Ledgered<D> {
    fn act(&mut self, turn: &Turn) -> Result<Acted, LedgerError> {
        if let Some(first) = self.device.needs(turn) {
            self.act(&first)?;
        }
        let acted = self.act_alone(turn);
        self.or_lost(acted)
    }

    fn rewrite(&mut self, entry: EntryId, text: &str) -> Result<Acted, LedgerError> {
        let acted = self.act_again(entry, text);
        self.or_lost(acted)
    }

    fn undo(&mut self, entry: EntryId, force: bool) -> Result<Undone, LedgerError> {
        let Some(entry) = self.ledger.find(entry).cloned() else { return Ok(Undone::AlreadyBack) };
        let undone = self.undo_all_of(&entry, force);
        self.device.lost().map_or(undone, Err)
    }

    fn keep(&mut self, entries: &[EntryId]) -> Result<(), LedgerError> {
        let kept = self.ledger.keep(entries);
        if kept.is_ok() {
            self.device.let_go(entries);
        }
        self.or_lost(kept)
    }

    fn open_entries(&self) -> Vec<OpenEntry> {
        self.ledger.open().to_vec()
    }

    fn damage(&self) -> Vec<Damage> {
        self.ledger.damage().to_vec()
    }

    fn torn_tail(&self) -> Option<Damage> {
        self.ledger.torn_tail().cloned()
    }

    fn set_damage_aside(&mut self) -> Result<Vec<Damage>, LedgerError> {
        let aside = self.ledger.set_damage_aside();
        self.or_lost(aside)
    }

    fn unguarded(&self) -> Option<String> {
        self.device.unguarded()
    }
}

impl<D: Device> Look for Ledgered<D> {
    fn identity(&self) -> &Identity {
        self.device.identity()
    }

    fn list(&mut self, folder: &str) -> Result<Vec<Entry>, Errno> {
        self.device.list(folder)
    }

    fn read(&mut self, path: &str) -> Result<String, Errno> {
        self.device.read(path)
    }

    fn read_in(&mut self, folders: &[String], names: &[&str]) -> Vec<Vec<Result<String, Errno>>> {
        self.device.read_in(folders, names)
    }

    fn open(&mut self, path: &str) -> Result<Handle, Errno> {
        self.device.open(path)
    }

    fn read_many(&mut self, handles: &[Handle], into: &mut Vec<Result<String, Errno>>) {
        self.device.read_many(handles, into);
    }

    fn close(&mut self, handle: Handle) {
        self.device.close(handle);
    }

    fn last_change(&mut self, path: &str) -> Option<LastChange> {
        self.device.last_change(path)
    }
}

impl<D: Device> Run for Ledgered<D> {
    fn spawn(&mut self, job: &Job) -> Result<ProcessId, SpawnError> {
        self.device.spawn(job)
    }

    fn end(&mut self, process: ProcessId, force: bool) {
        self.device.end(process, force);
    }

    fn finished(&mut self, process: ProcessId) -> Option<Finished> {
        self.device.finished(process)
    }

    fn left_behind(&mut self, end: bool) -> LeftBehind {
        self.device.left_behind(end)
    }
}

impl<D: Device> Watch for Ledgered<D> {
    fn watch_writers(&mut self, places: &[String]) -> Result<(), Unwatched> {
        self.device.watch_writers(places)
    }

    fn take_writes(&mut self) -> Vec<Written> {
        self.device.take_writes()
    }
}
