//! What a person should know of the delivery to a shared store.
use std::path::PathBuf;

use powerband_record::Hint;
use thiserror::Error;

/// Something about a delivery; no reason to end an experiment.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum Notice {
    /// The database could not be reached when the experiment began.
    #[error("{place} cannot be reached ({why}); the experiment is written to {journal} and delivered later", journal = journal.display())]
    Away {
        /// The shared store.
        place: String,
        /// Why.
        why: String,
        /// The local file.
        journal: PathBuf,
    },
    /// It was delivered after all, under another number than here.
    #[error("{place} can be reached again and has it as experiment {number}")]
    Delivered {
        /// The shared store.
        place: String,
        /// Its number there.
        number: i64,
    },
    /// At its end, part of the experiment is in the local file alone.
    #[error("the experiment is not all delivered to {place} ({why}); it is experiment {id} of {journal}", journal = journal.display())]
    Undelivered {
        /// The shared store.
        place: String,
        /// Why.
        why: String,
        /// The local file.
        journal: PathBuf,
        /// Its number there.
        id: i64,
    },
}

impl Notice {
    /// What a person can do.
    #[must_use]
    pub fn hint(&self) -> Option<Hint> {
        match self {
            Notice::Undelivered { .. } => Some(Hint::PushStore),
            _ => None,
        }
    }
}
