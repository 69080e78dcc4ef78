//! `fleet resume`: what was lost or is incomplete is started again; what is complete stays.
use super::{conducting, find};
use crate::cli::{FleetResume, Shared};
use crate::exit::Answer;

pub(super) fn run(shared: &Shared, args: &FleetResume) -> Answer {
    let (folder, fleet) = find(&args.of)?;
    let give_up = conducting::give_up(&args.waiting)?;
    conducting::conduct(shared, &fleet, &folder, give_up, args.waiting.quiet)
}
