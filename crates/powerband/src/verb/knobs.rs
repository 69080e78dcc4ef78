//! `knobs`: the catalogue, or one knob of it.
use powerband_knob::About;
use powerband_rig::access;
use schemars::JsonSchema;
use serde::Serialize;

use crate::cli::{Knobs, Shared};
use crate::exit::{Answer, Exit};
use crate::output::{self, Document};

/// The catalogue.
#[derive(Serialize, JsonSchema)]
pub(crate) struct Catalogue {
    /// Every knob, by family; where a name was given that several share, those.
    knobs: Vec<&'static About>,
}

/// One knob of the catalogue.
#[derive(Serialize, JsonSchema)]
pub(crate) struct OneKnob {
    /// What is known of it.
    knob: &'static About,
    /// What setting it changes along: knobs, and files that the catalogue does not know. It is restored as well.
    also_changes: Vec<String>,
}

impl Document for Catalogue {
    const KIND: &'static str = "knobs";
}

impl Document for OneKnob {
    const KIND: &'static str = "knob";
}

/// Whether the access service of this machine would set it for a caller without root.
fn note_access(name: &str) {
    let (Some(Ok(lines)), Ok(meant)) = (access::allowed_here(), powerband_knob::docs::meant_by(name)) else { return };
    for knob in meant {
        let about = access::lines_about(knob.name, &lines);
        let note = match about[..] {
            [] => format!("the access service does not set {} for you", knob.name),
            _ => format!("the access service sets it for you ({})", about.join("; ")),
        };
        output::note(note);
    }
}

pub(crate) fn run(shared: &Shared, args: &Knobs) -> Answer {
    match &args.knob {
        Some(name) if shared.json => match powerband_knob::docs::meant_by(name)?[..] {
            [knob] => {
                let also_changes = powerband_knob::docs::also_changed(name)?;
                output::print_document(&OneKnob { knob, also_changes })
            }
            ref several => output::print_document(&Catalogue { knobs: several.to_vec() }),
        },
        Some(name) => {
            output::print(&powerband_knob::docs::explain(name)?);
            note_access(name);
            Ok(Exit::Fine as u8)
        }
        None if shared.json => {
            let knobs = powerband_knob::catalogue::ALL.iter().map(|knob| knob.about()).collect();
            output::print_document(&Catalogue { knobs })
        }
        None => {
            output::print(&powerband_knob::docs::list());
            Ok(Exit::Fine as u8)
        }
    }
}
