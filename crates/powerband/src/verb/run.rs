//! `run`: the experiment of a plan file, or of a page again.
use powerband_session::{names_written, start_nothing};

use crate::cli::{Run, Shared};
use crate::exit::{Answer, usage};
use crate::measure::{Words, measure, read_plan};
use crate::{rerun, rig};

pub(crate) fn run(shared: &Shared, args: &Run) -> Answer {
    match (&args.again, &args.plan) {
        (Some(page), _) => rerun::run(shared, page, args),
        (None, Some(path)) => {
            let plan = read_plan(path)?;
            let names = names_written(&plan);
            let named = shared.machine.is_some() || shared.far.is_some() || rig::is_list(shared);
            if args.measuring.setup.dry_run && !named {
                start_nothing(path, &names, args.trust)?;
            }
            measure(shared, plan, &args.measuring, Words::File)
        }
        (None, None) => Err(usage("there is no plan; write e.g. `powerband run plans/router.toml`")),
    }
}
