//! Files the user names: every verb reads them here, each kind up to its limit (docs/report.md has the table).
use std::path::Path;

use powerband_host::{InputError, read_input};

use crate::exit::{Exit, Failure, usage};

/// Plans, files of knobs and of machines, descriptions of tables, kernel configurations: what people write, bytes.
pub(crate) const WRITTEN: u64 = 1 << 20;

/// Tables of measurements and pages: what programs write, bytes.
pub(crate) const MEASURED: u64 = 64 << 20;

/// The bytes of a file; `what` is what it should be, `the plan`.
pub(crate) fn bytes(path: &Path, what: &str, limit_bytes: u64) -> Result<Vec<u8>, Failure> {
    let name = named(path, what);
    read_input(path, limit_bytes).map_err(|error| match error {
        InputError::Stopped => {
            Failure::new(Exit::Stopped, format!("stopped while {name} was read; nothing is changed"))
        }
        InputError::TooLarge { .. } => usage(format!("{name} cannot be used: {error}; name a smaller file")),
        error => usage(format!("cannot read {name}: {error}")),
    })
}

/// The same as text.
pub(crate) fn text(path: &Path, what: &str, limit_bytes: u64) -> Result<String, Failure> {
    let bytes = bytes(path, what, limit_bytes)?;
    String::from_utf8(bytes).map_err(|_| usage(format!("cannot read {}: it is not text (UTF-8)", named(path, what))))
}

fn named(path: &Path, what: &str) -> String {
    let path = path.display();
    if what.is_empty() { path.to_string() } else { format!("{what} {path}") }
}
