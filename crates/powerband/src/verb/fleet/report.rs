//! `fleet report`: what holds for all nodes.
use powerband_fleet::{Fleet, Folder};

use super::find;
use crate::cli::{OneFleet, Shared};
use crate::exit::Answer;

pub(super) fn run(shared: &Shared, args: &OneFleet) -> Answer {
    let (folder, fleet) = find(args)?;
    print(shared, &fleet, &folder)
}

/// Prints what it found.
pub(super) fn print(shared: &Shared, fleet: &Fleet, folder: &Folder) -> Answer {
    // PLACE OF THE ANSWER: the fleet's report from the headers and events of the attempts that count.
    super::status::print(shared, fleet, folder)
}
