//! A simulated machine behind the Machine seam: the board, and the ledger of what was turned on it.
use std::cell::RefCell;
use std::collections::BTreeSet;

use powerband_machine::{
    Acted, Action, Damage, Entry, EntryId, Errno, Finished, Handle, Hold, Identity, Job, LastChange, Ledger,
    LedgerError, LedgerStore, Machine, MemoryLedger, OpenEntry, ProcessId, SpawnError, Turn, Undone,
};
use powerband_record::Side;

use crate::SimError;
use crate::board::Board;
use crate::fault::{Blunder, Ending, FaultPlan, Faults, Hands, Refusal, Step};
use crate::nic;
use crate::profile::Profile;
use crate::schedule::Group;

/// One simulated machine.
pub(crate) struct SimMachine {
    pub(crate) board: Board,
    ledger: Ledger,
    /// What was held before this boot, and is not done again.
    forgotten: BTreeSet<EntryId>,
    faults: Option<Faults>,
}

impl SimMachine {
    /// Boots with a ledger in memory.
    pub(crate) fn boot(profile: Profile, side: Side, has_far: bool, seed: u64) -> Result<Self, SimError> {
        let board = Board::boot(profile, side, has_far, seed)?;
        let ledger = Ledger::load(Box::new(MemoryLedger::default()), &board.identity.boot_id)?;
        Ok(SimMachine { board, ledger, forgotten: BTreeSet::new(), faults: None })
    }

    /// Keeps the ledger in `store` from now on; answers what it says is set and not undone, which is to be done again.
    pub(crate) fn keep_ledger(&mut self, store: Box<dyn LedgerStore>) -> Result<Vec<Action>, SimError> {
        self.ledger = Ledger::load(store, &self.board.identity.boot_id)?;
        let held = self.ledger.open().iter().filter(|entry| entry.turn.hold == Hold::Held);
        self.forgotten = held.map(|entry| entry.id).collect();
        let set = self.ledger.open().iter().filter(|entry| entry.turn.hold == Hold::Set && entry.errno.is_none());
        Ok(set.map(|entry| entry.turn.action.clone()).collect())
    }
}

impl SimMachine {
    /// Lets things go wrong from now on, and keeps the ledger on a disk of theirs.
    pub(crate) fn inject(&mut self, plan: FaultPlan) -> Result<Faults, SimError> {
        let faults = Faults::new(plan);
        self.ledger = Ledger::load(faults.store(), &self.board.identity.boot_id)?;
        self.faults = Some(faults.clone());
        Ok(faults)
    }

    /// Somebody else owns the machine from now on: what its last owner ran is ended, and after a power cut `fresh` is
    /// what has booted.
    pub(crate) fn succeed(&mut self, fresh: Option<Board>) -> Result<(), SimError> {
        if let Some(mut fresh) = fresh {
            fresh.keep_files_of(&self.board);
            self.board = fresh;
        }
        self.board.end_all();
        self.board.close_all();
        if let Some(faults) = &self.faults {
            let loaded = Ledger::load(faults.store(), &self.board.identity.boot_id);
            self.ledger = loaded.inspect_err(|_| faults.give_up())?;
        }
        Ok(())
    }

    /// How the owner has ended, if it has.
    pub(crate) fn ended(&self) -> Option<Ending> {
        self.faults.as_ref().and_then(Faults::ended)
    }

    pub(crate) fn faults(&self) -> Option<&Faults> {
        self.faults.as_ref()
    }

    pub(crate) fn hands(&mut self) -> Hands<'_> {
        Hands { board: &mut self.board, faults: self.faults.as_ref() }
    }

    fn blunder(&self, blunder: Blunder) -> bool {
        self.faults.as_ref().is_some_and(|faults| faults.blunder(blunder))
    }

    fn intend(&mut self, turn: &Turn) -> Result<EntryId, LedgerError> {
        let Self { ledger, board, .. } = self;
        ledger.intend(turn, &mut |path| board.read(path))
    }

    /// Acts and reads back.
    fn turn(&mut self, turn: &Turn) -> (Option<Refusal>, Option<String>) {
        let mut hands = self.hands();
        let refusal = hands.act(turn).err();
        let mut read = |path: &String| hands.read(path, Step::ReadBack).ok().map(|text| text.trim_end().to_owned());
        let reads_back = turn.read_back.as_ref().and_then(&mut read);
        (refusal, reads_back)
    }
}

impl Board {
    /// Does one action.
    pub(crate) fn perform(&mut self, action: &Action) -> Result<(), Refusal> {
        let plain = |errno| (errno, None);
        match action {
            Action::WriteFile { path, text } => self.write(path, text).map_err(plain),
            Action::HoldFile { path, text } => self.hold(path, text).map_err(plain),
            Action::ReleaseFile { path } => {
                self.release(path);
                Ok(())
            }
            Action::RemoveFile { path } => self.remove_file(path).map_err(plain),
            Action::MakeGroup { group, quota } => {
                if group.is_empty() || group.contains('/') {
                    return Err(plain(Errno::EINVAL));
                }
                if self.find_group(group).is_some() {
                    return Err(plain(Errno::EEXIST));
                }
                self.groups.push(Group::new(group, quota.millionths));
                Ok(())
            }
            Action::RemoveGroup { group } => {
                let number = self.find_group(group).ok_or(plain(Errno::ENOENT))?;
                self.end_group(number);
                self.groups[number as usize].exists = false;
                Ok(())
            }
            Action::Coalesce { device, .. } if device != nic::DEVICE => Err(plain(Errno::ENODEV)),
            Action::Coalesce { values, .. } => self.nic.coalesce(values, self.now_ns),
            Action::Run { argv, .. } => {
                let program = argv.first().map_or("", String::as_str);
                let words = format!("{} is simulated and runs no programs, so not '{program}'", self.identity.name);
                Err((Errno::EOPNOTSUPP, Some(words)))
            }
            _ => Err((Errno::EOPNOTSUPP, Some(format!("{} has no model of this action", self.identity.name)))),
        }
    }

    /// The number of a group that exists.
    pub(crate) fn find_group(&self, name: &str) -> Option<u32> {
        (0_u32..).zip(&self.groups).find(|(_, group)| group.exists && group.name == name).map(|(number, _)| number)
    }
}

impl Machine for SimMachine {
    fn identity(&self) -> &Identity {
        &self.board.identity
    }

    fn list(&mut self, folder: &str) -> Result<Vec<Entry>, Errno> {
        self.hands().meet(Step::Look)?;
        self.board.list(folder)
    }

    fn read(&mut self, path: &str) -> Result<String, Errno> {
        self.hands().read(path, Step::Look)
    }

    fn open(&mut self, path: &str) -> Result<Handle, Errno> {
        self.hands().meet(Step::Look)?;
        self.board.open(path)
    }

    fn read_many(&mut self, handles: &[Handle], into: &mut Vec<Result<String, Errno>>) {
        into.clear();
        for &handle in handles {
            let met = self.hands().meet(Step::Look);
            into.push(met.and_then(|()| self.board.read_handle(handle)));
        }
    }

    fn close(&mut self, handle: Handle) {
        self.board.close(handle);
    }

    fn act(&mut self, turn: &Turn) -> Result<Acted, LedgerError> {
        self.hands().intend(&turn.action);
        let (entry, (refusal, reads_back)) = if self.blunder(Blunder::ActsBeforeTheIntent) {
            let turned = self.turn(turn);
            (self.intend(turn)?, turned)
        } else {
            (self.intend(turn)?, self.turn(turn))
        };
        let errno = refusal.as_ref().map(|(errno, _)| *errno);
        let Self { ledger, board, faults, .. } = self;
        let mut hands = Hands { board, faults: faults.as_ref() };
        ledger.done(entry, errno, reads_back.clone(), &mut |undo| {
            let _refused = hands.take_back(undo, entry, turn.hold);
        })?;
        if errno.is_some() && self.blunder(Blunder::BelievesRefusals) {
            self.ledger.close(entry, Undone::AlreadyBack)?;
        }
        Ok(Acted { entry, errno, words: refusal.and_then(|(_, words)| words), reads_back })
    }

    fn undo(&mut self, entry: EntryId, force: bool) -> Result<Undone, LedgerError> {
        if self.forgotten.remove(&entry) {
            self.ledger.close(entry, Undone::Rebooted)?;
            return Ok(Undone::Rebooted);
        }
        let force = force || self.blunder(Blunder::AlwaysForces);
        let hold = self.ledger.find(entry).map_or(Hold::Held, |entry| entry.turn.hold);
        let hands = RefCell::new(Hands { board: &mut self.board, faults: self.faults.as_ref() });
        let mut read = |path: &str| hands.borrow_mut().read(path, Step::Compare);
        let mut act = |action: &Action| hands.borrow_mut().take_back(action, entry, hold).map_err(|(errno, _)| errno);
        self.ledger.undo(entry, force, &mut read, &mut act)
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

    fn set_damage_aside(&mut self) -> Result<Vec<Damage>, LedgerError> {
        self.ledger.set_damage_aside()
    }

    /// Nothing here remembers whose hand it was.
    fn last_change(&mut self, _path: &str) -> Option<LastChange> {
        None
    }

    fn spawn(&mut self, job: &Job) -> Result<ProcessId, SpawnError> {
        let refused = |errno| SpawnError::Refused { what: job.work.kind().to_owned(), errno };
        self.hands().meet(Step::Spawn).map_err(refused)?;
        self.board.spawn(job)
    }

    fn end(&mut self, process: ProcessId, force: bool) {
        if self.ended().is_none() {
            self.board.end(process, force);
        }
    }

    fn finished(&mut self, process: ProcessId) -> Option<Finished> {
        self.board.finished(process)
    }
}
