//! Roles that powerband starts itself in: the process around a load, the guardian, built-in work, and the agent.
//!
//! The command and `powerband-agent` share them, because each starts itself again, and either may be the agent of a peer.
use std::ffi::OsString;
use std::path::Path;
use std::process::ExitCode;

use powerband_host::{GUARDIAN_VERB, INSIDE_VERB, SHIM_VERB};
use powerband_rig::leftovers;
pub use powerband_rig::{Service, serve};

/// Runs the role that the first argument names; `None` without one.
///
/// The process of a load starts here too, so nothing that costs time comes first.
#[must_use]
pub fn hidden_verb() -> Option<ExitCode> {
    let words: Vec<OsString> = std::env::args_os().skip(1).take(2).collect();
    match words.first()?.to_str()? {
        SHIM_VERB => powerband_host::shim_main(&words[1..]),
        GUARDIAN_VERB => Some(guard(words.get(1))),
        INSIDE_VERB => Some(inside(words.get(1))),
        _ => None,
    }
}

/// Guards the changes in the ledger of this folder until their owner ends.
fn guard(folder: Option<&OsString>) -> ExitCode {
    match folder.map(|folder| leftovers::guard(Path::new(folder))) {
        Some(Ok(())) => ExitCode::SUCCESS,
        _ => ExitCode::FAILURE,
    }
}

/// Does built-in work, in a child process of its own.
fn inside(work: Option<&OsString>) -> ExitCode {
    let code = powerband_load::inside::main(work.and_then(|json| json.to_str()).unwrap_or_default());
    ExitCode::from(u8::try_from(code).unwrap_or(1))
}
