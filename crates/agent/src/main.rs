//! `powerband-agent`: arguments and exit codes of the agent, which serves a powerband connected to its standard input and output.
use std::io::Write as _;
use std::process::ExitCode;

use powerband_agent::{Service, hidden_verb, serve};
use powerband_host::{Carried, Parting};
use powerband_rig::Note;

const USAGE: &str = "usage: powerband-agent [agent]\n\
Serves a powerband on another machine, which starts it and is connected to its standard input and output. Example:\n\
  powerband --far 'cmd:ssh board powerband-agent' run PLAN\n";

/// Exit code as that of the command: aborted.
const ABORTED: u8 = 8;
/// Exit code as that of the command: stopped by a signal.
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
        // The owner prints the reason.
        Ok(Service::Refused(_)) => ABORTED,
        Ok(Service::Done(parting)) => {
            say(&parting.to_string());
            ABORTED
        }
        Err(error) => {
            say(&error.to_string());
            ABORTED
        }
    };
    ExitCode::from(code)
}

fn say(sentence: &str) {
    let _ = writeln!(std::io::stderr(), "powerband-agent: {sentence}");
}
