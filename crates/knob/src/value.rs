//! Values of knobs: what is written, what is typed, what is shown; plain numbers and CPU shares read from text.
use std::fmt;

use powerband_machine::CpuQuota;
use powerband_record::format_khz;
use serde::{Deserialize, Serialize};

/// A value, checked against the knob and the machine it is for.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum Value {
    /// One of a list of names, in lower case.
    Word(String),
    /// A frequency, kHz.
    Khz(u32),
    /// A plain number in the knob's unit.
    Number(u64),
    /// A share of CPU time, millionths of one CPU.
    Quota(u64),
    /// Anything a file takes.
    Text(String),
}

impl Value {
    /// As it is typed again in a setting, which is also what is written: kHz for frequencies, percent for shares.
    #[must_use]
    pub fn typed(&self) -> String {
        match self {
            Value::Word(text) | Value::Text(text) => text.clone(),
            Value::Khz(khz) => khz.to_string(),
            Value::Number(number) => number.to_string(),
            Value::Quota(millionths) => percent(*millionths),
        }
    }

    /// Its size, for knobs that have one: kHz, number or millionths of a CPU.
    #[must_use]
    pub fn number(&self) -> Option<u64> {
        match self {
            Value::Khz(khz) => Some(u64::from(*khz)),
            Value::Number(number) | Value::Quota(number) => Some(*number),
            Value::Word(_) => None,
            // The kernel reads 070 as 56, so that only what means one number everywhere is one.
            Value::Text(text) => text.parse().ok().filter(|number: &u64| number.to_string() == *text),
        }
    }

    /// The share of CPU time, if it is one.
    #[must_use]
    pub fn quota(&self) -> Option<CpuQuota> {
        match self {
            Value::Quota(millionths) => Some(CpuQuota { millionths: *millionths }),
            _ => None,
        }
    }
}

impl fmt::Display for Value {
    /// For people: `1867 MHz`, `25%`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Value::Khz(khz) => f.write_str(&format_khz(*khz)),
            other => f.write_str(&other.typed()),
        }
    }
}

/// Millionths of one CPU per percent.
pub(crate) const PER_PERCENT: u64 = 10_000;

fn percent(millionths: u64) -> String {
    let text = format!("{}.{:04}", millionths / PER_PERCENT, millionths % PER_PERCENT);
    format!("{}%", text.trim_end_matches('0').trim_end_matches('.'))
}

/// Reads a percentage of one CPU, `25%` or `25`, with at most four decimals; answers millionths of a CPU.
pub(crate) fn parse_quota(text: &str) -> Result<u64, String> {
    let wrong =
        || format!("'{text}' is not a share of one CPU; write e.g. 25%, 100% for one CPU or 250% for two and a half");
    let trimmed = text.trim();
    let number = trimmed.strip_suffix('%').unwrap_or(trimmed).trim();
    let (whole, fraction) = number.split_once('.').unwrap_or((number, ""));
    let digits = |part: &str| part.bytes().all(|byte| byte.is_ascii_digit());
    if whole.is_empty() || whole.len() > 9 || fraction.len() > 4 || !digits(whole) || !digits(fraction) {
        return Err(wrong());
    }
    let whole: u64 = whole.parse().map_err(|_| wrong())?;
    let parts: u64 = format!("{fraction:0<4}").parse().map_err(|_| wrong())?;
    let millionths = whole * PER_PERCENT + parts;
    if !trimmed.ends_with('%') && whole == 0 && parts > 0 {
        let meant = percent(millionths * 100);
        return Err(format!("{text} without a % sign is {text} percent of one CPU; did you mean {meant}?"));
    }
    Ok(millionths)
}

/// Reads a whole number between two bounds, both allowed.
pub(crate) fn parse_number(text: &str, least: u64, most: u64, unit: &str) -> Result<u64, String> {
    let unit = if unit.is_empty() { String::new() } else { format!(" {unit}") };
    let range = if most >= u64::from(u32::MAX) {
        format!("a whole number from {least} up{}", unit.replacen(' ', ", in ", 1))
    } else {
        format!("a whole number from {least} to {most}{unit}")
    };
    match text.trim().parse::<u64>() {
        Ok(number) if (least..=most).contains(&number) => Ok(number),
        Ok(number) => Err(format!("{number} is out of range; it takes {range}")),
        Err(_) => Err(format!("'{}' is not a number; it takes {range}", text.trim())),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shares_read_and_print_again() {
        for (text, millionths, typed) in [
            ("25%", 250_000, "25%"),
            ("100", 1_000_000, "100%"),
            ("250 %", 2_500_000, "250%"),
            ("12.5%", 125_000, "12.5%"),
            ("0.5%", 5_000, "0.5%"),
        ] {
            assert_eq!(parse_quota(text), Ok(millionths), "{text}");
            assert_eq!(Value::Quota(millionths).typed(), typed);
        }
        for text in ["", "%", "-5%", "half", "1.23456%", "99999999999%"] {
            assert!(parse_quota(text).is_err(), "{text}");
        }
        assert!(parse_quota("0.5").unwrap_err().ends_with("did you mean 50%?"));
    }

    #[test]
    fn numbers_say_their_range() {
        assert_eq!(parse_number("95", 1, 100, ""), Ok(95));
        assert_eq!(
            parse_number("0", 1, 100, "percent").unwrap_err(),
            "0 is out of range; it takes a whole number from 1 to 100 percent"
        );
        assert_eq!(
            parse_number("x", 1, u64::from(u32::MAX), "us").unwrap_err(),
            "'x' is not a number; it takes a whole number from 1 up, in us"
        );
    }
}
