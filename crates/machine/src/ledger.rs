//! The ledger: what must be put back. Its format, and the bookkeeping every machine shares; where it is kept is a [`LedgerStore`].
//!
//! One record a line: `PBL1 CRC JSON`, CRC-32 (IEEE) of the JSON in eight hex digits. A line is appended and synced
//! before the action it announces. A last line that is torn was never acted on; a torn or altered line elsewhere is
//! reported and skipped, the others stand.
use serde::{Deserialize, Serialize};
use thiserror::Error;

use crate::{Action, Errno, Hold, Turn};

/// Number of an entry, rising for the life of a ledger file.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(transparent)]
pub struct EntryId(pub u64);

/// Why the ledger could not be written. Nothing was turned.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[error("cannot write the ledger {place}: {errno}; nothing was turned")]
pub struct LedgerError {
    /// Which ledger.
    pub place: String,
    /// Why.
    pub errno: Errno,
}

/// Where a ledger's bytes are kept. Appending returns only when they are durable.
pub trait LedgerStore {
    /// For messages: the path.
    fn place(&self) -> String;

    /// Everything appended so far.
    ///
    /// # Errors
    /// The kernel's error number.
    fn load(&mut self) -> Result<Vec<u8>, Errno>;

    /// Appends and syncs.
    ///
    /// # Errors
    /// The kernel's error number; nothing may be assumed written.
    fn append(&mut self, bytes: &[u8]) -> Result<(), Errno>;

    /// Replaces everything, atomically and durably; used when nothing is open any more.
    ///
    /// # Errors
    /// The kernel's error number.
    fn replace(&mut self, bytes: &[u8]) -> Result<(), Errno>;
}

/// A ledger that lives as long as its owner: simulated machines in experiments, tests.
#[derive(Clone, Debug, Default)]
pub struct MemoryLedger(Vec<u8>);

impl LedgerStore for MemoryLedger {
    fn place(&self) -> String {
        "in memory".into()
    }

    fn load(&mut self) -> Result<Vec<u8>, Errno> {
        Ok(self.0.clone())
    }

    fn append(&mut self, bytes: &[u8]) -> Result<(), Errno> {
        self.0.extend_from_slice(bytes);
        Ok(())
    }

    fn replace(&mut self, bytes: &[u8]) -> Result<(), Errno> {
        self.0 = bytes.to_vec();
        Ok(())
    }
}

/// One line of the ledger.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "record", rename_all = "snake_case")]
enum Record {
    /// About to act.
    Intent { id: EntryId, boot_id: String, turn: Box<Turn> },
    /// Acted, with what came of it.
    Done { id: EntryId, errno: Option<Errno>, reads_back: Option<String> },
    /// No longer ours to undo.
    Closed { id: EntryId, outcome: Undone },
}

/// An entry that is not closed.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct OpenEntry {
    /// Its number.
    pub id: EntryId,
    /// First entry of its step.
    pub step: EntryId,
    /// The boot it was made in.
    pub boot_id: String,
    /// What was done.
    pub turn: Turn,
    /// Whether the action is known to have been tried (else we were interrupted in it).
    pub acted: bool,
    /// The kernel's refusal.
    pub errno: Option<Errno>,
    /// What read back after it.
    pub reads_back: Option<String>,
}

/// What became of an entry.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "outcome", rename_all = "snake_case")]
pub enum Undone {
    /// Taken back; reads as before.
    Undone,
    /// It already was as before, or the action never took place.
    AlreadyBack,
    /// Somebody else's value is there; left alone.
    Foreign {
        /// What is there now.
        found: String,
        /// What we had left there.
        ours: String,
    },
    /// The boot it belonged to is over; the kernel forgot it.
    Rebooted,
    /// The kernel refused.
    Failed {
        /// In words.
        why: String,
    },
}

/// A ledger with its entries in memory and its bytes in a [`LedgerStore`].
pub struct Ledger {
    store: Box<dyn LedgerStore>,
    boot_id: String,
    open: Vec<OpenEntry>,
    next: u64,
    damaged: Vec<u32>,
}

impl Ledger {
    /// Reads what a store holds.
    ///
    /// # Errors
    /// [`LedgerError`] when it cannot be read.
    pub fn load(mut store: Box<dyn LedgerStore>, boot_id: &str) -> Result<Self, LedgerError> {
        let bytes = store.load().map_err(|errno| LedgerError { place: store.place(), errno })?;
        let mut ledger = Ledger { store, boot_id: boot_id.into(), open: Vec::new(), next: 1, damaged: Vec::new() };
        let mut lines = (1..).zip(bytes.split_inclusive(|&byte| byte == b'\n')).peekable();
        while let Some((number, line)) = lines.next() {
            match decode(line) {
                Some(record) => ledger.apply(record),
                None if lines.peek().is_none() && !line.ends_with(b"\n") => ledger.forget_torn_tail(&bytes)?,
                None => ledger.damaged.push(number),
            }
        }
        Ok(ledger)
    }

    /// Lines that are neither torn at the end nor whole, counted from 1.
    #[must_use]
    pub fn damaged_lines(&self) -> &[u32] {
        &self.damaged
    }

    /// Where it is kept.
    #[must_use]
    pub fn place(&self) -> String {
        self.store.place()
    }

    /// What is not closed, oldest first.
    #[must_use]
    pub fn open(&self) -> &[OpenEntry] {
        &self.open
    }

    /// Writes down what is about to be done; durable on return.
    ///
    /// # Errors
    /// [`LedgerError`]: do not act.
    pub fn intend(&mut self, turn: &Turn) -> Result<EntryId, LedgerError> {
        let id = EntryId(self.next);
        self.write(Record::Intent { id, boot_id: self.boot_id.clone(), turn: Box::new(turn.clone()) })?;
        Ok(id)
    }

    /// Writes down what came of it. A refused action has nothing to undo and is closed at once.
    ///
    /// # Errors
    /// [`LedgerError`] when it cannot be written; the intent stands and will be undone all the same.
    pub fn done(&mut self, id: EntryId, errno: Option<Errno>, reads_back: Option<String>) -> Result<(), LedgerError> {
        self.write(Record::Done { id, errno, reads_back })?;
        if errno.is_some() || self.find(id).is_some_and(|entry| entry.turn.undo.is_none()) {
            self.close(id, Undone::AlreadyBack)?;
        }
        Ok(())
    }

    /// Closes an entry, unless the outcome says that it stays open ([`Undone::Foreign`], [`Undone::Failed`]).
    /// When nothing is open any more the store is emptied.
    ///
    /// # Errors
    /// [`LedgerError`] when it cannot be written.
    pub fn close(&mut self, id: EntryId, outcome: Undone) -> Result<(), LedgerError> {
        if matches!(outcome, Undone::Foreign { .. } | Undone::Failed { .. }) {
            return Ok(());
        }
        self.write(Record::Closed { id, outcome })?;
        if self.open.is_empty() && self.damaged.is_empty() {
            self.store.replace(b"").map_err(|errno| self.error(errno))?;
        }
        Ok(())
    }

    /// An open entry.
    #[must_use]
    pub fn find(&self, id: EntryId) -> Option<&OpenEntry> {
        self.open.iter().find(|entry| entry.id == id)
    }

    /// Takes an entry back through `machine`'s own reading and acting: the three-way comparison, written once.
    ///
    /// # Errors
    /// [`LedgerError`] when the outcome could not be recorded.
    pub fn undo(
        &mut self,
        id: EntryId,
        force: bool,
        read: &mut dyn FnMut(&str) -> Result<String, Errno>,
        act: &mut dyn FnMut(&Action) -> Result<(), Errno>,
    ) -> Result<Undone, LedgerError> {
        let Some(entry) = self.find(id) else { return Ok(Undone::AlreadyBack) };
        let outcome = settle(entry, &self.boot_id, force, read, act);
        self.close(id, outcome.clone())?;
        Ok(outcome)
    }

    fn error(&self, errno: Errno) -> LedgerError {
        LedgerError { place: self.store.place(), errno }
    }

    fn write(&mut self, record: Record) -> Result<(), LedgerError> {
        self.store.append(encode(&record).as_bytes()).map_err(|errno| self.error(errno))?;
        self.apply(record);
        Ok(())
    }

    /// A tail without its newline must not swallow the next record.
    fn forget_torn_tail(&mut self, bytes: &[u8]) -> Result<(), LedgerError> {
        let whole = bytes.iter().rposition(|&byte| byte == b'\n').map_or(0, |end| end + 1);
        self.store.replace(&bytes[..whole]).map_err(|errno| self.error(errno))
    }

    fn apply(&mut self, record: Record) {
        match record {
            Record::Intent { id, boot_id, turn } => {
                self.next = self.next.max(id.0 + 1);
                let step = turn.step.unwrap_or(id);
                self.open.push(OpenEntry {
                    id,
                    step,
                    boot_id,
                    turn: *turn,
                    acted: false,
                    errno: None,
                    reads_back: None,
                });
            }
            Record::Done { id, errno, reads_back } => {
                if let Some(entry) = self.open.iter_mut().find(|entry| entry.id == id) {
                    (entry.acted, entry.errno, entry.reads_back) = (true, errno, reads_back);
                }
            }
            Record::Closed { id, .. } => self.open.retain(|entry| entry.id != id),
        }
    }
}

/// Decides and does the undo of one entry.
fn settle(
    entry: &OpenEntry,
    boot_id: &str,
    force: bool,
    read: &mut dyn FnMut(&str) -> Result<String, Errno>,
    act: &mut dyn FnMut(&Action) -> Result<(), Errno>,
) -> Undone {
    // What the kernel refused is closed at once, unless that could not be written down.
    let Some(undo) = entry.turn.undo.as_ref().filter(|_| entry.errno.is_none()) else { return Undone::AlreadyBack };
    if entry.boot_id != boot_id && is_volatile(undo) {
        return Undone::Rebooted;
    }
    let now = entry.turn.read_back.as_ref().map(|path| read(path).map(|text| text.trim_end().to_owned()));
    let before = entry.turn.before.as_ref();
    // A file that was not there before reads as nothing did.
    let made = matches!(undo, Action::RemoveFile { .. });
    if let Some(Ok(now)) = now.as_ref().filter(|_| before.is_some() || made) {
        if before.is_some_and(|before| now == before.trim_end()) {
            return Undone::AlreadyBack;
        }
        let written = match &entry.turn.action {
            Action::WriteFile { text, .. } => text,
            _ => &entry.turn.asked,
        };
        // Without a reading we were interrupted between acting and writing down what came of it.
        let ours = entry.reads_back.as_ref().unwrap_or(written);
        if now != ours.trim_end() && entry.turn.hold == Hold::Set && !force {
            return Undone::Foreign { found: now.clone(), ours: ours.clone() };
        }
    }
    if let Some(Err(errno)) = &now
        && *errno != Errno::ENOENT
        && entry.turn.hold == Hold::Set
        && !force
    {
        // What cannot be compared may be somebody else's.
        return Undone::Failed { why: errno.to_string() };
    }
    match act(undo) {
        Ok(()) => Undone::Undone,
        Err(Errno::ENOENT) if matches!(undo, Action::RemoveFile { .. } | Action::RemoveGroup { .. }) => {
            Undone::AlreadyBack
        }
        Err(errno) if (force || !is_kept(entry)) && has_no_place(undo, now.as_ref(), errno) => Undone::AlreadyBack,
        Err(errno) => Undone::Failed { why: errno.to_string() },
    }
}

/// Whether an entry only keeps what a governor loses: it waits for the governor to come back.
fn is_kept(entry: &OpenEntry) -> bool {
    entry.turn.undo.as_ref() == Some(&entry.turn.action)
}

/// Whether the kernel took the file away and with it what was written there, as it does with the tunables of a governor
/// that has left; its set speed stays and says so.
fn has_no_place(undo: &Action, now: Option<&Result<String, Errno>>, errno: Errno) -> bool {
    let gone = errno == Errno::ENOENT && now == Some(&Err(Errno::ENOENT)) && is_volatile(undo);
    gone || matches!(now, Some(Ok(text)) if text == "<unsupported>")
}

/// Whether the kernel forgets this at a reboot.
fn is_volatile(undo: &Action) -> bool {
    match undo {
        Action::WriteFile { path, .. } | Action::RemoveFile { path } => {
            ["/sys/", "/proc/"].iter().any(|root| path.starts_with(root))
        }
        Action::MakeGroup { .. } | Action::RemoveGroup { .. } => true,
        Action::Run { .. } => false,
    }
}

fn encode(record: &Record) -> String {
    // A Record holds only strings and integers, which always serialise.
    let json = serde_json::to_string(record).unwrap_or_default();
    format!("PBL1 {:08x} {json}\n", crc32fast::hash(json.as_bytes()))
}

fn decode(line: &[u8]) -> Option<Record> {
    let line = std::str::from_utf8(line).ok()?;
    let rest = line.strip_suffix('\n')?.strip_prefix("PBL1 ")?;
    let (crc, json) = rest.split_once(' ')?;
    (u32::from_str_radix(crc, 16).ok()? == crc32fast::hash(json.as_bytes())).then_some(())?;
    serde_json::from_str(json).ok()
}

#[cfg(test)]
mod tests;
