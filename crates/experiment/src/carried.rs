//! What a trial keeps of the setting before it: how much of an effect carries over, and what a setting does to the trial after it.
use powerband_record::Metric;
use powerband_stats::{AfterEffect, CarryOver, Rules, Scale};

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
    let size = match rules.scale {
        Scale::Log => format!("{:+.1} %", 100.0 * rules.shown(after.effect)),
        Scale::Linear => format!("{:+.3}", after.effect),
    };
    format!(
        "{}: {label} affects the trial after it by about {size} (probability {:.0} %), which verdicts allow for; a longer --settle \
         would separate the trials",
        metric.name,
        // What is nearly certain is not reported as certain.
        (100.0 * after.probability).min(99.0),
    )
}
