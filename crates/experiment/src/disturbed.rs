//! What is reported of a machine that drifts, or is disturbed in step with the trials.
use powerband_record::format_duration;
use powerband_stats::{Drift, Period, Rules, Scale};

/// A drift of the block levels; it reassures only where nothing else disturbs.
pub(crate) fn drift(name: &str, drift: Drift, rules: &Rules, disturbed: bool) -> String {
    let [slope, low, high] = [drift.per_block, drift.low, drift.high].map(|it| rules.shown(it));
    let inside = if disturbed { "" } else { "; settings are compared inside blocks, in random order" };
    match rules.scale {
        Scale::Log => format!(
            "{name} drifted by {:+.2} % a block ({:+.2} .. {:+.2}){inside}",
            100.0 * slope,
            100.0 * low,
            100.0 * high
        ),
        Scale::Linear => format!("{name} drifted by {slope:+.3} a block ({low:+.3} .. {high:+.3}){inside}"),
    }
}

/// Interference with a period of a few trials; `each_ns` from one trial to the next.
pub(crate) fn period(name: &str, period: Period, each_ns: Option<u64>) -> String {
    let time = each_ns.filter(|each| *each > 0).map_or_else(String::new, |each| {
        let total = each.saturating_mul(u64::from(period.trials));
        // Three digits: the trials are of about this length.
        let step = 10u64.pow(total.ilog10().saturating_sub(2));
        format!(" (about {})", format_duration(total / step * step))
    });
    format!(
        "{name}: something with a period of {} trials{time} disturbs the trials, {:.0} % of their variation, which verdicts allow \
         for; trials of another length (--for) would avoid it",
        period.trials,
        100.0 * period.share
    )
}
