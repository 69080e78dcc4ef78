//! `try`: settings from the command line, compared by measuring a built-in load or commands.
use powerband_experiment::Plan;

use crate::cli::{Shared, Try};
use crate::exit::Answer;
use crate::loading::{load, sorted};
use crate::measure::{Words, measure};

pub(crate) fn run(shared: &Shared, args: &Try) -> Answer {
    let (axes, commands) = sorted(&args.words)?;
    let mut plan = Plan::of(load(shared, &args.loading, &commands)?);
    plan.axes = axes.into_iter().chain(args.parameters.axes()).collect();
    plan.settings.clone_from(&args.settings);
    measure(shared, plan, &args.measuring, Words::Typed)
}
