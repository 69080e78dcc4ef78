//! Commands compared with each other: how many times as fast one is as another, and times in the unit that suits them.
use powerband_record::{Level, LoadVariant, Setting, SettingVerdict, format_number, unit_of};

use crate::Model;
use crate::words::{finite, percent};

/// Whether settings differ in the command alone and a metric is a time.
pub(crate) fn are_compared(model: &Model, metric: &str) -> bool {
    unit_of(metric) == "s" && model.settings.len() > 1 && model.settings.iter().all(|it| is_command(&it.turns))
}

/// Whether a setting chooses a command and nothing else.
fn is_command(turns: &str) -> bool {
    let Ok(setting) = Setting::parse(&format!("a:{turns}")) else { return false };
    let variant = LoadVariant::of(&setting).unwrap_or_default();
    let chosen = variant.command.is_some() || !variant.parameters.is_empty();
    chosen && variant.env.is_empty() && variant.background.is_empty() && setting.of_machines().assignments.is_empty()
}

/// `'a' is 1.09 times as fast as 'b' (1.08..1.10, error rate 5 %)`, of a verdict that is better or worse.
pub(crate) fn times_as_fast(model: &Model, verdict: &SettingVerdict) -> Option<String> {
    if verdict.absolute {
        return None;
    }
    let (reference, other) = (model.label(0), model.label(verdict.setting));
    let faster = verdict.change < 0.0;
    // A time of 1 + change against 1: the one that takes longer in units of the other.
    let times = |change: f64| finite(if faster { 1.0 / (1.0 + change) } else { 1.0 + change });
    let (first, second) = if faster { (other, reference) } else { (reference, other) };
    let ends = [verdict.low, verdict.high].map(|end| end.and_then(times));
    let (low, high) = if faster { (ends[1], ends[0]) } else { (ends[0], ends[1]) };
    let value = times(verdict.change)?;
    let (low, high) = (low?, high?);
    let places = if value - 1.0 < 0.02 { 3 } else { 2 };
    Some(format!(
        "'{first}' is {value:.places$} times as fast as '{second}' ({low:.places$}..{high:.places$}, error rate {})",
        percent(model.started.alpha)
    ))
}

/// `10 runs each`, `2 to 10 runs each`: how often commands ran within a trial, where one ran several times.
pub(crate) fn runs(model: &Model) -> Option<String> {
    let all = || model.values.iter().map(|trial| trial.runs.len().max(1));
    match (all().min()?, all().max()?) {
        (1, 1) => None,
        (least, most) if least == most => Some(format!("{most} runs each")),
        (least, most) => Some(format!("{least} to {most} runs each")),
    }
}

/// A power of ten and the unit in which times of these levels are read: s, ms or us.
pub(crate) fn unit_of_time(levels: &[&Level]) -> (f64, &'static str) {
    unit_of_seconds(levels.iter().filter_map(|level| finite(level.typical)).map(f64::abs).fold(0.0, f64::max))
}

/// A power of ten and the unit in which so many seconds are read.
fn unit_of_seconds(seconds: f64) -> (f64, &'static str) {
    match seconds {
        zero if zero <= 0.0 => (1.0, "s"),
        seconds if seconds >= 1.0 => (1.0, "s"),
        millis if millis >= 1e-3 => (1e3, "ms"),
        _ => (1e6, "us"),
    }
}

/// A value of a metric with its unit, a time in the unit that suits it: `11.2 ms`, `54 Mbit/s`.
pub(crate) fn with_unit(metric: &str, value: f64) -> String {
    let (factor, unit) = match unit_of(metric) {
        "s" => unit_of_seconds(value.abs()),
        unit => (1.0, unit),
    };
    format!("{} {unit}", format_number(value * factor)).trim_end().to_owned()
}

/// A number with half the width of its interval, in a unit: `11.2 ±0.1`.
pub(crate) fn with_half_width(level: &Level, factor: f64) -> String {
    let value = level.typical * factor;
    let half = level.low.zip(level.high).and_then(|(low, high)| finite((high - low) / 2.0 * factor));
    match half.filter(|half| *half > 0.0) {
        Some(half) => {
            let places = usize::try_from((1 - half.log10().floor() as i32).clamp(0, 6)).unwrap_or(0);
            format!("{value:.places$} ±{half:.places$}")
        }
        None => format_number(value),
    }
}
