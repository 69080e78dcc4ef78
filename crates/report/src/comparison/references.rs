//! What must be said of a reference that two experiments share.
use powerband_record::{Metric, format_number, unit_of};
use powerband_stats::apart::welch;
use powerband_stats::{Rules, Scale};

use super::decide::on_scale;
use super::measured::Measured;
use crate::words::percent;

/// Levels of a reference that chance sets further apart less often than this differ.
const LEVEL: f64 = 0.01;

/// That the reference did not measure the same in both, by more than the margin and more than chance explains: then settings
/// may change it alike and still be far apart.
pub(super) fn apart(a: &Measured, b: &Measured, metric: &Metric, rules: &Rules) -> Option<String> {
    let measured = |it: &Measured| on_scale(rules, &it.values(0, &metric.name));
    let apart = welch(&measured(b), &measured(a)).filter(|apart| apart.p_difference() < LEVEL)?;
    let change = Some(rules.shown(apart.effect)).filter(|change| change.is_finite() && change.abs() > rules.margin)?;
    let size = match rules.scale {
        Scale::Log => percent(change.abs()),
        Scale::Linear => format!("{} {}", format_number(change.abs()), unit_of(&metric.name)).trim_end().to_owned(),
    };
    let way = if change < 0.0 { "lower" } else { "higher" };
    Some(format!(
        "{} itself has a {} that is {size} {way} in {} than in {}: compared is what each setting changes, not what it measures",
        a.label(0),
        metric.name,
        b.name,
        a.name
    ))
}
