//! The text file for node_exporter: written next to its place and moved there, so that nobody reads half of it.
use std::path::{Path, PathBuf};

use super::WatchError;
use super::error::unwritable;

/// Writes it.
///
/// # Errors
/// [`WatchError`] names the file.
pub fn write_metrics(path: &Path, text: &str) -> Result<(), WatchError> {
    let beside = beside(path);
    let written = powerband_host::with_rights_for(path, || {
        std::fs::write(&beside, text).and_then(|()| std::fs::rename(&beside, path)).inspect_err(|_| {
            // What cannot be put in place is not left lying about.
            let _ = std::fs::remove_file(&beside);
        })
    });
    written.map_err(|error| unwritable(path, error))
}

/// `.powerband.prom.4711.new`: node_exporter reads what ends with `.prom`.
fn beside(path: &Path) -> PathBuf {
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    path.with_file_name(format!(".{name}.{}.new", std::process::id()))
}
