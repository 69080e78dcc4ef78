//! Measuring: what `try` and `run` share, from a plan to a printed verdict and an exit code.
use std::collections::BTreeSet;
use std::path::PathBuf;

use powerband_experiment::{
    ESTIMATE, Fatal, Plan, PlanError, ResolveError, Resolved, WorldBench, choices, meters_read, resolve, run, sided,
};
use powerband_host::with_rights_for;
use powerband_machine::{User, World};
use powerband_record::{
    CloseReason, CommandMeter, Event, ExperimentHeader, Finding, JOURNAL_VERSION, MAX_CALIBRATED_MARGIN, Standing,
    Verdict, format_duration, is_loss,
};
use powerband_report::sentence::percent;
use powerband_store::{Noise, Store};

use crate::cli::{FailOn, Measuring, Shared};
use crate::exit::{Answer, Exit, Failure, usage};
use crate::journal::StoreJournal;
use crate::rig::{self, Purpose};
use crate::{caller, commands, dry, incomplete, input, lag, mpirun, output, tabled, verb};

/// Where a margin comes from that a calibration proposes.
pub(crate) const CALIBRATED: &str = "calibration";

/// Where an experiment was written down.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Words {
    /// On the command line.
    Typed,
    /// In a file, which may be somebody else's.
    File,
}

/// Runs an experiment and prints what it found.
pub(crate) fn measure(shared: &Shared, plan: Plan, measuring: &Measuring, words: Words) -> Answer {
    let mut plan = overridden(plan, shared, measuring);
    for text in measuring.setup.meters.iter().filter(|text| text.contains('=')) {
        let (name, meter) = CommandMeter::parse(text).map_err(usage)?;
        plan.meters.insert(name, meter);
    }
    plan.knobs.extend(rig::declared(shared)?);
    let purpose = if measuring.setup.dry_run { Purpose::Rehearse } else { Purpose::Measure };
    let names = rig::Names::of(shared, &plan);
    let given = given_seed(shared, &plan, &names)?;
    plan.seed = Some(given.map_or_else(drawn_seed, Ok)?);
    if names.table().is_some() {
        return tabled::measure(shared, named(plan, names), measuring, given.is_none());
    }
    let real = !names.simulated();
    rig::check_models(&names, &plan.load)?;
    let user = if names.here() { caller::user_of_loads(measuring.setup.as_root)? } else { None };
    // The store first: without a place for results nothing may be turned.
    let mut store = if measuring.setup.dry_run { None } else { Some(open_store(shared)?) };
    let mut rig = rig::open(&names, plan.seed, purpose)?;
    if !measuring.setup.dry_run && plan.meter_lag.iter().any(|text| sided(text).1 == ESTIMATE) {
        estimate_lags(&mut plan, rig.world())?;
        // The experiment begins on a rig on which nothing has run.
        rig.close()?;
        rig = rig::open(&names, plan.seed, purpose)?;
    }
    let mut plan = named(plan, names.clone());
    rig::check_shells(&plan.load, rig.world())?;
    if !measuring.setup.dry_run {
        mpirun::settle(&mut plan.load, rig.world(), user.as_ref())?;
    }
    let resolved = resolve(&plan, rig.world());
    rig::lost(rig.world()).map_or(Ok(()), Err)?;
    let mut resolved = resolved.map_err(rig::resolve_failure)?;
    resolved.started.user = real.then(|| caller::number(user.as_ref()));
    rig::check_addresses(&resolved.load, rig.world())?;
    resolved.notes.iter().for_each(|note| output::remark(note));
    margin_by_calibration(&plan, &mut resolved, shared, store.as_ref())?;
    let steps = dry::steps(&resolved, rig.world())?;
    let listed = commands::of(&resolved, &names, user.as_ref());
    resolved.started.baseline = dry::baseline(&steps);
    if !measuring.setup.dry_run {
        if words == Words::File || shared.declared.is_some() {
            commands::note(&listed);
        }
        let notes: BTreeSet<&String> = steps.iter().flat_map(|steps| &steps.notes).collect();
        notes.into_iter().for_each(|note| output::remark(note));
    }
    let Some(store) = &mut store else {
        return dry::print(shared, &resolved, &steps, &listed, rig.world(), given.is_none());
    };
    let id = store.begin(&header()).map_err(store_failure)?;
    let finding = conduct(store, id, &resolved, rig.world(), user, measuring.setup.quiet || shared.json);
    let in_place = rig.close();
    conclude(shared, store, id, finding, measuring).and_then(|code| in_place.map(|()| code))
}

/// The seed of an experiment, where one is given.
fn given_seed(shared: &Shared, plan: &Plan, names: &rig::Names) -> Result<Option<u64>, Failure> {
    Ok(plan.seed.or(names.seed()?).or(shared.seed_of_environment))
}

/// A seed that nobody gave, so that no two experiments share the order of their trials by accident.
fn drawn_seed() -> Result<u64, Failure> {
    powerband_host::random_seed().map(u64::from).map_err(|errno| {
        Failure::new(Exit::CannotGoOn, format!("no seed can be drawn ({errno}); give one with --seed, e.g. --seed 1"))
    })
}

/// A search is told the noise of its metrics. Where neither the plan nor an option gives a margin: what the latest calibration of this machine and load proposes, of
/// several judged metrics the largest. The experiment then has it, and asks the store no more.
fn margin_by_calibration(
    plan: &Plan,
    resolved: &mut Resolved,
    shared: &Shared,
    store: Option<&Store>,
) -> Result<(), Failure> {
    if resolved.started.search.is_none() && (plan.margin.is_some() || plan.calibration) {
        return Ok(());
    }
    let looked = if store.is_none() { find_store(shared)? } else { None };
    let Some(store) = store.or(looked.as_ref()) else { return Ok(()) };
    let host = powerband_host::hostname();
    if let Some(mut search) = resolved.started.search.take() {
        for metric in resolved.started.metrics.iter().filter(|metric| metric.judged) {
            let noise = store.noise(&host, &resolved.started, metric).map_err(store_failure)?;
            search.noise.extend(noise.map(|noise| (metric.name.clone(), noise.sigma)));
        }
        resolved.started.search = Some(search);
        return Ok(());
    }
    let mut best: Option<(Noise, String)> = None;
    // Losses have a margin of their own.
    for metric in resolved.started.metrics.iter().filter(|metric| metric.judged && !is_loss(&metric.name)) {
        let noise = store.noise(&host, &resolved.started, metric).map_err(store_failure)?;
        let larger =
            |noise: &Noise| best.as_ref().is_none_or(|(before, _)| noise.default_margin > before.default_margin);
        if let Some(noise) = noise.filter(larger) {
            best = Some((noise, metric.name.clone()));
        }
    }
    if let Some((noise, metric)) = best.as_ref().filter(|(noise, _)| noise.default_margin > MAX_CALIBRATED_MARGIN) {
        let started = &mut resolved.started;
        let note = format!(
            "calibration {} found {metric} too noisy to set a margin (it varies by {} from trial to trial): the default of {} is used; --margin gives another",
            noise.experiment,
            percent(noise.sigma),
            percent(started.margin)
        );
        output::remark(&note);
        started.margin_source = "the default, as the calibration was too noisy".into();
        started.notes.push(note);
        return Ok(());
    }
    if let Some((noise, metric)) = best {
        resolved.started.margin = noise.default_margin;
        resolved.started.margin_source = CALIBRATED.into();
        output::remark(&format!(
            "the margin is {}, from calibration {}: {metric} varies by {} from trial to trial; --margin gives another",
            percent(noise.default_margin),
            noise.experiment,
            percent(noise.sigma)
        ));
    }
    Ok(())
}

/// Puts numbers in the place of the delays that are to be estimated.
fn estimate_lags(plan: &mut Plan, world: &mut dyn World) -> Result<(), Failure> {
    let refused = |error: PlanError| rig::resolve_failure(ResolveError::from(error));
    let meters = meters_read(world, &choices(plan).map_err(refused)?).map_err(refused)?;
    for text in plan.meter_lag.iter_mut().filter(|text| sided(text).1 == ESTIMATE) {
        let (side, _) = sided(text);
        let none = || usage(format!("the {side} machine has no meter whose delay could be estimated"));
        let meter = meters.get(&side).ok_or_else(none)?;
        output::remark(&format!("a load goes on and off on the {side} machine, to see how late {} is", meter.boundary));
        let lag = lag::estimate(world, side, std::slice::from_ref(meter))?.into_iter().next();
        let lag_ns = lag.unwrap_or_else(|| Err("it was not read".into())).map_err(|why| {
            Failure::new(Exit::Unsupported, format!("the delay of {} cannot be measured: {why}", meter.boundary))
        })?;
        let lag_ms = (lag_ns + 500_000) / 1_000_000;
        let late = format_duration(lag_ms * 1_000_000);
        output::remark(&format!("the numbers of {} come {late} late, and each trial waits for them", meter.boundary));
        *text = format!("{side}/{lag_ms}ms");
    }
    Ok(())
}

/// Runs the loop with everything it needs.
pub(crate) fn conduct(
    store: &mut Store,
    id: i64,
    resolved: &Resolved,
    world: &mut dyn World,
    user: Option<User>,
    quiet: bool,
) -> Result<Finding, Fatal> {
    let mut journal = StoreJournal::new(store, id, quiet);
    let mut bench = WorldBench::new(world, resolved).with_user(user);
    let result = run(&resolved.started, &mut bench, &mut journal);
    journal.finish();
    result
}

/// Prints what an experiment came to and answers its code.
pub(crate) fn conclude(
    shared: &Shared,
    store: &mut Store,
    id: i64,
    finding: Result<Finding, Fatal>,
    measuring: &Measuring,
) -> Answer {
    if let Ok(Finding { reason: CloseReason::LoadFailed { why }, trials: 0, .. }) = &finding
        && restored(store, id)?
        && store.withdraw(id).map_err(store_failure)?
    {
        return Err(Failure::new(Exit::LoadFailed, format!("{why}; nothing was measured, nothing is stored")));
    }
    let finished = finish_header(store, id);
    if !store.is_in_place() && !matches!(finding, Err(Fatal::CannotRestore { .. })) {
        return Err(displaced(store, id));
    }
    // What ended the experiment is told before what only its header suffers from.
    let finding = finding.map_err(|fatal| {
        let failure = fatal_failure(fatal, id);
        let unrestored = unrestored(store, id).filter(|_| failure.exit != Exit::CannotRestore);
        unrestored.inspect(|_| output::complain(&failure.sentence)).unwrap_or(failure)
    })?;
    finished?;
    verb::show::print(shared, store, id)?;
    verb::export::after(store, id, &measuring.exports)?;
    unrestored(store, id).map_or_else(|| verdict_code(&finding, &measuring.fail_on, id), Err)
}

/// What the journal says was not restored; nothing else that an experiment came to matters more.
fn unrestored(store: &Store, id: i64) -> Option<Failure> {
    let events = store.events(id).ok()?;
    let failed = events.iter().rev().find_map(|event| match event {
        Event::Restored { failed, .. } => Some(failed),
        _ => None,
    });
    let failed = failed.filter(|failed| !failed.is_empty())?;
    let names = events.iter().find_map(|event| match event {
        Event::Started(started) => Some(rig::Names::begun(started)),
        _ => None,
    });
    let undo = names.map_or_else(|| "powerband undo --left".to_owned(), |names| names.words_for("undo --left"));
    Some(incomplete::failure(failed, &format!("`{undo}` tries again, `powerband show {id}` has it")))
}

/// The store was deleted, moved or replaced under an experiment: saves what was measured.
fn displaced(store: &mut Store, id: i64) -> Failure {
    let was = format!("the store {} was deleted, moved or replaced during the experiment", store.path().display());
    let path = store.path().to_owned();
    let sentence = match with_rights_for(&path, || store.save_displaced()) {
        Ok(saved) => format!(
            "{was}; every setting is restored, and what was measured is in {0}: `powerband --store {0} show {id}`",
            saved.display()
        ),
        Err(error) => format!("{was}; every setting is restored, but what was measured is lost: {error}"),
    };
    Failure::new(Exit::CannotGoOn, sentence)
}

/// Whether an experiment restored everything; what it could not is kept with it.
fn restored(store: &Store, id: i64) -> Result<bool, Failure> {
    let events = store.events(id).map_err(store_failure)?;
    Ok(!events.iter().any(|event| matches!(event, Event::Restored { failed, .. } if !failed.is_empty())))
}

/// What is said on the command line wins over the plan.
pub(crate) fn overridden(mut plan: Plan, shared: &Shared, measuring: &Measuring) -> Plan {
    let put = |slot: &mut Option<String>, value: &Option<String>| {
        if value.is_some() {
            slot.clone_from(value);
        }
    };
    put(&mut plan.margin, &measuring.margin);
    put(&mut plan.alpha, &measuring.alpha);
    put(&mut plan.family, &measuring.judged.family);
    put(&mut plan.judge, &measuring.judged.judge);
    put(&mut plan.budget, &measuring.setup.budget);
    put(&mut plan.settle, &measuring.setup.settle);
    put(&mut plan.reference, &measuring.reference);
    let around = &measuring.setup.around;
    put(&mut plan.prepare, &around.prepare);
    put(&mut plan.conclude, &around.conclude);
    put(&mut plan.setup, &around.setup);
    put(&mut plan.cleanup, &around.cleanup);
    put(&mut plan.cool, &measuring.setup.cool);
    put(&mut plan.knee, &measuring.knee);
    put(&mut plan.cpus, &shared.cpus.as_ref().map(ToString::to_string));
    plan.blocks = measuring.blocks.or(plan.blocks);
    plan.runs = measuring.runs.runs.or(plan.runs);
    plan.min_runs = measuring.runs.min_runs.or(plan.min_runs);
    plan.max_runs = measuring.runs.max_runs.or(plan.max_runs);
    plan.warmup = measuring.setup.warmup.or(plan.warmup);
    plan.seed = shared.seed.or(plan.seed);
    plan.robust |= measuring.judged.robust;
    if !measuring.requirements.is_empty() {
        plan.require.clone_from(&measuring.requirements);
    }
    if !measuring.setup.meters.is_empty() {
        // One with an equals sign declares a program beside naming it.
        let name = |text: &String| text.split_once('=').map_or(text.as_str(), |(name, _)| name).to_owned();
        plan.meter = measuring.setup.meters.iter().map(name).collect();
    }
    if !measuring.setup.meter_lags.is_empty() {
        plan.meter_lag.clone_from(&measuring.setup.meter_lags);
    }
    if !measuring.setup.record.is_empty() {
        plan.record.clone_from(&measuring.setup.record);
    }
    if !measuring.setup.metrics.is_empty() {
        plan.metrics.clone_from(&measuring.setup.metrics);
    }
    plan
}

/// The plan with the machines as they are named in the end, so that the journal says how to find them again.
pub(crate) fn named(mut plan: Plan, names: rig::Names) -> Plan {
    names.write_into(&mut plan);
    plan
}

/// The store the user named, or the one in the state folder.
fn store_path(shared: &Shared) -> Result<PathBuf, Failure> {
    match &shared.store {
        Some(path) => Ok(path.clone()),
        None => Ok(rig::store_folder()?.join("powerband.sqlite")),
    }
}

/// Opens the store for an experiment, making it if it is not there.
pub(crate) fn open_store(shared: &Shared) -> Result<Store, Failure> {
    let path = store_path(shared)?;
    with_rights_for(&path, || Store::open(&path)).map_err(store_failure)
}

/// Opens the store for looking; `None` when there is none yet, as looking makes nothing.
pub(crate) fn find_store(shared: &Shared) -> Result<Option<Store>, Failure> {
    let path = store_path(shared)?;
    // What stands in the way is told by opening.
    if !path.try_exists().unwrap_or(true) {
        return Ok(None);
    }
    with_rights_for(&path, || Store::open(&path)).map(Some).map_err(store_failure)
}

/// As [`find_store`], for verbs that need an experiment.
pub(crate) fn need_store(shared: &Shared) -> Result<Store, Failure> {
    let none = || usage("there are no experiments yet; begin with e.g. `powerband run plans/router.toml`");
    find_store(shared)?.ok_or_else(none)
}

/// A store that cannot be used ends a command that measures; nothing was turned.
pub(crate) fn store_failure(error: powerband_store::StoreError) -> Failure {
    Failure::new(Exit::CannotGoOn, error)
}

pub(crate) fn header() -> ExperimentHeader {
    ExperimentHeader {
        journal_version: JOURNAL_VERSION,
        id: 0,
        started_unix_s: powerband_host::unix_time_s(),
        host: powerband_host::hostname(),
        powerband: env!("CARGO_PKG_VERSION").into(),
        command_line: std::env::args().collect(),
        folder: std::env::current_dir().ok().map(|folder| folder.display().to_string()),
        owner: Some(powerband_host::this_process()),
        resumed: Vec::new(),
        observer_cpu_s: None,
        observer_wakeups: None,
    }
}

/// Writes down what measuring cost, with what it cost before if it was gone on with.
fn finish_header(store: &mut Store, id: i64) -> Result<(), Failure> {
    let usage = powerband_host::observer_usage();
    let mut header = store.header(id).map_err(store_failure)?;
    header.observer_cpu_s = Some(usage.cpu_s + header.observer_cpu_s.unwrap_or(0.0));
    header.observer_wakeups = Some(usage.wakeups + header.observer_wakeups.unwrap_or(0));
    store.update_header(id, &header).map_err(store_failure)
}

fn fatal_failure(fatal: Fatal, id: i64) -> Failure {
    let go_on = |exit| Failure::new(exit, format!("{fatal}; `powerband resume {id}` goes on"));
    match fatal {
        Fatal::CannotRestore { .. } => Failure::new(Exit::CannotRestore, fatal),
        Fatal::Knob(error) => rig::knob_failure(error),
        Fatal::Meter { .. } => Failure::new(Exit::CannotGoOn, fatal),
        Fatal::NoMeter { .. } => Failure::new(Exit::Unsupported, fatal),
        Fatal::Differs { why } => {
            Failure::new(Exit::CannotGoOn, format!("experiment {id} cannot go on: {why}; begin it again"))
        }
        Fatal::StoppedComputing => go_on(Exit::Stopped),
        _ => go_on(Exit::CannotGoOn),
    }
}

/// The exit code a finding asks for.
fn verdict_code(finding: &Finding, fail_on: &[FailOn], id: i64) -> Answer {
    match &finding.reason {
        CloseReason::Stopped => return Ok(Exit::Stopped as u8),
        CloseReason::LoadFailed { why } => return Err(Failure::new(Exit::LoadFailed, why)),
        CloseReason::Failed { why } => return Err(Failure::new(Exit::CannotGoOn, why)),
        CloseReason::Decided | CloseReason::Blocks | CloseReason::Budget => {}
    }
    let happened = |fail: &FailOn| {
        let verdict = match fail {
            FailOn::Better => Verdict::Better,
            FailOn::Worse => Verdict::Worse,
            FailOn::Same => Verdict::Same,
            FailOn::Undecided => Verdict::Undecided,
            FailOn::Broken => return finding.requirements.iter().any(|it| it.standing == Standing::Broken),
        };
        finding.verdicts.iter().any(|v| v.verdict == verdict)
            || (*fail == FailOn::Undecided && finding.verdicts.is_empty())
    };
    if let Some(fail) = fail_on.iter().find(|fail| happened(fail)) {
        let named = format!("{fail:?}").to_lowercase();
        return Err(Failure::new(
            Exit::Failed,
            format!("--fail-on {named} happened; `powerband show {id}` says where"),
        ));
    }
    Ok(Exit::Fine as u8)
}

/// Reads a plan file.
pub(crate) fn read_plan(path: &std::path::Path) -> Result<Plan, Failure> {
    let text = input::text(path, "the plan", input::WRITTEN)?;
    Plan::parse(&path.display().to_string(), &text).map_err(usage)
}
