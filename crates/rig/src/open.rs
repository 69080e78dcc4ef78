//! Opening a rig by the names of its machines: simulated ones here, real ones in `real.rs`.
use crate::machine_name::simulated;
use crate::rig::{lock_all, simulated_folder};
use crate::{LedgerLocation, Names, Notes, Opening, Rig, RigError, leftovers, real};
use powerband_host::FileLedger;
use powerband_machine::wire::Purpose;

/// Opens the machines of a rig.
///
/// # Errors
/// [`RigError`]: names of no machines, machines that are held by others, cannot be reached, or cannot be used this way.
pub fn open(names: &Names, opening: &Opening<'_>, notes: &mut dyn Notes) -> Result<Rig, RigError> {
    if !names.nodes.is_empty() {
        let simulated = names.sides().filter(|(_, name)| simulated(name).is_some()).count();
        return match simulated {
            0 => real::open(names, opening, notes),
            all if all == names.nodes.len() => open_simulated(names, opening, notes),
            _ => Err(RigError::MixedClocks),
        };
    }
    match (simulated(&names.near), names.far.as_deref().map(|far| (far, simulated(far)))) {
        (Some(_), None | Some((_, Some(_)))) => open_simulated(names, opening, notes),
        (None, Some((_, Some(_)))) | (Some(_), Some((_, None))) => Err(RigError::MixedClocks),
        (None, Some(("local", None))) if names.here() => Err(RigError::OwnPeer),
        (None, _) => real::open(names, opening, notes),
    }
}

fn open_simulated(names: &Names, opening: &Opening<'_>, notes: &mut dyn Notes) -> Result<Rig, RigError> {
    let purpose = opening.purpose;
    // Noise matters to trials alone; what is set must be found again whatever --seed the next command is given.
    let seed = if opening.from_boot { opening.seed.or(names.seed()?).unwrap_or(1) } else { 1 };
    let mut world = names.simulated_world(seed)?;
    let interrupts = powerband_host::interrupts().map_err(RigError::World)?;
    world.interrupt_source(Box::new(interrupts));
    if opening.from_boot {
        return Ok(Rig { world: Box::new(world), ledgers: Vec::new(), locks: Vec::new(), noted: Vec::new() });
    }
    // What was set on a simulated machine is its ledger, done again on the fresh boot.
    let mut ledgers: Vec<LedgerLocation> = Vec::new();
    for (side, name) in names.sides() {
        let folder = simulated_folder(name)?;
        if ledgers.iter().any(|known| known.folder == folder) {
            return Err(RigError::SameSimulated(simulated(name).unwrap_or_default().to_owned()));
        }
        ledgers.push(LedgerLocation::here(side, folder));
    }
    let locks = if purpose.only_looks() { Vec::new() } else { lock_all(&ledgers, opening)? };
    for LedgerLocation { side, folder, .. } in &ledgers {
        let store = Box::new(FileLedger::new(folder));
        world.keep_ledger(*side, store).map_err(|error| RigError::Boot(error.to_string()))?;
    }
    if purpose == Purpose::Turn {
        leftovers::clear(&mut world, &ledgers, notes)?;
    }
    Ok(Rig { world: Box::new(world), ledgers, locks, noted: Vec::new() })
}
