//! Whether Open MPI's `mpirun` is where a load would have it: asked of it once, before the first trial.
use powerband_load::{Load, Mpirun};
use powerband_machine::{Job, SpawnError, User, Wake, World};
use powerband_record::{Side, Work};
use powerband_rig::Notes;

use crate::SessionError;

/// How long it may take to say its version; far beyond what it takes.
const PATIENCE_NS: u64 = 30_000_000_000;

/// Puts in the place of `auto` what there is, so that all trials start their ranks alike and the journal says how.
///
/// # Errors
/// What is asked for and missing, as not supported here.
pub(crate) fn settle(
    load: &mut Load,
    world: &mut dyn World,
    user: Option<&User>,
    notes: &mut dyn Notes,
) -> Result<(), SessionError> {
    let Load::Primes(primes) = load else { return Ok(()) };
    if primes.mpirun == Mpirun::Never {
        return Ok(());
    }
    if matches!(world.sides().first(), Some(Side::Node(_))) {
        primes.mpirun = Mpirun::Never;
        return Ok(());
    }
    let name = world.machine(Side::Near).map(|machine| machine.identity().name.clone()).unwrap_or_default();
    match (version(world, user)?, primes.mpirun) {
        (Found::Modelled, _) => {}
        (Found::Version(version), _) => {
            notes.note(format!("the ranks are started by {version}").into());
            primes.mpirun = Mpirun::Always;
        }
        (Found::None, Mpirun::Always) => {
            let sentence = format!(
                "there is no mpirun of Open MPI on {name}, by which the load 'primes' is to start its ranks; install it \
                 (openmpi-bin on Debian), or write mpirun = \"auto\""
            );
            return Err(SessionError::Unsupported(sentence));
        }
        (Found::None, _) => {
            let text = format!("the ranks are started as processes: there is no mpirun of Open MPI on {name}");
            notes.note(text.into());
            primes.mpirun = Mpirun::Never;
        }
    }
    Ok(())
}

/// What there is.
enum Found {
    /// It, by its own words.
    Version(String),
    /// None, or one of another kind.
    None,
    /// A machine that runs no programs; what starting ranks costs is part of its model.
    Modelled,
}

fn version(world: &mut dyn World, user: Option<&User>) -> Result<Found, SessionError> {
    let until_ns = world.now_ns().saturating_add(PATIENCE_NS);
    let Some(machine) = world.machine(Side::Near) else { return Ok(Found::None) };
    let work = Work::command(vec!["mpirun".into(), "--version".into()]);
    let job = Job { work, cpus: None, group: None, user: user.cloned(), output_limit: Some(4096), around: Vec::new() };
    let process = match machine.spawn(&job) {
        Ok(process) => process,
        Err(SpawnError::NotModelled { .. }) => return Ok(Found::Modelled),
        Err(_) => return Ok(Found::None),
    };
    loop {
        match world.wait(Some(until_ns)) {
            Wake::Ended(Side::Near, ended) if ended == process => break,
            Wake::Deadline => break,
            Wake::Stop(_) => return Err(SessionError::Stopped("stopped before anything was changed")),
            Wake::Lost(_, why) => return Err(SessionError::Aborted(why.to_string())),
            _ => {}
        }
    }
    let Some(machine) = world.machine(Side::Near) else { return Ok(Found::None) };
    let Some(finished) = machine.finished(process) else {
        machine.end(process, true);
        return Ok(Found::None);
    };
    let first = finished.output.stdout.lines().next().map(str::trim).unwrap_or_default();
    let is_open = finished.status.success() && first.contains("(Open MPI)");
    Ok(if is_open { Found::Version(first.to_owned()) } else { Found::None })
}
