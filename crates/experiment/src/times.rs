//! How long an experiment takes at most while no trial of it is void, before anything has run.
use powerband_machine::World;

use crate::run::{copies, least_blocks};
use crate::{Resolved, WorldBench};

/// How long an experiment takes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Times {
    /// Trials of a block while no setting has left.
    pub trials_in_first_block: usize,
    /// The longest trial, from settling to its end, ns; absent where nobody knows.
    pub trial_ns: Option<u64>,
    /// All of it, ns; absent where nothing limits it.
    pub longest_ns: Option<u64>,
}

impl Times {
    /// The times of an experiment on the machines of a World, of which nothing is changed.
    pub fn of(resolved: &Resolved, world: &mut dyn World) -> Times {
        let started = &resolved.started;
        let bench = WorldBench::new(world, resolved);
        let settings = started.settings.len();
        let copies = copies(started, settings.saturating_sub(1));
        let each: Option<Vec<u64>> = (0..settings).map(|setting| bench.trial_ns(setting)).collect();
        let trial_ns = each.as_ref().and_then(|each| each.iter().copied().max());
        let of_blocks = |blocks: u32| {
            let (reference_ns, others) = each.as_ref()?.split_first()?;
            let others_ns = others.iter().fold(0, |sum: u64, ns| sum.saturating_add(*ns));
            let block_ns = reference_ns.saturating_mul(copies as u64).saturating_add(others_ns);
            let before_ns =
                bench.calibrating_ns()?.saturating_add(reference_ns.saturating_mul(u64::from(started.warmup)));
            Some(before_ns.saturating_add(block_ns.saturating_mul(u64::from(blocks))))
        };
        // A search ends with its answer or its time, and a trial of it is a block of its own.
        let (all_ns, least_ns) = match started.search {
            Some(_) => (None, trial_ns.map(|ns| ns.saturating_mul(u64::from(started.warmup) + 1))),
            None => (of_blocks(started.max_blocks), of_blocks(least_blocks(started))),
        };
        let budget_ns = started.budget_ns.map(|budget| budget.max(least_ns.unwrap_or(0)));
        let longest_ns = all_ns.into_iter().chain(budget_ns).min();
        Times { trials_in_first_block: settings.saturating_sub(1) + copies, trial_ns, longest_ns }
    }
}
