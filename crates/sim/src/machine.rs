//! A simulated machine as a device: the board, and who may interfere with what its owner does.
use std::collections::BTreeSet;
use std::rc::Rc;

use powerband_machine::{
    Action, Change as _, Device, Entry, EntryId, Errno, Finished, Handle, Hold, Identity, Job, Ledger, LedgerError,
    LedgerRead, LedgerStore, Ledgered, Look, MemoryLedger, OpenEntry, Performed, ProcessId, Rule, Run, SpawnError,
    Turn, Undone, Watch,
};
use powerband_record::Side;

use crate::SimError;
use crate::board::Board;
use crate::interference::{Interference, OwnerStep, Refusal};
use crate::nic;
use crate::profile::Profile;
use crate::schedule::Group;

/// One simulated machine, without its ledger.
pub(crate) struct SimDevice {
    pub(crate) board: Board,
    /// What was held before this boot, and is not done again.
    forgotten: BTreeSet<EntryId>,
    pub(crate) interference: Option<Rc<dyn Interference>>,
}

/// With its ledger.
pub(crate) type SimMachine = Ledgered<SimDevice>;

/// Boots with a ledger in memory.
pub(crate) fn boot(profile: Profile, side: Side, has_far: bool, seed: u64) -> Result<SimMachine, SimError> {
    let board = Board::boot(profile, side, has_far, seed)?;
    let ledger = Ledger::load(Box::new(MemoryLedger::default()), &board.identity.boot_id)?;
    Ok(Ledgered::new(SimDevice { board, forgotten: BTreeSet::new(), interference: None }, ledger))
}

/// Keeps the ledger in `store` from now on; answers what it says is set and not undone, which is to be done again.
pub(crate) fn keep_ledger(machine: &mut SimMachine, store: Box<dyn LedgerStore>) -> Result<Vec<Action>, SimError> {
    load_ledger(machine, store)?;
    let open = machine.open_entries();
    let held = open.iter().filter(|entry| entry.turn.hold == Hold::Held);
    machine.device_mut().forgotten = held.map(|entry| entry.id).collect();
    let set = open.iter().filter(|entry| entry.turn.hold == Hold::Set && entry.errno.is_none());
    Ok(set.map(|entry| entry.turn.action.clone()).collect())
}

/// Keeps the ledger in `store` from now on, and reads it.
pub(crate) fn load_ledger(machine: &mut SimMachine, store: Box<dyn LedgerStore>) -> Result<(), SimError> {
    let ledger = Ledger::load(store, &machine.device().board.identity.boot_id)?;
    machine.set_ledger(ledger);
    Ok(())
}

impl SimDevice {
    /// One step of the owner; the error is what it gets for an answer.
    pub(crate) fn meet(&mut self, step: OwnerStep) -> Result<(), Errno> {
        self.interference.as_ref().map_or(Ok(()), |interference| interference.meet(&mut self.board, step))
    }

    fn read_in_step(&mut self, path: &str, step: OwnerStep) -> Result<String, Errno> {
        self.meet(step)?;
        self.board.read(path)
    }

    fn change(&mut self, action: &Action, undoes: Option<(EntryId, Hold)>) -> Result<(), Refusal> {
        match &self.interference {
            Some(interference) => interference.perform(&mut self.board, action, undoes),
            None => self.board.perform(action),
        }
    }
}

impl Board {
    /// Does one action.
    ///
    /// # Errors
    /// The kernel's refusal, or that there is no model of it.
    pub fn perform(&mut self, action: &Action) -> Result<(), (Errno, Option<String>)> {
        let plain = |errno| (errno, None);
        match action {
            Action::WriteFile { path, text } | Action::ReplaceFile { path, text } => {
                self.write(path, text).map_err(plain)
            }
            Action::MakeFolder { path } => self.make_folder(path).map_err(plain),
            Action::RemoveFolder { path } => self.remove_folder(path).map_err(plain),
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

    /// The names of the control groups there are.
    #[must_use]
    pub fn groups(&self) -> Vec<String> {
        self.groups.iter().filter(|group| group.exists).map(|group| group.name.clone()).collect()
    }

    /// The number of a group that exists.
    pub(crate) fn find_group(&self, name: &str) -> Option<u32> {
        (0_u32..).zip(&self.groups).find(|(_, group)| group.exists && group.name == name).map(|(number, _)| number)
    }
}

impl Device for SimDevice {
    fn read_for_ledger(&mut self, path: &str, purpose: LedgerRead) -> Result<String, Errno> {
        match purpose {
            LedgerRead::Intent => self.board.read(path),
            LedgerRead::Comparison => self.read_in_step(path, OwnerStep::Compare),
        }
    }

    fn prepare(&mut self, turn: &Turn) -> Result<Turn, LedgerError> {
        if let Some(interference) = &self.interference {
            interference.announced(&turn.action);
        }
        Ok(turn.clone())
    }

    fn perform(&mut self, _entry: EntryId, turn: &Turn) -> Result<Performed, LedgerError> {
        let refusal = self.change(&turn.action, None).err();
        let mut read =
            |path: &String| self.read_in_step(path, OwnerStep::ReadBack).ok().map(|text| text.trim_end().to_owned());
        let reads_back = turn.read_back.as_ref().and_then(&mut read);
        let (errno, words) = refusal.map_or((None, None), |(errno, words)| (Some(errno), words));
        Ok(Performed { errno, words, reads_back })
    }

    fn take_back(&mut self, action: &Action, entry: EntryId, hold: Hold) -> Result<(), Errno> {
        self.change(action, Some((entry, hold))).map_err(|(errno, _)| errno)
    }

    fn settled(&mut self, entry: &OpenEntry) -> Option<Undone> {
        self.forgotten.remove(&entry.id).then_some(Undone::Rebooted)
    }

    fn breaks(&self, rule: Rule) -> bool {
        self.interference.as_ref().is_some_and(|interference| interference.breaks(rule))
    }
}

impl Look for SimDevice {
    fn identity(&self) -> &Identity {
        &self.board.identity
    }

    fn list(&mut self, folder: &str) -> Result<Vec<Entry>, Errno> {
        self.meet(OwnerStep::Look)?;
        self.board.list(folder)
    }

    fn read(&mut self, path: &str) -> Result<String, Errno> {
        self.read_in_step(path, OwnerStep::Look)
    }

    fn open(&mut self, path: &str) -> Result<Handle, Errno> {
        self.meet(OwnerStep::Look)?;
        self.board.open(path)
    }

    fn read_many(&mut self, handles: &[Handle], into: &mut Vec<Result<String, Errno>>) {
        into.clear();
        for &handle in handles {
            let met = self.meet(OwnerStep::Look);
            into.push(met.and_then(|()| self.board.read_handle(handle)));
        }
    }

    fn close(&mut self, handle: Handle) {
        self.board.close(handle);
    }
}

impl Run for SimDevice {
    fn spawn(&mut self, job: &Job) -> Result<ProcessId, SpawnError> {
        let refused = |errno| SpawnError::Refused { what: job.work.kind().to_owned(), errno };
        self.meet(OwnerStep::Spawn).map_err(refused)?;
        self.board.spawn(job)
    }

    fn end(&mut self, process: ProcessId, force: bool) {
        if !self.interference.as_ref().is_some_and(|interference| interference.has_ended()) {
            self.board.end(process, force);
        }
    }

    fn finished(&mut self, process: ProcessId) -> Option<Finished> {
        self.board.finished(process)
    }
}

impl Watch for SimDevice {}
