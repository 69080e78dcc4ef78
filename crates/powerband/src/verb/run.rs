//! `run`: the experiment of a plan file, or of a page again.
use crate::again;
use crate::cli::{Run, Shared};
use crate::exit::{Answer, usage};
use crate::measure::{measure, read_plan};

pub(crate) fn run(shared: &Shared, args: &Run) -> Answer {
    match (&args.again, &args.plan) {
        (Some(page), _) => again::run(shared, page, &args.measuring),
        (None, Some(plan)) => measure(shared, read_plan(plan)?, &args.measuring),
        (None, None) => Err(usage("there is no plan; write e.g. `powerband run plans/router.toml`")),
    }
}
