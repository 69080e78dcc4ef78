//! This machine as a device: reading, acting and starting here, without the ledger.
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use powerband_machine::{
    Action, Device, Entry, EntryId, Errno, Finished, Handle, Hold, Identity, Job, LastChange, LedgerError, LedgerRead,
    LeftBehind, Look, OpenEntry, Performed, ProcessId, Readable, Run, SpawnError, Turn, Undone, Unwatched, Watch,
    Written,
};
use rustix::process::Signal;

use crate::actions::{Actor, Effect};
use crate::child::Child;
use crate::claim::{Claim, claim_machine};
use crate::descendants::Adoption;
use crate::group;
use crate::guardian::{Guard, Load};
use crate::ledger_file::FileLedger;
use crate::readable::read_place;
use crate::watching::{OpenFiles, Watching};
use crate::writers::{Ours, Writers};

/// The machine this process runs on, without its ledger.
pub struct LocalDevice {
    pub(super) identity: Identity,
    pub(super) program: PathBuf,
    /// The ledger's file, for the guardian.
    pub(super) store: FileLedger,
    actor: Actor,
    pub(super) files: OpenFiles,
    buffer: Vec<u8>,
    /// What a program said that failed to restore.
    refusal_words: Option<String>,
    pub(super) guard: Option<Guard>,
    /// That we are the one who changes this kernel, from the first such change on.
    claim: Option<Claim>,
    /// While anything is watched.
    pub(super) writers: Option<Writers>,
    pub(super) running: BTreeMap<u64, Running>,
    /// From the first load to the question what the loads left.
    pub(super) adoption: Option<Adoption>,
    pub(super) ended: BTreeMap<u64, Finished>,
    next: u64,
    /// Nothing of a plan is executed.
    pub(super) rehearses: bool,
    /// The process that sets for us what we may not.
    pub(crate) served_by: Option<u32>,
}

/// A load, and what is read around it.
pub(super) struct Running {
    pub(super) child: Child,
    pub(super) around: Vec<Watching>,
}

impl LocalDevice {
    pub(super) fn new(identity: Identity, store: FileLedger) -> LocalDevice {
        LocalDevice {
            identity,
            program: crate::surroundings::program(),
            store,
            actor: Actor::default(),
            files: OpenFiles::default(),
            buffer: Vec::new(),
            refusal_words: None,
            guard: None,
            claim: None,
            writers: None,
            running: BTreeMap::new(),
            adoption: None,
            ended: BTreeMap::new(),
            next: 0,
            rehearses: false,
            served_by: None,
        }
    }

    pub(super) fn ensure_guardian(&mut self) {
        if let Some(guard) = &mut self.guard {
            guard.ensure(
                &self.program,
                &self.store,
                self.running.values().filter_map(|running| Load::of(running.child.pid())),
            );
        }
    }

    /// Who is not a stranger to this machine.
    pub(super) fn ours(&self) -> Ours {
        let guardian = self.guard.as_ref().and_then(Guard::pid);
        let own = [Some(std::process::id()), guardian, self.served_by].into_iter().flatten().collect();
        let pid = |running: &Running| u32::try_from(running.child.pid().as_raw_nonzero().get()).ok();
        Ours { own, loads: self.running.values().filter_map(pid).collect() }
    }
}

/// The control group that an action has hand a controller down, if it is about that.
fn handed_down(action: &Action) -> Option<&Path> {
    match action {
        Action::WriteFile { path, text } if text.starts_with('+') => group::hands_down(path),
        _ => None,
    }
}

/// Whether an action changes what every process of this machine shares, and not just a file somebody named.
fn is_kernels(action: &Action) -> bool {
    match action {
        // A file that we may not write the kernel refuses by itself.
        Action::WriteFile { path, .. } | Action::RemoveFile { path } => {
            ["/sys/", "/proc/"].iter().any(|root| path.starts_with(root)) && crate::files::is_writable(path)
        }
        Action::Coalesce { .. } | Action::HoldFile { .. } | Action::ReleaseFile { .. } => true,
        // A group is its maker's own, and nobody knows what a program changes.
        _ => false,
    }
}

impl Device for LocalDevice {
    /// A rehearsal restores what was left, too, and compares it for that.
    fn read_for_ledger(&mut self, path: &str, _purpose: LedgerRead) -> Result<String, Errno> {
        read_place(path, &mut self.buffer)
    }

    /// Version 2 of control groups: the groups below ours may have a quota once ours hands the controller down.
    fn needs(&mut self, turn: &Turn) -> Option<Turn> {
        if !matches!(turn.action, Action::MakeGroup { .. }) {
            return None;
        }
        let (path, on, off) = self.actor.groups.ask_to_hand_down()?;
        let write = |text: &String| Action::WriteFile { path: path.clone(), text: text.clone() };
        let before = self.read(&path).ok().map(|text| text.trim_end().to_owned()).into();
        Some(Turn {
            action: write(&on),
            undo: Some(write(&off)),
            hold: turn.hold,
            knob: turn.knob.clone(),
            site: path.clone(),
            asked: on,
            before,
            read_back: Some(path),
            step: turn.step,
            moves: BTreeMap::new(),
        })
    }

    fn prepare(&mut self, turn: &Turn) -> Result<Turn, LedgerError> {
        if self.claim.is_none() && is_kernels(&turn.action) {
            self.claim = claim_machine().map_err(|holder| LedgerError::Busy { holder })?;
        }
        // It opens the ledger that is there now.
        if turn.hold == Hold::Held {
            self.ensure_guardian();
        }
        Ok(turn.clone().run_as(crate::caller::command_uid()))
    }

    fn perform(&mut self, _entry: EntryId, turn: &Turn) -> Result<Performed, LedgerError> {
        if let Some(guard) = &mut self.guard {
            guard.follow(self.store.replaced());
        }
        let queues = match &turn.action {
            Action::Coalesce { device, .. } => crate::coalescing::check_queues(device),
            _ => Ok(()),
        };
        let (refusal, effect) = match queues.and_then(|()| self.actor.perform(&turn.action)) {
            Ok(effect) => (None, effect),
            Err(refusal) => (Some(refusal), Effect::default()),
        };
        let errno = refusal.as_ref().map(|refusal| refusal.errno);
        if handed_down(&turn.action).is_some() {
            self.actor.groups.handed_down(errno);
        }
        let reads_back = match &turn.read_back {
            // The file that shows what came of it.
            Some(path) => read_place(path, &mut self.buffer).ok(),
            None => effect.reads_back,
        };
        let reads_back = reads_back.map(|text| text.strip_suffix('\n').unwrap_or(&text).to_owned());
        Ok(Performed { errno, words: effect.words.or(refusal.and_then(|refusal| refusal.words)), reads_back })
    }

    fn take_back(&mut self, action: &Action, _entry: EntryId, _hold: Hold) -> Result<(), Errno> {
        let Err(refusal) = self.actor.perform(action) else { return Ok(()) };
        self.refusal_words = refusal.words.filter(|_| matches!(action, Action::Run { .. }));
        Err(refusal.errno)
    }

    fn refusal_words(&mut self) -> Option<String> {
        self.refusal_words.take()
    }

    fn settled(&mut self, entry: &OpenEntry) -> Option<Undone> {
        handed_down(&entry.turn.action).filter(|folder| group::is_relied_on(folder)).map(|_| Undone::GivenUp)
    }

    /// What was handed down for groups goes once the last of them is gone.
    fn closed(&mut self, entry: &OpenEntry, open: &[OpenEntry]) -> Vec<EntryId> {
        if let Some(folder) = handed_down(&entry.turn.action) {
            group::step_back(folder);
        }
        let is_group = |entry: &OpenEntry| matches!(entry.turn.undo, Some(Action::RemoveGroup { .. }));
        if !is_group(entry) || open.iter().any(is_group) {
            return Vec::new();
        }
        open.iter().filter(|entry| handed_down(&entry.turn.action).is_some()).map(|entry| entry.id).collect()
    }

    fn unguarded(&self) -> Option<String> {
        self.guard.as_ref().and_then(Guard::missing).map(str::to_owned)
    }
}

impl Look for LocalDevice {
    fn identity(&self) -> &Identity {
        &self.identity
    }

    fn list(&mut self, folder: &str) -> Result<Vec<Entry>, Errno> {
        crate::files::list(folder)
    }

    fn read(&mut self, path: &str) -> Result<String, Errno> {
        if self.rehearses && matches!(Readable::of(path), Readable::Command(_)) {
            return Err(Errno::ECANCELED);
        }
        read_place(path, &mut self.buffer)
    }

    fn read_in(&mut self, folders: &[String], names: &[&str]) -> Vec<Vec<Result<String, Errno>>> {
        crate::folders::read_in(folders, names)
    }

    fn open(&mut self, path: &str) -> Result<Handle, Errno> {
        match Readable::of(path) {
            Readable::Lines(_) if self.rehearses => Err(Errno::ECANCELED),
            Readable::Lines(place) => self.files.follow(&self.program, place),
            _ => self.files.open(path),
        }
    }

    fn read_many(&mut self, handles: &[Handle], into: &mut Vec<Result<String, Errno>>) {
        self.files.read_many(handles, into);
    }

    fn close(&mut self, handle: Handle) {
        self.files.close(handle);
    }

    fn last_change(&mut self, path: &str) -> Option<LastChange> {
        crate::files::last_change(path)
    }
}

impl Run for LocalDevice {
    fn spawn(&mut self, job: &Job) -> Result<ProcessId, SpawnError> {
        if self.rehearses {
            return Err(SpawnError::Refused { what: job.work.kind().to_owned(), errno: Errno::ECANCELED });
        }
        let group = match &job.group {
            None => None,
            Some(name) => Some(self.actor.groups.find(name).map_err(|refusal| SpawnError::Refused {
                what: format!("{} in the control group '{name}'", job.work.kind()),
                errno: refusal.errno,
            })?),
        };
        self.adoption = self.adoption.take().or_else(Adoption::begin);
        let mut around: Vec<Watching> = job.around.iter().map(Watching::new).collect();
        let Self { program, files, guard, .. } = self;
        let mut waits = None;
        let mut before = |pid| {
            waits = Some(pid);
            // Before it can start anything: killed at any moment, we leave nobody the guardian does not know.
            if let Some((guard, load)) = guard.as_mut().zip(Load::of(pid)) {
                guard.runs(load);
            }
            around.iter_mut().for_each(|watching| watching.read(files));
        };
        let child = Child::start(program, job, group, &mut before).inspect_err(|_| {
            if let Some((guard, pid)) = guard.as_mut().zip(waits) {
                guard.ended(pid);
            }
        })?;
        self.next += 1;
        self.running.insert(self.next, Running { child, around });
        Ok(ProcessId(self.next))
    }

    fn end(&mut self, process: ProcessId, force: bool) {
        if let Some(running) = self.running.get(&process.0) {
            running.child.signal(if force { Signal::KILL } else { Signal::TERM });
        }
    }

    fn finished(&mut self, process: ProcessId) -> Option<Finished> {
        self.ended.remove(&process.0)
    }

    fn left_behind(&mut self, end: bool) -> LeftBehind {
        let Some(adoption) = &self.adoption else { return LeftBehind::default() };
        if !end {
            let processes = u32::try_from(adoption.count()).unwrap_or(u32::MAX);
            return LeftBehind { processes, alive: Vec::new() };
        }
        let left = adoption.end_all();
        if self.running.is_empty() {
            self.adoption = None;
        }
        left
    }
}

impl Watch for LocalDevice {
    fn watch_writers(&mut self, places: &[String]) -> Result<(), Unwatched> {
        if places.is_empty() {
            self.writers = None;
            return Ok(());
        }
        self.writers.get_or_insert_default().watch(places)
    }

    fn take_writes(&mut self) -> Vec<Written> {
        let ours = self.ours();
        self.writers.as_mut().map_or_else(Vec::new, |writers| writers.take(&ours))
    }
}
