//! `resume`: an experiment that was interrupted or stopped goes on, if it still is the same experiment on the same rig.
use clap::CommandFactory;
use powerband_experiment::{
    Fatal, Past, Plan, Resolved, WorldBench, check_rig, extend, extended, first_difference, rebuild, resolve, standing,
    standing_of_extended,
};
use powerband_machine::{User, World};
use powerband_record::{Event, ExperimentHeader, Finding, JOURNAL_VERSION, Owner, Resumption, Started};
use powerband_store::Store;

use crate::cli::{Cli, Measuring, Resume, Setup, Shared, Verb};
use crate::exit::{Answer, Exit, Failure, usage};
use crate::journal::StoreJournal;
use crate::measure::{CALIBRATED, conclude, named, need_store, overridden, store_failure};
use crate::rig::{self, Names, Purpose};
use crate::{caller, dry, input, mpirun, tabled};

/// Whether nobody runs it any more, as far as can be seen from here: processes of another host cannot be.
pub(crate) fn is_gone(host: &str, owner: Option<&Owner>) -> bool {
    host == powerband_host::hostname() && owner.is_none_or(|owner| !powerband_host::is_alive(owner))
}

pub(crate) fn run(shared: &Shared, args: &Resume) -> Answer {
    let mut store = need_store(shared)?;
    let id = store.resolve(&args.id).map_err(usage)?;
    let refused = |why: String| Failure::new(Exit::CannotGoOn, format!("experiment {id} cannot go on: {why}"));
    let seen = store.header(id).map_err(store_failure)?;
    let events = store.events(id).map_err(store_failure)?;
    let keep = if args.blocks.is_some() { standing_of_extended(&events) } else { standing(&events) };
    let keep = keep.map_err(|error| refused(error.to_string()))?;
    let Some(Event::Started(started)) = events.first() else { return Err(refused("it has no beginning".into())) };
    let before = seen.block_limits();
    let limits = args.blocks.map_or_else(|| Ok(before.clone()), |blocks| extended(started, &before, blocks));
    let limits = limits.map_err(|error| usage(format!("experiment {id}: {error}")))?;
    check_header(&seen).map_err(&refused)?;
    let names = Names::begun(started).answering_within(shared);
    check_words(shared, &names, id)?;
    if names.table().is_some() {
        enter(&seen, &names).map_err(&refused)?;
        let table = tabled::again(&names, started).map_err(|failure| refused(failure.sentence))?;
        store
            .rewind(id, (&seen, events.len()), keep, &taken_over(&seen, keep, events.len(), args.blocks))
            .map_err(store_failure)?;
        let mut journal =
            StoreJournal::new(&mut store, id, args.quiet || shared.json).after(&events[..keep]).to(&limits);
        let mut bench = tabled::bench(&table, started).map_err(|failure| refused(failure.sentence))?;
        let finding = extend(started, &limits, &events[..keep], Past::Computed, &mut bench, &mut journal);
        journal.finish();
        return conclude(shared, &mut store, id, finding, &measured_as(begun_words(&seen).as_ref()));
    }
    let resolved = rebuild(started).map_err(|error| refused(error.to_string()))?;
    let home = enter(&seen, &names).map_err(&refused)?;
    let begun = begun_words(&seen);
    let user = user_of_loads(started, begun.as_ref(), &names).map_err(|failure| refused(failure.sentence))?;
    let seed = names.seed()?.unwrap_or(started.seed);
    let mut rig = rig::open(&names, Some(seed), Purpose::Measure)?;
    check_rig(started, rig.world()).map_err(|error| refused(error.to_string()))?;
    dry::steps(&resolved, rig.world())?;
    if let Some(begun) = begun.as_ref().filter(|_| home && !args.as_begun) {
        check_plan(id, begun, started, rig.world(), user.as_ref())?;
    }
    store
        .rewind(id, (&seen, events.len()), keep, &taken_over(&seen, keep, events.len(), args.blocks))
        .map_err(store_failure)?;
    let past = if names.simulated() { Past::Computed } else { Past::Recalled };
    let quiet = args.quiet || shared.json;
    let goes_on = GoesOn { resolved: &resolved, limits: &limits, kept: &events[..keep], past };
    let finding = conduct(&mut store, id, &goes_on, (rig.world(), user), quiet);
    let in_place = rig.close();
    conclude(shared, &mut store, id, finding, &measured_as(begun.as_ref())).and_then(|code| in_place.map(|()| code))
}

/// The words it was begun with.
fn begun_words(header: &ExperimentHeader) -> Option<Cli> {
    Cli::command().try_get_matches_from(&header.command_line).and_then(|words| Cli::of(&words)).ok()
}

/// What goes on: the experiment, the block limits it was extended to, and what is kept of it.
struct GoesOn<'a> {
    resolved: &'a Resolved,
    limits: &'a [u32],
    kept: &'a [Event],
    past: Past,
}

/// Runs the loop over what stands and on.
fn conduct(
    store: &mut Store,
    id: i64,
    goes_on: &GoesOn<'_>,
    (world, user): (&mut dyn World, Option<User>),
    quiet: bool,
) -> Result<Finding, Fatal> {
    let GoesOn { resolved, limits, kept, past } = *goes_on;
    let mut journal = StoreJournal::new(store, id, quiet).after(kept).to(limits);
    let mut bench = WorldBench::new(world, resolved).with_user(user);
    let result = extend(&resolved.started, limits, kept, past, &mut bench, &mut journal);
    journal.finish();
    result
}

/// Whom the loads go on as: the user they ran as.
fn user_of_loads(started: &Started, begun: Option<&Cli>, names: &Names) -> Result<Option<User>, Failure> {
    let Some(then) = started.user else { return Ok(None) };
    let as_root = begun.and_then(setup).is_some_and(|setup| setup.as_root);
    let user = if names.here() { caller::user_of_loads(as_root)? } else { None };
    match caller::number(user.as_ref()) {
        now if now == then => Ok(user),
        now => Err(usage(format!(
            "its load ran as the user {then} and would now run as the user {now}; call it the way it was begun"
        ))),
    }
}

/// Whether this powerband on this host may go on with it.
fn check_header(header: &ExperimentHeader) -> Result<(), String> {
    let (version, host) = (env!("CARGO_PKG_VERSION"), powerband_host::hostname());
    if header.journal_version != JOURNAL_VERSION {
        return Err(format!(
            "its journal has version {}, this powerband writes version {JOURNAL_VERSION}; go on with the powerband it was begun with",
            header.journal_version
        ));
    }
    if header.powerband != version {
        return Err(format!(
            "it was begun with powerband {}, this is {version}; go on with that one, or begin it again",
            header.powerband
        ));
    }
    if header.host != host {
        return Err(format!("it was begun on {}, this is {host}; go on with it there", header.host));
    }
    match header.owner.as_ref().filter(|owner| powerband_host::is_alive(owner)) {
        Some(owner) => Err(format!("powerband {} still runs it; wait for it, or stop it with Ctrl-C", owner.pid)),
        None => Ok(()),
    }
}

/// What an experiment runs on and by which seed was said when it was begun.
fn check_words(shared: &Shared, names: &Names, id: i64) -> Result<(), Failure> {
    let given = [("--seed", shared.seed.is_some()), ("--far", shared.far.is_some()), ("--cpus", shared.cpus.is_some())];
    if let Some((option, _)) = given.into_iter().find(|(_, given)| *given) {
        return Err(usage(format!("experiment {id} goes on as it was begun; leave out {option}")));
    }
    match shared.machine.as_ref().filter(|&machine| !names.is_on(machine)) {
        Some(machine) => Err(usage(format!(
            "experiment {id} was begun on {}, not on {machine}; leave out --machine and POWERBAND_MACHINE",
            names.words()
        ))),
        None => Ok(()),
    }
}

/// Goes where it was begun, as its load and its plan may be named from there. Whether that was possible; a simulated
/// machine needs nothing from there.
fn enter(header: &ExperimentHeader, names: &Names) -> Result<bool, String> {
    let Some(folder) = &header.folder else { return Ok(true) };
    match std::env::set_current_dir(folder) {
        Ok(()) => Ok(true),
        Err(_) if names.simulated() => Ok(false),
        Err(error) => Err(format!(
            "the folder it was begun in, {folder}, cannot be entered ({}); make it again, or begin the experiment again",
            error.to_string().to_lowercase()
        )),
    }
}

/// Whether the plan file it was begun with, where there still is one, describes what was begun.
fn check_plan(
    id: i64,
    begun: &Cli,
    started: &Started,
    world: &mut dyn World,
    user: Option<&User>,
) -> Result<(), Failure> {
    let Verb::Run(run) = &begun.verb else { return Ok(()) };
    let Some(plan) = &run.plan else { return Ok(()) };
    let path = plan.display().to_string();
    let text = match input::text(plan, "the plan", input::WRITTEN) {
        Ok(text) => text,
        Err(stopped) if stopped.exit == Exit::Stopped => return Err(stopped),
        Err(_) => return Ok(()),
    };
    let other = |why: String| {
        usage(format!(
            "experiment {id} was begun with another plan than {path} is now: {why}; `powerband resume {id} --as-begun` goes on with what was begun, `powerband run {path}` begins anew"
        ))
    };
    let plan = Plan::parse(&path, &text).map_err(|error| other(error.to_string()))?;
    let mut plan = overridden(plan, &begun.shared, &run.measuring);
    plan.knobs.extend(rig::declared(&begun.shared)?);
    let names = Names::of(&begun.shared, &plan);
    // A seed that nobody wrote down was drawn, and is the experiment's own.
    plan.seed = plan.seed.or(names.seed()?).or(Some(started.seed));
    let mut plan = named(plan, names);
    mpirun::settle(&mut plan.load, world, user)?;
    let (then, now) = (Names::begun(started), Names::written(&plan));
    if then != now {
        return Err(other(format!("it was {} and is {}", then.words(), now.words())));
    }
    let mut now = resolve(&plan, world).map_err(|error| other(error.to_string()))?.started;
    if plan.margin.is_none() && started.margin_source == CALIBRATED {
        // What a calibration said then holds, whatever one would say now.
        now.margin = started.margin;
    }
    first_difference(started, &now).map_or(Ok(()), |difference| Err(other(difference)))
}

/// The header once we run it.
fn taken_over(seen: &ExperimentHeader, keep: usize, events: usize, max_blocks: Option<u32>) -> ExperimentHeader {
    let count = |events: usize| u64::try_from(events).unwrap_or(u64::MAX);
    let resumption = Resumption {
        unix_s: powerband_host::unix_time_s(),
        kept_events: count(keep),
        dropped_events: count(events - keep),
        max_blocks,
    };
    let resumed = [seen.resumed.as_slice(), &[resumption]].concat();
    ExperimentHeader { owner: Some(powerband_host::this_process()), resumed, ..seen.clone() }
}

/// How it was begun to measure.
fn measuring(begun: &Cli) -> Option<&Measuring> {
    match &begun.verb {
        Verb::Run(run) => Some(&run.measuring),
        Verb::Try(try_) => Some(&try_.measuring),
        _ => None,
    }
}

/// How it was begun to run trials.
fn setup(begun: &Cli) -> Option<&Setup> {
    match &begun.verb {
        Verb::Tune(tune) => Some(&tune.setup),
        Verb::Calibrate(calibrate) => Some(&calibrate.setup),
        _ => measuring(begun).map(|measuring| &measuring.setup),
    }
}

/// The options it was begun with.
fn measured_as(begun: Option<&Cli>) -> Measuring {
    begun.and_then(measuring).cloned().unwrap_or_default()
}
