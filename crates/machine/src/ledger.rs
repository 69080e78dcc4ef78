//! The ledger: what must be restored. Its format, and the bookkeeping every machine shares; where it is kept is a [`LedgerStore`].
//!
//! One record a line: `PBL1 CRC JSON`, CRC-32 (IEEE) of the JSON in eight hex digits. A line is appended and synced
//! before the action it announces. A last line that is torn was never acted on; an altered line is told of and set
//! aside, the others stand.
mod format;
mod outlived;
mod rounded;
mod settle;
mod store;

use serde::{Deserialize, Serialize};

pub use self::format::Damage;
use self::format::{Kind, Part, Record, encode};
pub use self::settle::EntryOrigin;
pub use self::settle::Read;
use self::settle::{Stand, is_volatile};
pub use self::store::{LedgerError, LedgerStore, MemoryLedger};
use crate::{Action, Before, Errno, Hold, Turn};
use powerband_record::InOrder;

/// Number of an entry, rising for the life of a ledger file.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(transparent)]
pub struct EntryId(pub u64);

/// An entry that is not closed.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct OpenEntry {
    /// Its number.
    pub id: EntryId,
    /// First entry of its step.
    pub step: EntryId,
    /// The boot it was made in.
    pub boot_id: String,
    /// Where it was made.
    #[serde(default, skip_serializing_if = "EntryOrigin::is_anywhere")]
    pub origin: EntryOrigin,
    /// What was done.
    pub turn: Turn,
    /// Whether the action is known to have been tried (else we were interrupted in it).
    pub acted: bool,
    /// The kernel's refusal.
    pub errno: Option<Errno>,
    /// What read back after it.
    pub reads_back: Option<String>,
}

/// The knob, in the ledger, of a file that keeps settings over reboots. Such an entry is open while the files are being
/// written; once it is to stay, it is closed, because the list of what is kept says then how to take it back.
pub const KEPT: &str = "keep";

impl OpenEntry {
    /// Whether a boot has ended it: it was made in another boot than `boot_id`, and the kernel forgets it, or it has not outlived
    /// the boot, as `read` finds. A boot that does not tell who it is counts as this one.
    #[must_use]
    pub fn is_over(&self, boot_id: &str, read: Read<'_>) -> bool {
        self.may_be_over(boot_id) && !outlived::has_outlived(self, read)
    }

    /// Whether it was made in another boot than `boot_id`, and in a file of the kernel's. One that is not over then was kept by a
    /// device or its firmware.
    #[must_use]
    pub fn may_be_over(&self, boot_id: &str) -> bool {
        self.is_of_another_boot(boot_id) && self.turn.undo.as_ref().is_some_and(is_volatile)
    }

    /// Whether it was made in another boot than `boot_id`, as far as both are known.
    #[must_use]
    pub fn is_of_another_boot(&self, boot_id: &str) -> bool {
        !self.boot_id.is_empty() && !boot_id.is_empty() && self.boot_id != boot_id
    }

    /// Whether it was refused and nothing was done. An error number alone does not prove that: the kernel stores the first of
    /// three values and refuses the second, and a file may report at its closing that it could not be written. So a refusal
    /// is believed only where what was there before and what reads back are known and agree. A program that fails may have
    /// done half.
    #[must_use]
    pub fn is_refused(&self) -> bool {
        match &self.turn.action {
            _ if self.errno.is_none() => false,
            Action::Run { .. } => false,
            // It was there before, so it is not ours to remove.
            Action::MakeGroup { .. } | Action::MakeFolder { .. } => self.errno == Some(Errno::EEXIST),
            _ => match &self.turn.before {
                Before::Reads(before) | Before::Saved { saved: before } => self.reads_as(before),
                Before::Unknown | Before::Outcome { .. } => false,
            },
        }
    }

    /// Whether it read like this after the action.
    fn reads_as(&self, before: &str) -> bool {
        self.reads_back.as_ref().is_some_and(|reads| reads.trim_end() == before.trim_end())
    }
}

/// What became of an entry.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "outcome", rename_all = "snake_case")]
pub enum Undone {
    /// Undone; reads as before.
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
    /// It was turned in another network namespace; not touched from here.
    Elsewhere,
    /// The network device of that name is gone or another one; not touched.
    OtherDevice {
        /// Its name.
        device: String,
        /// The address of the one that was turned.
        ours: String,
        /// The address of the one that is there.
        found: Option<String>,
    },
    /// It was turned elsewhere or on another device, or the kernel refuses its undo for good, and the caller insisted on letting go of it.
    GivenUp,
    /// The kernel refused.
    Failed {
        /// In words.
        why: String,
    },
}

impl Undone {
    /// Whether the entry stays open, for another attempt.
    #[must_use]
    pub fn stays_open(&self) -> bool {
        match self {
            Undone::Undone | Undone::AlreadyBack | Undone::Rebooted | Undone::GivenUp => false,
            Undone::Foreign { .. } | Undone::Elsewhere | Undone::OtherDevice { .. } | Undone::Failed { .. } => true,
        }
    }
}

/// A ledger with its entries in memory and its bytes in a [`LedgerStore`].
pub struct Ledger {
    store: Box<dyn LedgerStore>,
    boot_id: String,
    net_ns: Option<u64>,
    open: Vec<OpenEntry>,
    next: u64,
    damage: Vec<Damage>,
    /// Whether the file ends in the middle of a line, which must not swallow the next one.
    torn: bool,
    /// What was left of that line as the file was read.
    tail: Option<Damage>,
    /// What is open and was made on another machine that keeps its ledger in the same place: neither closed nor undone here.
    others: Vec<OpenEntry>,
    machine: Option<String>,
    /// Bytes of the store that were there when it was read, or were appended since it was written anew.
    length: usize,
}

/// A file longer than this is written anew once nothing in it is held: what stays set or kept for months must not keep the records of
/// everything that was done and undone meanwhile, bytes.
const MAX_BYTES: usize = 64 << 10;

impl Ledger {
    /// Reads what a store holds, and writes nothing.
    ///
    /// # Errors
    /// [`LedgerError`] when it cannot be read or is no ledger.
    pub fn load(mut store: Box<dyn LedgerStore>, boot_id: &str) -> Result<Self, LedgerError> {
        let bytes = store.load()?;
        let boot_id = boot_id.to_owned();
        let (open, damage) = (Vec::new(), Vec::new());
        let mut ledger = Ledger {
            store,
            boot_id,
            net_ns: None,
            open,
            next: 1,
            damage,
            torn: false,
            tail: None,
            others: Vec::new(),
            machine: None,
            length: bytes.len(),
        };
        let mut closed = Vec::new();
        let mut intents = Vec::new();
        let mut orphans = Vec::new();
        let parts = format::parts(&bytes);
        if !parts.is_empty() && parts.iter().all(|part| matches!(part, Part::Damaged(_))) {
            // Garbage must not be taken for lost entries.
            if let Some(why) = format::distrust(&bytes) {
                return Err(LedgerError::Untrusted { place: ledger.place(), why });
            }
        }
        for part in parts {
            match part {
                Part::Whole(record) => {
                    match &record {
                        Record::Intent { id, .. } => intents.push(*id),
                        Record::Closed { id, .. } => closed.push((*id, ledger.damage.len())),
                        Record::Done { id, .. } if !intents.contains(id) => {
                            orphans.push(Damage::without_intent(*id, &record))
                        }
                        Record::Done { .. } | Record::Kept { .. } => {}
                    }
                    ledger.apply(record);
                }
                Part::Damaged(damage) => ledger.damage.push(damage),
                Part::Torn(tail) => (ledger.torn, ledger.tail) = (true, Some(tail)),
            }
        }
        // What was closed later is no longer in force. A number that a whole intent has is not the damaged one's.
        for (place, damage) in ledger.damage.iter_mut().enumerate().filter(|(_, damage)| damage.kind == Kind::Intent) {
            let is_closed = |id: &EntryId| closed.iter().any(|(closed, after)| closed == id && *after > place);
            damage.entry = damage.entry.filter(|id| !intents.contains(id));
            damage.matters = !damage.entry.as_ref().is_some_and(is_closed);
        }
        orphans.retain(|orphan| !closed.iter().any(|(id, _)| orphan.entry == Some(*id)));
        ledger.note_cut_out(orphans);
        // Without its last newline the file is as if torn: the next line must not run into this one.
        ledger.torn |= bytes.last().is_some_and(|&byte| byte != b'\n');
        Ok(ledger)
    }

    /// Notes what was done without a whole line that announces it, where no damaged line may be that one: it was cut out.
    fn note_cut_out(&mut self, mut orphans: Vec<Damage>) {
        let names_one = |damage: &Damage| orphans.iter().any(|orphan| orphan.entry == damage.entry);
        let may_be_one = self.damage.iter().filter(|damage| damage.matters && !names_one(damage)).count();
        orphans.retain(|orphan| !self.damage.iter().any(|damage| damage.entry == orphan.entry));
        self.damage.extend(orphans.into_iter().skip(may_be_one));
    }

    /// Seen from a network namespace, by its inode; `None` where there is but one.
    #[must_use]
    pub fn in_network(mut self, net_ns: Option<u64>) -> Self {
        self.net_ns = net_ns;
        self
    }

    /// On a machine, by [`EntryOrigin::machine_name`]. Several machines may have their ledger in one file: a home folder on a file
    /// server, a root file system that all nodes share. Each sees what is its own; an entry of this boot is, whatever it is
    /// called by now.
    #[must_use]
    pub fn on_machine(mut self, machine: Option<String>) -> Self {
        let is_here = |entry: &OpenEntry| {
            let (made, here) = (&entry.origin.machine, &machine);
            entry.boot_id == self.boot_id || made.is_none() || here.is_none() || made == here
        };
        (self.open, self.others) = std::mem::take(&mut self.open).into_iter().partition(is_here);
        self.machine = machine;
        self
    }

    /// What is open and was made on other machines, oldest first.
    #[must_use]
    pub fn of_others(&self) -> &[OpenEntry] {
        &self.others
    }

    /// What was left of a last line that was not whole as the ledger was read: its writer was killed in it, or somebody has
    /// cut the file off since.
    #[must_use]
    pub fn torn_tail(&self) -> Option<&Damage> {
        self.tail.as_ref()
    }

    /// What is damaged, in the order of the lines.
    #[must_use]
    pub fn damage(&self) -> &[Damage] {
        &self.damage
    }

    /// Sets what is damaged and matters aside in the store, then writes the ledger anew with what is open. Killed in
    /// between, the next one does it again: nothing is lost, at worst kept twice.
    ///
    /// # Errors
    /// [`LedgerError`] when it cannot be written; the damage is still there.
    pub fn set_damage_aside(&mut self) -> Result<Vec<Damage>, LedgerError> {
        if self.damage.is_empty() {
            return Ok(Vec::new());
        }
        let mut lines = Vec::new();
        for damage in self.damage.iter().filter(|damage| damage.matters) {
            lines.extend_from_slice(&damage.bytes);
            if !lines.ends_with(b"\n") {
                lines.push(b'\n');
            }
        }
        if !lines.is_empty() {
            self.store.set_aside(&lines).map_err(|errno| self.error(errno))?;
        }
        self.rewrite()?;
        Ok(std::mem::take(&mut self.damage))
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

    /// Makes sure that all records of a turn can be written.
    ///
    /// # Errors
    /// [`LedgerError`]: do not act.
    pub fn reserve(&mut self, turn: &Turn) -> Result<(), LedgerError> {
        self.store
            .reserve(turn)
            .map_err(|errno| if errno == Errno::ESTALE { self.displaced() } else { self.error(errno) })
    }

    /// Writes down what is about to be done; durable on return. `read` reads files of the machine.
    ///
    /// # Errors
    /// [`LedgerError`]: do not act.
    pub fn intend(&mut self, turn: &Turn, read: Read<'_>) -> Result<EntryId, LedgerError> {
        let id = EntryId(self.next);
        let origin = EntryOrigin { machine: self.machine.clone(), ..EntryOrigin::of(&turn.action, self.net_ns, read) };
        let (boot_id, turn) = (self.boot_id.clone(), Box::new(turn.clone()));
        self.write(Record::Intent { id, boot_id, origin, turn })?;
        Ok(id)
    }

    /// Writes down what came of it. A refusal that can be believed ([`OpenEntry::is_refused`]) has nothing to undo and is
    /// closed at once; any other entry stays open. When that cannot be written, the caller will report that nothing was
    /// done, so `take_back` does the undo that may be needed; should that fail as well, the intent is still there.
    ///
    /// # Errors
    /// [`LedgerError`] when it cannot be written.
    pub fn done(
        &mut self,
        id: EntryId,
        errno: Option<Errno>,
        reads_back: Option<String>,
        take_back: &mut dyn FnMut(&Action),
    ) -> Result<(), LedgerError> {
        let record = Record::Done { id, errno, reads_back };
        let done = self.write(record.clone());
        if done.is_err() {
            // In memory it is known all the same, for anyone who asks this ledger.
            self.apply(record);
        }
        let needless = self.find(id).is_some_and(|entry| entry.turn.undo.is_none() || entry.is_refused());
        let closed = done.and_then(|()| if needless { self.close(id, Undone::AlreadyBack) } else { Ok(()) });
        if closed.is_err()
            && !needless
            && let Some(undo) = self.find(id).and_then(|entry| entry.turn.undo.clone())
        {
            take_back(&undo);
        }
        closed
    }

    /// Closes an entry, unless the outcome says that it stays open ([`Undone::stays_open`]).
    /// When nothing is open any more the store is emptied.
    ///
    /// # Errors
    /// [`LedgerError`] when it cannot be written.
    pub fn close(&mut self, id: EntryId, outcome: Undone) -> Result<(), LedgerError> {
        if outcome.stays_open() {
            return Ok(());
        }
        self.write(Record::Closed { id, outcome })?;
        if self.open.is_empty() && self.others.is_empty() && self.damage.is_empty() {
            self.store.replace(b"").map_err(|errno| self.error(errno))?;
            self.length = 0;
        }
        self.shorten();
        Ok(())
    }

    /// Drops what is closed from a long file, where everything that is open is to stay. Another machine may be writing to a file that it
    /// shares with us. A file that cannot be written anew says the same as before.
    fn shorten(&mut self) {
        let stays = self.open.iter().all(|entry| entry.turn.hold == Hold::Set);
        if self.length > MAX_BYTES && stays && self.others.is_empty() && self.damage.is_empty() {
            let _ = self.rewrite();
        }
    }

    /// Makes what is held stay until `undo`; durable on return, and all of them or none.
    ///
    /// # Errors
    /// [`LedgerError`] when it cannot be written; then they are still held.
    pub fn keep(&mut self, ids: &[EntryId]) -> Result<(), LedgerError> {
        self.check_place()?;
        self.write(Record::Kept { ids: ids.to_vec() })?;
        // What stays must be known to a later undo.
        self.check_place()
    }

    /// The turn of a held entry with another text for its file. A held entry is restored whatever reads there, and a
    /// reboot forgets what the kernel shows, so its undo stands for every text that is written meanwhile.
    ///
    /// # Errors
    /// [`LedgerError`]: do not act.
    pub(crate) fn rewritten(&self, id: EntryId, text: &str) -> Result<Turn, LedgerError> {
        let held = self.find(id).filter(|entry| entry.acted && entry.turn.hold == Hold::Held);
        let path = held.and_then(|entry| match (&entry.turn.action, &entry.turn.undo) {
            (Action::WriteFile { path, .. }, Some(undo @ Action::WriteFile { path: back, .. })) => {
                (path == back && is_volatile(undo)).then(|| path.clone())
            }
            _ => None,
        });
        let (Some(entry), Some(path)) = (held, path) else {
            return Err(LedgerError::NotHeld { place: self.place(), entry: id.0 });
        };
        self.check_place()?;
        let (asked, text) = (text.to_owned(), text.to_owned());
        Ok(Turn { action: Action::WriteFile { path, text }, asked, ..entry.turn.clone() })
    }

    fn check_place(&self) -> Result<(), LedgerError> {
        if self.store.is_in_place() { Ok(()) } else { Err(self.displaced()) }
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
        read: Read<'_>,
        act: &mut dyn FnMut(&Action) -> Result<(), Errno>,
    ) -> Result<Undone, LedgerError> {
        let Some(entry) = self.find(id) else { return Ok(Undone::AlreadyBack) };
        let stand = Stand { boot_id: &self.boot_id, net_ns: self.net_ns, force };
        let outcome = settle::settle(entry, &stand, read, act);
        self.close(id, outcome.clone())?;
        Ok(outcome)
    }

    /// The lines of a ledger and of its copy together, and those that are no records. Records are facts about numbered entries,
    /// so it does not matter which of the two lacks some. What an entry announces is the copy's where it has it: a ledger that
    /// was written anew says the same in fewer lines.
    #[must_use]
    pub fn union(there: &[u8], copy: &[u8]) -> (Vec<u8>, Vec<u8>) {
        let records = |bytes: &[u8]| -> Vec<Record> {
            let whole = |part| if let Part::Whole(record) = part { Some(record) } else { None };
            format::parts(bytes).into_iter().filter_map(whole).collect()
        };
        let known = records(copy);
        let announced =
            |id: EntryId| known.iter().any(|it| matches!(it, Record::Intent { id: known, .. } if *known == id));
        let is_new = |record: &Record| match record {
            Record::Intent { id, .. } => !announced(*id),
            record => !known.contains(record),
        };
        let both = records(there).into_iter().filter(is_new);
        let lines: Vec<u8> = known.iter().cloned().chain(both).flat_map(|it| encode(&it).into_bytes()).collect();
        let mut strange = Vec::new();
        for part in format::parts(there) {
            let (Part::Damaged(damage) | Part::Torn(damage)) = part else { continue };
            // A line that was cut off is in the copy whole.
            if !copy.split(|&byte| byte == b'\n').any(|line| line.starts_with(damage.bytes.trim_ascii_end())) {
                strange.extend_from_slice(damage.bytes.trim_ascii_end());
                strange.push(b'\n');
            }
        }
        (lines, strange)
    }

    /// The line that says that an entry is closed, for somebody who closes it when we cannot.
    #[must_use]
    pub fn closing_line(id: EntryId, outcome: Undone) -> String {
        encode(&Record::Closed { id, outcome })
    }

    fn error(&self, errno: Errno) -> LedgerError {
        LedgerError::Unwritable { place: self.store.place(), errno }
    }

    fn displaced(&self) -> LedgerError {
        LedgerError::Displaced { place: self.store.place() }
    }

    fn write(&mut self, record: Record) -> Result<(), LedgerError> {
        if self.torn {
            self.rewrite_whole_lines()?;
        }
        let line = encode(&record);
        self.store.append(line.as_bytes()).map_err(|errno| self.error(errno))?;
        self.length += line.len();
        self.apply(record);
        Ok(())
    }

    /// Writes everything anew: what is open, and nothing else.
    fn rewrite(&mut self) -> Result<(), LedgerError> {
        let mut text = String::new();
        let mut all: Vec<OpenEntry> = self.others.iter().chain(&self.open).cloned().collect();
        all.order_by_key(|entry| entry.id);
        for entry in all {
            let OpenEntry { id, boot_id, origin, turn, acted, errno, reads_back, .. } = entry;
            text += &encode(&Record::Intent { id, boot_id, origin, turn: Box::new(turn) });
            if acted {
                text += &encode(&Record::Done { id, errno, reads_back });
            }
        }
        self.store.replace(text.as_bytes()).map_err(|errno| self.error(errno))?;
        (self.torn, self.length) = (false, text.len());
        Ok(())
    }

    /// A tail without its newline must not swallow the next record. What is torn is cut off, and nothing else: the line may
    /// begin with whole records whose newline was lost.
    fn rewrite_whole_lines(&mut self) -> Result<(), LedgerError> {
        let mut bytes = self.store.load()?;
        match format::parts(&bytes).last() {
            Some(Part::Torn(tail)) => bytes.truncate(bytes.len() - tail.bytes.len()),
            Some(Part::Whole(_)) => {
                let end = bytes.iter().rposition(|&byte| byte == b'}').map_or(0, |end| end + 1);
                bytes.truncate(end);
            }
            _ => {}
        }
        if bytes.last().is_some_and(|&byte| byte != b'\n') {
            bytes.push(b'\n');
        }
        self.store.replace(&bytes).map_err(|errno| self.error(errno))?;
        self.torn = false;
        Ok(())
    }

    fn apply(&mut self, record: Record) {
        match record {
            Record::Intent { id, boot_id, origin, turn } => {
                self.next = self.next.max(id.0 + 1);
                let step = turn.step.unwrap_or(id);
                self.open.push(OpenEntry {
                    id,
                    step,
                    boot_id,
                    origin,
                    turn: *turn,
                    acted: false,
                    errno: None,
                    reads_back: None,
                });
            }
            Record::Done { id, errno, reads_back } => {
                self.next = self.next.max(id.0 + 1);
                if let Some(entry) = self.open.iter_mut().find(|entry| entry.id == id) {
                    (entry.acted, entry.errno, entry.reads_back) = (true, errno, reads_back);
                }
            }
            Record::Kept { ids } => {
                self.open.retain(|entry| entry.turn.knob != KEPT || !ids.contains(&entry.id));
                for entry in self.open.iter_mut().filter(|entry| ids.contains(&entry.id)) {
                    entry.turn.hold = Hold::Set;
                }
            }
            Record::Closed { id, .. } => self.open.retain(|entry| entry.id != id),
        }
    }
}

#[cfg(test)]
mod tests;
