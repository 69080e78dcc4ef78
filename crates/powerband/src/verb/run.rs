//! `run`: the experiment of a plan file.
use crate::cli::{Run, Shared};
use crate::exit::Answer;
use crate::measure::{measure, read_plan};

pub(crate) fn run(shared: &Shared, args: &Run) -> Answer {
    measure(shared, read_plan(&args.plan)?, &args.measuring)
}
