//! One owner at a time: a lock held for the owner's life, with a word on who holds it.
use std::fs::{File, OpenOptions};
use std::io::{Read, Seek, Write};
use std::os::unix::fs::{MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

use powerband_machine::{EntryId, Errno};
use rustix::fs::FlockOperation;
use serde::{Deserialize, Serialize};
use thiserror::Error;

use crate::claim::{Claim, Claimed, claim, name_of_folder};
use crate::process::runs_inside;
use crate::{errno, io_errno};

/// How long one that lets go within moments is waited for, ns.
const PATIENCE_NS: u64 = 3_000_000_000;
/// How long one that has not said yet who it is, ns.
const UNNAMED_PATIENCE_NS: u64 = 100_000_000;
/// How much is kept of what a holder is doing, characters.
const MAX_DOING: usize = 200;

/// Who holds the lock.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Holder {
    /// Its process; 0 when it did not say.
    pub pid: u32,
    /// Since when, Unix seconds.
    pub since_unix_s: u64,
    /// What it is doing, in the words it was called with: `try governor=all -- make`.
    pub doing: String,
    /// Whether it lets go within moments by itself, so that waiting for it pays.
    #[serde(default)]
    pub soon: bool,
    /// The ledger's step that is restored unless somebody confirms it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub to_confirm: Option<EntryId>,
    /// Whether this process runs inside it, so that waiting for it never ends.
    #[serde(skip)]
    pub encloses: bool,
}

impl std::fmt::Display for Holder {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        if self.pid == 0 {
            return f.write_str("another powerband holds this machine");
        }
        write!(f, "powerband {} ({}) ", self.pid, self.doing)?;
        match self.since_unix_s {
            0 => f.write_str("holds this machine"),
            since_unix_s => write!(f, "{}", held_since(since_unix_s)),
        }
    }
}

/// Since when a machine is held, as a sentence goes on behind who holds it.
#[must_use]
pub fn held_since(unix_s: u64) -> String {
    format!("has held this machine since {:02}:{:02} UTC", unix_s / 3600 % 24, unix_s / 60 % 60)
}

/// What to do about another powerband, as a sentence goes on; empty for one that did not say who it is.
#[must_use]
pub fn wait_or_stop(pid: u32) -> String {
    if pid == 0 { String::new() } else { format!("; wait for it, or stop it with `kill {pid}`") }
}

/// What to do about the holder of a lock, as a sentence goes on.
fn advice(holder: &Holder) -> String {
    if holder.encloses {
        return "; this command runs inside it, so it cannot wait for it: give all settings to the outer command, or run this one \
                outside of it"
            .to_owned();
    }
    wait_or_stop(holder.pid)
}

/// Why the lock could not be had.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum LockError {
    /// Somebody has it.
    #[error("{}{}", .0, advice(.0))]
    Held(Holder),
    /// Somebody else than root could have written what root would do.
    #[error("{place} {why}, and root does what is written there; set POWERBAND_STATE_DIR to a folder of root's alone")]
    NotOurs {
        /// The ledger, its folder or the lock.
        place: String,
        /// Who may write it.
        why: String,
    },
    /// It cannot be made.
    #[error("cannot lock {place}: {errno}{}", elsewhere(*.errno))]
    Unusable {
        /// The lock's file.
        place: String,
        /// Why.
        errno: Errno,
    },
}

fn elsewhere(errno: Errno) -> &'static str {
    match errno {
        Errno::EACCES | Errno::EPERM => {
            "; run it as the folder's owner, or set POWERBAND_STATE_DIR to a folder of yours"
        }
        _ => "",
    }
}

/// The lock of one ledger folder. Given up when dropped, and by the kernel when the owner ends in any way: anyone who can
/// take it knows that the owner is gone.
#[derive(Debug)]
pub struct Lock {
    file: File,
    path: PathBuf,
    holder: Holder,
    /// The one that had it before and did not let go of it in order.
    predecessor: Option<u32>,
    /// Keeps others out also when the folder is deleted and made again.
    _claim: Option<Claim>,
}

impl Lock {
    /// Takes the lock of `folder` (`FOLDER/lock`, mode 0600; the folder is made if absent).
    ///
    /// # Errors
    /// [`LockError::Held`] names who has it; [`LockError::NotOurs`] when another user could have written the ledger and we
    /// are root; [`LockError::Unusable`] when the file cannot be made.
    pub fn acquire(folder: &Path, doing: &str) -> Result<Lock, LockError> {
        Self::take(folder, doing, false)
    }

    /// The same by one that lets go within moments: others wait for it.
    ///
    /// # Errors
    /// As [`Lock::acquire`].
    pub fn acquire_for_a_moment(folder: &Path, doing: &str) -> Result<Lock, LockError> {
        Self::take(folder, doing, true)
    }

    fn take(folder: &Path, doing: &str, soon: bool) -> Result<Lock, LockError> {
        let path = folder.join("lock");
        let unusable = |errno| LockError::Unusable { place: path.display().to_string(), errno };
        let mut file = open(folder, &path)?;
        let began_ns = crate::now_ns();
        loop {
            match rustix::fs::flock(&file, FlockOperation::NonBlockingLockExclusive) {
                // The one before us has removed the folder.
                Ok(()) if !crate::in_place::is_at(&file, &path) => file = open(folder, &path)?,
                Ok(()) => {
                    let claim = claim_folder(folder)?;
                    let (pid, since_unix_s) = (std::process::id(), crate::unix_time_s());
                    let doing = shortened(doing);
                    let holder = Holder { pid, since_unix_s, doing, soon, ..Holder::default() };
                    let predecessor = read_holder(&mut file).map(|holder| holder.pid);
                    let mut lock = Lock { file, path, holder, predecessor, _claim: claim };
                    lock.write();
                    return Ok(lock);
                }
                Err(rustix::io::Errno::AGAIN) => {}
                Err(error) => return Err(unusable(errno(error))),
            }
            // The text of one that has just taken it may not be there yet, or be its predecessor's.
            let holder = read_holder(&mut file).filter(|holder| Path::new(&format!("/proc/{}", holder.pid)).exists());
            let patience_ns = match &holder {
                Some(holder) if holder.soon => PATIENCE_NS,
                Some(_) => 0,
                None => UNNAMED_PATIENCE_NS,
            };
            if crate::now_ns() - began_ns >= patience_ns {
                return Err(LockError::Held(enclosing(holder.unwrap_or_default())));
            }
            crate::pause_until(crate::now_ns() + 5_000_000);
        }
    }

    /// Says what is being done now. A full disk may lose the words, never the lock.
    pub fn set_doing(&mut self, doing: &str) {
        self.holder.doing = shortened(doing);
        self.write();
    }

    /// Says that `step` is restored unless [`crate::confirm`] is called by somebody.
    pub fn set_to_confirm(&mut self, step: EntryId) {
        self.holder.to_confirm = Some(step);
        self.write();
    }

    fn write(&mut self) {
        let text = serde_json::to_string(&self.holder).unwrap_or_default();
        let _ =
            self.file.set_len(0).and_then(|()| self.file.rewind()).and_then(|()| self.file.write_all(text.as_bytes()));
    }

    /// Whether the lock's file is still the one in the folder: else the folder was deleted, moved or replaced.
    #[must_use]
    pub fn is_in_place(&self) -> bool {
        crate::in_place::is_at(&self.file, &self.path)
    }

    /// Whether the one that had it before is this process, and it died with it.
    pub(crate) fn follows(&self, pid: i32) -> bool {
        self.predecessor.is_some_and(|before| i64::from(before) == i64::from(pid))
    }

    /// The lock's file.
    #[must_use]
    pub fn path(&self) -> &Path {
        &self.path
    }
}

impl Drop for Lock {
    fn drop(&mut self) {
        // Only a courtesy: a stale text is not believed. Who watches the file hears of the write; fanotify does not tell that a
        // file was emptied.
        let _ = self.file.rewind().and_then(|()| self.file.write_all(b"\n")).and_then(|()| self.file.set_len(0));
    }
}

/// The lock's file, in its folder; both are made if absent.
fn open(folder: &Path, path: &Path) -> Result<File, LockError> {
    let unusable = |errno| LockError::Unusable { place: path.display().to_string(), errno };
    let began_ns = crate::now_ns();
    loop {
        crate::ledger_file::make_folder(path).map_err(unusable)?;
        check_owners(folder)?;
        let mut options = OpenOptions::new();
        options.read(true).write(true).create(true).truncate(false).mode(0o600).custom_flags(libc::O_NOFOLLOW);
        match options.open(path) {
            Ok(file) => return Ok(file),
            // The folder was removed in between.
            Err(error)
                if error.kind() == std::io::ErrorKind::NotFound && crate::now_ns() - began_ns < UNNAMED_PATIENCE_NS => {
            }
            Err(error) => return Err(unusable(io_errno(&error))),
        }
    }
}

/// The folder's name, next to its file: one whose folder was deleted or moved under it still has that. One that lets go
/// just now is waited for a moment.
pub(crate) fn claim_folder(folder: &Path) -> Result<Option<Claim>, LockError> {
    let name = name_of_folder(folder);
    let until_ns = crate::now_ns() + UNNAMED_PATIENCE_NS;
    loop {
        match claim(&name) {
            Claimed::Ours(claim) => return Ok(Some(claim)),
            Claimed::Unknown => return Ok(None),
            Claimed::Theirs { .. } if crate::now_ns() < until_ns => crate::pause_until(crate::now_ns() + 5_000_000),
            Claimed::Theirs { pid } => {
                let doing = format!("using {}, which was deleted or moved since", folder.display());
                return Err(LockError::Held(enclosing(Holder { pid, doing, ..Holder::default() })));
            }
        }
    }
}

/// The holder, with whether this process runs inside it.
fn enclosing(holder: Holder) -> Holder {
    Holder { encloses: i32::try_from(holder.pid).is_ok_and(runs_inside), ..holder }
}

/// At most 200 characters, cut between words.
#[must_use]
pub fn shortened(doing: &str) -> String {
    if doing.chars().count() <= MAX_DOING {
        return doing.to_owned();
    }
    let begin: String = doing.chars().take(MAX_DOING).collect();
    let whole = begin.rsplit_once(char::is_whitespace).map_or("", |(whole, _)| whole);
    format!("{whole} …").trim_start().to_owned()
}

/// Who holds the lock of `folder` now; `None` when nobody does, or it is not for us to see.
#[must_use]
pub fn holder(folder: &Path) -> Option<Holder> {
    let mut file = OpenOptions::new().read(true).custom_flags(libc::O_NOFOLLOW).open(folder.join("lock")).ok()?;
    match rustix::fs::flock(&file, FlockOperation::NonBlockingLockShared) {
        Err(rustix::io::Errno::AGAIN) => Some(read_holder(&mut file).unwrap_or_default()),
        _ => None,
    }
}

/// As root: that the folder and what is in it are root's alone.
fn check_owners(folder: &Path) -> Result<(), LockError> {
    if !rustix::process::geteuid().is_root() {
        return Ok(());
    }
    let mut places = vec![folder.join("ledger"), folder.join("lock")];
    // Who may write a folder above can put another in the place of ours. It may be reached through a link, the files none.
    let whole = folder.canonicalize().unwrap_or_else(|_| folder.into());
    places.extend(whole.ancestors().map(Path::to_owned));
    for place in places {
        if let Ok(found) = place.symlink_metadata()
            && let Some(why) = crate::caller::distrusted(found.uid(), found.gid(), found.mode())
        {
            return Err(LockError::NotOurs { place: place.display().to_string(), why });
        }
    }
    Ok(())
}

fn read_holder(file: &mut File) -> Option<Holder> {
    let mut text = String::new();
    file.rewind().and_then(|()| file.read_to_string(&mut text)).ok()?;
    serde_json::from_str(&text).ok()
}
