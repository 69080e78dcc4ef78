//! `fleet cancel`: the tasks end, and restore what they changed.
use powerband_fleet::{Listener, Look, NodeStanding, Stops, Via, cancel};

use super::{conducting, find, launcher};
use crate::cli::{OneFleet, Shared};
use crate::exit::{Answer, Exit, Failure};
use crate::output;

pub(super) fn run(shared: &Shared, args: &OneFleet) -> Answer {
    let (folder, fleet) = find(args)?;
    let has_ended = folder.ended().is_some_and(|ended| ended.reason != "cancelled");
    // Jobs of Slurm may outlive the one that conducts them.
    if has_ended && folder.conducted_by().is_none() && matches!(fleet.via, Via::Command { .. }) {
        if !shared.json {
            output::print(&format!("fleet {} has ended already; nothing of it runs", fleet.short()));
            return Ok(Exit::Fine as u8);
        }
        return super::status::print(shared, &fleet, &folder);
    }
    // Who conducts it starts nothing more.
    folder.ask_to_cancel()?;
    let stops = Stops::listen().map_err(|error| Failure::new(Exit::CannotGoOn, error))?;
    let unsure = match (&fleet.via, folder.conducted_by()) {
        (Via::Command { .. }, Some(_)) => {
            // Its tasks are children of the one that conducts it.
            while folder.conducted_by().is_some() && !stops.asked() {
                std::thread::sleep(std::time::Duration::from_millis(100));
            }
            let nodes = super::status::nodes(&fleet, &folder)?;
            nodes.into_iter().filter(|node| node.restored == Some(false)).map(|node| node.node).collect()
        }
        _ => cancel(&fleet, &folder, &mut *launcher(&fleet), &mut Silent, stops)?,
    };
    if !unsure.is_empty() {
        return Err(conducting::cancelled(&fleet, &unsure));
    }
    if shared.json {
        return super::status::print(shared, &fleet, &folder);
    }
    output::print(&format!(
        "fleet {short} is cancelled, everything is restored; `powerband fleet resume {short}` goes on",
        short = fleet.short()
    ));
    Ok(Exit::Fine as u8)
}

struct Silent;

impl Listener for Silent {
    fn standing(&mut self, _: &[NodeStanding]) {}
    fn look(&mut self, _: &Look) {}
    fn note(&mut self, words: &str) {
        output::note(words.to_owned());
    }
}
