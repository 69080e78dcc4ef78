//! `fleet resume`: what was lost or is incomplete is started again; what is complete stays.
use super::{conducting, find};
use crate::cli::{FleetResume, Shared};
use crate::exit::{Answer, usage};

pub(super) fn run(shared: &Shared, args: &FleetResume) -> Answer {
    let (folder, fleet) = find(&args.of)?;
    let given = [
        ("--seed", shared.seed.is_some()),
        ("--far", shared.far.is_some()),
        ("--cpus", shared.cpus.is_some()),
        ("--knobs", shared.declared.is_some()),
    ];
    if let Some((option, _)) = given.into_iter().find(|(_, given)| *given) {
        return Err(usage(format!("fleet {} goes on as it was begun; leave out {option}", fleet.short())));
    }
    let give_up = conducting::give_up(&args.waiting)?;
    conducting::conduct(shared, &fleet, &folder, give_up, args.waiting.quiet)
}
