//! Knobs of network devices next to one another: what overrides them is switched off, what belongs together is set together.
use powerband_machine::Look;

use super::{Move, Part, PlannedSteps};
use crate::catalogue::nic::overridden_by;
use crate::{Knob, Named, Phase, Selection, Sites, Value};

/// Adds a part that switches off what would take another part out of force, where it is on and the setting does not
/// turn it itself.
pub(super) fn switch_off_what_overrides(steps: &mut PlannedSteps, machine: &mut dyn Look) {
    let mut added: Vec<Part> = Vec::new();
    for part in &steps.parts {
        let (Some(switch), Some(sites)) = (overridden_by(&part.named.name), &part.sites) else { continue };
        let name = switch.about().name;
        for site in &sites.sites {
            let is_there = |other: &Part| {
                other.named.name == name && other.sites.iter().any(|it| it.sites.iter().any(|it| it.name == site.name))
            };
            let chosen = steps.parts.iter().chain(&added).any(is_there);
            let on = machine.coalescing(&site.name).is_ok_and(|has| has.get(switch.about().short) == Some(1));
            if chosen || !on {
                continue;
            }
            let at = Selection::site(Some(site.name.clone()), None);
            let Ok(there) = switch.sites(name, machine, &at) else { continue };
            let note = format!(
                "{name} at {} is on and would override {}: it is switched off as well, and restored with it",
                site.name, part.named.name
            );
            steps.notes.push(note);
            let named = Named { knob: switch, name: name.to_owned() };
            let sites = Some(Sites { sites: there.sites, ..Sites::default() });
            added.push(Part { named, value: Value::Word("off".into()), at, sites });
        }
    }
    steps.parts.extend(added);
}

/// The moves as they are made: those of one network device in one request, each other alone.
pub(crate) fn in_one_request(moves: Vec<Move>) -> Vec<Vec<Move>> {
    let mut requests: Vec<Vec<Move>> = Vec::new();
    for step in moves {
        let is_of_its_device = |request: &&mut Vec<Move>| {
            request
                .iter()
                .any(|other| other.named.knob.about().phase == Phase::Nic && other.site.name == step.site.name)
        };
        match requests.iter_mut().find(is_of_its_device) {
            Some(request) if step.named.knob.about().phase == Phase::Nic => request.push(step),
            _ => requests.push(vec![step]),
        }
    }
    requests
}
