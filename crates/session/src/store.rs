//! The store an experiment is kept in: where it is, and opening it with the rights of the caller.
use std::path::{Path, PathBuf};

use powerband_host::with_rights_for;
use powerband_rig::{Note, Notes};
use powerband_store::{Purpose, Store, is_shared};

use crate::SessionError;

/// The store that was named, or the one in the state folder.
fn path_of(named: Option<&Path>) -> Result<PathBuf, SessionError> {
    match named {
        // A slip in a scheme would be a folder, with a password in its name.
        Some(path) if scheme(path).is_some() => Err(SessionError::Usage(format!(
            "a store is an SQLite file or a PostgreSQL database, not {}://; write e.g. postgresql://user@host/database",
            scheme(path).unwrap_or_default()
        ))),
        Some(path) => Ok(path.to_owned()),
        None => Ok(powerband_rig::store_folder()?.join("powerband.sqlite")),
    }
}

/// The scheme of a name that looks like a URL.
fn scheme(path: &Path) -> Option<&str> {
    let (scheme, _) = path.to_str()?.split_once("://")?;
    scheme.chars().all(|c| c.is_ascii_alphanumeric()).then_some(scheme)
}

/// The URL of a shared store, where one was named.
fn url(named: Option<&Path>) -> Option<&str> {
    named.and_then(Path::to_str).filter(|name| is_shared(name))
}

/// The file that experiments for shared stores are written to first. Homes are shared by nodes, and an SQLite file must not be.
fn journal() -> Result<PathBuf, SessionError> {
    Ok(powerband_rig::store_folder()?.join(format!("journal-{}.sqlite", powerband_host::hostname())))
}

fn shared(url: &str, purpose: Purpose) -> Result<Option<Store>, SessionError> {
    let journal = journal()?;
    Ok(with_rights_for(&journal, || Store::open_shared(url, &journal, purpose))?)
}

/// Opens the store for an experiment, making it if it is not there.
///
/// # Errors
/// When it cannot be made or opened.
pub fn open(named: Option<&Path>) -> Result<Store, SessionError> {
    open_for(named, Purpose::Write)
}

/// As [`open`], to take experiments of another store.
///
/// # Errors
/// As [`open`]; a database that cannot be reached.
pub fn open_to_deliver(named: Option<&Path>) -> Result<Store, SessionError> {
    open_for(named, Purpose::Deliver)
}

fn open_for(named: Option<&Path>, purpose: Purpose) -> Result<Store, SessionError> {
    if let Some(url) = url(named) {
        return shared(url, purpose)?.ok_or(SessionError::NoExperiments);
    }
    let path = path_of(named)?;
    Ok(with_rights_for(&path, || Store::open(&path))?)
}

/// Opens the store for looking; `None` when there is none yet, as looking makes nothing.
///
/// # Errors
/// When it cannot be opened.
pub fn find(named: Option<&Path>) -> Result<Option<Store>, SessionError> {
    if let Some(url) = url(named) {
        return shared(url, Purpose::Look);
    }
    let path = path_of(named)?;
    // What stands in the way is reported by opening.
    if !path.try_exists().unwrap_or(true) {
        return Ok(None);
    }
    Ok(with_rights_for(&path, || Store::open_to_look(&path)).map(Some)?)
}

/// The file of this host that holds what was measured for shared stores; `None` when there is none yet.
///
/// # Errors
/// When it cannot be opened.
pub fn find_journal() -> Result<Option<Store>, SessionError> {
    find(Some(&journal()?))
}

/// Reports what a person should know of the delivery to a shared store.
pub fn note(store: &mut Store, notes: &mut dyn Notes) {
    for notice in store.take_notices() {
        let note = Note::from(notice.to_string());
        notes.note(match notice.hint() {
            Some(hint) => note.with(hint),
            None => note,
        });
    }
}
