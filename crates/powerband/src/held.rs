//! What a verb holds on the machines of a rig: whether a guardian would restore it, and restoring it.
use powerband_knob::{Applied, Restored, restore};
use powerband_machine::World;
use powerband_record::Side;

use crate::exit::Failure;
use crate::{incomplete, rig};

/// Why nobody would restore one of these settings if its owner were killed.
pub(crate) fn unguarded(world: &mut dyn World, in_force: &[(Side, Applied)]) -> Option<String> {
    in_force.iter().find_map(|(side, _)| world.machine(*side)?.unguarded())
}

/// Restores what was held on each side, newest first; all of it, whatever fails.
///
/// # Errors
/// As [`incomplete::check`] says.
pub(crate) fn put_back(world: &mut dyn World, in_force: &[(Side, Applied)], names: &rig::Names) -> Result<(), Failure> {
    let mut all = Restored::default();
    for (side, applied) in in_force.iter().rev() {
        if rig::is_lost(world, *side) {
            continue;
        }
        let Some(machine) = world.machine(*side) else { continue };
        let mut restored = restore(machine, &applied.entries, false);
        restored.wait_for_limits(world, *side);
        // A lost machine restores by itself, and what it did not answer is no outcome.
        if !rig::is_lost(world, *side) {
            all.extend(restored);
        }
    }
    incomplete::check(&all, names)
}
