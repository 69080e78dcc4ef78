//! The answer of a search in a few sentences: the setting, what it brings, how much was tried.
use powerband_record::{
    Better, CloseReason, Requirement, SearchEnd, SearchFinding, SearchPlan, format_number, unit_of,
};

use super::super::names::baseline_values;
use super::words::noun;
use crate::change::decimals_of_share;
use crate::sentence::{closest, holds, known, limits, settings_tried};
use crate::words::{chance as chance_words, counted, finite};
use crate::{ExperimentEnd, Model, SearchReport};

/// The sentences, the answer first.
pub(super) fn sentences(model: &Model) -> Vec<String> {
    let Some(plan) = &model.started.search else { return Vec::new() };
    let mut said = match &model.search {
        Some(SearchReport::Found(finding)) => found(model, plan, finding),
        Some(SearchReport::Stands(standing)) => {
            let best = standing.setting.map(|setting| model.label(setting));
            let change =
                finite(standing.change).map(|change| format!(" ({} {:+.1} %)", noun(&plan.goal.name), change * 100.0));
            vec![match best {
                Some(best) => format!("Best so far, not confirmed: {best}{}.", change.unwrap_or_default()),
                None => "Nothing better than the baseline so far.".to_owned(),
            }]
        }
        None if matches!(model.end, ExperimentEnd::Closed(CloseReason::LoadFailed { .. })) => Vec::new(),
        None => vec!["Nothing was found so far.".to_owned()],
    };
    if let Some(SearchReport::Found(finding)) = &model.search {
        said.extend(unproved(model, plan, finding));
    }
    said.extend(tried(model, plan));
    said
}

/// `May save more, but few trials cannot show that it keeps the limit: freq=1.3GHz: 5.1 W, p99_us 490..512 (p99_us<=500).`
fn unproved(model: &Model, plan: &SearchPlan, finding: &SearchFinding) -> Option<String> {
    let it = finding.unproved.first()?;
    let now = finding.setting.filter(|_| finding.end == SearchEnd::Confirmed).unwrap_or(0);
    let (more, unit) = (if plan.goal.better == Better::Lower { "save" } else { "gain" }, unit_of(&plan.goal.name));
    let goal = match level_of(model, &plan.goal.name, now) {
        Some(level) => format!("{} {unit}", format_number(level * (1.0 + it.change))).trim_end().to_owned(),
        None => format!("{} {:+.1} %", plan.goal.name, it.change * 100.0),
    };
    let expected = it.expected.iter().zip(&plan.requirements).map(|(expected, limit)| {
        let (typical, error) = (expected.typical, 1.0 + expected.error);
        format!("{} {}..{} ({limit})", expected.metric, format_number(typical / error), format_number(typical * error))
    });
    let parts: Vec<String> = std::iter::once(goal).chain(expected).collect();
    let others = finding.unproved.len() - 1;
    let others = if others > 0 { format!("; {others} more with -v") } else { String::new() };
    let label = model.label(it.setting);
    Some(format!("May {more} more, but a few trials cannot prove it: {label}: {}{others}.", parts.join(", ")))
}

/// The typical value of a metric at a setting.
fn level_of(model: &Model, metric: &str, setting: u32) -> Option<f64> {
    let place = model.started.metrics.iter().position(|it| it.name == metric)?;
    let report = model.settings.get(usize::try_from(setting).ok()?)?;
    finite(report.levels.get(place)?.as_ref()?.typical)
}

fn found(model: &Model, plan: &SearchPlan, finding: &SearchFinding) -> Vec<String> {
    let keeps = limits(plan);
    let kept = if keeps.is_empty() { String::new() } else { format!(" with {keeps}") };
    let (least, less) = if plan.goal.better == Better::Lower { ("Lowest", "lower") } else { ("Highest", "higher") };
    let goal = noun(&plan.goal.name);
    let baseline = baseline_values(model).map(|values| format!(" ({values})")).unwrap_or_default();
    match finding.end {
        SearchEnd::Confirmed => {
            let label = finding.setting.map_or_else(|| "baseline".to_owned(), |setting| model.label(setting));
            // Where the budget ended the search something better may well exist.
            let so_far = if finding.trials_needed.is_some() { " found so far" } else { "" };
            let mut said = vec![format!("{least} {goal}{so_far}{kept}: {label}")];
            let blocks = counted(finding.confirmed_in, "block");
            said.push(match brings(model, plan, finding) {
                brought if brought.is_empty() => format!("Confirmed in {blocks}."),
                brought => format!("{brought}, confirmed in {blocks}."),
            });
            said
        }
        SearchEnd::FoundIsBest => {
            vec![format!("No setting with {less} {goal}{kept} than the baseline{baseline} was found.")]
        }
        SearchEnd::NoneKeeps => {
            vec![format!("No setting was found that keeps {keeps}; {} comes closest.", closest(model, finding))]
        }
        SearchEnd::Undecided | SearchEnd::Unfinished => {
            let why = finding.why.as_deref().unwrap_or("nothing could be shown");
            let guess = finding.setting.map(|setting| {
                let change = finding.change.as_ref().map(|it| format!(" ({goal} {:+.1} %)", it.change * 100.0));
                format!(" Best guess, not confirmed: {}{}.", model.label(setting), change.unwrap_or_default())
            });
            vec![format!("Undecided (inconclusive), keep the baseline{baseline}: {why}.{}", guess.unwrap_or_default())]
        }
    }
}

/// `71.2 W instead of 96.5 W (-26.2 %, -28..-24), p99_us 431, at most 500 with 99 % certainty`.
fn brings(model: &Model, plan: &SearchPlan, finding: &SearchFinding) -> String {
    let place = model.started.metrics.iter().position(|metric| metric.name == plan.goal.name);
    let level = |setting: u32| level_of(model, &plan.goal.name, setting);
    let unit = unit_of(&plan.goal.name);
    let covers = place.and_then(|place| model.started.metrics.get(place)?.boundary.as_deref());
    let covers = covers.filter(|_| matches!(unit, "W" | "J")).map(|it| format!(" ({it})")).unwrap_or_default();
    let value = |value: f64| format!("{} {unit}", format_number(value)).trim_end().to_owned();
    let levels = finding.setting.and_then(|setting| Some((level(setting)?, level(0)?)));
    let mut parts: Vec<String> = Vec::new();
    if let Some(change) = &finding.change {
        let decimals = decimals_of_share(change);
        let percent = |share: f64| format!("{:+.decimals$}", share * 100.0);
        let between = match (finite(change.low), finite(change.high)) {
            (Some(low), Some(high)) if low < high => format!(", {}..{}", percent(low), percent(high)),
            _ => String::new(),
        };
        let size = format!("{} %{between}", percent(change.change));
        parts.push(match levels {
            Some((now, then)) => format!("{}{covers} instead of {} ({size})", value(now), value(then)),
            None => format!("{} {size}", plan.goal.name),
        });
    } else {
        parts.extend(known(model, plan, finding));
    }
    let kept = finding.kept.iter().zip(&plan.requirements);
    parts.extend(kept.map(|(kept, limit): (_, &Requirement)| holds(limit, kept.typical, kept.certainty)));
    parts.join("; ")
}

/// `22 of 351 settings tried in 31 trials, 11 min 20 s. Chance that another setting is 5 % better: 2 %.`
fn tried(model: &Model, plan: &SearchPlan) -> Option<String> {
    let (tried, chance, needed) = match model.search.as_ref()? {
        SearchReport::Stands(standing) => (standing.tried, standing.better_chance, None),
        SearchReport::Found(finding) => (finding.tried, finding.better_chance, finding.trials_needed),
    };
    let needed = needed.map(|trials| {
        format!(" The budget ended the search; about {} would complete it.", counted(trials, "more trial"))
    });
    let chance = finite(chance).map(|it| format!(" Chance that another setting is 5 % better: {}.", chance_words(it)));
    let time = model.elapsed().map(|time| format!(", {time}")).unwrap_or_default();
    let trials = counted(model.trials, "trial");
    let (chance, needed) = (chance.unwrap_or_default(), needed.unwrap_or_default());
    Some(format!("{}, {trials}{time}.{chance}{needed}", settings_tried(plan, tried)))
}
