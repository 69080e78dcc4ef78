//! `fleet report`: what holds for all nodes.
use powerband_fleet::{Fleet, Folder};

use super::{answer, find};
use crate::cli::{OneFleet, Shared};
use crate::exit::{Answer, Exit};
use crate::output;

pub(super) fn run(shared: &Shared, args: &OneFleet) -> Answer {
    let (folder, fleet) = find(args)?;
    print(shared, &fleet, &folder)
}

/// Prints what it found.
pub(super) fn print(shared: &Shared, fleet: &Fleet, folder: &Folder) -> Answer {
    let answer = answer::answer(fleet, folder)?;
    if shared.json {
        return output::print_json(&answer);
    }
    let text = if shared.verbose { answer.render(output::width()) } else { answer.brief(output::width()) };
    output::print(&text);
    Ok(Exit::Fine as u8)
}
