//! The file itself: how it is made, recognised, migrated and set up for a connection.
use std::fs::{DirBuilder, OpenOptions};
use std::io::ErrorKind;
use std::os::unix::fs::{DirBuilderExt, MetadataExt, OpenOptionsExt};
use std::path::Path;
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use rusqlite::{Connection, OpenFlags, TransactionBehavior};

use crate::StoreError;

/// One step of the schema each, in order; `user_version` counts how many were taken. Only ever added to.
const MIGRATIONS: [&str; 3] = [
    include_str!("../migrations/0001_events.sql"),
    include_str!("../migrations/0002_superseded.sql"),
    include_str!("../migrations/0003_calibration.sql"),
];

/// The version of stores, on every engine.
#[cfg(feature = "postgresql")]
pub(crate) const VERSION: u32 = MIGRATIONS.len() as u32;

/// `application_id` of our files: "PwBd".
const APPLICATION_ID: i32 = i32::from_be_bytes(*b"PwBd");

/// One at a time in this process: closing a descriptor drops every lock the process has on that file, so the file must
/// not be made while another thread may already hold it.
static MAKING: Mutex<()> = Mutex::new(());

/// Between two attempts to switch to the log.
const PAUSE: Duration = Duration::from_millis(5);

/// Makes folder (only its owner may enter) and file (only its owner may read) where there are none; answers a
/// connection to a store of the newest version.
pub(crate) fn open(path: &Path, wait: Duration) -> Result<Connection, StoreError> {
    {
        let _one = MAKING.lock().unwrap_or_else(PoisonError::into_inner);
        create(path)?;
    }
    let sqlite = |error: rusqlite::Error| StoreError::from_sqlite(path, &error);
    let flags = OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    let mut connection = Connection::open_with_flags(path, flags).map_err(sqlite)?;
    connection.busy_timeout(wait).map_err(sqlite)?;
    connection.pragma_update(None, "foreign_keys", true).map_err(sqlite)?;
    migrate(&mut connection, path)?;
    use_log(&connection, path, wait)?;
    connection.pragma_update(None, "synchronous", "NORMAL").map_err(sqlite)?;
    Ok(connection)
}

/// A connection that only reads, for a store that may not be written: its file, or the folder that takes the log. Nothing
/// is made or migrated. The log's index is used where it is there; without a log the file alone is read.
///
/// # Errors
/// Also where entries of the log are in no file that can be read without writing.
pub(crate) fn open_unwritable(path: &Path, wait: Duration) -> Result<Connection, StoreError> {
    let sqlite = |error: rusqlite::Error| StoreError::from_sqlite(path, &error);
    let flags = OpenFlags::SQLITE_OPEN_READ_ONLY | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    let known = |connection: Connection| -> Result<Connection, StoreError> {
        connection.busy_timeout(wait).map_err(sqlite)?;
        match recognise(&connection, path)? {
            done if done == MIGRATIONS.len() => Ok(connection),
            done => Err(StoreError::CannotOpen {
                path: path.to_owned(),
                why: format!("it has store version {done}, which is to be brought to {}", MIGRATIONS.len()),
            }),
        }
    };
    let opened = Connection::open_with_flags(path, flags).map_err(sqlite).and_then(known);
    let log = std::path::PathBuf::from(format!("{}-wal", path.display()));
    match opened {
        Err(StoreError::CannotOpen { .. }) if log.metadata().map_or(true, |found| found.len() == 0) => {
            let url = format!("file:{}?immutable=1", in_url(path));
            known(Connection::open_with_flags(url, flags | OpenFlags::SQLITE_OPEN_URI).map_err(sqlite)?)
        }
        opened => opened,
    }
}

/// A path as SQLite reads it in a URL.
fn in_url(path: &Path) -> String {
    path.display().to_string().replace('%', "%25").replace('?', "%3f").replace('#', "%23")
}

/// A store of the newest version that is in no file.
#[cfg(feature = "postgresql")]
pub(crate) fn in_memory(path: &Path) -> Result<Connection, StoreError> {
    let mut connection = Connection::open_in_memory().map_err(|error| StoreError::from_sqlite(path, &error))?;
    migrate(&mut connection, path)?;
    Ok(connection)
}

/// Switches a new file to the write-ahead log. The switch wants the file for itself and does not wait for it.
fn use_log(connection: &Connection, path: &Path, wait: Duration) -> Result<(), StoreError> {
    let mut waited = Duration::ZERO;
    loop {
        let switched = connection
            .pragma_query_value(None, "journal_mode", |row| row.get::<_, String>(0))
            .and_then(|mode| match mode.as_str() {
                "wal" => Ok(mode),
                _ => connection.pragma_update_and_check(None, "journal_mode", "wal", |row| row.get(0)),
            })
            .map_err(|error| StoreError::from_sqlite(path, &error));
        match switched {
            Err(StoreError::Locked { .. }) if waited < wait => {
                std::thread::sleep(PAUSE);
                waited += PAUSE;
            }
            Err(error) => return Err(error),
            Ok(mode) if mode == "wal" => return Ok(()),
            Ok(mode) => {
                let why = format!("its file system has no shared memory for the log (journal mode {mode})");
                return Err(StoreError::CannotOpen { path: path.to_owned(), why });
            }
        }
    }
}

/// Device and inode of the file at a path.
pub(crate) fn identity(path: &Path) -> Option<(u64, u64)> {
    std::fs::metadata(path).ok().map(|found| (found.dev(), found.ino()))
}

/// Writes everything a connection sees to a new file.
pub(crate) fn copy_to(db: &Connection, path: &Path) -> Result<(), StoreError> {
    create(path)?;
    let text = path
        .to_str()
        .ok_or_else(|| StoreError::CannotCreate { path: path.to_owned(), why: "its name is not UTF-8".into() })?;
    // Into a file that is there and empty, so that it has the mode of a store.
    db.execute("VACUUM INTO ?1", [text]).map(drop).map_err(|error| StoreError::from_sqlite(path, &error))
}

fn create(path: &Path) -> Result<(), StoreError> {
    let cannot = |at: &Path, error: &std::io::Error| match error.kind() {
        ErrorKind::StorageFull | ErrorKind::QuotaExceeded => StoreError::Full { path: path.to_owned() },
        _ => StoreError::CannotCreate { path: at.to_owned(), why: powerband_record::system_words(error) },
    };
    if let Some(folder) = path.parent().filter(|folder| !folder.as_os_str().is_empty()) {
        let made = DirBuilder::new().recursive(true).mode(0o700).create(folder);
        made.map_err(|error| cannot(folder, &error))?;
    }
    if path.is_dir() {
        return Err(StoreError::CannotOpen { path: path.to_owned(), why: "it is a folder".into() });
    }
    // SQLite gives the log and its index the mode of this file.
    match OpenOptions::new().write(true).create_new(true).mode(0o600).open(path) {
        Ok(_) => Ok(()),
        Err(error) if error.kind() == ErrorKind::AlreadyExists => Ok(()),
        Err(error) => Err(cannot(path, &error)),
    }
}

fn migrate(connection: &mut Connection, path: &Path) -> Result<(), StoreError> {
    let sqlite = |error: rusqlite::Error| StoreError::from_sqlite(path, &error);
    let version = pragma(connection, path, "user_version")?;
    if pragma(connection, path, "application_id")? == APPLICATION_ID && usize::try_from(version) == Ok(MIGRATIONS.len())
    {
        return Ok(());
    }
    // Everything else is judged under the lock: another process may be in the middle of making it.
    let transaction = connection.transaction_with_behavior(TransactionBehavior::Immediate).map_err(sqlite)?;
    let done = recognise(&transaction, path)?;
    for sql in &MIGRATIONS[done..] {
        transaction.execute_batch(sql).map_err(sqlite)?;
    }
    transaction.pragma_update(None, "application_id", APPLICATION_ID).map_err(sqlite)?;
    transaction
        .pragma_update(None, "user_version", u32::try_from(MIGRATIONS.len()).unwrap_or(u32::MAX))
        .map_err(sqlite)?;
    transaction.commit().map_err(sqlite)
}

/// How many migrations were taken, or why this is not for us.
fn recognise(connection: &Connection, path: &Path) -> Result<usize, StoreError> {
    let sqlite = |error: rusqlite::Error| StoreError::from_sqlite(path, &error);
    let (application, version) =
        (pragma(connection, path, "application_id")?, pragma(connection, path, "user_version")?);
    let tables: i64 =
        connection.query_row("SELECT count(*) FROM sqlite_schema", [], |row| row.get(0)).map_err(sqlite)?;
    if application != APPLICATION_ID && (application != 0 || version != 0 || tables != 0) {
        return Err(StoreError::NotOurs { path: path.to_owned() });
    }
    match usize::try_from(version) {
        Ok(done) if done <= MIGRATIONS.len() => Ok(done),
        _ => Err(StoreError::NewerVersion {
            path: path.to_owned(),
            found: version.unsigned_abs(),
            known: u32::try_from(MIGRATIONS.len()).unwrap_or(u32::MAX),
        }),
    }
}

fn pragma(connection: &Connection, path: &Path, name: &str) -> Result<i32, StoreError> {
    connection.pragma_query_value(None, name, |row| row.get(0)).map_err(|error| StoreError::from_sqlite(path, &error))
}
