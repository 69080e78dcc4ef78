//! A change in words: its size, its interval, its unit, and below which it counts as none.
use powerband_record::{LOSS_MARGIN_PERCENT, SearchChange, SettingVerdict, format_number, is_loss, unit_of};

use crate::Model;
use crate::words::{finite, percent, signed};

/// How much, without its sign where the verdict's word has it: `12.3 % (11.8 .. 12.9)`.
pub(crate) fn size(verdict: &SettingVerdict) -> String {
    let decimals = decimals_of(verdict);
    let factor = factor(verdict);
    let number = |value: f64| format!("{:.decimals$}", value * factor);
    let change = with_unit(&number(verdict.change.abs()), verdict);
    match (finite(verdict.low), finite(verdict.high)) {
        (Some(low), Some(high)) if low * high >= 0.0 => {
            let (small, large) = if low < 0.0 { (-high, -low) } else { (low, high) };
            format!("{change} ({} .. {})", number(small), number(large))
        }
        (Some(_), Some(_)) => {
            let interval = signed_interval(verdict).unwrap_or_default();
            format!("{change} ({interval})")
        }
        _ => change,
    }
}

/// How much and which way: `4.9 % lower (4.7 .. 5.1)`, or with signs where the interval has both: `0.1 % higher (-0.4 .. +0.6)`.
#[must_use]
pub(crate) fn size_and_way(verdict: &SettingVerdict) -> String {
    let way = if verdict.change < 0.0 { "lower" } else { "higher" };
    let size = bare_size(verdict);
    match (finite(verdict.low), finite(verdict.high)) {
        (Some(low), Some(high)) if low * high >= 0.0 => {
            let (decimals, factor) = (decimals_of(verdict), factor(verdict));
            let (small, large) = if low < 0.0 { (-high, -low) } else { (low, high) };
            format!("{size} {way} ({:.decimals$} .. {:.decimals$})", small * factor, large * factor)
        }
        (Some(_), Some(_)) => format!("{size} {way} ({})", signed_interval(verdict).unwrap_or_default()),
        _ => format!("{size} {way}"),
    }
}

/// A change without its sign and interval, with its unit.
pub(crate) fn bare_size(verdict: &SettingVerdict) -> String {
    if verdict.absolute {
        return with_unit(&format_number(verdict.change.abs()), verdict);
    }
    let decimals = decimals_of(verdict);
    format!("{:.decimals$} %", verdict.change.abs() * 100.0)
}

/// A number of a change with its unit, if it has one.
pub(crate) fn with_unit(number: &str, verdict: &SettingVerdict) -> String {
    format!("{number} {}", unit_of_change(verdict)).trim_end().to_owned()
}

/// The head of a column of changes: `change, %`.
pub(crate) fn head(verdict: &SettingVerdict) -> String {
    format!("change, {}", unit_of_change(verdict)).trim_end_matches(", ").to_owned()
}

/// Percent for relative changes, else the metric's unit, which may be empty.
#[must_use]
pub(crate) fn unit_of_change(verdict: &SettingVerdict) -> &'static str {
    match (verdict.absolute, unit_of(&verdict.metric)) {
        (false, _) => "%",
        (true, unit) => unit,
    }
}

fn factor(verdict: &SettingVerdict) -> f64 {
    if verdict.absolute { 1.0 } else { 100.0 }
}

/// The interval of a change, without the unit (percent unless it is absolute): `-12.9 .. -11.8`.
#[must_use]
pub(crate) fn signed_interval(verdict: &SettingVerdict) -> Option<String> {
    let decimals = decimals_of(verdict);
    let (low, high) = (finite(verdict.low)?, finite(verdict.high)?);
    let signed = |value| signed(value * factor(verdict), decimals);
    Some(format!("{} .. {}", signed(low), signed(high)))
}

/// A change with its sign, without the unit (percent unless it is absolute): `-12.3`; `-` when it is no number.
#[must_use]
pub(crate) fn signed_change(verdict: &SettingVerdict) -> String {
    signed(verdict.change * factor(verdict), decimals_of(verdict))
}

/// Decimals of a change and its interval in percent: as many as its largest end needs for three digits, two at most.
pub(crate) fn decimals_of(verdict: &SettingVerdict) -> usize {
    let ends = [Some(verdict.change), verdict.low, verdict.high].into_iter().filter_map(finite);
    match ends.map(|end| end.abs() * factor(verdict)).fold(0.0, f64::max) {
        large if large >= 99.95 => 0,
        middle if middle >= 0.995 => 1,
        _ => 2,
    }
}

/// Decimals of a search's change in percent and of its ends: one, or as many as the ends need to differ, four at most.
pub(crate) fn decimals_of_share(change: &SearchChange) -> usize {
    let printed = |end: Option<f64>, decimals: usize| finite(end).map(|end| format!("{:.decimals$}", end * 100.0));
    let differ = |decimals: &usize| printed(change.low, *decimals) != printed(change.high, *decimals);
    (1..4).find(differ).unwrap_or(if change.low < change.high { 4 } else { 1 })
}

/// Below which difference a metric counts as the same: `5 %`; of losses, whose share of nothing is none, in percentage points.
#[must_use]
pub(crate) fn margin_of(model: &Model, metric: &str) -> String {
    if is_loss(metric) {
        return format!("{} percentage points", format_number(LOSS_MARGIN_PERCENT));
    }
    percent(model.started.margin)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_ends_of_a_narrow_interval_are_not_printed_alike() {
        let decimals = |low, high| decimals_of_share(&SearchChange { change: -0.12, low, high });
        assert_eq!(decimals(Some(-0.13), Some(-0.11)), 1);
        assert_eq!(decimals(Some(-0.120_3), Some(-0.119_9)), 2);
        assert_eq!(decimals(Some(-0.12), Some(-0.119_999_9)), 4);
        assert_eq!((decimals(Some(-0.12), Some(-0.12)), decimals(None, None)), (1, 1));
    }
}
