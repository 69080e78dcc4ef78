//! State folders of agents, of network namespaces below the shared one too: where they are, and their removal once nothing is kept there.
use std::ffi::OsStr;
use std::path::{Path, PathBuf};

use powerband_machine::wire::OwnerPlace;

use crate::facts::{own_place, state_folder};
use crate::ledger_file::FileLedger;
use crate::lock::Lock;

/// Holds one folder for each namespace, named by its inode.
const NAMESPACES: &str = "netns";

/// The state folder of an agent: a folder below the shared one where its owner is on the same host, in another network
/// namespace, and would otherwise share ledger and lock with it. `None` as for [`state_folder`].
#[must_use]
pub fn agent_folder(owner: Option<&OwnerPlace>) -> Option<PathBuf> {
    let folder = state_folder()?;
    let shares = |own: &OwnerPlace, owner: &OwnerPlace| {
        own.boot == owner.boot && own.folder == owner.folder && own.network_namespace != owner.network_namespace
    };
    match own_place().zip(owner) {
        Some((own, owner)) if shares(&own, owner) => {
            Some(folder.join(NAMESPACES).join(own.network_namespace.to_string()))
        }
        _ => Some(folder),
    }
}

/// The folder that is there already, of those that a state folder would be made in or is.
#[must_use]
pub fn folder_there(folder: &Path) -> Option<PathBuf> {
    folder.ancestors().find(|it| it.exists()).map(Path::to_owned)
}

/// Removes the folder of a lock if nothing is kept there and it is one of a namespace, as the next namespace has another number, or
/// if it was made for somebody who leaves nothing: below this one, which was there before.
pub fn remove_unused_folder(lock: Lock, made_below: Option<&Path>) {
    let Some(folder) = lock.path().parent().map(Path::to_owned) else { return };
    let is_namespaces = folder.parent().and_then(Path::file_name) == Some(OsStr::new(NAMESPACES));
    let made = |folder: &Path| made_below.is_some_and(|below| folder != below && folder.starts_with(below));
    let is_kept = || {
        let mut entries = std::fs::read_dir(&folder).into_iter().flatten().flatten();
        let files = ["ledger", "lock"].map(OsStr::new);
        let path = folder.join("ledger");
        entries.any(|entry| !files.contains(&&*entry.file_name())) || (path.exists() && !FileLedger::is_empty(&folder))
    };
    if !(is_namespaces || made(&folder)) || !lock.is_in_place() || is_kept() {
        return;
    }
    // What somebody else made there meanwhile stays, and the folder with it. The lock goes last: who waits for it looks for
    // it again.
    for file in ["ledger", "lock"] {
        let _ = std::fs::remove_file(folder.join(file));
    }
    let above = folder.ancestors().skip(1).take_while(|above| made(above));
    let above = above.chain(folder.parent().filter(|parent| is_namespaces && !made(parent)));
    let _ = std::iter::once(folder.as_path()).chain(above).try_for_each(std::fs::remove_dir);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_a_namespace_s_folder_without_entries_is_removed() {
        let place = tempfile::tempdir().unwrap();
        let netns = place.path().join(NAMESPACES);
        let locked = |folder: &Path| Lock::acquire(folder, "testing").unwrap();
        let (empty, used, kept) = (netns.join("1"), netns.join("2"), netns.join("3"));
        let locks = [&empty, &used, &kept].map(|folder| locked(folder));
        std::fs::write(empty.join("ledger"), "").unwrap();
        std::fs::write(used.join("ledger"), "an entry\n").unwrap();
        std::fs::write(kept.join("ledger.damaged"), "an entry\n").unwrap();
        locks.into_iter().for_each(|lock| remove_unused_folder(lock, None));
        assert!(!empty.exists() && used.join("ledger").exists() && kept.exists());
        let shared = place.path().join("state");
        remove_unused_folder(locked(&shared), None);
        assert!(shared.exists(), "a folder of its own stays");
        std::fs::remove_dir_all(&netns).unwrap();
        remove_unused_folder(locked(&empty), None);
        assert!(!netns.exists(), "nor does the folder of the last one stay");
    }

    #[test]
    fn a_folder_made_for_somebody_who_leaves_nothing_goes_with_those_above_it() {
        let place = tempfile::tempdir().unwrap();
        let folder = place.path().join("lib/powerband");
        let there = folder_there(&folder);
        assert_eq!(there.as_deref(), Some(place.path()));
        let locked = || Lock::acquire(&folder, "testing").unwrap();
        let lock = locked();
        std::fs::write(folder.join("ledger"), "an entry\n").unwrap();
        remove_unused_folder(lock, there.as_deref());
        assert!(folder.exists(), "what is not restored stays on record");
        std::fs::write(folder.join("ledger"), "").unwrap();
        remove_unused_folder(locked(), folder_there(&folder).as_deref());
        assert!(folder.exists(), "it was there before");
        remove_unused_folder(locked(), there.as_deref());
        assert!(place.path().exists() && !place.path().join("lib").exists());
    }
}
