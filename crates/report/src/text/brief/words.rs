//! Metrics and their changes in words: `6.5 % less power`, `0.09 ms more round-trip time`.
use powerband_record::{Level, Metric, SettingVerdict, Verdict, format_number, unit_of};

use super::super::tables::plain_name;
use crate::Model;
use crate::change::{decimals_of, margin_of, signed_interval, unit_of_change, with_unit};
use crate::words::finite;

/// Names of metrics for a sentence.
const NOUNS: [(&str, &str); 13] = [
    ("rate_mbit_s", "throughput"),
    ("power_w", "power"),
    ("energy_j", "energy"),
    ("rtt_ms", "round-trip time"),
    ("rtt_us", "round-trip time"),
    ("real_s", "time"),
    ("user_s", "user CPU time"),
    ("sys_s", "system CPU time"),
    ("count", "count"),
    ("max_us", "maximum latency"),
    ("mean_us", "mean latency"),
    ("temperature_c", "temperature"),
    ("clock_mhz", "frequency"),
];

/// What a metric is called in a sentence.
pub(crate) fn noun(metric: &str) -> String {
    let (side, own) = match metric.split_once('/') {
        Some((side @ ("far" | "both" | "near" | "all"), own)) => (format!("{side} "), own),
        _ => (String::new(), metric),
    };
    if let Some((_, noun)) = NOUNS.iter().find(|(name, _)| *name == own) {
        return format!("{side}{noun}");
    }
    let plain = plain_name(own);
    let named = match unit_of(own) {
        "us" if is_percentile(plain) => format!("{plain} latency"),
        "1/s" if plain != own => format!("{}/s", plain.replace('_', " ")),
        "1/J" if plain != own => format!("{} per joule", plain.replace('_', " ")),
        "1/W" if plain != own => format!("{} per watt", plain.replace('_', " ")),
        _ => own.to_owned(),
    };
    side + &named
}

fn is_percentile(name: &str) -> bool {
    name.strip_prefix('p').is_some_and(|digits| !digits.is_empty() && digits.bytes().all(|b| b.is_ascii_digit()))
}

/// `less` or `more`; of what is not an amount, or a number without a unit, `lower` or `higher`.
fn direction(noun: &str, change: f64, has_unit: bool) -> &'static str {
    let level = ["latency", "round-trip time", "frequency", "temperature"].iter().any(|it| noun.ends_with(it));
    match (level || !has_unit, change < 0.0) {
        (true, true) => "lower",
        (true, false) => "higher",
        (false, true) => "less",
        (false, false) => "more",
    }
}

/// Kinds of metrics: what is told of one need not be told of another.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    /// Watts, joules, work for them.
    Power,
    /// How long something takes.
    Time,
    /// How much is done.
    Rate,
    /// Anything else.
    Other,
}

/// Of which kind a metric is.
pub(crate) fn kind(metric: &str) -> Kind {
    match unit_of(metric) {
        _ if metric.starts_with("at_") => Kind::Other,
        "W" | "J" | "1/J" | "1/W" => Kind::Power,
        "s" | "ms" | "us" | "ns" => Kind::Time,
        "Mbit/s" => Kind::Rate,
        "1/s" if ["requests", "orders", "count", "score", "work", "transactions"].contains(&plain_name(metric)) => {
            Kind::Rate
        }
        _ => Kind::Other,
    }
}

/// A size without its sign: `6.5 %`, or in the metric's own unit.
pub(crate) fn size(verdict: &SettingVerdict) -> String {
    if verdict.absolute {
        return with_unit(&format_number(verdict.change.abs()), verdict);
    }
    let decimals = decimals_of(verdict);
    format!("{:.decimals$} %", verdict.change.abs() * 100.0)
}

/// An interval as it follows a number: `-4.3..+4.1 %`; nothing before the first look.
pub(crate) fn interval(verdict: &SettingVerdict) -> Option<String> {
    let between = signed_interval(verdict)?.replace(" .. ", "..");
    Some(with_unit(&between, verdict))
}

/// One decided or open metric of a setting against the reference, as a clause.
pub(crate) fn clause(model: &Model, metric: &Metric, verdict: &SettingVerdict, with_interval: bool) -> String {
    let noun = noun(&metric.name);
    let between = interval(verdict).filter(|_| with_interval).map(|it| format!(" ({it})")).unwrap_or_default();
    match verdict.verdict {
        Verdict::Same => format!("same {noun} within {}{between}", margin_of(model, &metric.name)),
        Verdict::Better | Verdict::Worse => {
            let has_unit = !unit_of_change(verdict).is_empty();
            format!("{} {} {noun}{between}", size(verdict), direction(&noun, verdict.change, has_unit))
        }
        Verdict::Undecided => {
            format!("{noun} undecided{}", interval(verdict).map(|it| format!(" ({it})")).unwrap_or_default())
        }
    }
}

/// How much a metric that is not decided about differs, where its intervals show that it does: `0.09 ms more round-trip time`.
pub(crate) fn shown(metric: &Metric, reference: &Level, of: &Level) -> Option<String> {
    let apart = |a: &Level, b: &Level| Some(finite(a.high)? < finite(b.low)?);
    let differs = apart(reference, of).unwrap_or(false) || apart(of, reference).unwrap_or(false);
    let (then, now) = (finite(reference.typical)?, finite(of.typical)?);
    if !differs {
        return None;
    }
    let (difference, noun) = (now - then, noun(&metric.name));
    let size = match unit_of(&metric.name) {
        unit @ ("s" | "ms" | "us" | "ns") => length(difference.abs(), unit),
        _ if then > 0.0 => format!("{} %", two_digits(100.0 * difference.abs() / then)),
        unit => format!("{} {unit}", two_digits(difference.abs())).trim_end().to_owned(),
    };
    let has_unit = size.contains(' ');
    Some(format!("{size} {} {noun}", direction(&noun, difference, has_unit)))
}

/// A length of time in the unit that suits it.
fn length(value: f64, unit: &str) -> String {
    let ns = value
        * match unit {
            "s" => 1e9,
            "ms" => 1e6,
            "us" => 1e3,
            _ => 1.0,
        };
    let (by, unit) = match ns {
        ns if ns >= 1e9 => (1e9, "s"),
        ns if ns >= 1e5 => (1e6, "ms"),
        ns if ns >= 1e2 => (1e3, "us"),
        _ => (1.0, "ns"),
    };
    format!("{} {unit}", two_digits(ns / by))
}

/// Two significant digits: more is not known of a difference of two estimates.
fn two_digits(value: f64) -> String {
    let magnitude = if value > 0.0 { value.log10().floor() as i32 } else { 0 };
    let decimals = usize::try_from((1 - magnitude).clamp(0, 9)).unwrap_or(0);
    let text = format!("{value:.decimals$}");
    if text.contains('.') { text.trim_end_matches('0').trim_end_matches('.').to_owned() } else { text }
}
