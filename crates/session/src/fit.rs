//! Whether a load fits the rig: what a machine has no program, no model or no address for is refused before anything is set.
use powerband_load::{Load, Rig as Ends};
use powerband_machine::World;
use powerband_record::{Side, Work};
use powerband_rig::{MachineName, Names, profile};

use crate::SessionError;

/// What built-in work does needs our own program where it runs.
pub(crate) fn check_shells(load: &Load, world: &mut dyn World) -> Result<(), SessionError> {
    let parts = load.parts(&Ends { near: String::new(), far: world.machine(Side::Far).map(|_| String::new()) });
    for part in parts.iter().filter(|part| !matches!(part.work, Work::Command { .. } | Work::Idle { .. })) {
        let Some(name) = world.machine(part.side).map(|machine| machine.identity().name.clone()) else { continue };
        if matches!(MachineName::of(&name), Some(MachineName::Shell { .. })) {
            let sentence = format!(
                "the load '{}' needs powerband on {name}, where there is only a shell; name that machine ssh:HOST or \
                 cmd:COMMAND, or take a command as load",
                load.describe()
            );
            return Err(SessionError::Unsupported(sentence));
        }
    }
    Ok(())
}

/// A simulated machine runs only what it has a model for.
pub(crate) fn check_models(names: &Names, load: &Load) -> Result<(), SessionError> {
    if !names.simulated() {
        return Ok(());
    }
    let far = names.far().and_then(simulated);
    let parts = load.parts(&Ends { near: String::new(), far: far.map(|_| String::new()) });
    for part in parts {
        let name = if part.side == Side::Far { far } else { simulated(names.near()) };
        let Some(name) = name else { continue };
        let modelled = profile(name)?.models(&part.work);
        modelled.map_err(|error| SessionError::Unsupported(error.to_string()))?;
    }
    Ok(())
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
