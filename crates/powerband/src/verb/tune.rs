//! `tune`: the best of many settings, found in few trials.
use powerband_experiment::{Plan, Tune as Asked};

use crate::cli::{Measuring, Shared, Tune};
use crate::exit::Answer;
use crate::loading::load;
use crate::measure::{Words, measure};

pub(crate) fn run(shared: &Shared, args: &Tune) -> Answer {
    let mut plan = Plan::of(load(shared, &args.loading, &[])?);
    plan.axes.clone_from(&args.axes);
    plan.settings.clone_from(&args.settings);
    plan.require.clone_from(&args.requirements);
    plan.tune =
        Some(Asked { minimize: args.minimize.clone(), maximize: args.maximize.clone(), safe: args.safe.clone() });
    let measuring = Measuring { setup: args.setup.clone(), blocks: args.blocks, ..Measuring::default() };
    measure(shared, plan, &measuring, Words::Typed)
}
