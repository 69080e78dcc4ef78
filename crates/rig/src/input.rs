//! Files that a user names: each kind is read up to its limit (docs/report.md has the table).
use std::path::Path;

use powerband_host::{InputError, read_input};
use thiserror::Error;

/// Plans, files of knobs and of machines, descriptions of tables, kernel configurations: what people write, bytes.
pub const MAX_WRITTEN_BYTES: u64 = 1 << 20;

/// Tables of measurements and pages: what programs write, bytes.
pub const MAX_MEASURED_BYTES: u64 = 64 << 20;

/// Why a file that was named is no input.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum FileError {
    /// A signal came while it was read.
    #[error("stopped while {name} was read; nothing is changed")]
    Stopped {
        /// What it should be, and its path.
        name: String,
    },
    /// There is more of it than its kind may have.
    #[error("{name} cannot be used: {error}; name a smaller file")]
    TooLarge {
        /// What it should be, and its path.
        name: String,
        /// Its limit, in words.
        error: InputError,
    },
    /// It cannot be read.
    #[error("cannot read {name}: {error}")]
    Unreadable {
        /// What it should be, and its path.
        name: String,
        /// Why.
        error: InputError,
    },
    /// It is not text.
    #[error("cannot read {name}: it is not text (UTF-8)")]
    NotText {
        /// What it should be, and its path.
        name: String,
    },
}

/// The bytes of a file; `what` is what it should be, `the plan`.
///
/// # Errors
/// [`FileError`].
pub fn read_bytes(path: &Path, what: &str, limit_bytes: u64) -> Result<Vec<u8>, FileError> {
    let name = named(path, what);
    read_input(path, limit_bytes).map_err(|error| match error {
        InputError::Stopped => FileError::Stopped { name },
        error @ InputError::TooLarge { .. } => FileError::TooLarge { name, error },
        error => FileError::Unreadable { name, error },
    })
}

/// The same as text.
///
/// # Errors
/// [`FileError`].
pub fn read_text(path: &Path, what: &str, limit_bytes: u64) -> Result<String, FileError> {
    let bytes = read_bytes(path, what, limit_bytes)?;
    String::from_utf8(bytes).map_err(|_| FileError::NotText { name: named(path, what) })
}

fn named(path: &Path, what: &str) -> String {
    let path = path.display();
    if what.is_empty() { path.to_string() } else { format!("{what} {path}") }
}
