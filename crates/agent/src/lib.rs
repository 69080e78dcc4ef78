//! What powerband is when it is not typed by a person: the process around a load, a guardian, built-in work, and the agent.
//!
//! The command and `powerband-agent` are both started by themselves and by a powerband on another machine, with the same words.
use std::ffi::OsString;
use std::path::Path;
use std::process::ExitCode;

use powerband_host::{GUARDIAN_VERB, INSIDE_VERB, SHIM_VERB};
use powerband_rig::leftovers;
pub use powerband_rig::{Service, serve};

/// Does what powerband starts itself for, by the words behind the program's name; `None` where they ask for something else.
///
/// A load's own process starts here too: the less it does before its work, the better.
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

/// The guardian of whoever holds what is in this folder.
fn guard(folder: Option<&OsString>) -> ExitCode {
    match folder.map(|folder| leftovers::guard(Path::new(folder))) {
        Some(Ok(())) => ExitCode::SUCCESS,
        _ => ExitCode::FAILURE,
    }
}

/// Built-in work, in the child process it has to itself.
fn inside(work: Option<&OsString>) -> ExitCode {
    let code = powerband_load::inside::main(work.and_then(|json| json.to_str()).unwrap_or_default());
    ExitCode::from(u8::try_from(code).unwrap_or(1))
}
