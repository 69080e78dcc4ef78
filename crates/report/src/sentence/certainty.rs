//! How sure verdicts are, what they are about and what they rest on.
use powerband_record::{Started, Verdict};

use super::margin_source;
use crate::Model;
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
         smaller differences count as equal{ranks}; verdicts are about {}{other} of this session, another day may differ{}",
        judged(plan),
        unseen(model)
    )
}

/// What of a setting's trials is judged.
pub(crate) fn judged(plan: &Started) -> &'static str {
    if plan.judge_mean { "the mean of all trials" } else { "the typical trial" }
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
