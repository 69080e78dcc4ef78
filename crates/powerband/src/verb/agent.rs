//! `agent`: this machine in the service of a powerband at the other end of standard input and output.
use std::os::unix::ffi::OsStrExt;

use powerband_host::{Agent, Parting};
use powerband_machine::wire::Refusal;
use powerband_rig::Served;

use crate::cli;
use crate::exit::{Answer, Exit, Failure, hinted};
use crate::output;

pub(crate) fn run(args: &cli::Agent) -> Answer {
    if args.carried {
        remove_carried();
    }
    let agent = Agent::at_stdio().map_err(|error| hinted(Exit::CannotGoOn, &error, error.hint().as_ref()))?;
    let served = match Served::open(agent.hello(), &mut output::note) {
        Ok(served) => served,
        Err(error) => {
            let failure = Failure::from(error);
            let exit = failure.exit as u8;
            // The owner says it; said here too it would stand there twice.
            agent.refuse(Refusal { exit, why: failure.sentence });
            return Ok(exit);
        }
    };
    match served.serve(agent)? {
        Parting::Ended => Ok(Exit::Fine as u8),
        Parting::Stopped => Ok(Exit::Stopped as u8),
        Parting::Silent => {
            Err(Failure::new(Exit::CannotGoOn, "the other end was silent for too long; everything was restored"))
        }
        Parting::Nonsense(why) => Err(Failure::new(Exit::CannotGoOn, why)),
    }
}

/// Our own program and its folder, which were made for this run alone. What runs needs neither.
fn remove_carried() {
    let Ok(program) = std::fs::read_link("/proc/self/exe") else { return };
    let Some(folder) = program.parent() else { return };
    let is_ours = folder.file_name().is_some_and(|name| name.as_bytes().starts_with(b"powerband."));
    if is_ours && std::fs::remove_file(&program).is_ok() {
        let _ = std::fs::remove_dir(folder);
    }
}
