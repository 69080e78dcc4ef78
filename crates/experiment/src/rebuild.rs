//! Rebuilding: an experiment from what its journal begins with, whether the rig is still the one it was begun on, and
//! what tells two plans apart.
use powerband_knob::{Declared, Selection};
use powerband_load::{Load, MetricSpec};
use powerband_machine::World;
use powerband_meter::MeterInstance;
use powerband_record::{
    Better, CommandKnob, MeterChoice, PlannedSetting, Setting, Side, Started, format_duration, format_number,
};

use crate::asked::Sources;
use crate::metering::Metering;
use crate::resolve::{is_alpha, is_margin};
use crate::variants::variants;
use crate::{Resolved, ResumeError};

/// The experiment that a journal says was begun. Nothing is looked up again: what `all` meant then is what it means.
///
/// # Errors
/// [`ResumeError::Unreadable`] when a load, a setting or a metric cannot be read any more.
pub fn rebuild(started: &Started) -> Result<Resolved, ResumeError> {
    let unreadable = |what| move |why: String| ResumeError::Unreadable { what, why };
    let load: Load =
        serde_json::from_value(started.load.clone()).map_err(|error| unreadable("the load")(error.to_string()))?;
    let setting = |planned: &PlannedSetting| {
        // Behind a name, a colon of the first knob is never taken for the end of one.
        let read = Setting::parse(&format!("as:{}", planned.turns));
        read.map(|setting| Setting { name: Some(planned.label.clone()), ..setting })
            .map_err(|error| unreadable("a setting")(error.to_string()))
    };
    within_rules(started).map_err(unreadable("a rule"))?;
    let declared = Declared::of(&started.knobs).map_err(|error| unreadable("a declared knob")(error.to_string()))?;
    let everywhere = Selection { declared, ..Selection::everywhere() };
    let settings: Vec<Setting> = started.settings.iter().map(setting).collect::<Result<_, _>>()?;
    let variants = variants(&load, &started.hooks, &settings);
    Ok(Resolved {
        started: started.clone(),
        variants: variants.map_err(|error| unreadable("a setting")(error.to_string()))?,
        settings,
        load,
        picks: started.picks.iter().map(|text| pick(text)).collect::<Result<_, _>>()?,
        narrow: Selection {
            cpus: started.cpus.clone(),
            accept_unrestorable: started.accept_unrestorable,
            ..everywhere
        },
        notes: Vec::new(),
    })
}

/// What a resolved plan never breaks, which a file by somebody else may.
fn within_rules(started: &Started) -> Result<(), String> {
    let count = u32::try_from(started.settings.len()).unwrap_or(u32::MAX);
    let rules = [
        (count > 0, "it has no settings"),
        (is_alpha(started.alpha), "its error rate is not one"),
        (is_margin(started.margin), "its margin is not one"),
        (started.max_blocks > 0, "it has no blocks"),
        (
            started.cost_order.iter().all(|setting| *setting < count),
            "the order of its settings names one that is not there",
        ),
    ];
    rules.into_iter().find(|(kept, _)| !kept).map_or(Ok(()), |(_, why)| Err(why.to_owned()))
}

/// Whether these machines are the ones an experiment was begun on: their names, what runs there, the meter. Reads them,
/// turns nothing.
///
/// # Errors
/// [`ResumeError::OtherRig`] naming the first difference.
pub fn check_rig(started: &Started, world: &mut dyn World) -> Result<(), ResumeError> {
    let same = |what: &str, then: &str, now: &str| {
        let other = || ResumeError::OtherRig { what: what.into(), then: then.into(), now: now.into() };
        if then == now { Ok(()) } else { Err(other()) }
    };
    let (name, system) = match world.machine(Side::Near).map(|machine| machine.identity().clone()) {
        Some(identity) => (identity.name, identity.system),
        None => ("none".into(), "none".into()),
    };
    let names = |machines: Vec<String>| if machines.is_empty() { "one".to_owned() } else { machines.join(", ") };
    let now: Vec<Side> = world.sides().into_iter().filter(|side| matches!(side, Side::Node(_))).collect();
    let listed = started.machines.iter().map(|machine| machine.split('=').next().unwrap_or_default().to_owned());
    let now = names(now.iter().map(ToString::to_string).collect());
    same("the list of machines", &names(listed.collect()), &now)?;
    let far = world.machine(Side::Far).map_or_else(|| "none".into(), |machine| machine.identity().name.clone());
    same("the machine", &started.machine, &name)?;
    same("the far machine", started.far.as_deref().unwrap_or("none"), &far)?;
    same("what runs on the machine", &started.system, &system)?;
    let Resolved { load, picks, narrow, .. } = rebuild(started)?;
    let declared = started.command_meter.as_ref().and_then(|meter| MeterInstance::declared(meter).ok());
    let metering = Metering::find(world, &started.meters, declared.as_ref()).unwrap_or_default();
    let sources = Sources::of(&load, &picks, &metering, narrow.cpus.as_ref());
    for metric in &started.metrics {
        let Some(then) = &metric.boundary else { continue };
        let now = sources.boundary(world, &metric.name);
        if now.as_ref() != Some(then) {
            let (what, then) = (format!("the meter of {}", metric.name), format!("one of {then}"));
            return same(&what, &then, now.as_deref().unwrap_or("not there"));
        }
    }
    Ok(())
}

fn pick(text: &str) -> Result<MetricSpec, ResumeError> {
    MetricSpec::parse(text).map_err(|error| ResumeError::Unreadable { what: "a metric", why: error.to_string() })
}

/// The machines besides the first, as they were typed.
fn others(of: &Started) -> String {
    let typed = of.far.as_ref().map(|far| of.far_typed.clone().unwrap_or_else(|| far.clone()));
    typed.or_else(|| of.others()).unwrap_or_else(|| "none".into())
}

/// The first thing in which the experiment a plan describes now differs from the one that was begun, in words; titles
/// do not matter.
#[must_use]
pub fn first_difference(begun: &Started, now: &Started) -> Option<String> {
    let told = |what: &str, then: String, now: String| {
        (then != now).then(|| format!("{what} was {then} when it was begun and is {now} in the plan"))
    };
    let typed = |name: &str, typed: &Option<String>| typed.clone().unwrap_or_else(|| name.to_owned());
    let length = |ns: Option<u64>| ns.map_or_else(|| "without limit".into(), format_duration);
    let cpus = |of: &Started| of.cpus.as_ref().map_or_else(|| "all".to_owned(), ToString::to_string);
    let judged = |of: &Started| {
        let names = of.metrics.iter().filter(|metric| metric.judged).map(|m| format!("{} {:?}", m.name, m.better));
        names.collect::<Vec<_>>().join(", ").to_lowercase()
    };
    let costs = |of: &Started| {
        let label = |&index: &u32| of.settings.get(index as usize).map_or("?", |setting| setting.label.as_str());
        if of.cost_order.is_empty() {
            "not sought".to_owned()
        } else {
            of.cost_order.iter().map(label).collect::<Vec<_>>().join(", ")
        }
    };
    let knobs = |of: &Started| {
        let told = |(name, knob): (&String, &CommandKnob)| {
            let undo = knob.undo.as_ref().map_or_else(String::new, |undo| format!(", undone by `{undo}`"));
            format!("{name} read by `{}`, set by `{}`{undo}, {}", knob.get, knob.set, knob.values.join(" "))
        };
        of.knobs.iter().map(told).collect::<Vec<_>>().join("; ")
    };
    let meters = |of: &Started| {
        let chosen = |choice: &MeterChoice| {
            let late = choice.lag_ns.map_or_else(String::new, |ns| format!(", {} late", format_duration(ns)));
            format!("{} of the {} machine{late}", choice.name.as_deref().unwrap_or("the first"), choice.side)
        };
        let program = of.command_meter.as_ref();
        let program = program.map(|meter| format!("`{}` of {} in {:?}", meter.command, meter.boundary, meter.unit));
        let all: Vec<String> = program.into_iter().chain(of.meters.iter().map(chosen)).collect();
        if all.is_empty() { "the first".to_owned() } else { all.join(", ") }
    };
    let cool = |of: &Started| of.cool.map_or_else(|| "any".to_owned(), |cool| cool.to_string());
    let required = |of: &Started| {
        let all: Vec<String> = of.requirements.iter().map(ToString::to_string).collect();
        if all.is_empty() { "nothing".to_owned() } else { all.join(", ") }
    };
    let percent = |share: f64| format!("{} %", format_number(100.0 * share));
    let pairs = [
        ("the machine", typed(&begun.machine, &begun.machine_typed), typed(&now.machine, &now.machine_typed)),
        ("the far machine", others(begun), others(now)),
        ("the temperature to begin at", cool(begun), cool(now)),
        ("what is recorded", recorded(begun), recorded(now)),
        ("what is declared", knobs(begun), knobs(now)),
        ("the load", begun.load.to_string(), now.load.to_string()),
        ("the seed", begun.seed.to_string(), now.seed.to_string()),
        ("the list of CPUs", cpus(begun), cpus(now)),
        ("what is judged", judged(begun), judged(now)),
        ("the source of a metric", begun.picks.join(", "), now.picks.join(", ")),
        ("the meter", meters(begun), meters(now)),
        ("what is searched for", search(begun), search(now)),
        ("the knee's order", costs(begun), costs(now)),
        ("what is required", required(begun), required(now)),
        ("the error rate", percent(begun.alpha), percent(now.alpha)),
        ("what the error rate holds of", family(begun), family(now)),
        ("the margin", percent(begun.margin), percent(now.margin)),
        ("the way of judging", method(begun), method(now)),
        ("the number of blocks at most", begun.max_blocks.to_string(), now.max_blocks.to_string()),
        ("the number of runs at least", begun.min_blocks.to_string(), now.min_blocks.to_string()),
        ("what runs around trials", hooks(begun), hooks(now)),
        ("the time at most", length(begun.budget_ns), length(now.budget_ns)),
        ("the time to settle", length(Some(begun.settle_ns)), length(Some(now.settle_ns))),
        ("the number of warm-up trials", begun.warmup.to_string(), now.warmup.to_string()),
    ];
    settings(&begun.settings, &now.settings)
        .or_else(|| pairs.into_iter().find_map(|(what, then, now)| told(what, then, now)))
}

/// By which statistics it is judged.
fn method(of: &Started) -> String {
    match (of.robust, of.judge_mean) {
        (true, _) => "ranks",
        (false, true) => "the mean of all trials",
        (false, false) => "means",
    }
    .to_owned()
}

/// What the error rate holds of as a whole, next to all differences.
fn family(of: &Started) -> String {
    if of.same_family { "all \"same\" together" } else { "each \"same\"" }.to_owned()
}

/// What runs around trials.
fn hooks(of: &Started) -> String {
    let all: Vec<String> = of.hooks.all().map(|(name, line)| format!("{name} `{line}`")).collect();
    if all.is_empty() { "nothing".to_owned() } else { all.join(", ") }
}

/// What is kept of the machines' CPUs.
fn recorded(of: &Started) -> String {
    let all: Vec<String> = of.record.iter().map(ToString::to_string).collect();
    if all.is_empty() { "nothing".to_owned() } else { all.join(", ") }
}

/// The goal and the requirements of a search.
fn search(of: &Started) -> String {
    let Some(search) = &of.search else { return "nothing".into() };
    let way = if search.goal.better == Better::Lower { "the least" } else { "the most" };
    let limits: String = search.requirements.iter().map(|limit| format!(", {limit}")).collect();
    let safe = search.safe.map_or_else(String::new, |safe| format!(", safe by {} %", format_number(100.0 * safe)));
    format!("{way} {}{limits}{safe}", search.goal.name)
}

fn settings(begun: &[PlannedSetting], now: &[PlannedSetting]) -> Option<String> {
    let words = |setting: Option<&PlannedSetting>| match setting {
        Some(setting) if setting.turns.is_empty() || setting.turns == setting.label => format!("'{}'", setting.label),
        Some(setting) => format!("'{}: {}'", setting.label, setting.turns),
        None => "none".into(),
    };
    let place = (0..begun.len().max(now.len())).find(|&place| begun.get(place) != now.get(place))?;
    let (then, now) = (words(begun.get(place)), words(now.get(place)));
    Some(format!("setting {} was {then} when it was begun and is {now} in the plan", place + 1))
}
