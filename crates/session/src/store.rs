//! The store an experiment is kept in: where it is, and opening it with the rights of the caller.
use std::path::{Path, PathBuf};

use powerband_host::with_rights_for;
use powerband_rig::{Note, Notes};
use powerband_store::{Purpose, Store, is_shared};

use crate::SessionError;

/// The store that was named, or the one in the state folder.
fn path_of(named: Option<&Path>) -> Result<PathBuf, SessionError> {
    match named {
        // A slip in an address would be a file with a password in its name. Nothing of it is repeated.
        Some(path) if looks_like_an_address(path) => Err(SessionError::Usage(
            "this names neither an SQLite file nor a PostgreSQL database; write e.g. postgresql://user@host/database"
                .into(),
        )),
        Some(path) => Ok(path.to_owned()),
        None => Ok(powerband_rig::store_folder()?.join("powerband.sqlite")),
    }
}

/// True for a name that was meant as the address of a database: it has a scheme, or keys as libpq's connection strings have.
fn looks_like_an_address(path: &Path) -> bool {
    let Some(name) = path.to_str() else { return false };
    let is_key = |word: &str| {
        let word = word.to_ascii_lowercase();
        ["host", "hostaddr", "port", "user", "password", "passfile", "dbname", "service", "sslmode"]
            .iter()
            .any(|key| word.strip_prefix(key).is_some_and(|rest| rest.trim_start().starts_with('=')))
    };
    name.contains("://") || name.trim() != name || name.split_whitespace().any(is_key)
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_looks_like_an_address_is_no_file() {
        let addresses = [
            "host=db password=secret",
            "dbname=x",
            "PASSWORD=secret host=db",
            " postgresql://me:secret@db/x",
            "POSTGRESQL://me:secret@db/x",
            "postgresq://me:secret@db/x",
            "jdbc:postgresql://db/x",
        ];
        for name in addresses {
            let refused = path_of(Some(Path::new(name))).unwrap_err().to_string();
            assert!(refused.contains("postgresql://user@host/database") && !refused.contains("secret"), "{refused}");
        }
        for name in ["results.sqlite", "/var/lib/a=b.sqlite", "two words.sqlite", "hosts.sqlite"] {
            assert_eq!(path_of(Some(Path::new(name))).unwrap(), Path::new(name));
        }
    }
}
