//! The published articles, done again: their plans run on simulated machines, their claims held against what came out.
mod articles;
mod tried;

use powerband_experiment::{Plan, WorldBench, resolve, survey};
use powerband_record::{Event, Void};
use powerband_report::published::Check;
use powerband_report::replication::{Evidence, Observed, Replication};

use crate::cli::Shared;
use crate::exit::{Exit, Failure, usage};
use crate::rig::{self, Purpose};

pub(crate) use articles::{Article, all, named};

/// Does one article again.
///
/// # Errors
/// When a plan cannot be run to its end: on a machine file that does not fit it, or when it is stopped.
pub(crate) fn again(article: &Article, shared: &Shared) -> Result<Replication, Failure> {
    let published = article.published()?;
    let mut evidence = Evidence::default();
    for name in &published.experiment.plans {
        evidence.runs.insert(name.clone(), observed(name, shared)?);
    }
    for check in published.claims.iter().flat_map(|claim| &claim.checks) {
        let Check::Tried { what } = check else { continue };
        if let Some(seen) = tried::on_machines(what, shared)? {
            evidence.tried.insert(what.clone(), seen);
        }
    }
    Ok(Replication::of(article.name, &published, &evidence))
}

/// Runs a built-in plan for all the blocks it allows, and keeps nothing of it.
fn observed(name: &str, shared: &Shared) -> Result<Observed, Failure> {
    let broken = |why: &dyn std::fmt::Display| Failure::new(Exit::Failed, format!("the plan {name} went wrong: {why}"));
    let text = articles::plan(name).ok_or_else(|| broken(&"there is none of this name"))?;
    let mut plan = Plan::parse(name, text).map_err(|error| broken(&error))?;
    plan.seed = shared.seed.or(plan.seed);
    let names = rig::Names::of(shared, &plan);
    if !names.simulated() {
        return Err(usage(
            "`replicate` needs simulated machines, sim:NAME; on any other run the plan itself, e.g. `powerband run plans/router.toml`",
        ));
    }
    let mut rig = rig::open(&names, plan.seed, Purpose::Measure)?;
    let resolved = resolve(&plan, rig.world()).map_err(rig::resolve_failure)?;
    let mut events: Vec<Event> = Vec::new();
    let mut bench = WorldBench::new(rig.world(), &resolved);
    let surveyed = survey(&resolved.started, &mut bench, &mut events).map_err(|fatal| broken(&fatal))?;
    surveyed.map_err(|why| match why {
        Void::Stopped => Failure::new(Exit::Stopped, "stopped; nothing was turned but on simulated machines"),
        why => broken(&why),
    })?;
    Observed::of(&events).map_err(|error| broken(&error))
}
