//! The parts of a report that only a search has: what was asked, how much of it was tried, what was left out.
use powerband_record::{Better, SearchFactorKind, SearchPlan};

use super::{Page, section};
use crate::sentence::missed;
use crate::words::counted;
use crate::{Model, SearchReport};

/// So many settings that were left out are named.
const LEFT: usize = 8;

/// What was searched and how sure the answer is.
pub(super) fn facts(model: &Model, plan: &SearchPlan, page: &mut Page) {
    let way = if plan.goal.better == Better::Lower { "the least" } else { "the most" };
    let limits: Vec<String> = plan.requirements.iter().map(ToString::to_string).collect();
    let kept = if limits.is_empty() { String::new() } else { format!(" with {}", limits.join(" and ")) };
    let safe = plan.safe.map_or_else(String::new, |safe| format!(", by trials within {:.0} % of that", safe * 100.0));
    page.fact("sought", &format!("{way} {}{kept}{safe}", plan.goal.name));
    let factor = |factor: &powerband_record::SearchFactor| {
        let levels = match &factor.kind {
            SearchFactorKind::Numbers(values) => values.len(),
            SearchFactorKind::Names(names) | SearchFactorKind::Category(names) => names.len(),
        };
        format!("{} ({levels})", factor.name)
    };
    let factors: Vec<String> = plan.factors.iter().map(factor).collect();
    let settings = counted(u32::try_from(plan.points.len()).unwrap_or(u32::MAX), "setting");
    page.fact("among", &format!("{settings} of {}", factors.join(" × ")));
    let tried = match &model.search {
        Some(SearchReport::Stands(standing)) => standing.tried,
        Some(SearchReport::Found(finding)) => finding.tried,
        None => 0,
    };
    let missed = missed(model).map(|missed| format!("; {missed}")).unwrap_or_default();
    page.fact("tried", &format!("{}, the baseline included{missed}", counted(tried, "setting")));
    page.fact("order", &format!("chosen by the search, seed {}", model.started.seed));
}

/// Settings that could not be turned, those of one reason together.
pub(super) fn left(model: &Model, page: &mut Page) {
    let mut reasons: Vec<(&str, Vec<&str>)> = Vec::new();
    for setting in &model.settings {
        let Some(left) = &setting.left else { continue };
        match reasons.iter_mut().find(|(why, _)| *why == left.why) {
            Some((_, labels)) => labels.push(&setting.label),
            None => reasons.push((&left.why, vec![&setting.label])),
        }
    }
    let told = reasons.iter().take(LEFT).map(|(why, labels)| match labels.as_slice() {
        [one] => format!("{one}: {why}"),
        [first, .., last] => format!("{} settings from {first} to {last}: {why}", labels.len()),
        [] => String::new(),
    });
    section(page, "left out of the search", &told.collect::<Vec<_>>());
}
