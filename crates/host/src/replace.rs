//! Files that are replaced as a whole, and the folders they are put in: what is read at boot is old or new, never half.
use std::os::fd::OwnedFd;
use std::path::Path;

use powerband_machine::{Errno, draft_of};
use rustix::fs::{Gid, Mode, OFlags, Uid};

use crate::caller::Caller;
use crate::errno;
use crate::files::{sync_folder_of, write_at_start};

/// Permissions of a file that was not there before.
const NEW_FILE: u32 = 0o644;

/// Permissions of a folder that was not there before.
const NEW_FOLDER: u32 = 0o755;

/// Puts a file with this text at a path, by a draft next to it that is synced and then given its name. One that is there keeps
/// its owner and its permissions; a link keeps leading where it leads.
pub(crate) fn replace(path: &str, text: &str) -> Result<(), Errno> {
    refuse_callers_folder(path)?;
    let target = std::fs::canonicalize(path).ok().and_then(|target| target.to_str().map(str::to_owned));
    let path = target.as_deref().unwrap_or(path);
    let before = rustix::fs::stat(path).ok();
    let draft = draft_of(path);
    let flags = OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL | OFlags::CLOEXEC | OFlags::NOFOLLOW;
    let open = || rustix::fs::open(&draft, flags, Mode::from_raw_mode(0o600));
    let file = match open() {
        Err(rustix::io::Errno::EXIST) => rustix::fs::unlink(&draft).and_then(|()| open()),
        opened => opened,
    }
    .map_err(errno)?;
    let filled = fill(&file, text, before.as_ref());
    let named = filled.and_then(|()| rustix::fs::rename(&draft, path).map_err(errno));
    match named {
        Ok(()) => sync_folder_of(Path::new(path)),
        Err(_) => drop(rustix::fs::unlink(&draft)),
    }
    named
}

/// Removes what is left of a draft: next to the file, and next to where a link leads, because that is where it is written.
pub(crate) fn remove_draft(path: &str) -> Result<(), Errno> {
    let beside = crate::files::remove(&draft_of(path));
    let target = std::fs::canonicalize(path).ok().and_then(|target| target.to_str().map(str::to_owned));
    match target.filter(|target| target != path).map(|target| crate::files::remove(&draft_of(&target))) {
        Some(Ok(())) => Ok(()),
        _ => beside,
    }
}

fn fill(file: &OwnedFd, text: &str, before: Option<&rustix::fs::Stat>) -> Result<(), Errno> {
    write_at_start(file, text.as_bytes())?;
    if let Some(before) = before {
        let (owner, group) = (Uid::from_raw(before.st_uid), Gid::from_raw(before.st_gid));
        rustix::fs::fchown(file, Some(owner), Some(group)).map_err(errno)?;
    }
    let mode = before.map_or(NEW_FILE, |before| before.st_mode & 0o7777);
    rustix::fs::fchmod(file, Mode::from_raw_mode(mode)).and_then(|()| rustix::fs::fsync(file)).map_err(errno)
}

/// Makes a folder, durably.
pub(crate) fn make_folder(path: &str) -> Result<(), Errno> {
    refuse_callers_folder(path)?;
    rustix::fs::mkdir(path, Mode::from_raw_mode(NEW_FOLDER)).map_err(errno)?;
    sync_folder_of(Path::new(path));
    Ok(())
}

/// Removes an empty folder, durably.
pub(crate) fn remove_folder(path: &str) -> Result<(), Errno> {
    refuse_callers_folder(path)?;
    rustix::fs::rmdir(path).map_err(errno)?;
    sync_folder_of(Path::new(path));
    Ok(())
}

/// What is read at boot does not lie where the user who called sudo commands: a link of theirs could lead anywhere.
fn refuse_callers_folder(path: &str) -> Result<(), Errno> {
    if Caller::commanding(Path::new(path)).is_some() { Err(Errno::EACCES) } else { Ok(()) }
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::{MetadataExt, PermissionsExt};

    use super::{make_folder, remove_draft, remove_folder, replace};
    use powerband_machine::{Errno, draft_of};

    #[test]
    fn a_file_is_replaced_with_its_permissions_and_through_a_link() {
        let place = tempfile::tempdir().unwrap();
        let path = place.path().join("config");
        let name = path.to_str().unwrap();
        std::fs::write(&path, "old and longer").unwrap();
        std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o640)).unwrap();
        // A draft that somebody killed in the middle has left.
        std::fs::write(draft_of(name), "half").unwrap();
        let link = place.path().join("link");
        std::os::unix::fs::symlink("config", &link).unwrap();
        let inode = std::fs::metadata(&path).unwrap().ino();
        replace(link.to_str().unwrap(), "new\n").unwrap();
        let now = std::fs::metadata(&path).unwrap();
        assert_eq!((std::fs::read_to_string(&path).unwrap().as_str(), now.mode() & 0o7777), ("new\n", 0o640));
        assert_ne!(now.ino(), inode, "whoever has the old one open goes on reading it");
        assert!(link.is_symlink() && !std::path::Path::new(&draft_of(name)).exists());
        // Killed before it got its name, below the folder that a link leads to.
        let folder = place.path().join("folder");
        std::fs::create_dir(&folder).unwrap();
        let elsewhere = folder.join("elsewhere");
        std::os::unix::fs::symlink("../config", &elsewhere).unwrap();
        for at in [&path, &link, &elsewhere] {
            std::fs::write(draft_of(name), "half").unwrap();
            remove_draft(at.to_str().unwrap()).unwrap();
            assert!(!std::path::Path::new(&draft_of(name)).exists());
            assert_eq!(remove_draft(at.to_str().unwrap()), Err(Errno::ENOENT));
        }
    }

    #[test]
    fn what_cannot_be_made_leaves_nothing() {
        let place = tempfile::tempdir().unwrap();
        let inside = place.path().join("absent/config");
        assert_eq!(replace(inside.to_str().unwrap(), "x"), Err(Errno::ENOENT));
        let folder = place.path().join("folder");
        let name = folder.to_str().unwrap();
        make_folder(name).unwrap();
        assert_eq!(make_folder(name), Err(Errno::EEXIST));
        std::fs::write(folder.join("theirs"), "").unwrap();
        assert_eq!(remove_folder(name), Err(Errno::ENOTEMPTY));
        assert_eq!(replace(name, "x"), Err(Errno::EISDIR));
        assert_eq!(std::fs::read_dir(place.path()).unwrap().count(), 1);
        std::fs::remove_file(folder.join("theirs")).unwrap();
        remove_folder(name).unwrap();
        assert!(!folder.exists());
    }
}
