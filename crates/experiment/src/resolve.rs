//! Resolving: from a plan as written to an experiment in which nothing is left to defaults.
use std::collections::BTreeSet;

use powerband_knob::{Declared, Selection, check_machines, resolve as resolve_knob};
use powerband_load::{Load, MetricSpec, Source};
use powerband_machine::World;
use powerband_meter::MeterInstance;
use powerband_record::{
    BACKGROUND, BASELINE, Background, CommandMeter, Cool, CpuList, DAEMON, KnobRef, LoadKnob, Metric, PlannedSetting,
    Requirement, Setting, Side, Started, parse_duration_ns, parse_percent,
};

use crate::asked::Sources;
use crate::choice::{choices, program};
use crate::cooling;
use crate::cost::{ByCost, by_cost};
use crate::courses::recordings;
use crate::crossing::{crossed, most_settings};
use crate::metering::Metering;
use crate::search::Asked;
use crate::space::Space;
use crate::too_short::demote_unmeasurable;
use crate::variants::{Variant, baseline, variants};
use crate::world_bench::daemon::daemon_cpu;
use crate::{Plan, PlanError, ResolveError};

/// Margin of "same" until a calibration knows better.
const DEFAULT_MARGIN: f64 = 0.01;

/// The largest error rate and the largest margin that are accepted.
const MAX_ALPHA: f64 = 0.5;
const MAX_MARGIN: f64 = 10.0;

/// Error rate of differences.
const DEFAULT_ALPHA: f64 = 0.05;

/// Blocks at most when neither blocks nor time are given, and when only time is.
const DEFAULT_BLOCKS: u32 = 30;
const BLOCKS_BY_TIME: u32 = 10_000;

/// Warm-up trials at most.
const DEFAULT_WARMUP: u32 = 5;

/// Seed of a plan without one; the command draws one before it resolves a plan.
const DEFAULT_SEED: u64 = 1;

/// An experiment ready to run.
#[derive(Clone, Debug)]
pub struct Resolved {
    /// What the journal begins with.
    pub started: Started,
    /// Settings in the order of `started.settings`.
    pub settings: Vec<Setting>,
    /// The load.
    pub load: Load,
    /// What each setting changes about it.
    pub variants: Vec<Variant>,
    /// Metrics picked from output or renamed.
    pub picks: Vec<MetricSpec>,
    /// CPUs that are turned.
    pub narrow: Selection,
    /// What was left out of `all`, and similar ones.
    pub notes: Vec<String>,
}

impl Resolved {
    /// Command lines besides the load's own: what runs around trials and next to the load, each with where and when, once.
    #[must_use]
    pub fn commands_around(&self) -> Vec<(Side, &'static str, String)> {
        let mut all = Vec::new();
        for Variant { changes, .. } in &self.variants {
            let hooks = self.started.hooks.all().map(|(name, line)| (Side::Near, name, changes.filled(line)));
            let background = changes.background.iter().filter_map(|(side, background)| match background {
                Background::Command(line) => Some((*side, BACKGROUND, changes.filled(line))),
                Background::None | Background::Spin(_) => None,
            });
            let daemon = changes.daemon.iter().map(|line| (Side::Near, DAEMON, changes.filled(line)));
            for line in hooks.chain(background).chain(daemon) {
                if !all.contains(&line) {
                    all.push(line);
                }
            }
        }
        all
    }

    /// What its metrics are measured as, by the load, a meter or the machine's state: of one that has another name, the
    /// measured one, and of a ratio both.
    pub(crate) fn measured(&self) -> impl Iterator<Item = &str> {
        let renamed = |name: &str| self.picks.iter().find(|pick| pick.metric.name == name);
        self.started.metrics.iter().flat_map(move |metric| match renamed(&metric.name).map(|pick| &pick.source) {
            None => vec![metric.name.as_str()],
            Some(Source::Measured(name)) => vec![name.as_str()],
            Some(Source::Ratio(over, under)) => vec![over.as_str(), under.as_str()],
            Some(_) => Vec::new(),
        })
    }
}

/// Resolves a plan against the machines it will run on. Reads them, turns nothing.
///
/// # Errors
/// [`ResolveError`]: the plan's fault, or a knob that this machine does not have.
pub fn resolve(plan: &Plan, world: &mut dyn World) -> Result<Resolved, ResolveError> {
    plan.load.check().map_err(PlanError::from)?;
    let rules = rules(plan)?;
    let narrow = narrow(plan)?;
    let mut notes = Vec::from_iter(plan.load.advice());
    let settings = settings(plan, world, &narrow, &mut notes)?;
    let settings = with_reference(plan, settings)?;
    let known = |knob: &KnobRef| narrow.declared.find(&knob.name).map_or_else(|| resolve_knob(&knob.name), Ok);
    let ByCost { settings, order: cost_order, note } =
        by_cost(plan, settings, &|knob| known(knob).map(|knob| knob.name).map_err(ResolveError::from))?;
    let alone = world.machine(Side::Far).is_none().then(|| plan.load.facts().without_peer.map(str::to_owned)).flatten();
    let caveats: Vec<String> = note.into_iter().chain(alone).collect();
    notes.extend(caveats.iter().cloned());
    let asked = match &plan.tune {
        Some(tune) => {
            of_machines(&settings)?;
            let others = settings.get(1..).unwrap_or_default();
            Some(Asked::of(plan, tune, others, Space::of(others, world, &narrow)?)?)
        }
        None => None,
    };
    let meters = choices(plan)?;
    let command_meter = program(plan)?.cloned();
    let declared = command_meter.as_ref().map(instance).transpose()?;
    let metering = Metering::find(world, &meters, declared.as_ref())?;
    let requirements = if asked.is_some() { Vec::new() } else { requirements(plan)? };
    let texts = asked.as_ref().map_or_else(|| Ok(plan.metrics.clone()), |asked| asked.picks(plan))?;
    let mut picks =
        texts.iter().map(|text| MetricSpec::parse(text)).collect::<Result<Vec<_>, _>>().map_err(PlanError::from)?;
    let cool = cool(plan, world)?;
    let record = recordings(plan, world, &narrow)?;
    let far = world.machine(Side::Far).map(|machine| machine.identity().name.clone());
    let mut metrics = metrics_of(&mut picks, &requirements, plan, &metering, &narrow, world)?;
    if let Some(length_ns) = plan.load.measured_ns() {
        metrics = demote_unmeasurable(metrics, &picks, &metering, length_ns, &mut notes)?;
    }
    let mut search = None;
    if let Some(asked) = asked {
        let (sought, judged) = asked.search(metrics);
        (search, metrics) = (Some(sought), judged);
    }
    let variants = variants(&plan.load, &rules.hooks, &settings)?;
    let machine = identity(world, Side::Near, |machine| machine.name);
    let says_more = |typed: &Option<String>, name: &str| typed.clone().filter(|typed| typed != name);
    let started = Started {
        machine_typed: says_more(&plan.machine, &machine),
        far_typed: says_more(&plan.far, far.as_deref().unwrap_or_default()),
        machine,
        far,
        system: identity(world, Side::Near, |machine| machine.system),
        facts: crate::facts(world),
        command_meter,
        cool,
        record,
        load: serde_json::to_value(&plan.load).unwrap_or_default(),
        settings: settings.iter().map(|s| PlannedSetting { label: s.label(), turns: s.turns() }).collect(),
        metrics: metrics.into_iter().chain(daemon_cpu(&variants)).collect(),
        picks: texts.iter().zip(&picks).filter(|(_, pick)| is_renamed(pick)).map(|(text, _)| text.clone()).collect(),
        meters,
        cpus: narrow.cpus.clone(),
        cost_order,
        settle_ns: duration_or_zero("settle", plan.settle.as_deref())?.unwrap_or_else(|| settles_ns(plan, &settings)),
        requirements,
        search,
        notes: caveats.into_iter().chain(guesses(plan, &picks)).collect(),
        ..rules
    };
    Ok(Resolved { started, settings, load: plan.load.clone(), variants, picks, narrow, notes })
}

/// A search knows knobs of machines alone.
fn of_machines(settings: &[Setting]) -> Result<(), PlanError> {
    let all = settings.iter().flat_map(|setting| &setting.assignments);
    match all.map(|assignment| &assignment.knob).find(|knob| knob.of_load().is_some()) {
        Some(knob) => Err(PlanError::Search(format!(
            "tune searches knobs of machines, and {knob} is one of the load; compare with try"
        ))),
        None => Ok(()),
    }
}

/// The part of an experiment that the plan alone says: by which rules it is judged and when it ends.
pub(crate) fn rules(plan: &Plan) -> Result<Started, PlanError> {
    if plan.robust && plan.knee.is_some() {
        return Err(PlanError::RobustKnee);
    }
    Ok(Started {
        title: plan.title.clone(),
        machine: String::new(),
        far: None,
        machines: plan.machines.clone(),
        machine_typed: None,
        far_typed: None,
        system: String::new(),
        facts: Vec::new(),
        knobs: plan.knobs.clone(),
        command_meter: None,
        cool: None,
        record: Vec::new(),
        baseline: Vec::new(),
        load: serde_json::Value::Null,
        user: None,
        seed: plan.seed.unwrap_or(DEFAULT_SEED),
        settings: Vec::new(),
        metrics: Vec::new(),
        picks: Vec::new(),
        meters: Vec::new(),
        cpus: None,
        accept_unrestorable: plan.accept_unrestorable,
        cost_order: Vec::new(),
        alpha: fraction("alpha", plan.alpha.as_deref(), DEFAULT_ALPHA)?,
        same_family: same_family(plan)?,
        judge_mean: judge_mean(plan)?,
        requirements: Vec::new(),
        calibration: plan.calibration,
        margin: fraction("margin", plan.margin.as_deref(), DEFAULT_MARGIN)?,
        margin_source: if plan.margin.is_some() { "given".into() } else { "default, as no calibration exists".into() },
        robust: plan.robust,
        max_blocks: max_blocks(plan)?,
        min_blocks: min_blocks(plan)?,
        hooks: plan.hooks(),
        budget_ns: duration("budget", plan.budget.as_deref())?,
        settle_ns: 0,
        warmup: plan.warmup.unwrap_or(DEFAULT_WARMUP),
        search: None,
        notes: Vec::new(),
    })
}

/// Directions that were guessed; a search is given its own.
fn guesses<'p>(plan: &Plan, picks: &'p [MetricSpec]) -> impl Iterator<Item = String> + 'p {
    let judged = if plan.tune.is_none() { picks } else { &[] };
    judged.iter().filter_map(MetricSpec::direction_note)
}

/// What is judged and shown; what is required and would not be measured by itself is shown as well.
fn metrics_of(
    picks: &mut Vec<MetricSpec>,
    requirements: &[Requirement],
    plan: &Plan,
    metering: &Metering,
    narrow: &Selection,
    world: &mut dyn World,
) -> Result<Vec<Metric>, ResolveError> {
    let mut of = |picks: &[MetricSpec]| {
        Sources::of(&plan.load, picks, metering, narrow.cpus.as_ref()).metrics(world, &plan.load)
    };
    let metrics = of(picks)?;
    let before = picks.len();
    for required in requirements {
        let known = metrics.iter().any(|metric| metric.name == required.metric);
        let asked = picks.iter().any(|pick| pick.metric.name == required.metric);
        if !known && !asked {
            picks.push(MetricSpec::parse(&format!("{}:info", required.metric)).map_err(PlanError::from)?);
        }
    }
    if picks.len() == before { Ok(metrics) } else { of(picks) }
}

pub(crate) fn requirements(plan: &Plan) -> Result<Vec<Requirement>, PlanError> {
    let read = |text: &String| Requirement::parse(text).map_err(PlanError::from);
    let all = plan.require.iter().map(read).collect::<Result<Vec<_>, _>>()?;
    match all.iter().find(|requirement| plan.robust && !requirement.relative) {
        Some(level) => Err(PlanError::RobustLevel(level.to_string())),
        None => Ok(all),
    }
}

/// The meter a program is.
pub(crate) fn instance(meter: &CommandMeter) -> Result<MeterInstance, PlanError> {
    MeterInstance::declared(meter).map_err(PlanError::Meter)
}

fn cool(plan: &Plan, world: &mut dyn World) -> Result<Option<Cool>, PlanError> {
    let Some(text) = &plan.cool else { return Ok(None) };
    let cool = Cool::parse(text).map_err(|why| quantity("cool", why))?;
    let told = world.machine(Side::Near).is_some_and(|machine| cooling::tells(machine));
    if told { Ok(Some(cool)) } else { Err(PlanError::NoThermal) }
}

/// How long a machine takes to settle after any of the settings, ns. A calibration settles as experiments that change knobs
/// do: its noise is meant for them.
fn settles_ns(plan: &Plan, settings: &[Setting]) -> u64 {
    if plan.calibration {
        return powerband_knob::SETTLES_NS;
    }
    settings.iter().map(powerband_knob::settles_ns).max().unwrap_or_default()
}

fn identity(world: &mut dyn World, side: Side, what: impl FnOnce(powerband_machine::Identity) -> String) -> String {
    world.machine(side).map(|machine| what(machine.identity().clone())).unwrap_or_default()
}

fn narrow(plan: &Plan) -> Result<Selection, ResolveError> {
    let declared = Declared::of(&plan.knobs)?;
    let everywhere = Selection { declared, accept_unrestorable: plan.accept_unrestorable, ..Selection::everywhere() };
    let Some(text) = &plan.cpus else { return Ok(everywhere) };
    let cpus: CpuList = text.parse().map_err(|error: powerband_record::CpuListError| quantity("cpus", error))?;
    if cpus.is_empty() {
        return Err(quantity("cpus", "the list is empty; write e.g. 0-3").into());
    }
    Ok(Selection { cpus: Some(cpus), ..everywhere })
}

/// Named settings and the crossing of the axes, each with what all share.
fn settings(
    plan: &Plan,
    world: &mut dyn World,
    narrow: &Selection,
    notes: &mut Vec<String>,
) -> Result<Vec<Setting>, ResolveError> {
    let shared = Setting::parse(&plan.with).map_err(PlanError::from)?.assignments;
    let mut settings = Vec::new();
    for text in &plan.settings {
        let mut setting = Setting::parse(text).map_err(PlanError::from)?;
        if !setting.assignments.is_empty() {
            setting.assignments.splice(0..0, shared.iter().cloned());
        }
        settings.push(setting);
    }
    settings.extend(crossed(plan, world, narrow, &shared, notes)?);
    settings.iter().try_for_each(|setting| check_machines(setting, world))?;
    if settings.len() > most_settings(plan) {
        return Err(PlanError::TooMany(settings.len(), most_settings(plan)).into());
    }
    Ok(settings)
}

/// Puts the reference first: the one named, else the first that turns nothing, else the baseline is added.
pub(crate) fn with_reference(plan: &Plan, mut settings: Vec<Setting>) -> Result<Vec<Setting>, PlanError> {
    let named = plan.reference.as_ref();
    // The baseline need not be among the settings: it is added.
    let reference = match named.filter(|name| *name != BASELINE || settings.iter().any(|it| it.label() == BASELINE)) {
        Some(name) => {
            let known = || settings.iter().map(Setting::label).collect::<Vec<_>>().join(", ");
            let found = settings.iter().position(|setting| setting.label() == *name || setting.turns() == *name);
            Some(found.ok_or_else(|| PlanError::NoReference { name: name.clone(), known: known() })?)
        }
        None if plan.knee.is_some() && named.is_none() && !settings.is_empty() => Some(0),
        None => settings.iter().position(Setting::is_neutral).or_else(|| only_the_load_differs(&settings).then_some(0)),
    };
    match reference {
        Some(index) => settings[..=index].rotate_right(1),
        None if !settings.is_empty() => settings.insert(0, baseline(&settings)),
        None => {}
    }
    let mut labels = BTreeSet::new();
    for setting in &settings {
        let label = setting.label();
        if !labels.insert(label.clone()) {
            return Err(if setting.name.is_some() { PlanError::TwiceNamed(label) } else { PlanError::Twice(label) });
        }
    }
    if settings.len() < 2 { Err(PlanError::NothingToCompare) } else { Ok(settings) }
}

/// Whether several commands, or values of their parameters, are compared and all else is the same for each: the first of them
/// is the reference then.
fn only_the_load_differs(settings: &[Setting]) -> bool {
    let others = |setting: &Setting| {
        let mut all = setting.assignments.clone();
        all.retain(|it| !matches!(it.knob.of_load(), Some(LoadKnob::Command | LoadKnob::Parameter(_))));
        all
    };
    settings.len() > 1 && settings.windows(2).all(|pair| others(&pair[0]) == others(&pair[1]))
}

/// Whether a metric is not simply measured under its own name.
fn is_renamed(pick: &MetricSpec) -> bool {
    !matches!(&pick.source, Source::Measured(name) if *name == pick.metric.name)
}

fn quantity(key: &'static str, why: impl std::fmt::Display) -> PlanError {
    PlanError::Quantity { key, why: why.to_string() }
}

/// Whether a share can be an error rate.
pub(crate) fn is_alpha(value: f64) -> bool {
    value > 0.0 && value <= MAX_ALPHA
}

/// Whether a share can be a margin.
pub(crate) fn is_margin(value: f64) -> bool {
    value > 0.0 && value <= MAX_MARGIN
}

fn fraction(key: &'static str, text: Option<&str>, default: f64) -> Result<f64, PlanError> {
    let Some(text) = text else { return Ok(default) };
    let value = parse_percent(text).map_err(|error| quantity(key, error))?;
    let (fine, most) = if key == "alpha" { (is_alpha(value), MAX_ALPHA) } else { (is_margin(value), MAX_MARGIN) };
    if fine {
        return Ok(value);
    }
    let (what, example) = match key {
        "alpha" => ("the error rate", "5%"),
        _ => ("the margin (smaller differences count as equal)", "2%"),
    };
    let most = most * 100.0;
    Err(quantity(
        key,
        format!("'{text}' is out of range: {what} must be above 0 % and at most {most} %, e.g. {example}"),
    ))
}

/// Whether the error rate holds of all "same" together.
fn same_family(plan: &Plan) -> Result<bool, PlanError> {
    match plan.family.as_deref() {
        None | Some("differences") => Ok(false),
        Some("same") => Ok(true),
        Some(other) => {
            Err(quantity("family", format!("there is no '{other}'; write family = \"same\", or leave it out")))
        }
    }
}

/// Whether the mean of all trials is judged, not the typical trial.
fn judge_mean(plan: &Plan) -> Result<bool, PlanError> {
    let refused = |why: String| Err(quantity("judge", why));
    match plan.judge.as_deref() {
        None | Some("typical") => Ok(false),
        Some("mean") if plan.robust => refused("ranks know no mean; leave out --judge mean or --robust".into()),
        Some("mean") if plan.knee.is_some() => {
            refused("a knee is found by typical trials; leave out --judge mean or --knee".into())
        }
        Some("mean") => Ok(true),
        Some(other) if is_quantile(other) => refused(format!(
            "tens of trials do not show a {other} of trials; take one inside each trial, as a metric of the load, and judge \
             that, e.g. --metric {other}_us"
        )),
        Some(other) => refused(format!("'{other}' cannot be judged; write typical or mean")),
    }
}

/// Whether a word names a quantile: `p95`, `p99.9`.
fn is_quantile(word: &str) -> bool {
    let digits = word.strip_prefix('p').unwrap_or_default();
    !digits.is_empty() && digits.bytes().all(|it| it.is_ascii_digit() || it == b'.')
}

/// Blocks that every setting runs in.
fn min_blocks(plan: &Plan) -> Result<u32, PlanError> {
    let most = max_blocks(plan)?;
    match plan.runs.or(plan.min_runs) {
        Some(0) => Err(quantity("runs", "there must be at least one run")),
        Some(least) if least > most => Err(quantity(
            "min-runs",
            format!("{least} runs do not fit into at most {most} blocks; give --max-runs {least}"),
        )),
        least => Ok(least.unwrap_or(0)),
    }
}

fn max_blocks(plan: &Plan) -> Result<u32, PlanError> {
    if plan.runs.is_some() && plan.blocks.or(plan.min_runs).or(plan.max_runs).is_some() {
        return Err(quantity("runs", "it is the exact number; leave out blocks, min_runs and max_runs"));
    }
    let blocks = plan.runs.or(plan.max_runs).or(plan.blocks);
    match blocks {
        Some(0) => Err(quantity("blocks", "there must be at least one block")),
        Some(blocks) => Ok(blocks),
        None if plan.min_runs > Some(DEFAULT_BLOCKS) => Ok(BLOCKS_BY_TIME),
        None if plan.budget.is_some() || plan.tune.is_some() => Ok(BLOCKS_BY_TIME),
        None => Ok(DEFAULT_BLOCKS),
    }
}

fn duration_or_zero(key: &'static str, text: Option<&str>) -> Result<Option<u64>, PlanError> {
    text.map(|text| parse_duration_ns(text).map_err(|error| quantity(key, error))).transpose()
}

fn duration(key: &'static str, text: Option<&str>) -> Result<Option<u64>, PlanError> {
    match duration_or_zero(key, text)? {
        Some(0) => Err(quantity(key, "there must be some time; write e.g. 15m")),
        length => Ok(length),
    }
}
