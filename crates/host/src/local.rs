//! This machine: reading, turning, starting. Waiting is the World's.
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use powerband_machine::{
    Acted, Action, CommandPlace, Damage, Entry, EntryId, Errno, Finished, Handle, Hold, Identity, Job, LastChange,
    Ledger, LedgerError, LedgerStore, LeftBehind, LinesPlace, Machine, OpenEntry, ProcessId, SpawnError, Turn, Undone,
    Unwatched, Written,
};
use rustix::event::{PollFd, PollFlags};
use rustix::process::Signal;

use crate::actions::{Actor, Effect, Refusal};
use crate::child::Child;
use crate::claim::{Claim, claim_machine};
use crate::coalescing::read_place;
use crate::descendants::Adoption;
use crate::group;
use crate::guardian::{Guard, Load};
use crate::ledger_file::FileLedger;
use crate::watching::{OpenFiles, Watching};
use crate::world::{Member, News};
use crate::writers::{Ours, Writers};

/// The machine this process runs on. Loads that still run when it is dropped are killed and reaped; what is turned
/// stays turned until it is undone, what is held by the guardian if there is one.
pub struct LocalMachine {
    identity: Identity,
    program: PathBuf,
    store: FileLedger,
    ledger: Ledger,
    actor: Actor,
    files: OpenFiles,
    buffer: Vec<u8>,
    guard: Option<Guard>,
    /// That we are the one who changes this kernel, from the first such change on.
    claim: Option<Claim>,
    /// While anything is watched.
    writers: Option<Writers>,
    running: BTreeMap<u64, Running>,
    /// From the first load to the question what the loads left.
    adoption: Option<Adoption>,
    ended: BTreeMap<u64, Finished>,
    next: u64,
    /// Nothing of a plan is executed.
    rehearses: bool,
}

/// A load, and what is read around it.
struct Running {
    child: Child,
    around: Vec<Watching>,
}

impl LocalMachine {
    /// With the ledger of a folder. Nothing is written before the first turn.
    ///
    /// # Errors
    /// [`LedgerError`] when the ledger is there and cannot be read.
    pub fn new(ledger: FileLedger) -> Result<Self, LedgerError> {
        let identity = Identity {
            name: "local".into(),
            system: rustix::system::uname().release().to_string_lossy().into_owned(),
            // Without one, volatile entries are undone by comparison.
            boot_id: crate::boot_id(),
            address: "127.0.0.1".into(),
            privileged: rustix::process::geteuid().is_root(),
            owner: std::process::id(),
        };
        Ok(LocalMachine {
            ledger: Ledger::load(Box::new(ledger.clone()), &identity.boot_id)?
                .in_network(crate::files::net_ns())
                .on_machine(crate::machine_name()),
            identity,
            program: "/proc/self/exe".into(),
            store: ledger,
            actor: Actor::default(),
            files: OpenFiles::default(),
            buffer: Vec::new(),
            guard: None,
            claim: None,
            writers: None,
            running: BTreeMap::new(),
            adoption: None,
            ended: BTreeMap::new(),
            next: 0,
            rehearses: false,
        })
    }

    /// Another program that serves the hidden verbs, instead of the one that runs.
    #[must_use]
    pub fn with_program(mut self, program: &Path) -> Self {
        self.program = program.into();
        self
    }

    /// Where the other machine of a rig reaches this one.
    #[must_use]
    pub fn reached_at(mut self, address: &str) -> Self {
        self.identity.address = address.into();
        self
    }

    /// With a guardian from the first held turn on, for a program that serves [`crate::GUARDIAN_VERB`] and holds the
    /// ledger folder's lock.
    #[must_use]
    pub fn guarded(mut self) -> Self {
        self.guard = Some(Guard::new(&self.store.folder()));
        self
    }

    /// For a dry run: what would execute a command of a plan is `ECANCELED` instead.
    #[must_use]
    pub fn rehearsing(mut self) -> Self {
        self.rehearses = true;
        self
    }

    fn unusable(&self, errno: Errno) -> LedgerError {
        let place = self.store.place();
        if errno == Errno::ESTALE { LedgerError::Displaced { place } } else { LedgerError::Unwritable { place, errno } }
    }

    fn ensure_guardian(&mut self) {
        if let Some(guard) = &mut self.guard {
            guard.ensure(
                &self.program,
                &self.store,
                self.running.values().filter_map(|running| Load::of(running.child.pid())),
            );
        }
    }

    /// Who is not a stranger to this machine.
    fn ours(&self) -> Ours {
        let own = [Some(std::process::id()), self.guard.as_ref().and_then(Guard::pid)].into_iter().flatten().collect();
        let pid = |running: &Running| u32::try_from(running.child.pid().as_raw_nonzero().get()).ok();
        Ours { own, loads: self.running.values().filter_map(pid).collect() }
    }

    /// Version 2 of control groups: lets the groups below ours have a quota, by an entry of its own before the group's.
    fn hand_down(&mut self, turn: &Turn) -> Result<(), LedgerError> {
        let Some((path, on, off)) = self.actor.groups.ask_to_hand_down() else { return Ok(()) };
        let write = |text: String| Action::WriteFile { path: path.clone(), text };
        let before = self.read(&path).ok().map(|text| text.trim_end().to_owned());
        let acted = self.act(&Turn {
            action: write(on.clone()),
            undo: Some(write(off)),
            hold: turn.hold,
            knob: turn.knob.clone(),
            site: path.clone(),
            asked: on,
            before,
            read_back: Some(path),
            step: turn.step,
        })?;
        self.actor.groups.not_handed_down(acted.errno);
        Ok(())
    }

    /// Takes back what was handed down for groups once the last of them is gone.
    fn hand_back(&mut self) -> Result<(), LedgerError> {
        let open = self.ledger.open();
        if open.iter().any(|entry| matches!(entry.turn.undo, Some(Action::RemoveGroup { .. }))) {
            return Ok(());
        }
        let ours = open.iter().filter(|entry| handed_down(entry).is_some()).map(|entry| entry.id);
        for entry in ours.collect::<Vec<_>>() {
            self.undo(entry, false)?;
        }
        Ok(())
    }

    /// The action, and the file that shows what came of it.
    fn perform(&mut self, turn: &Turn) -> (Option<Refusal>, Effect) {
        let (refusal, mut effect) = match self.actor.perform(&turn.action) {
            Ok(effect) => (None, effect),
            Err(refusal) => (Some(refusal), Effect::default()),
        };
        if let Some(path) = &turn.read_back {
            let text = read_place(path, &mut self.buffer);
            effect.reads_back = text.ok().map(|text| text.strip_suffix('\n').unwrap_or(&text).to_owned());
        }
        (refusal, effect)
    }
}

/// The control group that an entry had hand a controller down, if it is about that.
fn handed_down(entry: &OpenEntry) -> Option<&Path> {
    match &entry.turn.action {
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

impl Machine for LocalMachine {
    fn identity(&self) -> &Identity {
        &self.identity
    }

    fn list(&mut self, folder: &str) -> Result<Vec<Entry>, Errno> {
        crate::files::list(folder)
    }

    fn read(&mut self, path: &str) -> Result<String, Errno> {
        if self.rehearses && CommandPlace::of(path).is_some() {
            return Err(Errno::ECANCELED);
        }
        read_place(path, &mut self.buffer)
    }

    fn read_in(&mut self, folders: &[String], names: &[&str]) -> Vec<Vec<Result<String, Errno>>> {
        crate::folders::read_in(folders, names)
    }

    fn open(&mut self, path: &str) -> Result<Handle, Errno> {
        match LinesPlace::of(path) {
            Some(_) if self.rehearses => Err(Errno::ECANCELED),
            Some(place) => self.files.follow(&self.program, place),
            None => self.files.open(path),
        }
    }

    fn read_many(&mut self, handles: &[Handle], into: &mut Vec<Result<String, Errno>>) {
        self.files.read_many(handles, into);
    }

    fn close(&mut self, handle: Handle) {
        self.files.close(handle);
    }

    fn act(&mut self, turn: &Turn) -> Result<Acted, LedgerError> {
        // Written once as the intent; what came of it and its closing are shorter.
        if matches!(turn.action, Action::MakeGroup { .. }) {
            self.hand_down(turn)?;
        }
        let entry_bytes = serde_json::to_vec(turn).map_or(0, |json| json.len() as u64) * 4;
        self.store.reserve(entry_bytes).map_err(|errno| self.unusable(errno))?;
        if self.claim.is_none() && is_kernels(&turn.action) {
            self.claim = claim_machine().map_err(|holder| LedgerError::Busy { holder })?;
        }
        // It opens the ledger that is there now.
        if turn.hold == Hold::Held {
            self.ensure_guardian();
        }
        let replaced = self.store.replaced();
        let Self { ledger, buffer, .. } = self;
        let turn = &turn.clone().run_as(crate::caller::command_uid());
        let entry = ledger.intend(turn, &mut |path| read_place(path, buffer))?;
        if let (true, Some(guard)) = (self.store.replaced() != replaced, &mut self.guard) {
            guard.ledger_replaced();
        }
        let (refusal, effect) = self.perform(turn);
        let errno = refusal.as_ref().map(|refusal| refusal.errno);
        let Self { ledger, actor, .. } = self;
        ledger.done(entry, errno, effect.reads_back.clone(), &mut |undo| drop(actor.perform(undo)))?;
        let words = effect.words.or(refusal.and_then(|refusal| refusal.words));
        Ok(Acted { entry, errno, words, reads_back: effect.reads_back })
    }

    fn undo(&mut self, entry: EntryId, force: bool) -> Result<Undone, LedgerError> {
        let Self { ledger, actor, buffer, .. } = self;
        let found = ledger.find(entry);
        let folder = found.and_then(handed_down).map(Path::to_path_buf);
        let is_group = found.is_some_and(|entry| matches!(entry.turn.undo, Some(Action::RemoveGroup { .. })));
        let undone = if folder.as_ref().is_some_and(|folder| group::is_relied_on(folder)) {
            ledger.close(entry, Undone::GivenUp)?;
            Undone::GivenUp
        } else {
            ledger.undo(entry, force, &mut |path| read_place(path, buffer), &mut |action: &Action| {
                actor.perform(action).map(drop).map_err(|refusal| refusal.errno)
            })?
        };
        if let Some(folder) = folder.filter(|_| !undone.stays_open()) {
            group::step_back(&folder);
        }
        if is_group && !undone.stays_open() {
            self.hand_back()?;
        }
        Ok(undone)
    }

    fn keep(&mut self, entries: &[EntryId]) -> Result<(), LedgerError> {
        if !self.store.is_in_place() {
            return Err(self.unusable(Errno::ESTALE));
        }
        self.ledger.keep(entries)?;
        // What stays must be known to a later undo.
        if self.store.is_in_place() { Ok(()) } else { Err(self.unusable(Errno::ESTALE)) }
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
        crate::files::last_change(path)
    }

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
        let Self { program, files, .. } = self;
        let child =
            Child::start(program, job, group, &mut || around.iter_mut().for_each(|watching| watching.read(files)))?;
        if let Some((guard, load)) = self.guard.as_mut().zip(Load::of(child.pid())) {
            guard.runs(load);
        }
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

    fn unguarded(&self) -> Option<String> {
        self.guard.as_ref().and_then(Guard::missing).map(str::to_owned)
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

impl Member for LocalMachine {
    fn machine(&mut self) -> &mut dyn Machine {
        self
    }

    fn watch<'a>(&'a self, fds: &mut Vec<PollFd<'a>>) {
        let writers = self.writers.iter().flat_map(Writers::fds);
        fds.extend(writers.map(|fd| PollFd::new(fd, PollFlags::IN)));
        fds.extend(self.files.fds().map(|fd| PollFd::new(fd, PollFlags::IN)));
        let all = self.running.values().flat_map(|running| running.child.fds());
        fds.extend(all.map(|fd| PollFd::from_borrowed_fd(fd, PollFlags::IN)));
        let others = [self.adoption.as_ref().map(Adoption::fd), self.guard.as_ref().and_then(Guard::fd)];
        fds.extend(others.into_iter().flatten().map(|fd| PollFd::new(fd, PollFlags::IN)));
    }

    fn collect(&mut self, now_ns: u64, ready: &[PollFlags], news: &mut Vec<News>) {
        let mut ready = ready.iter();
        // Also when nothing was there yet as poll looked: a load that has ended is known as one only until it is taken away.
        let ours = self.ours();
        let watched = self.writers.as_mut().map_or(0, |writers| {
            if writers.listen(&ours) {
                news.push(News::Wrote);
            }
            writers.fds().count()
        });
        ready.by_ref().take(watched).for_each(drop);
        let followed = self.files.fds().count();
        if ready.by_ref().take(followed).filter(|flags| !flags.is_empty()).count() > 0 {
            self.files.visit();
        }
        let numbers: Vec<u64> = self.running.keys().copied().collect();
        for number in numbers {
            let Self { running, files, .. } = self;
            let Some(Running { child, around }) = running.get_mut(&number) else { continue };
            let flags: Vec<bool> = ready.by_ref().take(child.fds().count()).map(|flags| !flags.is_empty()).collect();
            if !flags.contains(&true) {
                continue;
            }
            let said = child.visit();
            if child.begins() {
                around.iter_mut().for_each(|watching| watching.begin_again(files));
            }
            // The first of its descriptors is its pidfd.
            let ended = flags.first() == Some(&true);
            if ended {
                around.iter_mut().for_each(|watching| watching.read(files));
            }
            news.extend(said.into_iter().map(|said| News::Said(ProcessId(number), said)));
            if ended && let Some(Running { child, around }) = self.running.remove(&number) {
                if let Some(guard) = &mut self.guard {
                    guard.ended(child.pid());
                }
                let around = around.into_iter().map(Watching::into_samples).collect();
                self.ended.insert(number, Finished { around, ..child.finish(now_ns) });
                news.push(News::Ended(ProcessId(number)));
            }
        }
        if let Some(adoption) = &self.adoption
            && ready.next().is_some_and(|flags| !flags.is_empty())
        {
            adoption.reap();
        }
        // The last is the guardian's end.
        if ready.next().is_some_and(|flags| !flags.is_empty()) {
            self.ensure_guardian();
        }
    }

    fn next_due_ns(&self) -> Option<u64> {
        self.running.values().flat_map(|running| &running.around).filter_map(Watching::due_ns).min()
    }

    fn tend(&mut self) {
        let Self { running, files, .. } = self;
        let watching = running.values_mut().flat_map(|running| &mut running.around);
        for due in watching.filter(|watching| watching.due_ns().is_some_and(|due| due <= crate::now_ns())) {
            due.read(files);
        }
    }

    fn end_loads(&mut self) {
        if self.running.is_empty() {
            return;
        }
        for (_, Running { child, .. }) in std::mem::take(&mut self.running) {
            let pid = child.pid();
            child.abandon();
            if let Some(guard) = &mut self.guard {
                guard.ended(pid);
            }
        }
        self.left_behind(true);
    }
}

impl Drop for LocalMachine {
    fn drop(&mut self) {
        self.end_loads();
        if !self.ledger.open().is_empty() {
            self.store.save();
        }
        if let Some(guard) = self.guard.take() {
            let held = self.ledger.open().iter().any(|entry| entry.turn.hold == Hold::Held);
            guard.dismiss(held);
        }
    }
}
