//! `agent`: this machine in the service of a powerband at the other end of standard input and output.
use powerband_agent::{Service, serve};
use powerband_host::{Carried, Parting};

use crate::cli;
use crate::exit::{Answer, Exit, Failure};
use crate::{node_state, output};

pub(crate) fn run(args: &cli::Agent) -> Answer {
    // In a step of a Slurm job we are one of several nodes.
    if powerband_host::variable("SLURM_STEP_ID").is_some() {
        node_state::own_state()?;
    }
    let carried = if args.kept { Some(Carried::Kept) } else { args.carried.then_some(Carried::Once) };
    match serve(carried, &mut output::note)? {
        Service::Refused(class) => Ok(Exit::from(class) as u8),
        Service::Done(Parting::Ended) => Ok(Exit::Fine as u8),
        Service::Done(Parting::Stopped) => Ok(Exit::Stopped as u8),
        Service::Done(parting) => Err(Failure::new(Exit::CannotGoOn, parting)),
    }
}
