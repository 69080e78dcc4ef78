//! `knobs`: the catalogue, or one knob of it.
use crate::cli::{Knobs, Shared};
use crate::exit::{Answer, Exit};
use crate::{output, rig};

pub(crate) fn run(shared: &Shared, args: &Knobs) -> Answer {
    match &args.knob {
        Some(name) if shared.json => {
            let about = powerband_knob::resolve(name).map_err(rig::knob_failure)?.knob.about();
            output::say_json(&serde_json::json!({ "version": 1, "knob": about }))
        }
        Some(name) => {
            output::say(&powerband_knob::docs::explain(name).map_err(rig::knob_failure)?);
            Ok(Exit::Fine as u8)
        }
        None if shared.json => {
            let all: Vec<_> = powerband_knob::catalogue::ALL.iter().map(|knob| knob.about()).collect();
            output::say_json(&serde_json::json!({ "version": 1, "knobs": all }))
        }
        None => {
            output::say(&powerband_knob::docs::list());
            Ok(Exit::Fine as u8)
        }
    }
}
