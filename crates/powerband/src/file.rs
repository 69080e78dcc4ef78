//! Files that a verb writes where it was asked to: over one that is there only where that is asked for.
use std::io::ErrorKind;
use std::path::Path;

use powerband_host::{with_rights_for, write_file};
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
    write_file(path, bytes, over).map_err(|error| match error.kind() {
        ErrorKind::AlreadyExists => taken(path, other),
        kind => {
            let exit = if kind == ErrorKind::PermissionDenied { Exit::Denied } else { Exit::CannotGoOn };
            Failure::new(exit, format!("cannot write {}: {}", path.display(), system_words(&error)))
        }
    })
}
