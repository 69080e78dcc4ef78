//! Words and numbers of a report that know nothing of an experiment: shares, counts, dates, names of metrics, quoting.
pub(crate) use powerband_record::quoted;
use powerband_record::{Metric, Verdict, unit_of};

/// A share in percent with its unit: `5 %`, `12.3 %`.
#[must_use]
pub fn percent(share: f64) -> String {
    let text = format!("{:.3}", share * 100.0);
    let digits = if share.abs() >= 0.1 { format!("{:.1}", share * 100.0) } else { text };
    match share.is_finite() {
        true => format!("{} %", digits.trim_end_matches('0').trim_end_matches('.')),
        false => "-".into(),
    }
}

/// A chance that was estimated from hundreds of draws: never none, never certain.
pub(crate) fn chance(of: f64) -> String {
    match 100.0 * of {
        few if few < 0.5 => "less than 1 %".to_owned(),
        most if most >= 99.5 => "more than 99 %".to_owned(),
        percent => format!("{percent:.0} %"),
    }
}

/// `1 block`, `2 blocks`.
#[must_use]
pub fn counted(count: u32, noun: &str) -> String {
    if count == 1 { format!("1 {noun}") } else { format!("{count} {noun}s") }
}

/// `a`, `a and b`, `a, b and c`.
pub(crate) fn and(parts: &[String]) -> String {
    match parts {
        [] => String::new(),
        [one] => one.clone(),
        [most @ .., last] => format!("{} and {last}", most.join(", ")),
    }
}

/// With a capital first letter.
pub(crate) fn capital(text: &str) -> String {
    let mut chars = text.chars();
    chars.next().map(|first| first.to_uppercase().chain(chars).collect()).unwrap_or_default()
}

/// The number, unless it is none.
pub(crate) fn finite(value: impl Into<Option<f64>>) -> Option<f64> {
    value.into().filter(|value| value.is_finite())
}

pub(crate) fn signed(change: f64, decimals: usize) -> String {
    if !change.is_finite() {
        return "-".into();
    }
    let text = format!("{change:+.decimals$}");
    let zero = text.bytes().all(|b| matches!(b, b'+' | b'-' | b'0' | b'.'));
    if zero { text[1..].to_owned() } else { text }
}

/// A metric's name or unit, behind watts and joules what they cover: `energy_j (package)`, `W (modelled)`.
#[must_use]
pub fn with_boundary(text: &str, metric: &Metric) -> String {
    match (&metric.boundary, unit_of(&metric.name)) {
        (Some(boundary), _) => format!("{text} ({boundary})"),
        (None, "W" | "J" | "1/W" | "1/J") => format!("{text} (boundary unknown)"),
        (None, _) => text.to_owned(),
    }
}

/// A metric as an axis names it: its name without the unit's suffix is not shorter to read, so the name and what it covers.
pub(crate) fn titled(metric: &Metric) -> String {
    let unit = unit_of(&metric.name);
    let name = with_boundary(&metric.name, metric);
    if unit.is_empty() { name } else { format!("{name}, {unit}") }
}

/// A verdict's word.
pub(crate) fn word(verdict: Verdict) -> &'static str {
    match verdict {
        Verdict::Better => "better",
        Verdict::Worse => "worse",
        Verdict::Same => "same",
        Verdict::Undecided => "undecided",
    }
}

/// Unix seconds as `2026-11-21 05:50`, by the proleptic Gregorian calendar.
#[must_use]
pub fn utc(unix_s: u64) -> String {
    let (mut days, minutes) = (unix_s / 86_400, unix_s % 86_400 / 60);
    let leap = |year: u64| year.is_multiple_of(4) && (!year.is_multiple_of(100) || year.is_multiple_of(400));
    // Whole cycles of 400 years at once, so that no time, however far, takes long.
    let mut year = 1970 + 400 * (days / 146_097);
    days %= 146_097;
    while days >= 365 + u64::from(leap(year)) {
        days -= 365 + u64::from(leap(year));
        year += 1;
    }
    let mut month = 1;
    for length in [31, 28 + u64::from(leap(year)), 31, 30, 31, 30, 31, 31, 30, 31, 30, 31] {
        if days < length {
            break;
        }
        days -= length;
        month += 1;
    }
    format!("{year}-{month:02}-{:02} {:02}:{:02}", days + 1, minutes / 60, minutes % 60)
}

/// What an option of ours (`--store`) was given among the words of a command line, the load's own left out.
pub(crate) fn given<'w>(words: &'w [String], option: &str) -> Option<&'w str> {
    let mut ours = words.iter().take_while(|word| *word != "--");
    while let Some(word) = ours.next() {
        match word.strip_prefix(option).map(|rest| (rest, rest.strip_prefix('='))) {
            Some(("", _)) => return ours.next().map(String::as_str),
            Some((_, Some(value))) => return Some(value),
            _ => {}
        }
    }
    None
}

/// The store that a command line names, as an option behind a blank; nothing for the default one.
#[must_use]
pub fn named_store(words: &[String]) -> String {
    store_option(given(words, "--store"))
}

/// The option that names a store, behind a blank; nothing for the default one.
pub(crate) fn store_option(named: Option<&str>) -> String {
    named.map(|path| format!(" --store {}", quoted(path))).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_chance_from_draws_is_never_none_and_never_certain() {
        let words = [0.0, 0.004, 0.02, 0.99, 0.996, 1.0].map(chance);
        assert_eq!(words, ["less than 1 %", "less than 1 %", "2 %", "99 %", "more than 99 %", "more than 99 %"]);
    }

    #[test]
    fn unix_seconds_as_dates() {
        for (unix_s, date) in [
            (0, "1970-01-01 00:00"),
            (951_782_399, "2000-02-28 23:59"),
            (951_782_400, "2000-02-29 00:00"),
            (1_709_251_200, "2024-03-01 00:00"),
            (1_795_240_200, "2026-11-21 05:50"),
            (4_107_542_400, "2100-03-01 00:00"),
            (13_574_563_200, "2400-02-29 00:00"),
        ] {
            assert_eq!(utc(unix_s), date);
        }
    }
}
