//! The published articles, done again: their plans run on simulated machines, their claims held against what came out.
mod articles;
mod boot;
mod booted;
mod gathered;
#[cfg(test)]
mod mutants;
mod tried;

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};

use powerband_experiment::{Fatal, Halt, Journal, JournalError, Plan, WorldBench, resolve, survey};
use powerband_machine::StopSignal;
use powerband_record::{Event, Void};
use powerband_report::published::Check;
use powerband_report::replication::{Evidence, Observed, Replication};
use powerband_rig::RigError;

use crate::{Options, SessionError};

pub use articles::{Article, all, named};

/// Asked whether to stop, by all who run at once.
type Stop = Arc<Mutex<dyn FnMut() -> Option<StopSignal> + Send>>;

/// Shows how the plans of an article get on, side by side.
pub trait ArticleProgress: Sync {
    /// What is to hear each event of one of its plans, in the thread that runs it.
    fn of(&self, plan: &str) -> Box<dyn FnMut(&Event)>;
    /// Hears that a plan is through.
    fn plan_done(&self);
}

/// Keeps what a plan brings, and shows it.
struct Recorder {
    events: Vec<Event>,
    shown: Box<dyn FnMut(&Event)>,
}

impl Journal for Recorder {
    fn record(&mut self, event: &Event) -> Result<(), JournalError> {
        (self.shown)(event);
        self.events.record(event)
    }
}

/// The number of plans an article needs.
///
/// # Errors
/// None with the files that are carried.
pub fn plans_of(article: &Article) -> Result<usize, SessionError> {
    Ok(article.published()?.experiment.plans.len())
}

/// Does one article again.
///
/// # Errors
/// When a plan cannot be run to its end: on a machine file that does not fit it, or when it is stopped.
pub fn again(
    article: &Article,
    blocks: Option<u32>,
    options: &Options,
    progress: &dyn ArticleProgress,
) -> Result<Replication, SessionError> {
    let published = article.published()?;
    let plans = &published.experiment.plans;
    let mut evidence = Evidence { runs: side_by_side(plans, blocks, options, progress)?, ..Evidence::default() };
    for check in published.claims.iter().flat_map(|claim| &claim.checks) {
        let Check::Tried { what } = check else { continue };
        if let Some(seen) = tried::on_machines(what, options.near.as_deref())? {
            evidence.tried.insert(what.clone(), seen);
        }
    }
    Ok(Replication::of(article.name, &published, &evidence))
}

/// Runs plans next to each other, as many at once as there are CPUs: each has machines of its own.
fn side_by_side(
    plans: &[String],
    blocks: Option<u32>,
    options: &Options,
    progress: &dyn ArticleProgress,
) -> Result<BTreeMap<String, Observed>, SessionError> {
    let mut interrupts = powerband_host::interrupts().map_err(RigError::World)?;
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
                .ok_or_else(|| SessionError::Failed(format!("there is no built-in plan called {plan}")));
            let run = |text| observed((plan, text), blocks, options, &stop, progress.of(plan));
            done.push((plan.clone(), text.and_then(run)));
            progress.plan_done();
        }
        done
    };
    let around = powerband_host::Surroundings::current();
    let work = || around.clone().during(work);
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
    options: &Options,
    stop: &Stop,
    shown: Box<dyn FnMut(&Event)>,
) -> Result<Observed, SessionError> {
    let broken = |why: &dyn std::fmt::Display| SessionError::Failed(format!("the plan {name} went wrong: {why}"));
    let mut plan = Plan::parse(name, text).map_err(|error| broken(&error))?;
    plan.seed = options.seed.or(plan.seed);
    plan.blocks = [plan.blocks, blocks].into_iter().flatten().min();
    let names = options.names(&plan)?;
    if !names.simulated() {
        return Err(SessionError::NotSimulated);
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
    let resolved = resolve(&plan, &mut world)?;
    let mut bench = WorldBench::new(&mut world, &resolved);
    let mut journal = Recorder { events: Vec::new(), shown };
    let surveyed = Halt::split(survey(&resolved.started, &mut bench, &mut journal)).map_err(|fatal| match fatal {
        fatal @ Fatal::CannotRestore { .. } => {
            SessionError::FatalSimulated { plan: name.to_owned(), fatal: Box::new(fatal) }
        }
        fatal => broken(&fatal),
    })?;
    let unrestored = journal.events.iter().find_map(|event| match event {
        Event::Restored { failed, .. } if !failed.is_empty() => Some(failed),
        _ => None,
    });
    if let Some(failed) = unrestored {
        return Err(SessionError::UnrestoredSimulated { left: failed.clone(), plan: name.to_owned() });
    }
    surveyed.map_err(|why| match why {
        Void::Stopped => SessionError::Stopped("stopped; nothing was changed except on simulated machines"),
        why => broken(&why),
    })?;
    let mut observed = Observed::of(&journal.events).map_err(|error| broken(&error))?;
    observed.events = world.events();
    Ok(observed)
}
