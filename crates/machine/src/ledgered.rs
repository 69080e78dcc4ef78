//! The write-ahead rule, once: a [`Device`] lists, reads, acts and starts, and [`Ledgered`] makes a [`Machine`] of it that never acts
//! before the intent is durable, and that can always undo.
use std::cell::RefCell;

use crate::{
    Acted, Action, Damage, Entry, EntryId, Errno, Finished, Handle, Hold, Identity, Job, LastChange, Ledger,
    LedgerError, LeftBehind, Machine, OpenEntry, ProcessId, SpawnError, Turn, Undone, Unwatched, Written,
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
    /// A refusal is believed only where what reads back proves it.
    RefusalsAreProved,
    /// What somebody else has written since is left alone.
    OthersAreLeftAlone,
}

/// A machine without its ledger. What each method answers is as in [`Machine`], where it has the same name.
pub trait Device {
    /// As [`Machine::identity`].
    fn identity(&self) -> &Identity;

    /// As [`Machine::list`].
    ///
    /// # Errors
    /// The kernel's error number.
    fn list(&mut self, folder: &str) -> Result<Vec<Entry>, Errno>;

    /// As [`Machine::read`].
    ///
    /// # Errors
    /// The kernel's error number.
    fn read(&mut self, path: &str) -> Result<String, Errno>;

    /// Reads for the ledger.
    ///
    /// # Errors
    /// The kernel's error number.
    fn read_for_ledger(&mut self, path: &str, _purpose: LedgerRead) -> Result<String, Errno> {
        self.read(path)
    }

    /// As [`Machine::open`].
    ///
    /// # Errors
    /// The kernel's error number.
    fn open(&mut self, path: &str) -> Result<Handle, Errno>;

    /// As [`Machine::read_many`].
    fn read_many(&mut self, handles: &[Handle], into: &mut Vec<Result<String, Errno>>);

    /// As [`Machine::close`].
    fn close(&mut self, handle: Handle);

    /// Makes ready for an entry, before anything of it is written down: the turn as it will be done.
    ///
    /// # Errors
    /// [`LedgerError`]: nothing is done.
    fn prepare(&mut self, turn: &Turn) -> Result<Turn, LedgerError> {
        Ok(turn.clone())
    }

    /// Acts and reads back. The intent is durable.
    ///
    /// # Errors
    /// [`LedgerError`] when the machine does not answer: what was done is not known.
    fn perform(&mut self, entry: EntryId, turn: &Turn) -> Result<Performed, LedgerError>;

    /// Takes an action back.
    ///
    /// # Errors
    /// The kernel's error number.
    fn take_back(&mut self, action: &Action, entry: EntryId, hold: Hold) -> Result<(), Errno>;

    /// What became of an entry that is not to be acted on to undo it; `None` for all others.
    fn settled(&mut self, _entry: &OpenEntry) -> Option<Undone> {
        None
    }

    /// As [`Machine::last_change`].
    fn last_change(&mut self, path: &str) -> Option<LastChange>;

    /// As [`Machine::spawn`].
    ///
    /// # Errors
    /// [`SpawnError`] when it cannot run here.
    fn spawn(&mut self, job: &Job) -> Result<ProcessId, SpawnError>;

    /// As [`Machine::end`].
    fn end(&mut self, process: ProcessId, force: bool);

    /// As [`Machine::finished`].
    fn finished(&mut self, process: ProcessId) -> Option<Finished>;

    /// As [`Machine::watch_writers`].
    ///
    /// # Errors
    /// [`Unwatched`] where not all places can be watched.
    fn watch_writers(&mut self, _places: &[String]) -> Result<(), Unwatched> {
        Ok(())
    }

    /// As [`Machine::take_writes`].
    fn take_writes(&mut self) -> Vec<Written> {
        Vec::new()
    }

    /// As [`Machine::left_behind`].
    fn left_behind(&mut self, _end: bool) -> LeftBehind {
        LeftBehind::default()
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
}

impl<D: Device> Machine for Ledgered<D> {
    fn identity(&self) -> &Identity {
        self.device.identity()
    }

    fn list(&mut self, folder: &str) -> Result<Vec<Entry>, Errno> {
        self.device.list(folder)
    }

    fn read(&mut self, path: &str) -> Result<String, Errno> {
        self.device.read(path)
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

    fn act(&mut self, turn: &Turn) -> Result<Acted, LedgerError> {
        let Self { device, ledger } = self;
        let turn = &device.prepare(turn)?;
        let early = device.breaks(Rule::IntentFirst).then(|| device.perform(EntryId(0), turn)).transpose()?;
        let entry = ledger.intend(turn, &mut |path| device.read_for_ledger(path, LedgerRead::Intent))?;
        let done = early.map_or_else(|| device.perform(entry, turn), Ok)?;
        let Performed { errno, words, reads_back } = done;
        // The intent says how to undo it, should this not become durable; then it is undone here and now.
        ledger.done(entry, errno, reads_back.clone(), &mut |undo| {
            let _refused = device.take_back(undo, entry, turn.hold);
        })?;
        if errno.is_some() && device.breaks(Rule::RefusalsAreProved) {
            ledger.close(entry, Undone::AlreadyBack)?;
        }
        Ok(Acted { entry, errno, words, reads_back })
    }

    fn undo(&mut self, entry: EntryId, force: bool) -> Result<Undone, LedgerError> {
        let Self { device, ledger } = self;
        if let Some(outcome) = ledger.find(entry).and_then(|found| device.settled(found)) {
            ledger.close(entry, outcome.clone())?;
            return Ok(outcome);
        }
        let hold = ledger.find(entry).map_or(Hold::Held, |entry| entry.turn.hold);
        let force = force || device.breaks(Rule::OthersAreLeftAlone);
        // The ledger reads and acts in turns.
        let device = RefCell::new(device);
        let mut read = |path: &str| device.borrow_mut().read_for_ledger(path, LedgerRead::Comparison);
        let mut act = |action: &Action| device.borrow_mut().take_back(action, entry, hold);
        ledger.undo(entry, force, &mut read, &mut act)
    }

    fn keep(&mut self, entries: &[EntryId]) -> Result<(), LedgerError> {
        self.ledger.keep(entries)
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
        self.ledger.set_damage_aside()
    }

    fn last_change(&mut self, path: &str) -> Option<LastChange> {
        self.device.last_change(path)
    }

    fn watch_writers(&mut self, places: &[String]) -> Result<(), Unwatched> {
        self.device.watch_writers(places)
    }

    fn take_writes(&mut self) -> Vec<Written> {
        self.device.take_writes()
    }

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
