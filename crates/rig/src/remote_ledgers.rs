//! What is known here of machines behind an agent or a shell: who of this machine turns there, and where one that is gone may have
//! left something turned. Nobody is asked; only notes of our own are read.
use std::path::{Path, PathBuf};

use powerband_host::{Lock, holder};
use serde::{Deserialize, Serialize};

use crate::output;
use crate::rig;

/// The file beside the lock.
const NOTE: &str = "note";

/// A machine on which something may be turned.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
struct Note {
    /// As it is named on the command line.
    machine: String,
    /// What was done there, in the words of the command line.
    doing: String,
}

/// Ours, as long as something may be turned there. Dropped without having been settled it stays.
#[derive(Debug)]
pub(crate) struct Noted {
    machine: String,
}

/// The folder of a machine's note, and of the lock that says whether whoever wrote it lives.
pub(crate) fn folder(machine: &str) -> Option<PathBuf> {
    // FNV-1a: a name as a file's name.
    let number =
        machine.bytes().fold(0xcbf2_9ce4_8422_2325_u64, |n, byte| (n ^ u64::from(byte)).wrapping_mul(0x100_0000_01b3));
    powerband_host::state_folder().map(|state| state.join("away").join(format!("{number:016x}")))
}

/// Notes that something is going to be turned on such a machine. It has let us in, so nobody else of this
/// machine turns there; a note that cannot be written only warns nobody.
pub(crate) fn note(machine: &str) -> Option<(Noted, Lock)> {
    let folder = folder(machine)?;
    let doing = rig::doing();
    let lock = Lock::acquire(&folder, &doing).ok()?;
    let text = serde_json::to_string(&Note { machine: machine.into(), doing }).ok()?;
    std::fs::write(folder.join(NOTE), text).ok()?;
    Some((Noted { machine: machine.into() }, lock))
}

impl Noted {
    /// Nothing is held there any more.
    pub(crate) fn settle(&self) {
        forget(&self.machine);
    }
}

/// Nothing is left on a machine: somebody has looked, or has put it back.
pub(crate) fn forget(machine: &str) {
    let Some(folder) = folder(machine) else { return };
    let _ = std::fs::remove_file(folder.join(NOTE));
}

/// A remark for each machine where one that is gone may have left something turned.
pub(crate) fn warn() {
    let Some(folder) = powerband_host::state_folder().map(|state| state.join("away")) else { return };
    let mut left: Vec<Note> = std::fs::read_dir(folder)
        .into_iter()
        .flatten()
        .filter_map(|entry| read(&entry.ok()?.path()).filter(|(_, lives)| !lives))
        .map(|(note, _)| note)
        .collect();
    left.sort_by(|a, b| a.machine.cmp(&b.machine));
    for Note { machine, doing } in left {
        output::remark(&format!(
            "an interrupted powerband may have left something changed at {machine} (`{doing}`); \
             `powerband --machine {} undo --left` restores it",
            quoted(&machine)
        ));
    }
}

/// The note in a folder, and whether its writer lives.
fn read(folder: &Path) -> Option<(Note, bool)> {
    let text = std::fs::read_to_string(folder.join(NOTE)).ok()?;
    let note: Note = serde_json::from_str(&text).ok()?;
    Some((note, holder(folder).is_some()))
}

/// As a shell takes it as one word.
pub(crate) fn quoted(word: &str) -> String {
    format!("'{}'", word.replace('\'', "'\\''"))
}
