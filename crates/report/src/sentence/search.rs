//! What a search found, in words: the sentence, how sure it is that nothing was missed, and what to type next.
use powerband_record::{
    BASELINE, Better, CloseReason, LimitSide, Requirement, SearchChange, SearchEnd, SearchFinding, SearchPlan,
    SearchStanding, format_number, unit_of,
};

use crate::change::decimals_of_share;
use crate::words::{and, chance as chance_words, counted, finite, percent, with_boundary};
use crate::{ExperimentEnd, Model, SearchReport};

/// Most of the certainties that are told as they are; above it is "more than".
const SUREST: f64 = 0.999;

/// Chance that a better setting was missed, from which on a search is not sure enough.
const CHANCE: f64 = 0.05;

/// The whole finding in one sentence, without a full stop.
pub(super) fn headline(model: &Model) -> String {
    let Some(plan) = &model.started.search else { return String::new() };
    let so_far = || match &model.search {
        Some(SearchReport::Stands(standing)) => stands(model, plan, standing),
        Some(SearchReport::Found(finding)) => guess(model, plan, finding)
            .map_or_else(|| "nothing better so far".into(), |guess| format!("best so far: {guess}")),
        None => "nothing was found so far".into(),
    };
    match (&model.end, &model.search) {
        (ExperimentEnd::Closed(CloseReason::LoadFailed { why }), _) => format!("the load failed: {why}"),
        (ExperimentEnd::Closed(CloseReason::Failed { why }), _) => format!("it could not go on: {why}; {}", so_far()),
        (ExperimentEnd::Closed(CloseReason::Stopped), _) => format!("stopped; {}", so_far()),
        (ExperimentEnd::Interrupted, _) => format!("interrupted; {}", so_far()),
        (ExperimentEnd::Open, _) => format!("no end is recorded; {}", so_far()),
        (ExperimentEnd::Closed(_), Some(SearchReport::Found(finding))) => found(model, plan, finding),
        (ExperimentEnd::Closed(_), _) => so_far(),
    }
}

fn found(model: &Model, plan: &SearchPlan, finding: &SearchFinding) -> String {
    let goal = goal(model, plan);
    let limits = limits(plan);
    match finding.end {
        SearchEnd::Confirmed => confirmed(model, plan, finding),
        SearchEnd::FoundIsBest if limits.is_empty() => format!("no setting was found with {goal} than the baseline"),
        SearchEnd::FoundIsBest => {
            format!("no setting was found that has {goal} than the baseline and keeps {limits}")
        }
        SearchEnd::NoneKeeps => {
            format!("no setting was found that keeps {limits}; {} comes closest", closest(model, finding))
        }
        SearchEnd::Undecided | SearchEnd::Unfinished => {
            let why = finding.why.as_deref().unwrap_or("nothing could be shown");
            let guess = guess(model, plan, finding).map(|guess| format!("; best guess, not confirmed: {guess}"));
            format!("undecided, keep the baseline: {why}{}", guess.unwrap_or_default())
        }
    }
}

/// What comes closest to the limits, where nothing keeps them.
pub(crate) fn closest(model: &Model, finding: &SearchFinding) -> String {
    finding.setting.map_or_else(|| "the baseline".to_owned(), |setting| model.label(setting))
}

/// What the goal is, as less or more of it.
fn goal(model: &Model, plan: &SearchPlan) -> String {
    let way = if plan.goal.better == Better::Lower { "less" } else { "more" };
    format!("{way} {}", named(model, &plan.goal.name))
}

/// A metric with what it covers; a knob as it is.
fn named(model: &Model, name: &str) -> String {
    let metric = model.started.metrics.iter().find(|metric| metric.name == name);
    metric.map_or_else(|| name.to_owned(), |metric| with_boundary(name, metric))
}

pub(crate) fn limits(plan: &SearchPlan) -> String {
    and(&plan.requirements.iter().map(Requirement::to_string).collect::<Vec<_>>())
}

fn confirmed(model: &Model, plan: &SearchPlan, finding: &SearchFinding) -> String {
    let mut parts = Vec::new();
    match &finding.change {
        Some(change) => {
            let (name, change) = (named(model, &plan.goal.name), changed(model, plan, change));
            parts.push(format!("{name} {change} compared with the baseline"));
        }
        None => parts.extend(known(model, plan, finding)),
    }
    for (kept, limit) in finding.kept.iter().zip(&plan.requirements) {
        parts.push(holds(limit, kept.typical, kept.certainty));
    }
    let label = finding.setting.map_or_else(|| BASELINE.to_owned(), |setting| model.label(setting));
    parts.push(format!("confirmed in {}", super::blocks(finding.confirmed_in)));
    format!("{label}: {}", parts.join(", "))
}

/// `freq 125MHz`: the goal's value at the answer where it is that of a knob, as it is typed; the number where it is not typed.
pub(crate) fn known(model: &Model, plan: &SearchPlan, finding: &SearchFinding) -> Option<String> {
    let name = &plan.goal.name;
    let at = usize::try_from(finding.setting?).ok()?;
    let value = plan.goal.known.get(at.checked_sub(1)?)?;
    // `cpufreq.freq` is typed `freq`; `far/freq` is another machine's.
    let short = |knob: &str| {
        let knob = knob.split('@').next().unwrap_or(knob);
        let (side, name) = knob.rsplit_once('/').unwrap_or(("", knob));
        (side.to_owned(), name.rsplit('.').next().unwrap_or(name).to_owned())
    };
    let typed = model.settings.get(at).and_then(|setting| {
        let knobs = setting.turns.split_whitespace().filter_map(|word| word.split_once('='));
        let mut those = knobs.filter(|(knob, _)| short(knob) == short(name));
        let (_, typed) = those.next()?;
        those.all(|(_, other)| other == typed).then(|| typed.to_owned())
    });
    Some(format!("{name} {}", typed.unwrap_or_else(|| format_number(*value))))
}

/// `p99_us 486, at most 500 with 99 % certainty`.
pub(crate) fn holds(limit: &Requirement, typical: f64, certainty: Option<f64>) -> String {
    let side = match limit.relation {
        LimitSide::AtMost => "at most",
        LimitSide::AtLeast => "at least",
    };
    let sure = match finite(certainty) {
        Some(sure) if sure > SUREST => format!(" with more than {} certainty", percent(SUREST)),
        // Downwards, so that nothing is told that was not reached.
        Some(sure) => format!(" with {} certainty", percent((sure * 1000.0).floor() / 1000.0)),
        None => String::new(),
    };
    if limit.relative {
        // Two decimals, as a requirement is printed.
        let most = (limit.limit * 1e6).round() / 1e4;
        return format!("{} {:+.1} %, {side} {most:+} %{sure}", limit.metric, typical * 100.0);
    }
    format!("{} {}, {side} {}{sure}", limit.metric, format_number(typical), format_number(limit.limit))
}

/// `-12.3 % (-12.9 .. -11.8)`, with the same in the goal's own unit where its level at the baseline is known.
fn changed(model: &Model, plan: &SearchPlan, change: &SearchChange) -> String {
    let decimals = decimals_of_share(change);
    let percent = |share: f64| format!("{:+.decimals$}", share * 100.0);
    let between = match (finite(change.low), finite(change.high)) {
        (Some(low), Some(high)) if low < high => format!(" ({} .. {})", percent(low), percent(high)),
        _ => String::new(),
    };
    let shares = format!("{} %{between}", percent(change.change));
    let place = model.started.metrics.iter().position(|metric| metric.name == plan.goal.name);
    let level = place.and_then(|place| model.settings.first()?.levels.get(place)?.as_ref()).map(|level| level.typical);
    let unit = unit_of(&plan.goal.name);
    let Some(level) = level.filter(|level| level.is_finite() && !unit.is_empty()) else { return shares };
    let sign = |value: f64| format!("{}{}", if value > 0.0 { "+" } else { "" }, format_number(value));
    format!("{shares}, {} {unit}", sign(level * change.change))
}

/// The setting that is the best guess, and what is expected of it.
fn guess(model: &Model, plan: &SearchPlan, finding: &SearchFinding) -> Option<String> {
    let setting = finding.setting?;
    let change = finding.change.as_ref().map(|it| format!(" ({} {:+.1} %)", plan.goal.name, it.change * 100.0));
    Some(format!("{}{}", model.label(setting), change.unwrap_or_default()))
}

/// Where a search stands, in one line.
pub(crate) fn stands(model: &Model, plan: &SearchPlan, standing: &SearchStanding) -> String {
    let label = standing.setting.map(|setting| model.label(setting));
    line(label, plan, standing)
}

/// As [`stands`], with the label of the provisional answer.
pub(crate) fn line(label: Option<String>, plan: &SearchPlan, standing: &SearchStanding) -> String {
    let best = match (label, finite(standing.change)) {
        (Some(label), Some(change)) => format!("best so far {label} ({} {:+.1} %)", plan.goal.name, change * 100.0),
        (Some(label), None) => format!("best so far {label}"),
        (None, _) => "nothing better than the baseline yet".to_owned(),
    };
    let doubt = doubt(standing.expected_loss, standing.better_chance).map(|doubt| format!(", {doubt}"));
    format!("{best}{}, {}", doubt.unwrap_or_default(), settings_tried(plan, standing.tried))
}

/// Of those that it chooses from; the baseline, which is tried as well, may be none of them.
pub(crate) fn settings_tried(plan: &SearchPlan, tried: u32) -> String {
    let all = plan.points.len();
    match plan.found_at {
        Some(_) => format!("{tried} of {all} settings tried"),
        None => format!("{tried} of {} settings tried, the baseline counted", all + 1),
    }
}

fn doubt(loss: Option<f64>, chance: Option<f64>) -> Option<String> {
    let (loss, chance) = (finite(loss)?, finite(chance)?);
    Some(format!(
        "expected loss {:.1} %, {} chance that a setting 5 % better exists",
        loss * 100.0,
        chance_words(chance)
    ))
}

/// How sure it is that nothing better was missed; absent where the search has not come to say.
#[must_use]
pub fn missed(model: &Model) -> Option<String> {
    match model.search.as_ref()? {
        SearchReport::Stands(standing) => doubt(standing.expected_loss, standing.better_chance),
        SearchReport::Found(finding) => {
            let doubt = doubt(finding.expected_loss, finding.better_chance);
            let all: Vec<String> = doubt.into_iter().chain(open(finding)).chain(unproved(model, finding)).collect();
            (!all.is_empty()).then(|| all.join("; "))
        }
    }
}

/// What a search lacks that ended by its budget, or is no longer sure enough after its last trials.
fn open(finding: &SearchFinding) -> Option<String> {
    match (finding.trials_needed, finite(finding.better_chance)) {
        (Some(trials), _) => {
            Some(format!("the budget ended the search; about {} would complete it", counted(trials, "more trial")))
        }
        (None, Some(chance)) if chance >= CHANCE => Some("not certified, as that chance is not below 5 %".to_owned()),
        _ => None,
    }
}

/// The setting that may save most beyond the answer and cannot be shown to keep the limits; absent where there is none.
fn unproved(model: &Model, finding: &SearchFinding) -> Option<String> {
    let plan = model.started.search.as_ref()?;
    let it = finding.unproved.first()?;
    let expected = it.expected.iter().map(|expected| {
        let unit = unit_of(&expected.metric);
        let blank = if unit.is_empty() { "" } else { " " };
        let level = format_number(expected.typical);
        format!("{} {level}{blank}{unit} ± {:.0} %", expected.metric, (expected.error * 100.0).max(1.0))
    });
    let more = match finding.unproved.len() {
        1 => String::new(),
        count => format!(" (and {} more)", count - 1),
    };
    Some(format!(
        "{} may have {:.0} % {} {} still, but is too near the limit to be confirmed in a few runs ({}){more}",
        model.label(it.setting),
        it.change.abs() * 100.0,
        if plan.goal.better == Better::Lower { "less" } else { "more" },
        plan.goal.name,
        expected.collect::<Vec<_>>().join(", "),
    ))
}
