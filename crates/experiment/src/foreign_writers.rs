//! Who else writes to what an experiment turns. Every place that any of its settings turns is watched in every trial, the
//! reference's too: there a write disturbs the comparison just as much.
use std::collections::BTreeMap;

use powerband_knob::{Applied, MovedKnob, Named};
use powerband_machine::{Machine, World, Written};
use powerband_record::{Side, Void, Writer, placed};

/// The places that are turned, and why they cannot be watched where they cannot.
#[derive(Debug, Default)]
pub(crate) struct ForeignWriters {
    /// The knob and the site at each place, by side.
    places: BTreeMap<Side, BTreeMap<String, (Named, String)>>,
    unseen: BTreeMap<Side, String>,
}

impl ForeignWriters {
    /// A setting was turned: its places are watched from the next trial's beginning on.
    pub(crate) fn may_touch(&mut self, side: Side, applied: &Applied) {
        let places = self.places.entry(side).or_default();
        for reached in &applied.sites {
            if let Some(path) = &reached.site.path {
                places.entry(path.clone()).or_insert_with(|| (reached.named.clone(), reached.site.name.clone()));
            }
        }
    }

    /// Begins to watch, once a setting is in force.
    pub(crate) fn watch(&mut self, world: &mut dyn World) {
        for (&side, places) in self.places.iter().filter(|(_, places)| !places.is_empty()) {
            let Some(machine) = world.machine(side) else { continue };
            let paths: Vec<String> = places.keys().cloned().collect();
            if let Err(unwatched) = machine.watch_writers(&paths) {
                self.unseen.insert(side, unwatched.why);
            }
        }
    }

    /// Ends it, before anything is restored.
    pub(crate) fn let_be(&self, world: &mut dyn World) {
        for &side in self.places.keys() {
            if let Some(machine) = world.machine(side) {
                // Nothing is watched: there is nothing that could not be.
                let _ = machine.watch_writers(&[]);
            }
        }
    }

    /// Why a trial does not count: a knob that was moved, or one that was written to and reads as before. `in_force` are the
    /// places turned in this trial.
    pub(crate) fn disturbance(
        &self,
        side: Side,
        machine: &mut dyn Machine,
        moved: Option<MovedKnob>,
        in_force: &[&str],
        writes: &[Written],
    ) -> Option<Void> {
        let far = side.prefix();
        if let Some(MovedKnob { knob, site, path, expected, found }) = moved {
            // What moved without a write of its own followed from another's: a limit from the driver's mode.
            let own = by(writes.iter().filter(|write| write.place == path));
            let by = if own.is_empty() { by(writes.iter()) } else { own };
            return Some(Void::KnobMoved { knob: format!("{far}{}", placed(&knob, &site)), expected, found, by });
        }
        // A load that writes what no knob of this trial turns does what it is there to do.
        let turned = |write: &&Written| in_force.iter().any(|place| *place == write.place);
        let first = writes.iter().find(|write| !write.by_load || turned(write))?;
        let (named, site) = self.places.get(&side)?.get(&first.place)?;
        let found = match machine.read(&first.place) {
            Ok(text) => named.knob.shown(&text),
            Err(errno) => format!("nothing: {errno}"),
        };
        let by = by(writes.iter().filter(|write| write.place == first.place));
        Some(Void::KnobMoved {
            knob: format!("{far}{}", placed(&named.name, site)),
            expected: found.clone(),
            found,
            by,
        })
    }

    /// What must be known with the verdicts where nobody can be seen.
    pub(crate) fn notes(&self) -> Vec<String> {
        let note = |(side, why): (&Side, &String)| {
            let whose = if *side == Side::Near { String::new() } else { format!(" on the {}", side.words()) };
            format!(
                "who else wrote to the knobs{whose} could not be watched ({why}): they were only read at each trial's end"
            )
        };
        self.unseen.iter().map(note).collect()
    }
}

/// Who wrote, each once.
fn by<'w>(writes: impl Iterator<Item = &'w Written>) -> Vec<Writer> {
    let mut all: Vec<Writer> = Vec::new();
    for write in writes {
        if !all.contains(&write.by) {
            all.push(write.by.clone());
        }
    }
    all
}
