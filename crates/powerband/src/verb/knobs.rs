//! `knobs`: the catalogue, or one knob of it.
use powerband_knob::About;
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
}

impl Document for Catalogue {
    const KIND: &'static str = "knobs";
}

impl Document for OneKnob {
    const KIND: &'static str = "knob";
}

pub(crate) fn run(shared: &Shared, args: &Knobs) -> Answer {
    match &args.knob {
        Some(name) if shared.json => match powerband_knob::docs::meant_by(name)?[..] {
            [knob] => output::print_document(&OneKnob { knob }),
            ref several => output::print_document(&Catalogue { knobs: several.to_vec() }),
        },
        Some(name) => {
            output::print(&powerband_knob::docs::explain(name)?);
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
