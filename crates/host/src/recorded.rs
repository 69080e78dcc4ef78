//! A recorded machine: a folder of what some machine read, answered as that machine would. It runs and turns nothing.
mod capture;
mod carried;
mod manifest;
mod places;
mod reduce;
mod tree;

use std::collections::{BTreeSet, VecDeque};
use std::path::{Path, PathBuf};

use powerband_machine::{
    Acted, Change, Coalescing, CoalescingPlace, Damage, Entry, EntryId, Errno, Finished, Handle, Identity, Job,
    LedgerError, Look, Machine, OpenEntry, ProcessId, Readable, Run, SpawnError, Turn, Undone, Unwatched, Watch,
};
use powerband_record::{Hint, IntoOrdered as _};
use rustix::event::{PollFd, PollFlags};
use thiserror::Error;

pub use self::capture::{CaptureError, CapturedMachine};
pub use self::carried::CarriedRecording;
use self::manifest::Manifest;
use self::tree::Tree;
use crate::member::{Member, MemberEvent};

/// Links followed on one path before it counts as a loop, as in the kernel.
const MAX_LINKS: usize = 40;

/// Why a folder is no recorded machine.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum RecordedError {
    /// There is no such folder, or no manifest in it.
    #[error("cannot read {path}: {errno}")]
    Unreadable {
        /// The folder or the manifest.
        path: PathBuf,
        /// Why.
        errno: Errno,
    },
    /// The manifest makes no sense.
    #[error("{path}: {why}")]
    Manifest {
        /// Its path.
        path: PathBuf,
        /// What is wrong, with its line.
        why: String,
    },
}

impl RecordedError {
    /// What a person can do about it.
    #[must_use]
    pub fn hint(&self) -> Option<Hint> {
        matches!(self, RecordedError::Unreadable { .. }).then_some(Hint::Capture)
    }
}

/// A machine as it was when it was captured, or as somebody wrote it down by hand. Answers never come from outside its
/// folder: links on the disk are not followed, those of the manifest lead about inside.
pub struct RecordedMachine {
    identity: Identity,
    manifest: Manifest,
    tree: Tree,
    buffer: Vec<u8>,
    open: Vec<Option<String>>,
}

impl RecordedMachine {
    /// The one in a folder, under the name it was called by.
    ///
    /// # Errors
    /// [`RecordedError`] when the folder holds no manifest of a version we know. Other files may be broken: what
    /// cannot be read is answered as an error number.
    pub fn open(name: &str, folder: &Path) -> Result<Self, RecordedError> {
        let unreadable = |path: &Path, errno| RecordedError::Unreadable { path: path.into(), errno };
        let tree = Tree::open(folder).map_err(|errno| unreadable(folder, errno))?;
        let path = folder.join(manifest::NAME);
        let mut buffer = Vec::new();
        let text = tree.read(&[manifest::NAME], &mut buffer).map_err(|errno| unreadable(&path, errno))?;
        let manifest = Manifest::parse(&text).map_err(|why| RecordedError::Manifest { path, why })?;
        let identity = Identity {
            name: name.into(),
            system: manifest.system.clone(),
            boot_id: String::new(),
            address: String::new(),
            privileged: manifest.privileged,
            owner: 0,
        };
        Ok(RecordedMachine { identity, manifest, tree, buffer, open: Vec::new() })
    }

    /// The path without links, dots and doubled slashes.
    fn resolve(&self, path: &str) -> Result<String, Errno> {
        if !path.starts_with('/') {
            return Err(Errno::ENOENT);
        }
        let mut to_come: VecDeque<&str> = path.split('/').collect();
        let (mut there, mut links) = (String::new(), 0);
        while let Some(name) = to_come.pop_front() {
            match name {
                "" | "." => continue,
                ".." => {
                    there.truncate(there.rfind('/').unwrap_or(0));
                    continue;
                }
                name => {
                    there.push('/');
                    there.push_str(name);
                }
            }
            let Some(target) = self.manifest.links.get(&there) else { continue };
            links += 1;
            if links > MAX_LINKS {
                return Err(Errno::ELOOP);
            }
            let parent = if target.starts_with('/') { 0 } else { there.rfind('/').unwrap_or(0) };
            there.truncate(parent);
            target.rsplit('/').for_each(|name| to_come.push_front(name));
        }
        Ok(if there.is_empty() { "/".into() } else { there })
    }

    /// The text at a path without links.
    fn text(&mut self, resolved: &str) -> Result<String, Errno> {
        match self.manifest.errno(resolved) {
            Some(errno) => Err(errno),
            None if self.manifest.folders.contains(resolved) => Err(Errno::EISDIR),
            None => self.tree.read(&names(manifest::ROOT, resolved), &mut self.buffer),
        }
    }

    fn coalescing_at(&mut self, place: &CoalescingPlace<'_>) -> Result<String, Errno> {
        let whole = CoalescingPlace { device: place.device, names: Vec::new() }.to_string();
        if let Some(errno) = self.manifest.errno(&whole) {
            return Err(errno);
        }
        if place.device.is_empty() || place.device.contains('/') || place.device.starts_with('.') {
            return Err(Errno::ENODEV);
        }
        let text = self.tree.read(&[manifest::COALESCING, place.device], &mut self.buffer);
        let text = text.map_err(|errno| if errno == Errno::ENOENT { Errno::ENODEV } else { errno })?;
        Coalescing::parse(&text).read(place)
    }

    /// Whether a path leads to a folder.
    fn is_folder(&self, path: &str) -> bool {
        self.resolve(path).is_ok_and(|resolved| {
            self.manifest.folders.contains(&resolved)
                || self.manifest.names_in(&resolved).next().is_some()
                || self.tree.is_folder(&names(manifest::ROOT, &resolved))
        })
    }

    fn read_at(&mut self, path: &str) -> Result<String, Errno> {
        match Readable::of(path) {
            Readable::Command(_) | Readable::Perf(_) | Readable::Resolved(_) => Err(Errno::EOPNOTSUPP),
            Readable::Coalescing(place) => self.coalescing_at(&place),
            Readable::File(_) | Readable::Lines(_) => {
                let resolved = self.resolve(path)?;
                self.text(&resolved)
            }
        }
    }
}

/// The names on a way below the recorded folder.
fn names<'p>(first: &'p str, path: &'p str) -> Vec<&'p str> {
    std::iter::once(first).chain(path.split('/').filter(|name| !name.is_empty())).collect()
}

/// What acting on it comes to.
const NOTHING_TURNS: &str = "a recorded machine cannot be set";

impl Look for RecordedMachine {
    fn identity(&self) -> &Identity {
        &self.identity
    }

    fn list(&mut self, folder: &str) -> Result<Vec<Entry>, Errno> {
        let resolved = self.resolve(folder)?;
        if let Some(errno) = self.manifest.errno(&resolved) {
            return Err(errno);
        }
        let mut found: BTreeSet<String> = self.manifest.names_in(&resolved).map(str::to_owned).into_set();
        match self.tree.list(&names(manifest::ROOT, &resolved)) {
            Ok(names) => found.extend(names),
            Err(Errno::ENOENT) if !found.is_empty() || self.manifest.folders.contains(&resolved) => {}
            Err(errno) => return Err(errno),
        }
        let above = resolved.trim_end_matches('/');
        let entry = |name: String| {
            let path = format!("{above}/{name}");
            let folder = self.is_folder(&path);
            let mode = if folder { 0o755 } else { self.manifest.mode(&path) };
            Entry::new(name, folder, mode)
        };
        Ok(found.into_iter().map(entry).collect())
    }

    fn read(&mut self, path: &str) -> Result<String, Errno> {
        self.read_at(path)
    }

    fn open(&mut self, path: &str) -> Result<Handle, Errno> {
        // What the kernel refuses at opening and what it refuses at reading look the same here.
        self.read_at(path)?;
        let index = self.open.iter().position(Option::is_none).unwrap_or_else(|| {
            self.open.push(None);
            self.open.len() - 1
        });
        self.open[index] = Some(path.to_owned());
        u32::try_from(index).map(Handle).map_err(|_| Errno::ENOMEM)
    }

    fn read_many(&mut self, handles: &[Handle], into: &mut Vec<Result<String, Errno>>) {
        into.clear();
        for handle in handles {
            let path = usize::try_from(handle.0).ok().and_then(|index| self.open.get(index)?.clone());
            into.push(path.ok_or(Errno::EBADF).and_then(|path| self.read_at(&path)));
        }
    }

    fn close(&mut self, handle: Handle) {
        if let Some(path) = usize::try_from(handle.0).ok().and_then(|index| self.open.get_mut(index)) {
            *path = None;
        }
    }
}

impl Change for RecordedMachine {
    /// Nothing goes on in a recording: one look sees all there is.
    fn act(&mut self, turn: &Turn) -> Result<Acted, LedgerError> {
        let reads_back = turn.read_back.as_deref().and_then(|path| self.read_at(path).ok());
        let reads_back = reads_back.map(|text| text.strip_suffix('\n').unwrap_or(&text).to_owned());
        Ok(Acted { entry: EntryId(0), errno: Some(Errno::EROFS), words: Some(NOTHING_TURNS.into()), reads_back })
    }

    /// Nothing was ever turned, so everything is as before.
    fn undo(&mut self, _entry: EntryId, _force: bool) -> Result<Undone, LedgerError> {
        Ok(Undone::AlreadyBack)
    }

    fn keep(&mut self, _entries: &[EntryId]) -> Result<(), LedgerError> {
        Err(LedgerError::Unwritable { place: self.identity.name.clone(), errno: Errno::EROFS })
    }

    fn open_entries(&self) -> Vec<OpenEntry> {
        Vec::new()
    }

    fn damage(&self) -> Vec<Damage> {
        Vec::new()
    }

    fn set_damage_aside(&mut self) -> Result<Vec<Damage>, LedgerError> {
        Ok(Vec::new())
    }
}

impl Run for RecordedMachine {
    fn spawn(&mut self, job: &Job) -> Result<ProcessId, SpawnError> {
        let what = format!("{} on a recorded machine", job.work.kind());
        Err(SpawnError::Refused { what, errno: Errno::EROFS })
    }

    fn end(&mut self, _process: ProcessId, _force: bool) {}

    fn finished(&mut self, _process: ProcessId) -> Option<Finished> {
        None
    }
}

impl Watch for RecordedMachine {
    fn watch_writers(&mut self, _places: &[String]) -> Result<(), Unwatched> {
        Err(Unwatched { why: "nothing happens on a recorded machine".into() })
    }
}

impl Member for RecordedMachine {
    fn machine(&mut self) -> &mut dyn Machine {
        self
    }

    fn watch<'a>(&'a self, _fds: &mut Vec<PollFd<'a>>) {}

    fn collect(&mut self, _now_ns: u64, _ready: &[PollFlags], _news: &mut Vec<MemberEvent>) {}

    fn next_due_ns(&self) -> Option<u64> {
        None
    }

    fn tend(&mut self) {}
}

#[cfg(test)]
mod tests;
