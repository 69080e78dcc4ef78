//! Why watching ends early.
use std::io::{Error, ErrorKind};
use std::path::{Path, PathBuf};

use powerband_record::{ErrorClass, system_words};
use powerband_rig::RigError;
use thiserror::Error as ThisError;

/// Why watching ends early.
#[derive(Debug, ThisError)]
#[non_exhaustive]
pub enum WatchError {
    /// The machine.
    #[error(transparent)]
    Rig(#[from] RigError),
    /// The machine was lost, and does not say why.
    #[error("the machine was lost")]
    Lost,
    /// A file cannot be written.
    #[error("cannot write {path}: {}", system_words(.error), path = path.display())]
    Unwritable {
        /// The file.
        path: PathBuf,
        /// Why.
        error: Error,
    },
    /// The terminal cannot be used.
    #[error("this terminal cannot be used: {}", system_words(.0))]
    Terminal(Error),
    /// The terminal is gone.
    #[error("stopped: the terminal is gone")]
    TerminalGone,
}

impl WatchError {
    /// What the caller can do.
    #[must_use]
    pub fn class(&self) -> ErrorClass {
        match self {
            WatchError::Rig(error) => error.class(),
            WatchError::Unwritable { error, .. } if error.kind() == ErrorKind::PermissionDenied => ErrorClass::Denied,
            WatchError::TerminalGone => ErrorClass::Stopped,
            WatchError::Lost | WatchError::Unwritable { .. } | WatchError::Terminal(_) => ErrorClass::Aborted,
        }
    }
}

/// The error of a file that cannot be written.
pub(super) fn unwritable(path: &Path, error: Error) -> WatchError {
    WatchError::Unwritable { path: path.to_owned(), error }
}
