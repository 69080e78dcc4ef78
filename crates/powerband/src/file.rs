//! Files that a verb writes where it was asked to: whole or not at all, and over one that is there only where that is asked for.
use std::fs::{File, Metadata, OpenOptions};
use std::io::{Error, ErrorKind, Write};
use std::os::unix::fs::{MetadataExt, OpenOptionsExt, fchown};
use std::path::{Path, PathBuf};

use powerband_host::with_rights_for;
use powerband_machine::draft_of;
use powerband_record::system_words;

use crate::exit::{Exit, Failure, usage};

/// Whether a file may be written there; `other` is how another place is named.
pub(crate) fn is_free(path: &Path, force: bool, other: &str) -> Result<(), Failure> {
    let there = with_rights_for(path, || path.symlink_metadata().is_ok());
    if there && !force && path.as_os_str() != "-" { Err(taken(path, other)) } else { Ok(()) }
}

fn taken(path: &Path, other: &str) -> Failure {
    usage(format!("{} is there already; --force writes over it, {other} writes another", path.display()))
}

/// Writes a file; `other` is how another place is named where one is there and `over` does not hold.
pub(crate) fn write(path: &Path, bytes: &[u8], over: bool, other: &str) -> Result<(), Failure> {
    with_rights_for(path, || put(path, bytes, over)).map_err(|error| match error.kind() {
        ErrorKind::AlreadyExists => taken(path, other),
        kind => {
            let exit = if kind == ErrorKind::PermissionDenied { Exit::Denied } else { Exit::CannotGoOn };
            Failure::new(exit, format!("cannot write {}: {}", path.display(), system_words(&error)))
        }
    })
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

/// Where there is none. What was begun and cannot be ended goes again.
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
