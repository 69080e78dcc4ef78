//! `powerband-agent`: this machine in the service of a powerband at the other end of standard input and output.
use std::io::Write as _;
use std::process::ExitCode;

use powerband_agent::{Service, hidden_verb, serve};
use powerband_host::{Carried, Parting};
use powerband_rig::Note;

const USAGE: &str = "usage: powerband-agent [agent]\n\
Serves a powerband on another machine through its standard input and output; that one starts it:\n\
  powerband --far 'cmd:ssh board powerband-agent' run PLAN\n";

/// The command's exit codes: could not go on, and stopped.
const CANNOT_GO_ON: u8 = 8;
const STOPPED: u8 = 130;

fn main() -> ExitCode {
    powerband_host::heed_children();
    if let Some(code) = hidden_verb() {
        return code;
    }
    let words: Vec<String> = std::env::args().skip(1).collect();
    let carried = match words.iter().map(String::as_str).collect::<Vec<_>>()[..] {
        [] | ["agent"] => None,
        ["agent", "--carried"] => Some(Carried::Once),
        ["agent", "--kept"] => Some(Carried::Kept),
        ["--version"] => {
            let _ = writeln!(std::io::stdout(), "powerband-agent {}", env!("CARGO_PKG_VERSION"));
            return ExitCode::SUCCESS;
        }
        ["--help" | "-h"] => {
            let _ = write!(std::io::stdout(), "{USAGE}");
            return ExitCode::SUCCESS;
        }
        _ => {
            let _ = write!(std::io::stderr(), "{USAGE}");
            return ExitCode::from(2);
        }
    };
    let code = match serve(carried, &mut |note: Note| say(&note.text)) {
        Ok(Service::Done(Parting::Ended)) => return ExitCode::SUCCESS,
        Ok(Service::Done(Parting::Stopped)) => STOPPED,
        // The owner has the reason, and says it.
        Ok(Service::Refused(_)) => CANNOT_GO_ON,
        Ok(Service::Done(parting)) => {
            say(&parting.to_string());
            CANNOT_GO_ON
        }
        Err(error) => {
            say(&error.to_string());
            CANNOT_GO_ON
        }
    };
    ExitCode::from(code)
}

fn say(sentence: &str) {
    let _ = writeln!(std::io::stderr(), "powerband-agent: {sentence}");
}
