//! The files of a recorded machine: reading and listing below one folder, never out of it.
use std::os::fd::{AsFd, OwnedFd};
use std::path::Path;

use powerband_machine::Errno;
use rustix::fs::{AtFlags, FileType, Mode, OFlags};

use crate::errno;

/// Folders are opened one name after another, so that no link is followed on the way.
const STEP: OFlags = OFlags::RDONLY.union(OFlags::DIRECTORY).union(OFlags::NOFOLLOW).union(OFlags::CLOEXEC);

/// A folder and what is below it.
pub(super) struct Tree {
    folder: OwnedFd,
}

impl Tree {
    /// The folder itself may be behind a link: it is the one that was named.
    pub(super) fn open(folder: &Path) -> Result<Self, Errno> {
        let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
        rustix::fs::open(folder, flags, Mode::empty()).map(|folder| Tree { folder }).map_err(errno)
    }

    /// The folder of these names.
    fn folder(&self, names: &[&str]) -> Result<OwnedFd, Errno> {
        let mut at = rustix::io::fcntl_dupfd_cloexec(&self.folder, 0).map_err(errno)?;
        for &name in names {
            at = rustix::fs::openat(&at, name, STEP, Mode::empty()).map_err(errno)?;
        }
        Ok(at)
    }

    /// The text of the ordinary file of these names. Links are `ELOOP`, pipes, sockets and devices `EINVAL`.
    pub(super) fn read(&self, names: &[&str], buffer: &mut Vec<u8>) -> Result<String, Errno> {
        let Some((name, above)) = names.split_last() else { return Err(Errno::EISDIR) };
        let folder = self.folder(above)?;
        match kind(&folder, name)? {
            FileType::RegularFile => {}
            FileType::Directory => return Err(Errno::EISDIR),
            FileType::Symlink => return Err(Errno::ELOOP),
            _ => return Err(Errno::EINVAL),
        }
        let flags = OFlags::RDONLY | OFlags::CLOEXEC | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::NOCTTY;
        let file = rustix::fs::openat(&folder, *name, flags, Mode::empty()).map_err(errno)?;
        crate::files::read_open(&file, buffer)
    }

    /// Names in the folder of these names.
    pub(super) fn list(&self, names: &[&str]) -> Result<Vec<String>, Errno> {
        let folder = self.folder(names)?;
        let mut found = Vec::new();
        for entry in rustix::fs::Dir::read_from(&folder).map_err(errno)? {
            let name = entry.map_err(errno)?.file_name().to_string_lossy().into_owned();
            if name != "." && name != ".." {
                found.push(name);
            }
        }
        Ok(found)
    }

    /// Whether these names lead to a folder.
    pub(super) fn is_folder(&self, names: &[&str]) -> bool {
        self.folder(names).is_ok()
    }
}

fn kind(folder: impl AsFd, name: &str) -> Result<FileType, Errno> {
    let found = rustix::fs::statat(folder, name, AtFlags::SYMLINK_NOFOLLOW).map_err(errno)?;
    Ok(FileType::from_raw_mode(found.st_mode))
}
