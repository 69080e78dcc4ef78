//! How sure verdicts are, what they are about and what they rest on.
use powerband_record::{SettingVerdict, Started, Verdict};

use super::{NAMED, margin_source};
use crate::Model;
use crate::change::{signed_interval, with_unit};
use crate::words::percent;

/// Error rate, margin and where the margin comes from; of a search, what its error rate is of.
#[must_use]
pub fn certainty(model: &Model) -> String {
    let plan = &model.started;
    if plan.search.is_some() {
        return format!("error rate {} for the answer, whichever of the settings it is", percent(plan.alpha));
    }
    let source = margin_source(plan);
    let ranks = if plan.robust { "; judged by ranks" } else { "" };
    let (alpha, margin) = (percent(plan.alpha), percent(plan.margin));
    let knee = if plan.cost_order.is_empty() {
        String::new()
    } else {
        format!(", {alpha} for dropping the right knee and {alpha} for naming a wrong one")
    };
    let same = if plan.same_family {
        format!("{alpha} for all \"same\" together, {alpha} for each requirement")
    } else {
        format!("{alpha} for each \"same\" and each requirement")
    };
    // A knee, and ranks, are of typical trials only.
    let only = plan.judge_mean || plan.robust || !plan.cost_order.is_empty();
    let other = if only { "" } else { " (--judge mean judges the mean)" };
    format!(
        "error rate {alpha} for all differences claimed together, {same}{knee}; margin {margin} ({source}), \
         smaller differences count as equal{ranks}; verdicts are about {}{other} of this session, another day may differ{}{}",
        judged(plan),
        assumed(model),
        unseen(model)
    )
}

/// What of a setting's trials is judged.
pub(crate) fn judged(plan: &Started) -> &'static str {
    if plan.judge_mean { "the mean of all trials" } else { "the typical trial" }
}

/// Differences that are not shown once an effect of a setting on the next trial is allowed for.
fn unshown(model: &Model) -> impl Iterator<Item = &SettingVerdict> {
    let all = model.settings.iter().flat_map(|it| it.verdicts.iter().flatten());
    all.filter(|verdict| verdict.differs_allowing_after() == Some(false))
}

/// Whether any verdict rests on it that no setting affects the trial after it. Most blocks of two settings show an effect of a
/// setting and one on the trial after it together; of more settings few do.
pub(crate) fn assumes_no_after_effect(model: &Model) -> bool {
    let mut all = model.settings.iter().flat_map(|it| it.verdicts.iter().flatten());
    let two = model.settings.len() == 2;
    let rests = |it: &SettingVerdict| it.verdict != Verdict::Undecided && it.differs_allowing_after() != Some(true);
    two && all.any(rests) || unshown(model).next().is_some()
}

/// What has to be assumed of effects on the next trial, and what remains of differences without that.
fn assumed(model: &Model) -> String {
    if !assumes_no_after_effect(model) {
        return String::new();
    }
    let two = model.settings.len() == 2;
    let who = if two { "neither setting affects" } else { "no setting affects" };
    let left = unshown(model).filter_map(|verdict| {
        let interval = SettingVerdict {
            low: Some(verdict.allowing_after?.0),
            high: Some(verdict.allowing_after?.1),
            ..verdict.clone()
        };
        Some(format!(
            "{} of {} {}",
            verdict.metric,
            model.label(verdict.setting),
            with_unit(&signed_interval(&interval)?, verdict)
        ))
    });
    let left: Vec<String> = left.take(NAMED).collect();
    let without = match left.is_empty() {
        true => String::new(),
        false => format!(" (allowing for that: {}; a longer --settle would tell)", left.join(", ")),
    };
    format!("; they assume that {who} the trial after it{without}")
}

/// The share of rare trials of another kind that the fewest trials behind a "same" leave possible: x with (1 - x)^trials = 0.05.
fn unseen(model: &Model) -> String {
    let verdicts = model.settings.iter().flat_map(|it| it.verdicts.iter().flatten());
    let fewest = verdicts.filter(|it| it.verdict == Verdict::Same).map(|it| it.blocks).min();
    fewest.filter(|blocks| *blocks > 0).map_or_else(String::new, |blocks| {
        let share = 100.0 * (1.0 - 0.05_f64.powf(1.0 / f64::from(blocks)));
        format!("; \"same\" after {blocks} blocks leaves possible that up to {share:.0} % of trials are slow ones")
    })
}
