//! The program `powerband`: the command with this process's words, surroundings and streams, and the roles it starts itself in.
use std::ffi::OsString;
use std::process::ExitCode;

use powerband::{Streams, Surroundings};

fn main() -> ExitCode {
    powerband_host::heed_children();
    if let Some(code) = powerband_agent::hidden_verb() {
        return code;
    }
    let words: Vec<OsString> = std::env::args_os().collect();
    ExitCode::from(powerband::run(&words, Surroundings::of_process(), &mut Streams::of_process()))
}
