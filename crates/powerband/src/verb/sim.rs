//! `sim`: the simulated machines there are, and what one of them knows and does not know.
use powerband_sim::Profile;

use crate::cli::{Shared, Sim, SimVerb};
use crate::exit::{Answer, Exit};
use crate::{output, rig};

pub(crate) fn run(shared: &Shared, args: &Sim) -> Answer {
    match &args.verb {
        SimVerb::List => {
            let machines = Profile::names().iter().map(|name| rig::profile(name)).collect::<Result<Vec<_>, _>>()?;
            if shared.json {
                let rows: Vec<_> = machines.iter().map(Profile::describe).collect();
                return output::say_json(&serde_json::json!({ "version": 1, "machines": rows }));
            }
            let line = |profile: &Profile| format!("sim:{:<12} {}", profile.name, profile.title);
            output::say(&machines.iter().map(line).collect::<Vec<_>>().join("\n"));
        }
        SimVerb::Show { name } => {
            let description = rig::profile(name.strip_prefix("sim:").unwrap_or(name))?.describe();
            if shared.json {
                return output::say_json(&description);
            }
            output::say(&description.to_string());
        }
    }
    Ok(Exit::Fine as u8)
}
