//! What a trial keeps of the setting before it: how much of an effect carries over, and what a setting does to the trial after it.
use powerband_record::Metric;
use powerband_stats::{AfterEffect, CarryOver, Rules, Scale, Table, carry_over};

/// Looked for up to so many trials: what carries over is seen by then, and looking takes time with every trial there is.
const LOOKED_FOR_TRIALS: usize = 2000;

/// How much carries over between the trials of a table; `latest` where that is not looked for.
pub(crate) fn carried(table: &Table, rules: &Rules, latest: Option<CarryOver>) -> Option<CarryOver> {
    if table.trials() > LOOKED_FOR_TRIALS {
        return latest;
    }
    carry_over(table, rules).ok().flatten()
}

/// What is reported of a carry-over that holds "same" back.
pub(crate) fn note(metric: &Metric, carried: CarryOver) -> String {
    format!(
        "{}: a trial keeps {:.0} % ({:.0} .. {:.0}) of the setting before it, so differences read too small and no setting is \
         called the same; a longer --settle would separate them",
        metric.name,
        100.0 * carried.share,
        100.0 * carried.low,
        100.0 * carried.high
    )
}

/// What is reported of a setting that moves the trial after it.
pub(crate) fn after_note(metric: &Metric, label: &str, after: AfterEffect, rules: &Rules) -> String {
    let shown = |effect: f64| match rules.scale {
        Scale::Log => format!("{:+.1}", 100.0 * rules.shown(effect)),
        Scale::Linear => format!("{effect:+.3}"),
    };
    let unit = if rules.scale == Scale::Log { " %" } else { "" };
    format!(
        "{}: {label} seems to affect the trial after it by {}{unit} ({} .. {}); a difference is claimed only where it also holds \
         without that effect; a longer --settle would separate the trials",
        metric.name,
        shown(after.effect),
        shown(after.low),
        shown(after.high)
    )
}
