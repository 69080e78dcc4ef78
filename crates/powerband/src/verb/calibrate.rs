//! `calibrate`: the machine as it is against itself, to know its noise before anything is compared.
use powerband_experiment::Plan;

use crate::cli::{Calibrate, Measuring, Shared};
use crate::exit::{Answer, usage};
use crate::loading::load;
use crate::measure::{Words, measure};

/// Fewest trials that say anything of noise.
const MIN_TRIALS: u32 = 12;
/// Trials when neither their number nor a time is given.
const DEFAULT_TRIALS: u32 = 24;
/// Trials of a block: one under each of two labels.
const BLOCK: u32 = 2;

pub(crate) fn run(shared: &Shared, args: &Calibrate) -> Answer {
    let trials = match args.trials {
        Some(trials) if trials < MIN_TRIALS => {
            return Err(usage(format!(
                "--trials {trials}: fewer than {MIN_TRIALS} trials say little of noise; write --trials {MIN_TRIALS} or more"
            )));
        }
        None if args.setup.budget.is_none() => Some(DEFAULT_TRIALS),
        trials => trials,
    };
    let mut plan = Plan::of(load(shared, &args.loading, &[])?);
    plan.calibration = true;
    plan.settings = ["a:", "b:"].map(str::to_owned).to_vec();
    let blocks = trials.map(|trials| trials.div_ceil(BLOCK));
    measure(shared, plan, &Measuring { setup: args.setup.clone(), blocks, ..Measuring::default() }, Words::Typed)
}
