//! What can go wrong with the store, by what the caller can do about it; one sentence each, with what to do next.
use std::path::{Path, PathBuf};

use powerband_record::{ErrorClass, Hint};
use rusqlite::ErrorCode;
use rusqlite::ffi::{SQLITE_IOERR_SHMMAP, SQLITE_IOERR_SHMSIZE};
use thiserror::Error;

/// Why the store did not do what was asked.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum StoreError {
    /// The folder or the file could not be made.
    #[error("cannot create {path}: {why}", path = path.display())]
    CannotCreate {
        /// Folder or file.
        path: PathBuf,
        /// The system's words.
        why: String,
    },
    /// The file is there but cannot be opened or written.
    #[error("cannot open {path}: {why}; check who owns it, or name another place with --store", path = path.display())]
    CannotOpen {
        /// The file.
        path: PathBuf,
        /// The system's words.
        why: String,
    },
    /// No space left. What was stored before is intact.
    #[error("the disk that holds {path} is full; everything stored before is kept, make room and go on", path = path.display())]
    Full {
        /// The file.
        path: PathBuf,
    },
    /// Not the file that was opened: somebody deleted, moved or replaced it since. What was written so far is kept by us until
    /// it is saved.
    #[error("{path} was deleted, moved or replaced while powerband wrote to it", path = path.display())]
    Displaced {
        /// The file.
        path: PathBuf,
    },
    /// Written by a newer powerband.
    #[error(
        "{path} was written by a newer powerband (store version {found}, this one knows {known})",
        path = path.display()
    )]
    NewerVersion {
        /// The file.
        path: PathBuf,
        /// Its `user_version`.
        found: u32,
        /// The newest this powerband can read.
        known: u32,
    },
    /// An SQLite file of somebody else.
    #[error("{path} is a database of another program", path = path.display())]
    NotOurs {
        /// The file.
        path: PathBuf,
    },
    /// Damaged, or no SQLite file.
    #[error("{path} is damaged or not a powerband store ({why}); move it away and powerband begins a new one", path = path.display())]
    Corrupt {
        /// The file.
        path: PathBuf,
        /// SQLite's words.
        why: String,
    },
    /// Another process holds it for longer than we wait.
    #[error("{path} is being written by another process; wait for it and try again", path = path.display())]
    Locked {
        /// The file.
        path: PathBuf,
    },
    /// No such number, or not a number.
    #[error("there is no experiment {0} here")]
    NoExperiment(String),
    /// `last` of an empty store.
    #[error("there is no experiment here yet")]
    Empty,
    /// Between looking and writing, somebody else went on with it.
    #[error("experiment {0} was just resumed by another process")]
    Changed(i64),
    /// Neither `last` nor a number.
    #[error("'{0}' is not an experiment; write its number or `last`")]
    NotAnId(String),
    /// An event that cannot be kept such that it reads back, e.g. with a value that is not a number.
    #[error("event {seq} of experiment {experiment} cannot be stored: {why}; please report this")]
    Unstorable {
        /// Experiment.
        experiment: i64,
        /// Its place.
        seq: i64,
        /// What is wrong with it.
        why: String,
    },
    /// A stored line this version does not understand.
    #[error("event {seq} of experiment {experiment} cannot be read: {why}; a newer powerband may read it")]
    Unreadable {
        /// Experiment.
        experiment: i64,
        /// Its place; -1 for the header.
        seq: i64,
        /// What is wrong with it.
        why: String,
    },
    /// This powerband cannot use PostgreSQL.
    #[error(
        "this powerband was built without PostgreSQL, so that {place} cannot be used; build it with `cargo install --path crates/powerband --features postgresql`"
    )]
    NoPostgresql {
        /// The shared store.
        place: String,
    },
    /// What was given as a URL is none, or names what cannot be.
    #[error("{place} is no address of a PostgreSQL database: {why}; write e.g. postgresql://user@host/database")]
    BadUrl {
        /// The shared store.
        place: String,
        /// What is wrong with it.
        why: String,
    },
    /// The database does not answer, or cannot take anything now. It may later.
    #[error("{place} cannot be reached: {why}; try again later, or name another place with --store")]
    Unreachable {
        /// The shared store.
        place: String,
        /// Why.
        why: String,
    },
    /// The database knows the user not, or gives it no such right.
    #[error("{place} refused: {why}; check the user, the password and the user's rights there")]
    Denied {
        /// The shared store.
        place: String,
        /// Its words.
        why: String,
    },
    /// The database answers, and cannot be used so.
    #[error("{place} cannot be used: {why}")]
    Server {
        /// The shared store.
        place: String,
        /// Its words.
        why: String,
    },
    /// The same event of the same experiment says something else there.
    #[error(transparent)]
    Differs(Box<Difference>),
    /// The same experiment was resumed here and there, each without the other.
    #[error("experiment {run} was resumed here and, differently, in {place}; nothing of it was delivered")]
    Forked {
        /// The experiment's key.
        run: String,
        /// The store it was to go to.
        place: String,
    },
    /// Anything else, in SQLite's words.
    #[error("{path} could not be read or written: {why}; check the disk it is on", path = path.display())]
    Io {
        /// The file.
        path: PathBuf,
        /// SQLite's words.
        why: String,
    },
}

/// An event that is in two stores and not the same in both.
#[derive(Debug, Error)]
#[error(
    "event {seq} of experiment {run} is another one in {place}: it has `{theirs}` there and `{ours}` here; nothing of this \
     experiment was delivered"
)]
pub struct Difference {
    /// The experiment's key.
    pub run: String,
    /// The event's number.
    pub seq: i64,
    /// The store it was to go to.
    pub place: String,
    /// The event there, shortened.
    pub theirs: String,
    /// The event that was to go there, shortened.
    pub ours: String,
}

impl StoreError {
    /// What a person can do, where the sentence does not say it.
    #[must_use]
    pub fn hint(&self) -> Option<Hint> {
        Some(match self {
            StoreError::CannotCreate { .. } | StoreError::NotOurs { .. } => Hint::OtherStore,
            StoreError::NewerVersion { .. } => Hint::Update,
            StoreError::NoExperiment(_) => Hint::ListExperiments,
            StoreError::Empty => Hint::MakeExperiment,
            StoreError::Changed(_) => Hint::ListStates,
            _ => return None,
        })
    }

    /// What the caller can do.
    #[must_use]
    pub fn class(&self) -> ErrorClass {
        match self {
            StoreError::NoPostgresql { .. } => ErrorClass::Unsupported,
            StoreError::BadUrl { .. } => ErrorClass::Usage,
            StoreError::Denied { .. } => ErrorClass::Denied,
            _ => ErrorClass::Aborted,
        }
    }

    /// Sorts SQLite's result codes by what can be done about them.
    pub(crate) fn from_sqlite(path: &Path, error: &rusqlite::Error) -> Self {
        let path = path.to_owned();
        let why = error.to_string();
        let Some(&rusqlite::ffi::Error { code, extended_code }) = error.sqlite_error() else {
            return StoreError::Io { path, why };
        };
        match code {
            ErrorCode::DiskFull => StoreError::Full { path },
            // The shared index next to the log grows by truncation and page-wise writes; only a full disk refuses those.
            ErrorCode::SystemIoFailure if matches!(extended_code, SQLITE_IOERR_SHMSIZE | SQLITE_IOERR_SHMMAP) => {
                StoreError::Full { path }
            }
            ErrorCode::DatabaseCorrupt | ErrorCode::NotADatabase => StoreError::Corrupt { path, why },
            ErrorCode::DatabaseBusy | ErrorCode::DatabaseLocked => StoreError::Locked { path },
            ErrorCode::CannotOpen | ErrorCode::PermissionDenied | ErrorCode::ReadOnly => {
                StoreError::CannotOpen { path, why }
            }
            _ => StoreError::Io { path, why },
        }
    }
}
