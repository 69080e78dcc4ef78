//! The guardian's verb: when its owner is dead, puts back what it held, as the next command would.
use std::ffi::OsString;
use std::path::Path;
use std::process::ExitCode;

use powerband_host::{LocalMachine, stand_guard};
use powerband_knob::restore;

use crate::left;

/// Waits for the owner's end. What cannot be put back, and what is damaged, stays in the ledger, and the next command that
/// turns or measures says so: there is nobody here to tell.
pub(crate) fn main(folder: Option<&OsString>) -> ExitCode {
    let Some(folder) = folder.map(Path::new) else { return ExitCode::FAILURE };
    let Some(taken) = stand_guard(folder) else { return ExitCode::SUCCESS };
    let Ok(mut machine) = LocalMachine::new(taken.ledger.clone()) else { return ExitCode::FAILURE };
    let entries = left::held(&*machine);
    let restored = restore(&mut *machine, &entries, false);
    if !restored.failed.is_empty() {
        return ExitCode::FAILURE;
    }
    drop(machine);
    taken.end();
    ExitCode::SUCCESS
}
