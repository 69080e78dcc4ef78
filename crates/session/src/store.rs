//! The store an experiment is kept in: where it is, and opening it with the rights of the caller.
use std::path::{Path, PathBuf};

use powerband_host::with_rights_for;
use powerband_store::Store;

use crate::SessionError;

/// The store that was named, or the one in the state folder.
fn path_of(named: Option<&Path>) -> Result<PathBuf, SessionError> {
    match named {
        Some(path) => Ok(path.to_owned()),
        None => Ok(powerband_rig::store_folder()?.join("powerband.sqlite")),
    }
}

/// Opens the store for an experiment, making it if it is not there.
///
/// # Errors
/// When it cannot be made or opened.
pub fn open(named: Option<&Path>) -> Result<Store, SessionError> {
    let path = path_of(named)?;
    Ok(with_rights_for(&path, || Store::open(&path))?)
}

/// Opens the store for looking; `None` when there is none yet, as looking makes nothing.
///
/// # Errors
/// When it cannot be opened.
pub fn find(named: Option<&Path>) -> Result<Option<Store>, SessionError> {
    let path = path_of(named)?;
    // What stands in the way is reported by opening.
    if !path.try_exists().unwrap_or(true) {
        return Ok(None);
    }
    Ok(with_rights_for(&path, || Store::open(&path)).map(Some)?)
}

/// As [`find`], for callers that need an experiment.
///
/// # Errors
/// [`SessionError::NoExperiments`] besides.
pub fn need(named: Option<&Path>) -> Result<Store, SessionError> {
    find(named)?.ok_or(SessionError::NoExperiments)
}
