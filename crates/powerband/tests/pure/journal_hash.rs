//! Hashes of journals, which are the same on every machine and in every build.
use std::path::{Path, PathBuf};

/// FNV-1a of lines, each with its end.
pub(crate) fn fnv1a(lines: &[String]) -> u64 {
    let bytes = lines.iter().flat_map(|line| line.bytes().chain([b'\n']));
    bytes.fold(0xcbf2_9ce4_8422_2325, |hash, byte| (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3))
}

/// A file with a line for each plan and seed: FNV-1a of the events, the header left out. Anyone who changes a model, a plan or the
/// statistics on purpose writes it anew with POWERBAND_WRITE_DOCS=1 and POWERBAND_SWEEP=1.
pub(crate) fn known_journals() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/pure/expected/journals.txt")
}

/// The line of that file for a run.
pub(crate) fn line(plan: &str, seed: u32, events: &[String]) -> String {
    format!("{plan} {seed} {:016x}", fnv1a(events))
}
