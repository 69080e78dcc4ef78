//! `why`: who set a knob, in the order of time; `--watch` is below.
pub(crate) mod watch;

use powerband_knob::machines_of;
use powerband_persist::{KnobSetter, why};
use powerband_record::{KnobRef, Side};
use schemars::JsonSchema;
use serde::Serialize;

use crate::cli::{Shared, WhyKnob};
use crate::corrected::on_these_machines;
use crate::exit::{Answer, Exit, usage};
use crate::output::{self, Document};
use crate::rig::{self, Purpose};

/// The knob that is meant when none is named.
const USUAL: &str = "governor";

/// Who set knobs.
#[derive(Serialize, JsonSchema)]
pub(crate) struct Answers {
    /// Each knob on each machine that is meant.
    answers: Vec<Answered>,
}

/// Who set a knob of one machine.
#[derive(Serialize, JsonSchema)]
struct Answered {
    /// Of which machine.
    side: Side,
    /// What was found.
    why: KnobSetter,
}

impl Document for Answers {
    const KIND: &'static str = "why";
}

pub(crate) fn run(shared: &Shared, args: &WhyKnob) -> Answer {
    if args.watch {
        return watch::run(shared, args);
    }
    let mut rig = rig::open(shared, Purpose::Look)?;
    let names = if args.knobs.is_empty() { vec![USUAL.to_owned()] } else { args.knobs.clone() };
    let mut answers = Vec::new();
    for name in &names {
        let knob = KnobRef::parse(name).map_err(usage)?;
        for side in machines_of(&knob, rig.world())? {
            let machine = rig.world().machine(side).ok_or_else(|| rig::no_far(name))?;
            let open = machine.open_entries();
            let found = why(machine, &open, &knob, &rig::selection(shared)?)?;
            answers.push(Answered { side, why: on_these(found, shared) });
        }
    }
    // What a lost machine does not answer is no finding.
    rig::check_lost(rig.world())?;
    if shared.json {
        return output::print_document(&Answers { answers });
    }
    let told = answers.iter().map(|Answered { side, why }| format!("{}{}", side.prefix(), why.text()));
    output::print(&told.collect::<Vec<_>>().join("\n"));
    Ok(Exit::Fine as u8)
}

/// The answer, with commands to type that name the machines of this one.
fn on_these(mut found: KnobSetter, shared: &Shared) -> KnobSetter {
    found.sentence = on_these_machines(&found.sentence, shared);
    for how in found.findings.iter_mut().filter_map(|finding| finding.how.as_mut()) {
        *how = on_these_machines(how, shared);
    }
    found
}
