//! `get`: what knobs read now.
use powerband_machine::Machine;
use powerband_record::{KnobRef, Side};

use crate::cli::{Get, Shared};
use crate::exit::{Answer, Exit, Failure, usage};
use crate::output;
use crate::rig::{self, Purpose};

pub(crate) fn run(shared: &Shared, args: &Get) -> Answer {
    let mut rig = rig::open(&rig::Names::plain(shared), shared.seed, Purpose::Look)?;
    let narrow = rig::narrow(shared)?;
    let mut readings = Vec::new();
    for text in &args.knobs {
        let knob = KnobRef::parse(text).map_err(usage)?;
        for &side in knob.side.each() {
            let machine: &mut dyn Machine = rig.world().machine(side).ok_or_else(|| no_far(text))?;
            let found = powerband_knob::get(machine, &knob, &narrow).map_err(rig::knob_failure)?;
            readings.extend(found.into_iter().map(|reading| (side, reading)));
        }
    }
    // What a lost machine does not answer is no reading.
    rig::lost(rig.world()).map_or(Ok(()), Err)?;
    if shared.json {
        let rows: Vec<_> = readings.iter().map(|(side, r)| serde_json::json!({ "side": side, "reading": r })).collect();
        return output::say_json(&serde_json::json!({ "version": 1, "readings": rows }));
    }
    let mut text = String::new();
    for (side, reading) in &readings {
        let side = if *side == Side::Far { "far/" } else { "" };
        let cpus = reading.cpus.as_ref().map(|cpus| format!(" (cpus {cpus})")).unwrap_or_default();
        text += &format!("{side}{}@{}{cpus} = {}\n", reading.knob, reading.site, reading.shown);
    }
    output::say(&text);
    Ok(Exit::Fine as u8)
}

fn no_far(text: &str) -> Failure {
    Failure::new(Exit::Usage, format!("{text} is on the far machine, and there is none; name it with --far"))
}
