//! Measuring: from a plan to an experiment on an open rig, and from there to its end.
use powerband_experiment::{
    ESTIMATE, Plan, PlanError, ResolveError, Resolved, ShownMetrics, WorldBench, choices, meters_read, resolve, run,
    sided,
};
use powerband_machine::{User, World};
use powerband_record::{FleetTask, Hint, MAX_CALIBRATED_MARGIN, format_duration, is_loss};
use powerband_report::words::percent;
use powerband_rig::{Note, Notes, Rig, check_lost};
use powerband_store::{CalibratedNoise, Store};

use crate::dry_run::{self, Planned, Steps};
use crate::options::named;
use crate::store_journal::StoreJournal;
use crate::{
    EndedExperiment, Listed, OnTable, Options, Progress, SessionError, caller, fit, header, meter_lag, mpirun,
    node_facts, selection,
};
use crate::{store, table_run};

/// Where a margin comes from that a calibration proposes.
pub(crate) const CALIBRATED: &str = "calibration";

/// An experiment that is ready to run.
pub enum Experiment {
    /// On the machines of a rig.
    OnRig(Box<OnRig>),
    /// On a table, alone.
    OnTable(Box<OnTable>),
}

/// An experiment on an open rig.
pub struct OnRig {
    pub(crate) resolved: Resolved,
    pub(crate) steps: Vec<Steps>,
    pub(crate) commands: Vec<Listed>,
    pub(crate) rig: Rig,
    pub(crate) user: Option<User>,
    /// None in a dry run.
    pub(crate) store: Option<Store>,
    pub(crate) seed_drawn: bool,
    pub(crate) fleet: Option<FleetTask>,
}

/// Makes a plan an experiment; nothing is changed but to restore what an interrupted owner left.
///
/// # Errors
/// [`SessionError`]: a plan that does not fit its machines, or machines or a store that cannot be used.
pub fn prepare(mut plan: Plan, options: &Options, notes: &mut dyn Notes) -> Result<Experiment, SessionError> {
    plan.knobs.extend(selection::declared_knobs(options.declared.as_deref())?);
    let names = options.names(&plan)?;
    let given = options.given_seed(&plan, &names)?;
    plan.seed = Some(given.map_or_else(drawn_seed, Ok)?);
    if names.table().is_some() {
        let on_table = table_run::prepare(&named(plan, names), options, given.is_none(), notes)?;
        return Ok(Experiment::OnTable(Box::new(on_table)));
    }
    fit::check_models(&names, &plan.load)?;
    let user = if names.here() { caller::user_of_loads(options.as_root)? } else { None };
    // The store first: without a place for results nothing may be changed.
    let mut store = if options.stores_nothing() { None } else { Some(store::open(options.store.as_deref())?) };
    store.iter_mut().for_each(|store| store::note(store, notes));
    let doing = options.doing();
    let opening = options.opening(plan.seed, &doing);
    let mut rig = powerband_rig::open(&names, &opening, notes)?;
    if !options.dry_run && plan.meter_lag.iter().any(|text| sided(text).1 == ESTIMATE) {
        estimate_lags(&mut plan, rig.world(), notes)?;
        // The experiment begins on a rig on which nothing has run.
        rig.close()?;
        rig = powerband_rig::open(&names, &opening, notes)?;
    }
    let mut plan = named(plan, names.clone());
    fit::check_shells(&plan.load, rig.world())?;
    if !options.dry_run {
        mpirun::settle(&mut plan.load, rig.world(), user.as_ref(), notes)?;
    }
    let resolved = resolve(&plan, rig.world());
    check_lost(rig.world())?;
    let mut resolved = resolved?;
    resolved.started.user = (!names.simulated()).then(|| caller::number(user.as_ref()));
    fit::check_addresses(&resolved.load, rig.world())?;
    resolved.notes.iter().for_each(|note| notes.note(note.clone().into()));
    margin_by_calibration(&plan, &mut resolved, options, store.as_ref(), notes)?;
    let steps = dry_run::steps(&resolved, rig.world())?;
    let commands = Listed::of(&resolved, &names, user.as_ref());
    resolved.started.baseline = dry_run::baseline(&steps);
    let seed_drawn = given.is_none();
    let fleet = options.fleet.clone().map(|task| node_facts::with_facts(task, rig.world()));
    Ok(Experiment::OnRig(Box::new(OnRig { resolved, steps, commands, rig, user, store, seed_drawn, fleet })))
}

/// A seed that nobody gave, so that no two experiments share the order of their trials by accident.
fn drawn_seed() -> Result<u64, SessionError> {
    powerband_host::random_seed().map(u64::from).map_err(|errno| SessionError::NoSeed(errno.to_string()))
}

impl OnRig {
    /// What would be set, measured and taken.
    pub fn planned(&mut self) -> Planned<'_> {
        dry_run::planned(&self.resolved, &self.steps, &self.commands, self.rig.world(), self.seed_drawn)
    }

    /// Every command that it executes.
    #[must_use]
    pub fn commands(&self) -> &[Listed] {
        &self.commands
    }

    /// What each setting sets.
    #[must_use]
    pub fn steps(&self) -> &[Steps] {
        &self.steps
    }

    /// Runs each distinct load once as the machines are, and shows what each metric is read as. Nothing is set or stored.
    ///
    /// # Errors
    /// When it could not go on.
    pub fn show_metrics(mut self) -> Result<ShownMetrics, SessionError> {
        let shown = WorldBench::new(self.rig.world(), &self.resolved).with_user(self.user).show_metrics(&self.resolved);
        let in_place = self.rig.close();
        let shown = shown.map_err(|fatal| SessionError::Aborted(fatal.to_string()))?;
        in_place?;
        Ok(shown)
    }

    /// Measures, and closes the rig.
    ///
    /// # Errors
    /// When the store cannot take it, or this was a dry run.
    pub fn run(self, command_line: &[String], progress: &mut dyn Progress) -> Result<EndedExperiment, SessionError> {
        let OnRig { resolved, mut rig, user, store, fleet, .. } = self;
        let mut store = store.ok_or_else(|| SessionError::Failed("a dry run measures nothing".into()))?;
        let header = header::header(command_line, fleet);
        let (id, finding) = StoreJournal::begin(&mut store, &header, progress, |journal| {
            let bench = WorldBench::new(rig.world(), &resolved).with_user(user);
            run(&resolved.started, &mut bench.lending(powerband_host::lent_environment()), journal)
        })?;
        let in_place = rig.close();
        Ok(EndedExperiment { store, id, finding, in_place })
    }
}

/// A search is told the noise of its metrics. Where neither the plan nor an option gives a margin: what the latest calibration of this machine and load proposes, of
/// several judged metrics the largest. The experiment then has it, and asks the store no more.
fn margin_by_calibration(
    plan: &Plan,
    resolved: &mut Resolved,
    options: &Options,
    store: Option<&Store>,
    notes: &mut dyn Notes,
) -> Result<(), SessionError> {
    if resolved.started.search.is_none() && (plan.margin.is_some() || plan.calibration) {
        return Ok(());
    }
    let looked = if store.is_none() { store::find(options.store.as_deref())? } else { None };
    let Some(store) = store.or(looked.as_ref()) else { return Ok(()) };
    let host = powerband_host::hostname();
    if let Some(mut search) = resolved.started.search.take() {
        for metric in resolved.started.metrics.iter().filter(|metric| metric.judged) {
            let noise = store.noise(&host, &resolved.started, metric)?;
            search.noise.extend(noise.map(|noise| (metric.name.clone(), noise.sigma)));
        }
        resolved.started.search = Some(search);
        return Ok(());
    }
    let mut best: Option<(CalibratedNoise, String)> = None;
    // Losses have a margin of their own.
    for metric in resolved.started.metrics.iter().filter(|metric| metric.judged && !is_loss(&metric.name)) {
        let noise = store.noise(&host, &resolved.started, metric)?;
        let larger = |noise: &CalibratedNoise| {
            best.as_ref().is_none_or(|(before, _)| noise.default_margin > before.default_margin)
        };
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
        notes.note(note.clone().into());
        started.margin_source = "the default, as the calibration was too noisy".into();
        started.notes.push(note);
        return Ok(());
    }
    if let Some((noise, metric)) = best {
        resolved.started.margin = noise.default_margin;
        resolved.started.margin_source = CALIBRATED.into();
        let text = format!(
            "the margin is {}, from calibration {}: {metric} varies by {} from trial to trial",
            percent(noise.default_margin),
            noise.experiment,
            percent(noise.sigma)
        );
        notes.note(Note::from(text).with(Hint::GiveMargin));
    }
    Ok(())
}

/// Puts numbers in the place of the delays that are to be estimated.
fn estimate_lags(plan: &mut Plan, world: &mut dyn World, notes: &mut dyn Notes) -> Result<(), SessionError> {
    let refused = |error: PlanError| SessionError::from(ResolveError::from(error));
    let meters = meters_read(world, &choices(plan).map_err(refused)?).map_err(refused)?;
    for text in plan.meter_lag.iter_mut().filter(|text| sided(text).1 == ESTIMATE) {
        let (side, _) = sided(text);
        let none = || SessionError::Usage(format!("the {side} machine has no meter whose delay could be estimated"));
        let meter = meters.get(&side).ok_or_else(none)?;
        let goes_on = format!("a load goes on and off on the {side} machine, to see how late {} is", meter.boundary);
        notes.note(goes_on.into());
        let lag = meter_lag::estimate(world, side, std::slice::from_ref(meter))?.into_iter().next();
        let lag_ns = lag.unwrap_or_else(|| Err("it was not read".into())).map_err(|why| {
            SessionError::Unsupported(format!("the delay of {} cannot be measured: {why}", meter.boundary))
        })?;
        let lag_ms = (lag_ns + 500_000) / 1_000_000;
        let late = format_duration(lag_ms * 1_000_000);
        let waits = format!("the numbers of {} come {late} late, and each trial waits for them", meter.boundary);
        notes.note(waits.into());
        *text = format!("{side}/{lag_ms}ms");
    }
    Ok(())
}
