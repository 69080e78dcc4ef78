//! Files that a user names to be written: one that is there is replaced as a whole, a pipe or a device is written in place.
use std::fs::{File, Metadata, OpenOptions};
use std::io::{Error, ErrorKind, Write};
use std::os::unix::fs::{MetadataExt, OpenOptionsExt, fchown};
use std::path::{Path, PathBuf};

use powerband_machine::draft_of;

use crate::caller::with_rights_for;

/// Writes a file with the rights of who called sudo where the place is theirs; over one that is there where `over` holds.
///
/// # Errors
/// The system's, `AlreadyExists` where there is one and `over` does not hold. A file that was there is as it was then.
pub fn write_file(path: &Path, bytes: &[u8], over: bool) -> Result<(), Error> {
    with_rights_for(path, || put(path, bytes, over))
}

fn put(path: &Path, bytes: &[u8], over: bool) -> Result<(), Error> {
    match path.metadata() {
        _ if !over => put_new(path, bytes, 0o666),
        Err(_) if path.symlink_metadata().is_err() => put_new(path, bytes, 0o666),
        Ok(before) if before.is_file() => replace(path, bytes, &before),
        // A pipe or a device takes what it is given; nothing else may stand in its place.
        _ => in_place(path, bytes),
    }
}

/// Makes a file where there is none; one that cannot be written whole is removed.
fn put_new(path: &Path, bytes: &[u8], mode: u32) -> Result<(), Error> {
    let mut file = OpenOptions::new().write(true).create_new(true).mode(mode).open(path)?;
    file.write_all(bytes).inspect_err(|_| {
        // It is empty or half.
        let _ = std::fs::remove_file(path);
    })
}

/// By a draft next to it that is then given its name: the one that is there stays until the new one is whole.
fn replace(path: &Path, bytes: &[u8], before: &Metadata) -> Result<(), Error> {
    let path = path.canonicalize()?;
    // One that may not be written is not replaced either.
    drop(OpenOptions::new().write(true).open(&path)?);
    let draft = PathBuf::from(draft_of(&path.to_string_lossy()));
    let _ = std::fs::remove_file(&draft);
    match put_new(&draft, bytes, before.mode() & 0o777) {
        // Nothing may be made in its folder; the file itself is ours to write.
        Err(error) if error.kind() == ErrorKind::PermissionDenied => return in_place(&path, bytes),
        put => put?,
    }
    let _ = std::fs::set_permissions(&draft, before.permissions());
    // Only root may give a file away; anybody else's is their own.
    let _ = File::open(&draft).and_then(|file| fchown(file, Some(before.uid()), Some(before.gid())));
    std::fs::rename(&draft, &path).inspect_err(|_| drop(std::fs::remove_file(&draft)))
}

fn in_place(path: &Path, bytes: &[u8]) -> Result<(), Error> {
    OpenOptions::new().write(true).create(true).truncate(true).open(path)?.write_all(bytes)
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::FileTypeExt;

    use super::*;

    #[test]
    fn a_device_stays_one_and_a_link_keeps_leading_where_it_did() {
        let folder = tempfile::tempdir().unwrap();
        let [null, file, link] = ["null", "file", "link"].map(|name| folder.path().join(name));
        std::os::unix::fs::symlink("/dev/null", &null).unwrap();
        write_file(&null, b"lost", true).unwrap();
        assert!(std::fs::metadata("/dev/null").unwrap().file_type().is_char_device() && null.is_symlink());
        write_file(&file, b"first", true).unwrap();
        std::os::unix::fs::symlink(&file, &link).unwrap();
        write_file(&link, b"second", true).unwrap();
        assert!(link.is_symlink());
        assert_eq!(std::fs::read(&file).unwrap(), b"second");
        assert_eq!(write_file(&file, b"third", false).unwrap_err().kind(), ErrorKind::AlreadyExists);
    }
}
