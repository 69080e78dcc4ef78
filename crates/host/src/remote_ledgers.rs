//! What is known here of the ledgers of remote machines: on which of them this machine changes something, and where an
//! interrupted owner may have left something changed. No machine is asked; only notes of our own are read.
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use crate::{Lock, holder};
use powerband_record::InOrder;

/// The file next to the lock.
const NOTE: &str = "note";

/// A remote machine on which something may be changed.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct RemoteNote {
    /// As it is named on the command line.
    pub machine: String,
    /// What was done there, in the words of the command line.
    pub doing: String,
}

/// The folder of a machine's note, and of the lock that says whether its writer lives.
#[must_use]
pub fn remote_note_folder(machine: &str) -> Option<PathBuf> {
    // FNV-1a: a name as a file's name.
    let number =
        machine.bytes().fold(0xcbf2_9ce4_8422_2325_u64, |n, byte| (n ^ u64::from(byte)).wrapping_mul(0x100_0000_01b3));
    notes_folder().map(|notes| notes.join(format!("{number:016x}")))
}

fn notes_folder() -> Option<PathBuf> {
    crate::state_folder().map(|state| state.join("away"))
}

/// Notes that something is going to be changed on such a machine, as long as the lock is held. It has let us in, so no other
/// owner on this machine changes anything there; a note that cannot be written only warns nobody.
#[must_use]
pub fn write_remote_note(machine: &str, doing: &str) -> Option<Lock> {
    let folder = remote_note_folder(machine)?;
    let lock = Lock::acquire(&folder, doing).ok()?;
    let text = serde_json::to_string(&RemoteNote { machine: machine.into(), doing: doing.into() }).ok()?;
    std::fs::write(folder.join(NOTE), text).ok()?;
    Some(lock)
}

/// Nothing is left on a machine: somebody has looked, or has restored it.
pub fn forget_remote_note(machine: &str) {
    let Some(folder) = remote_note_folder(machine) else { return };
    let _ = std::fs::remove_file(folder.join(NOTE));
}

/// The notes whose writers are gone, sorted by machine: something may be left changed there.
#[must_use]
pub fn interrupted_remote_notes() -> Vec<RemoteNote> {
    let Some(folder) = notes_folder() else { return Vec::new() };
    let mut left: Vec<RemoteNote> = std::fs::read_dir(folder)
        .into_iter()
        .flatten()
        .filter_map(|entry| read(&entry.ok()?.path()).filter(|(_, lives)| !lives))
        .map(|(note, _)| note)
        .collect();
    left.order_by(|a, b| a.machine.cmp(&b.machine));
    left
}

/// The note in a folder, and whether its writer lives.
fn read(folder: &Path) -> Option<(RemoteNote, bool)> {
    let text = std::fs::read_to_string(folder.join(NOTE)).ok()?;
    let note: RemoteNote = serde_json::from_str(&text).ok()?;
    Some((note, holder(folder).is_some()))
}
