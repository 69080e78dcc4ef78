//! This machine for a user without rights: read and run as that user, and what only root may set is set by the access
//! service, which holds it for as long as we are connected to it.
mod listener;
mod peer;
mod trusted;

use std::os::unix::fs::{FileTypeExt, MetadataExt};
use std::path::{Path, PathBuf};

use powerband_machine::wire::{Call, Hello, Refusal};
use powerband_machine::{
    Acted, Action, Asked, Change, Damage, Entry, EntryId, Errno, Finished, Handle, Identity, Job, LastChange,
    LedgerError, LeftBehind, Look, Machine, OpenEntry, ProcessId, Run, Setter, SpawnError, Turn, Undone, Unwatched,
    Watch, Written,
};
use powerband_record::ErrorClass;
use rustix::event::{PollFd, PollFlags};

use crate::local::LocalMachine;
use crate::member::{Member, MemberEvent};
use crate::remote::{RemoteError, RemoteMachine, THEIRS, is_theirs};
use crate::way::Way;

pub use self::listener::{Listener, ListenerError};
pub use self::peer::{Peer, PeerRefused};
pub use self::trusted::{TrustError, trusted_place, trusted_text};

/// Where the service listens.
pub const SERVICE_SOCKET: &str = "/run/powerband/service.sock";
/// Names another socket, or `off`.
const VARIABLE: &str = "POWERBAND_SERVICE";
/// How long it may take to answer, ns.
const ANSWER_NS: u64 = 20_000_000_000;

/// The socket of the access service, for a user who needs it: not for root, and only where one of root's is there.
#[must_use]
pub fn service_socket() -> Option<PathBuf> {
    let path = match crate::surroundings::variable(VARIABLE) {
        Some(named) if named == "off" => return None,
        Some(named) => PathBuf::from(named),
        None => PathBuf::from(SERVICE_SOCKET),
    };
    let found = std::fs::symlink_metadata(&path).ok()?;
    let needed = !rustix::process::geteuid().is_root() && found.file_type().is_socket() && found.uid() == 0;
    needed.then_some(path)
}

/// What the service lets us set, a line each.
///
/// # Errors
/// [`RemoteError`].
pub fn allowed(socket: &Path, hello: Hello) -> Result<Vec<String>, RemoteError> {
    let machine = connect(socket, hello)?;
    Ok(machine.call(Call::Allowed).unwrap_or_default())
}

fn connect(socket: &Path, hello: Hello) -> Result<RemoteMachine, RemoteError> {
    let name = "the access service";
    let by_hand = "systemctl status powerband".to_owned();
    let unreachable = |errno: Errno| RemoteError::unreachable(name, errno.to_string(), by_hand.clone());
    let led = Way::to(socket).map_err(unreachable)?;
    RemoteMachine::introduced(name, &by_hand, led, hello, ANSWER_NS)
}

/// This machine, with a service for what we may not set.
pub struct AccessMachine {
    local: LocalMachine,
    socket: PathBuf,
    hello: Hello,
    /// From the first setting that needs it on.
    service: Option<RemoteMachine>,
}

impl AccessMachine {
    /// With the service at `socket`, to which we introduce ourselves with `hello` once it is needed.
    #[must_use]
    pub fn new(local: LocalMachine, socket: PathBuf, hello: Hello) -> Self {
        AccessMachine { local, socket, hello, service: None }
    }

    /// Where the other machine of a rig reaches this one.
    #[must_use]
    pub fn reached_at(self, address: &str) -> Self {
        AccessMachine { local: self.local.reached_at(address), ..self }
    }

    fn service(&mut self) -> Result<&mut RemoteMachine, Refusal> {
        let service = match self.service.take() {
            Some(service) => service,
            None => {
                let service = connect(&self.socket, self.hello.clone()).map_err(|error| refusal(&error))?;
                self.local.device_mut().served_by = Some(service.welcome().identity.owner);
                service
            }
        };
        Ok(self.service.insert(service))
    }

    /// Of which of the two an entry is, with its number there.
    fn of(&mut self, entry: EntryId) -> Result<(&mut dyn Change, EntryId), LedgerError> {
        match (entry.0.checked_sub(THEIRS), &mut self.service) {
            (None, _) => Ok((&mut *self.local, entry)),
            (Some(number), Some(service)) => Ok((service, EntryId(number))),
            (Some(_), None) => {
                Err(LedgerError::Lost { machine: self.local.identity().name.clone(), why: "no service".into() })
            }
        }
    }
}

/// A service that cannot be reached, as it says no.
fn refusal(error: &RemoteError) -> Refusal {
    let class = match error {
        RemoteError::Refused { class, .. } => *class,
        RemoteError::Stopped { .. } => ErrorClass::Stopped,
        _ => ErrorClass::Aborted,
    };
    Refusal { class, why: error.to_string() }
}

/// As numbered by the service, in our numbers.
fn ours(entry: EntryId) -> EntryId {
    EntryId(entry.0.saturating_add(THEIRS))
}

impl Setter for AccessMachine {
    /// What a user's own files and processes are is never asked of it, nor what it never does for anybody.
    fn is_needed(&self, action: &Action) -> bool {
        match action {
            Action::WriteFile { path, .. } | Action::HoldFile { path, .. } => {
                Path::new(path).exists() && !crate::files::is_writable(path)
            }
            Action::Coalesce { .. } | Action::Run { user: Some(0), .. } => true,
            _ => false,
        }
    }

    fn set(&mut self, asked: &Asked) -> Result<serde_json::Value, Refusal> {
        let first = self.service.is_none();
        let (socket, service) = (self.socket.display().to_string(), self.service()?);
        let answer: Option<Result<serde_json::Value, Refusal>> = service.call(Call::Set(Box::new(asked.clone())));
        let lost = || Refusal { class: ErrorClass::Aborted, why: "the access service is gone".into() };
        let mut answer = answer.ok_or_else(lost)??;
        if let Some(entries) = answer.get_mut("entries").and_then(|entries| entries.as_array_mut()) {
            for entry in entries {
                *entry = ours(EntryId(entry.as_u64().unwrap_or(0))).0.into();
            }
        }
        if let Some(notes) = answer.get_mut("notes").and_then(|notes| notes.as_array_mut()).filter(|_| first) {
            notes.push(format!("what only root may set is set by the access service ({socket})").into());
        }
        Ok(answer)
    }

    fn holds(&self, entry: EntryId) -> bool {
        is_theirs(entry)
    }
}

impl Look for AccessMachine {
    fn identity(&self) -> &Identity {
        self.local.identity()
    }

    fn list(&mut self, folder: &str) -> Result<Vec<Entry>, Errno> {
        self.local.list(folder)
    }

    fn read(&mut self, path: &str) -> Result<String, Errno> {
        self.local.read(path)
    }

    fn read_in(&mut self, folders: &[String], names: &[&str]) -> Vec<Vec<Result<String, Errno>>> {
        self.local.read_in(folders, names)
    }

    fn open(&mut self, path: &str) -> Result<Handle, Errno> {
        self.local.open(path)
    }

    fn read_many(&mut self, handles: &[Handle], into: &mut Vec<Result<String, Errno>>) {
        self.local.read_many(handles, into);
    }

    fn close(&mut self, handle: Handle) {
        self.local.close(handle);
    }

    fn last_change(&mut self, path: &str) -> Option<LastChange> {
        self.local.last_change(path)
    }
}

impl Change for AccessMachine {
    fn act(&mut self, turn: &Turn) -> Result<Acted, LedgerError> {
        self.local.act(turn)
    }

    fn rewrite(&mut self, entry: EntryId, text: &str) -> Result<Acted, LedgerError> {
        if self.holds(entry) { Err(LedgerError::OnlyHeld) } else { self.local.rewrite(entry, text) }
    }

    fn undo(&mut self, entry: EntryId, force: bool) -> Result<Undone, LedgerError> {
        let (machine, entry) = self.of(entry)?;
        machine.undo(entry, force)
    }

    fn keep(&mut self, entries: &[EntryId]) -> Result<(), LedgerError> {
        if entries.iter().any(|&entry| self.holds(entry)) {
            return Err(LedgerError::OnlyHeld);
        }
        self.local.keep(entries)
    }

    fn open_entries(&self) -> Vec<OpenEntry> {
        let theirs = self.service.iter().flat_map(Change::open_entries);
        let theirs = theirs.map(|entry| OpenEntry { id: ours(entry.id), step: ours(entry.step), ..entry });
        self.local.open_entries().into_iter().chain(theirs).collect()
    }

    fn damage(&self) -> Vec<Damage> {
        self.local.damage()
    }

    fn torn_tail(&self) -> Option<Damage> {
        self.local.torn_tail()
    }

    fn set_damage_aside(&mut self) -> Result<Vec<Damage>, LedgerError> {
        self.local.set_damage_aside()
    }

    fn unguarded(&self) -> Option<String> {
        self.local.unguarded().or_else(|| self.service.as_ref()?.unguarded())
    }

    fn setter(&mut self) -> Option<&mut dyn Setter> {
        Some(self)
    }
}

impl Run for AccessMachine {
    fn spawn(&mut self, job: &Job) -> Result<ProcessId, SpawnError> {
        self.local.spawn(job)
    }

    fn end(&mut self, process: ProcessId, force: bool) {
        self.local.end(process, force);
    }

    fn finished(&mut self, process: ProcessId) -> Option<Finished> {
        self.local.finished(process)
    }

    fn left_behind(&mut self, end: bool) -> LeftBehind {
        self.local.left_behind(end)
    }
}

impl Watch for AccessMachine {
    fn watch_writers(&mut self, places: &[String]) -> Result<(), Unwatched> {
        self.local.watch_writers(places)
    }

    fn take_writes(&mut self) -> Vec<Written> {
        self.local.take_writes()
    }
}

impl Member for AccessMachine {
    fn machine(&mut self) -> &mut dyn Machine {
        self
    }

    fn watch<'a>(&'a self, fds: &mut Vec<PollFd<'a>>) {
        Member::watch(&self.local, fds);
        if let Some(service) = &self.service {
            Member::watch(service, fds);
        }
    }

    fn collect(&mut self, now_ns: u64, ready: &[PollFlags], news: &mut Vec<MemberEvent>) {
        let mut fds = Vec::new();
        Member::watch(&self.local, &mut fds);
        let (local, service) = ready.split_at(fds.len().min(ready.len()));
        drop(fds);
        self.local.collect(now_ns, local, news);
        if let Some(link) = &mut self.service {
            link.collect(now_ns, service, news);
        }
    }

    fn next_due_ns(&self) -> Option<u64> {
        let service = self.service.as_ref().and_then(Member::next_due_ns);
        self.local.next_due_ns().into_iter().chain(service).min()
    }

    fn tend(&mut self) {
        self.local.tend();
        if let Some(service) = &mut self.service {
            service.tend();
        }
    }

    fn hush(&mut self, for_ns: u64) {
        if let Some(service) = &mut self.service {
            service.hush(for_ns);
        }
    }

    fn lost(&self) -> Option<String> {
        self.service.as_ref().and_then(Member::lost)
    }

    fn end_loads(&mut self) {
        self.local.end_loads();
    }
}
