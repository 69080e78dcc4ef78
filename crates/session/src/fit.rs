//! Whether a load fits the rig: what a machine has no program, no model or no address for is refused before anything is set.
use powerband_load::{Load, RigEnds as Ends};
use powerband_machine::World;
use powerband_record::{Side, Work};
use powerband_rig::{MachineName, Names, profile};

use crate::SessionError;

/// What built-in work does needs our own program where it runs.
pub(crate) fn check_shells(load: &Load, world: &mut dyn World) -> Result<(), SessionError> {
    let ends = Ends { near: String::new(), far: world.machine(Side::Far).map(|_| String::new()) };
    let parts = load.parts_on(&ends, &world.sides());
    for part in parts.iter().filter(|part| !matches!(part.work, Work::Command { .. } | Work::Idle { .. })) {
        let Some(name) = world.machine(part.side).map(|machine| machine.identity().name.clone()) else { continue };
        if matches!(MachineName::of(&name), Some(MachineName::Shell { .. })) {
            let sentence = format!(
                "the load '{}' needs powerband on {name}, where there is only a shell; name that machine ssh:HOST, \
                 cmd:COMMAND or sh+agent:COMMAND, or take a command as load",
                load.describe()
            );
            return Err(SessionError::Unsupported(sentence));
        }
    }
    Ok(())
}

/// A simulated machine runs only what it has a model for.
pub(crate) fn check_models(names: &Names, load: &Load) -> Result<(), SessionError> {
    let far = names.far().and_then(simulated);
    let machines: Vec<Side> = names.sides().map(|(side, _)| side).collect();
    if matches!(machines.first(), Some(Side::Node(_))) {
        check_list(load)?;
    }
    let parts = load.parts_on(&Ends { near: String::new(), far: far.map(|_| String::new()) }, &machines);
    for part in parts {
        let name = names.of(part.side).and_then(simulated);
        let Some(name) = name else { continue };
        let modelled = profile(name)?.models(&part.work);
        modelled.map_err(|error| SessionError::Unsupported(error.to_string()))?;
    }
    Ok(())
}

/// What a list of machines cannot run: the ends of a link, and ranks of which nobody knows how many there are.
fn check_list(load: &Load) -> Result<(), SessionError> {
    match load.not_on_list() {
        Some(why) => Err(SessionError::Usage(format!("the load '{}' {why}", load.describe()))),
        None => Ok(()),
    }
}

/// A load with two ends needs to know where they are.
pub(crate) fn check_addresses(load: &Load, world: &mut dyn World) -> Result<(), SessionError> {
    let mut of = |side| world.machine(side).map(|machine| machine.identity().clone());
    let (Some(near), Some(far)) = (of(Side::Near), of(Side::Far)) else { return Ok(()) };
    let ends = Ends { near: near.address.clone(), far: Some(far.address.clone()) };
    if load.parts(&ends).iter().all(|part| part.side == Side::Near) && !load.names_far() {
        return Ok(());
    }
    match [far, near].into_iter().find(|machine| machine.address.is_empty()) {
        None => Ok(()),
        Some(unknown) => Err(SessionError::Usage(format!(
            "the load '{}' needs the address of {}, which is not known; write it into the name, e.g. cmd@10.0.0.2:COMMAND",
            load.describe(),
            unknown.name
        ))),
    }
}

/// The profile name of a simulated machine.
fn simulated(name: &str) -> Option<&str> {
    match MachineName::of(name) {
        Some(MachineName::Simulated(profile)) => Some(profile),
        _ => None,
    }
}
