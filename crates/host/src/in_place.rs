//! Whether an open file is still the one at its path: a folder may be deleted, moved or replaced while we use it.
use std::os::fd::{AsFd, OwnedFd};
use std::path::{Path, PathBuf};

use rustix::fs::{Mode, OFlags};

/// Whether the path still leads to this open file or folder.
pub(crate) fn is_at(open: impl AsFd, path: &Path) -> bool {
    let (Ok(ours), Ok(there)) = (rustix::fs::fstat(open), rustix::fs::stat(path)) else { return false };
    ours.st_nlink > 0 && (ours.st_dev, ours.st_ino) == (there.st_dev, there.st_ino)
}

/// A folder as it was when it was first looked at. It is held open, so that no later folder gets its inode number.
#[derive(Debug)]
pub(crate) struct Anchor {
    path: PathBuf,
    open: OwnedFd,
}

impl Anchor {
    /// Of the folder that is at a path now; `None` when there is none.
    pub(crate) fn of(path: &Path) -> Option<Anchor> {
        let open = rustix::fs::open(path, OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC, Mode::empty()).ok()?;
        Some(Anchor { path: path.into(), open })
    }

    /// Whether it is still there.
    pub(crate) fn is_in_place(&self) -> bool {
        is_at(&self.open, &self.path)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn deleted_moved_and_replaced_are_noticed() {
        let place = tempfile::tempdir().unwrap();
        let (path, other) = (place.path().join("state"), place.path().join("other"));
        assert!(Anchor::of(&path).is_none());
        for change in ["deleted", "moved", "replaced", "replaced by a link"] {
            std::fs::create_dir(&path).unwrap();
            let anchor = Anchor::of(&path).unwrap();
            assert!(anchor.is_in_place());
            match change {
                "deleted" => std::fs::remove_dir(&path).unwrap(),
                "moved" => std::fs::rename(&path, &other).unwrap(),
                "replaced" => {
                    std::fs::remove_dir(&path).unwrap();
                    std::fs::create_dir(&path).unwrap();
                }
                _ => {
                    std::fs::remove_dir(&path).unwrap();
                    std::fs::create_dir(&other).unwrap();
                    std::os::unix::fs::symlink(&other, &path).unwrap();
                }
            }
            assert!(!anchor.is_in_place(), "{change}");
            let _ = std::fs::remove_dir(&path).or_else(|_| std::fs::remove_file(&path));
            let _ = std::fs::remove_dir(&other);
        }
    }
}
