//! The published articles, done again: their plans run on simulated machines, their claims held against what came out.
mod articles;
mod boot;
mod gathered;
#[cfg(test)]
mod mutants;
mod progress;
mod tried;

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};

use powerband_experiment::{Fatal, Plan, WorldBench, resolve, survey};
use powerband_machine::StopSignal;
use powerband_record::{Event, Void};
use powerband_report::published::Check;
use powerband_report::replication::{Evidence, Observed, Replication};

use crate::cli::Shared;
use crate::exit::{Exit, Failure, usage};
use crate::{incomplete, rig};
use progress::{Progress, Watched};

pub(crate) use articles::{Article, all, named};

/// Asked whether to stop, by all who run at once.
type Stop = Arc<Mutex<dyn FnMut() -> Option<StopSignal> + Send>>;

/// Does one article again.
///
/// # Errors
/// When a plan cannot be run to its end: on a machine file that does not fit it, or when it is stopped.
pub(crate) fn again(article: &Article, blocks: Option<u32>, shared: &Shared) -> Result<Replication, Failure> {
    let published = article.published()?;
    let plans = &published.experiment.plans;
    let progress = Progress::new(article.name, plans.len());
    let mut evidence = Evidence { runs: side_by_side(plans, blocks, shared, &progress)?, ..Evidence::default() };
    for check in published.claims.iter().flat_map(|claim| &claim.checks) {
        let Check::Tried { what } = check else { continue };
        if let Some(seen) = tried::on_machines(what, shared)? {
            evidence.tried.insert(what.clone(), seen);
        }
    }
    Ok(Replication::of(article.name, &published, &evidence))
}

/// Runs plans beside each other, as many at once as there are CPUs: each has machines of its own.
fn side_by_side(
    plans: &[String],
    blocks: Option<u32>,
    shared: &Shared,
    progress: &Progress,
) -> Result<BTreeMap<String, Observed>, Failure> {
    let mut interrupts = powerband_host::interrupts().map_err(|errno| Failure::new(Exit::CannotGoOn, errno))?;
    let mut stopped = None;
    // Who hears of a signal first stops all.
    let stop: Stop = Arc::new(Mutex::new(move || {
        stopped = stopped.or_else(&mut interrupts);
        stopped
    }));
    let waiting = Mutex::new(plans.iter());
    let next = || waiting.lock().ok().and_then(|mut plans| plans.next());
    let work = || {
        let mut done = Vec::new();
        while let Some(plan) = next() {
            let text = articles::plan(plan)
                .ok_or_else(|| Failure::new(Exit::Failed, format!("there is no built-in plan called {plan}")));
            let run = |text| observed((plan, text), blocks, shared, &stop, progress.of(plan));
            done.push((plan.clone(), text.and_then(run)));
            progress.one_done();
        }
        done
    };
    let count = std::thread::available_parallelism().map_or(1, usize::from).min(plans.len());
    let done = std::thread::scope(|scope| {
        let workers: Vec<_> = (0..count).map(|_| scope.spawn(work)).collect();
        workers.into_iter().flat_map(|worker| worker.join().unwrap_or_default()).collect::<Vec<_>>()
    });
    done.into_iter().map(|(plan, observed)| Ok((plan, observed?))).collect()
}

/// Runs a plan, a name and its text, for all the blocks it allows, and stores nothing.
fn observed(
    (name, text): (&str, &str),
    blocks: Option<u32>,
    shared: &Shared,
    stop: &Stop,
    mut journal: Watched,
) -> Result<Observed, Failure> {
    let broken = |why: &dyn std::fmt::Display| Failure::new(Exit::Failed, format!("the plan {name} went wrong: {why}"));
    let mut plan = Plan::parse(name, text).map_err(|error| broken(&error))?;
    plan.seed = shared.seed.or(plan.seed);
    plan.blocks = [plan.blocks, blocks].into_iter().flatten().min();
    let names = rig::Names::of(shared, &plan);
    if !names.simulated() {
        return Err(usage(
            "`replicate` needs simulated machines, sim:NAME; on any other run the plan itself, e.g. `powerband run plans/router.toml`",
        ));
    }
    let seed = plan.seed.or(names.seed()?).unwrap_or(1);
    let mut world = names.simulated_world(seed)?;
    let stop = Arc::clone(stop);
    // Heard once, as a signal is: who asks again while it ends what runs would never get to the end.
    let mut heard = false;
    world.interrupt_source(Box::new(move || {
        let signal = if heard { None } else { stop.lock().ok().and_then(|mut stop| stop()) };
        heard |= signal.is_some();
        signal
    }));
    let resolved = resolve(&plan, &mut world).map_err(rig::resolve_failure)?;
    let mut bench = WorldBench::new(&mut world, &resolved);
    let surveyed = survey(&resolved.started, &mut bench, &mut journal).map_err(|fatal| match fatal {
        Fatal::CannotRestore { .. } => Failure::new(Exit::CannotRestore, format!("the plan {name}: {fatal}")),
        fatal => broken(&fatal),
    })?;
    let unrestored = journal.events.iter().find_map(|event| match event {
        Event::Restored { failed, .. } if !failed.is_empty() => Some(failed),
        _ => None,
    });
    if let Some(failed) = unrestored {
        return Err(incomplete::failure(
            failed,
            &format!("it was the plan {name}, on simulated machines that are gone"),
        ));
    }
    surveyed.map_err(|why| match why {
        Void::Stopped => Failure::new(Exit::Stopped, "stopped; nothing was changed except on simulated machines"),
        why => broken(&why),
    })?;
    let mut observed = Observed::of(&journal.events).map_err(|error| broken(&error))?;
    observed.events = world.events();
    Ok(observed)
}
