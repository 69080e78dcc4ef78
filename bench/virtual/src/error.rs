//! What can go wrong with a virtual bench, each in one sentence.
use std::path::Path;

use powerband_sim::ProfileError;
use thiserror::Error;

/// Why there is no guest, or why it does not answer.
#[derive(Error)]
#[non_exhaustive]
pub enum BenchError {
    /// A file of this machine could not be used.
    #[error("cannot {what}: {why}")]
    File {
        /// What was tried, with the path.
        what: String,
        /// What the system said.
        why: std::io::Error,
    },
    /// A program is missing or failed.
    #[error("{program}: {why}")]
    Program {
        /// Its command line, or the beginning of it.
        program: String,
        /// What it said, or what to install.
        why: String,
    },
    /// Something that must be on this machine is not.
    #[error("{0}")]
    Missing(String),
    /// The machine file is none.
    #[error(transparent)]
    Profile(#[from] ProfileError),
    /// The emulator refused a command or said what cannot be read.
    #[error("the emulator answered {command} with {answer}")]
    Emulator {
        /// The command.
        command: String,
        /// Its answer.
        answer: String,
    },
    /// The guest did not do what it should in time, or ended.
    #[error("{what}; its console:\n{console}")]
    Guest {
        /// What was waited for and what happened instead.
        what: String,
        /// The whole console, of all its boots.
        console: String,
    },
}

/// The sentence itself: tests unwrap, and nobody reads a console with its line ends escaped.
impl std::fmt::Debug for BenchError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        std::fmt::Display::fmt(self, f)
    }
}

impl BenchError {
    /// For `map_err` of what is done with a file: `cannot VERB PATH: …`.
    pub(crate) fn file<'a>(verb: &'a str, path: &'a Path) -> impl FnOnce(std::io::Error) -> BenchError + 'a {
        move |why| BenchError::File { what: format!("{verb} {}", path.display()), why }
    }
}

/// What the functions of this package answer.
pub type Result<T> = std::result::Result<T, BenchError>;
