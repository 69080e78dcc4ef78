//! What a plan asks to be kept of the machines' CPUs while a load runs: read from its words, tried before the start.
use powerband_knob::Selection;
use powerband_machine::World;
use powerband_meter::OpenCourses;
use powerband_record::{Recording, Side};

use crate::{Plan, PlanError};

/// The courses a plan asks for, each of which its machine can tell.
///
/// # Errors
/// [`PlanError::Quantity`] where one cannot be read or is asked for twice, [`PlanError::NoFigure`] where a machine cannot
/// tell it.
pub(crate) fn recordings(plan: &Plan, world: &mut dyn World, narrow: &Selection) -> Result<Vec<Recording>, PlanError> {
    let wrong = |why: String| PlanError::Quantity { key: "record", why };
    let mut all: Vec<Recording> = Vec::new();
    for text in &plan.record {
        let each = |asked: Recording| {
            world.covered(asked.side).into_iter().map(|side| Recording { side, ..asked.clone() }).collect::<Vec<_>>()
        };
        for asked in Recording::parse_list(text).map_err(wrong)?.into_iter().flat_map(each) {
            if all.iter().any(|known| (known.side, known.what) == (asked.side, asked.what)) {
                let name = asked.what.name();
                return Err(wrong(format!("{name} is asked for twice; name all CPUs at once, e.g. {name}@0,2-3")));
            }
            all.push(asked);
        }
    }
    for asked in &all {
        let refused = |why: String| PlanError::NoFigure { name: asked.what.name().to_owned(), side: asked.side, why };
        let machine = world.machine(asked.side).ok_or_else(|| refused("there is none; name it with --far".into()))?;
        let open = OpenCourses::open(machine, std::slice::from_ref(asked), narrow.cpus.as_ref());
        open.map_err(|(_, why)| refused(why))?.close(machine);
    }
    Ok(all)
}

/// Those of one machine.
pub(crate) fn of_side(all: &[Recording], side: Side) -> Vec<Recording> {
    all.iter().filter(|recording| recording.side == side).cloned().collect()
}
