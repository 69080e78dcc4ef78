//! Why a fleet cannot be made, run or read, sorted by what the caller can do.
use std::path::{Path, PathBuf};

use powerband_record::{ErrorClass, system_words};
use thiserror::Error;

/// Why.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum FleetError {
    /// The words that name nodes.
    #[error("{0}")]
    Nodes(String),
    /// There is no such fleet.
    #[error("{0}")]
    NoFleet(String),
    /// A file of a fleet's folder cannot be used.
    #[error("cannot {doing} {}: {why}", path.display())]
    File {
        /// What was to be done with it.
        doing: &'static str,
        /// Which.
        path: PathBuf,
        /// The system's words.
        why: String,
    },
    /// A program of the launcher is not here.
    #[error("{program} cannot be started here: {why}")]
    NoProgram {
        /// Which.
        program: String,
        /// The system's words.
        why: String,
    },
    /// A program of the launcher answered that it cannot.
    #[error("{program}: {why}")]
    Refused {
        /// Which.
        program: String,
        /// Its words.
        why: String,
    },
}

impl FleetError {
    pub(crate) fn file(doing: &'static str, path: &Path, why: &dyn std::fmt::Display) -> FleetError {
        FleetError::File { doing, path: path.to_owned(), why: system_words(why) }
    }

    /// What the caller can do about it.
    #[must_use]
    pub fn class(&self) -> ErrorClass {
        match self {
            FleetError::Nodes(_) | FleetError::NoFleet(_) => ErrorClass::Usage,
            FleetError::NoProgram { .. } => ErrorClass::Unsupported,
            FleetError::File { .. } | FleetError::Refused { .. } => ErrorClass::Aborted,
        }
    }
}
