//! `fleet`: one plan on many nodes.
mod answer;
mod cancel;
mod conducting;
mod keep;
mod report;
mod resume;
mod start;
mod status;
mod table;
mod task;

use std::path::PathBuf;

use powerband_fleet::{Children, Fleet, FleetError, Folder, Launcher, Slurm, Via};

#[cfg(test)]
pub(crate) use status::FleetStatus;

use crate::cli::{self, FleetVerb, OneFleet, Shared};
use crate::exit::{Answer, Failure};

pub(crate) fn run(shared: &Shared, args: &cli::Fleet) -> Answer {
    match &args.verb {
        FleetVerb::Run(args) => start::run(shared, args),
        FleetVerb::Status(args) => status::run(shared, args),
        FleetVerb::Cancel(args) => cancel::run(shared, args),
        FleetVerb::Report(args) => report::run(shared, args),
        FleetVerb::Resume(args) => resume::run(shared, args),
        FleetVerb::Table(args) => table::run(shared, args),
        FleetVerb::Task(args) => task::run(shared, args),
    }
}

impl From<FleetError> for Failure {
    fn from(error: FleetError) -> Failure {
        let next = match &error {
            FleetError::NoProgram { program, .. } if program != "/bin/sh" => {
                "; without Slurm, name a command that runs a command on a node, e.g. --launcher 'ssh {node}'"
            }
            _ => "",
        };
        Failure::new(error.class().into(), format!("{error}{next}"))
    }
}

/// Where fleets are kept whose folder nobody named, and where those of named folders are found again.
fn home() -> Result<PathBuf, Failure> {
    Ok(powerband_rig::store_folder()?.join("fleets"))
}

/// The fleet that was named, with its folder.
fn find(args: &OneFleet) -> Result<(Folder, Fleet), Failure> {
    find_named(&args.fleet)
}

fn find_named(text: &str) -> Result<(Folder, Fleet), Failure> {
    let folder = Folder::find(&home()?, text)?;
    let fleet = folder.fleet()?;
    Ok((folder, fleet))
}

/// What starts the tasks of a fleet.
fn launcher(fleet: &Fleet) -> Box<dyn Launcher> {
    match &fleet.via {
        Via::Slurm { partition, options } => Box::new(Slurm::new(partition.clone(), options.clone())),
        Via::Command { command } => Box::new(Children::new(command)),
    }
}
