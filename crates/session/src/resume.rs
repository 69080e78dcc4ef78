//! An experiment that was interrupted or stopped is resumed, if it still is the same experiment on the same rig.
use std::path::PathBuf;

use powerband_experiment::{
    Bench, Fatal, Past, Plan, Resolved, WorldBench, check_rig, extend, extended, first_difference, rebuild, resolve,
    standing, standing_of_extended,
};
use powerband_machine::{User, World};
use powerband_record::{Event, ExperimentHeader, Finding, JOURNAL_VERSION, Owner, Resumption, Started, system_words};
use powerband_rig::{FileError, MAX_WRITTEN_BYTES, Names, Notes, Opening, Purpose, read_text};
use powerband_store::Store;

use crate::measure::CALIBRATED;
use crate::options::{named, names_written};
use crate::store_journal::StoreJournal;
use crate::{EndedExperiment, Options, Progress, SessionError, caller, dry_run, mpirun, selection, table_run};

/// How an experiment was begun, as far as its command line still says.
#[derive(Default)]
pub struct Begun<'a> {
    /// Loads ran as root.
    pub as_root: bool,
    /// The plan's file, if there was one.
    pub plan: Option<BegunPlan<'a>>,
}

/// The plan's file an experiment was begun with.
pub struct BegunPlan<'a> {
    /// Its path.
    pub path: PathBuf,
    /// What was said besides.
    pub options: Options,
    /// Puts into the plan what was said on the command line.
    pub overridden: &'a dyn Fn(Plan) -> Plan,
}

/// What is asked of an experiment that is resumed.
pub struct Resumed<'a> {
    /// Which.
    pub id: i64,
    /// A higher block limit, if it is to be extended.
    pub max_blocks: Option<u32>,
    /// As it was begun, whatever its plan's file says now.
    pub as_begun: bool,
    /// Asked whether what was typed fits the machines.
    pub check: &'a dyn Fn(&Names) -> Result<(), SessionError>,
    /// How it was begun.
    pub begun: Begun<'a>,
}

/// Whether nobody runs it any more, as far as can be seen from here: processes of another host cannot be.
#[must_use]
pub fn is_gone(host: &str, owner: Option<&Owner>) -> bool {
    host == powerband_host::hostname() && owner.is_none_or(|owner| !powerband_host::is_alive(owner))
}

/// Runs the loop over what stands and on.
///
/// # Errors
/// [`SessionError`]: an experiment that has ended, is another one now, or whose machines cannot be used.
pub fn resume(
    mut store: Store,
    asked: Resumed<'_>,
    options: &Options,
    notes: &mut dyn Notes,
    progress: &mut dyn Progress,
) -> Result<EndedExperiment, SessionError> {
    let id = asked.id;
    let refused = |error| SessionError::Resume { id, error: Box::new(error) };
    let because = |why: String| refused(SessionError::Aborted(why));
    let path = store.path().to_owned();
    powerband_host::with_rights_for(&path, || store.take_over(id))?;
    let seen = store.header(id)?;
    let events = store.events(id)?;
    let keep = if asked.max_blocks.is_some() { standing_of_extended(&events) } else { standing(&events) };
    let keep = keep.map_err(|error| refused(SessionError::Usage(error.to_string())))?;
    let Some(Event::Started(started)) = events.first() else { return Err(because("it has no beginning".into())) };
    let before = seen.block_limits();
    let limits = asked.max_blocks.map_or_else(|| Ok(before.clone()), |blocks| extended(started, &before, blocks));
    let limits = limits.map_err(|error| SessionError::Usage(format!("experiment {id}: {error}")))?;
    check_header(&seen).map_err(because)?;
    let names = Names::begun(started).linked(options.link);
    (asked.check)(&names)?;
    let goes_on = GoesOn { asked: &asked, seen: &seen, events: &events, keep, limits: &limits };
    if names.table().is_some() {
        enter(&seen, &names).map_err(because)?;
        let table = table_run::same(&names, started).map_err(refused)?;
        goes_on.rewind(&mut store)?;
        let mut bench = table_run::bench(&table, started).map_err(refused)?;
        let finding = goes_on.conduct(&mut store, started, Past::Computed, &mut bench, progress);
        return Ok(EndedExperiment { store, id, finding, in_place: Ok(()) });
    }
    let resolved = rebuild(started).map_err(|error| because(error.to_string()))?;
    let home = enter(&seen, &names).map_err(because)?;
    let user = user_of_loads(started, asked.begun.as_root, &names).map_err(refused)?;
    let seed = names.seed()?.unwrap_or(started.seed);
    let doing = options.doing();
    let opening =
        Opening { seed: Some(seed), purpose: Purpose::Measure, from_boot: true, doing: &doing, for_a_moment: false };
    let mut rig = powerband_rig::open(&names, &opening, notes)?;
    check_rig(started, rig.world()).map_err(|error| because(error.to_string()))?;
    dry_run::steps(&resolved, rig.world())?;
    if let Some(plan) = asked.begun.plan.as_ref().filter(|_| home && !asked.as_begun) {
        check_plan(id, plan, started, rig.world(), user.as_ref(), notes)?;
    }
    goes_on.rewind(&mut store)?;
    let past = if names.simulated() { Past::Computed } else { Past::Recalled };
    let finding = goes_on.on_rig(&mut store, &resolved, past, (rig.world(), user), progress);
    let in_place = rig.close();
    Ok(EndedExperiment { store, id, finding, in_place })
}

/// What goes on: what is kept of the experiment, and the block limits it was extended to.
struct GoesOn<'a> {
    asked: &'a Resumed<'a>,
    seen: &'a ExperimentHeader,
    events: &'a [Event],
    keep: usize,
    limits: &'a [u32],
}

impl GoesOn<'_> {
    /// Takes the experiment over, and takes back what comes after what is kept.
    fn rewind(&self, store: &mut Store) -> Result<(), SessionError> {
        let GoesOn { seen, events, keep, .. } = *self;
        let taken_over = taken_over(seen, keep, events.len(), self.asked.max_blocks);
        Ok(store.rewind(self.asked.id, (seen, events.len()), keep, &taken_over)?)
    }

    fn on_rig(
        &self,
        store: &mut Store,
        resolved: &Resolved,
        past: Past,
        (world, user): (&mut dyn World, Option<User>),
        progress: &mut dyn Progress,
    ) -> Result<Finding, Fatal> {
        let mut bench = WorldBench::new(world, resolved).with_user(user).lending(powerband_host::lent_environment());
        self.conduct(store, &resolved.started, past, &mut bench, progress)
    }

    fn conduct(
        &self,
        store: &mut Store,
        started: &Started,
        past: Past,
        bench: &mut dyn Bench,
        progress: &mut dyn Progress,
    ) -> Result<Finding, Fatal> {
        let kept = &self.events[..self.keep];
        progress.begins();
        progress.resumes(kept, self.limits);
        let mut journal = StoreJournal { store, id: self.asked.id, progress };
        let finding = extend(started, self.limits, kept, past, bench, &mut journal);
        journal.progress.ended();
        finding
    }
}

/// Whom the loads go on as: the user they ran as.
fn user_of_loads(started: &Started, as_root: bool, names: &Names) -> Result<Option<User>, SessionError> {
    let Some(then) = started.user else { return Ok(None) };
    let user = if names.here() { caller::user_of_loads(as_root)? } else { None };
    match caller::number(user.as_ref()) {
        now if now == then => Ok(user),
        now => Err(SessionError::Usage(format!(
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
    // This process has ended what it ran before.
    let another = |owner: &&_| **owner != powerband_host::this_process() && powerband_host::is_alive(owner);
    match header.owner.as_ref().filter(another) {
        Some(owner) => Err(format!("powerband {} still runs it{}", owner.pid, powerband_host::wait_or_stop(owner.pid))),
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
            system_words(&error)
        )),
    }
}

/// Whether the plan file it was begun with, where there still is one, describes what was begun.
fn check_plan(
    id: i64,
    begun: &BegunPlan<'_>,
    started: &Started,
    world: &mut dyn World,
    user: Option<&User>,
    notes: &mut dyn Notes,
) -> Result<(), SessionError> {
    let path = begun.path.display().to_string();
    let text = match read_text(&begun.path, "the plan", MAX_WRITTEN_BYTES) {
        Ok(text) => text,
        Err(stopped @ FileError::Stopped { .. }) => return Err(stopped.into()),
        Err(_) => return Ok(()),
    };
    let other = |why: String| SessionError::OtherPlan { id, path: path.clone(), why };
    let plan = Plan::parse(&path, &text).map_err(|error| other(error.to_string()))?;
    let mut plan = (begun.overridden)(plan);
    plan.knobs.extend(selection::declared_knobs(begun.options.declared.as_deref())?);
    let names = begun.options.names(&plan)?;
    // A seed that nobody wrote down was drawn, and is the experiment's own.
    plan.seed = plan.seed.or(names.seed()?).or(Some(started.seed));
    let mut plan = named(plan, names);
    mpirun::settle(&mut plan.load, world, user, notes)?;
    let (then, now) = (Names::begun(started), names_written(&plan));
    if then != now {
        return Err(other(format!("it was {} and is {}", then.describe(), now.describe())));
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
