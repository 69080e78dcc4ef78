//! `try`: settings from the command line, compared by measuring a built-in load or a command.
use powerband_experiment::Plan;

use crate::cli::{Shared, Try};
use crate::exit::Answer;
use crate::loading::load;
use crate::measure::{Words, measure};

pub(crate) fn run(shared: &Shared, args: &Try) -> Answer {
    let mut plan = Plan::of(load(shared, &args.loading)?);
    plan.axes.clone_from(&args.axes);
    plan.settings.clone_from(&args.settings);
    measure(shared, plan, &args.measuring, Words::Typed)
}
