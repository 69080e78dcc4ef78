//! On which machines of a rig a knob is to be set, by what is written in front of its name.
use powerband_machine::World;
use powerband_record::{KnobRef, Setting, Side};

use crate::KnobError;

/// The machines that a knob is on, each as its rig calls it. Whether there is a far one is for the caller to see.
///
/// # Errors
/// [`KnobError::Machine`] for a machine that is not in the rig, and where a list has no near or far one.
pub fn machines_of(knob: &KnobRef, world: &mut dyn World) -> Result<Vec<Side>, KnobError> {
    let machines = world.sides();
    let is_list = machines.iter().any(|side| matches!(side, Side::Node(_)));
    let is_there = match knob.side {
        Side::All => true,
        Side::Node(_) => machines.contains(&knob.side),
        Side::Near | Side::Far | Side::Both => !is_list,
    };
    if is_there {
        return Ok(world.covered(knob.side));
    }
    let names = if is_list { machines.iter().map(ToString::to_string).collect() } else { Vec::new() };
    Err(KnobError::Machine { knob: knob.to_string(), name: knob.name.clone(), machines: names })
}

/// That each knob of machines in a setting is on machines of this rig.
///
/// # Errors
/// As [`machines_of`], for the first that is not.
pub fn check_machines(setting: &Setting, world: &mut dyn World) -> Result<(), KnobError> {
    let mut of_machines = setting.assignments.iter().filter(|assignment| assignment.knob.of_load().is_none());
    of_machines.try_for_each(|assignment| machines_of(&assignment.knob, world).map(|_| ()))
}
