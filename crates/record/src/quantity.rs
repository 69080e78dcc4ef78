//! Quantities as people type them and as we print them: frequencies, durations, percentages.
use thiserror::Error;

/// Why a text is not a frequency.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum FrequencyError {
    /// No leading number.
    #[error("'{0}' is not a frequency; write e.g. 1867MHz, 2.4GHz or 2400000 (kHz)")]
    NotANumber(String),
    /// A unit cpufreq-set does not know either.
    #[error("'{unit}' is not a unit of frequency; use Hz, kHz, MHz, GHz or THz")]
    Unit {
        /// What stood behind the number.
        unit: String,
    },
    /// Does not fit the kernel's unsigned 32-bit kHz.
    #[error("{0} is beyond what the kernel can hold (4294967295 kHz)")]
    TooLarge(String),
}

/// Why a text is not a duration or a percentage.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum QuantityError {
    /// Not a duration.
    #[error("'{0}' is not a duration; write e.g. 250ms, 30s, 15m or 2h")]
    Duration(String),
    /// Negative or zero where only a positive length makes sense.
    #[error("a duration cannot be negative: '{0}'")]
    Negative(String),
    /// Not a percentage.
    #[error("'{0}' is not a percentage; write e.g. 5%")]
    Percent(String),
}

/// Splits `1.5GHz` into `1.5` and `GHz`.
fn split_unit(text: &str) -> (&str, &str) {
    let end = text
        .char_indices()
        .find(|&(i, c)| !(c.is_ascii_digit() || c == '.' || (i == 0 && (c == '-' || c == '+'))))
        .map_or(text.len(), |(i, _)| i);
    (&text[..end], text[end..].trim())
}

/// Decimal digits scaled by a power of ten, without going through floating point: `("2.4", 6)` is 2400000.
fn scaled(number: &str, exponent: i32) -> Option<u128> {
    let (whole, fraction) = number.split_once('.').unwrap_or((number, ""));
    let digits: String = format!("{whole}{fraction}");
    if digits.is_empty() || digits.len() > 30 || !digits.bytes().all(|b| b.is_ascii_digit()) {
        return None;
    }
    let value: u128 = digits.parse().ok()?;
    let shift = exponent - i32::try_from(fraction.len()).ok()?;
    if shift >= 0 {
        value.checked_mul(10u128.checked_pow(shift.unsigned_abs())?)
    } else {
        Some(value / 10u128.checked_pow(shift.unsigned_abs())?)
    }
}

/// Reads a frequency as cpufreq-set(1) takes it: Hz, kHz, MHz, GHz, THz, a bare number is kHz. Fractions are allowed
/// (`0.5GHz`); what is finer than a kHz is cut.
///
/// # Errors
/// [`FrequencyError`] when there is no number, the unit is unknown, or the value does not fit 32 bits of kHz.
pub fn parse_frequency_khz(text: &str) -> Result<u32, FrequencyError> {
    let (number, unit) = split_unit(text.trim());
    let exponent = match unit.to_ascii_lowercase().as_str() {
        "hz" => -3,
        "" | "khz" => 0,
        "mhz" => 3,
        "ghz" => 6,
        "thz" => 9,
        _ if number.is_empty() => return Err(FrequencyError::NotANumber(text.into())),
        _ => return Err(FrequencyError::Unit { unit: unit.into() }),
    };
    let khz = scaled(number, exponent).ok_or_else(|| FrequencyError::NotANumber(text.into()))?;
    u32::try_from(khz).map_err(|_| FrequencyError::TooLarge(text.into()))
}

/// Prints kHz for people: whole or fractional MHz (`1867 MHz`, `2.4 MHz`).
#[must_use]
pub fn format_khz(khz: u32) -> String {
    let mhz = format!("{}.{:03}", khz / 1000, khz % 1000);
    format!("{} MHz", mhz.trim_end_matches('0').trim_end_matches('.'))
}

/// Reads a duration: ns, us, ms, s, m (or min), h; a bare number is seconds. Answers nanoseconds.
///
/// # Errors
/// [`QuantityError`] when it is no number, has an unknown unit or is negative.
pub fn parse_duration_ns(text: &str) -> Result<u64, QuantityError> {
    let text = text.trim();
    if text.starts_with('-') {
        return Err(QuantityError::Negative(text.into()));
    }
    let (number, unit) = split_unit(text);
    let wrong = || QuantityError::Duration(text.into());
    let (exponent, factor) = match unit {
        "ns" => (0, 1),
        "us" | "µs" => (3, 1),
        "ms" => (6, 1),
        "" | "s" => (9, 1),
        "m" | "min" => (9, 60),
        "h" => (9, 3600),
        _ => return Err(wrong()),
    };
    let value = scaled(number, exponent).and_then(|v| v.checked_mul(factor)).ok_or_else(wrong)?;
    u64::try_from(value).map_err(|_| wrong())
}

/// Prints a length of time with one sensible unit: `850 ms`, `12.5 s`, `4 min 10 s`, `2 h 5 min`.
#[must_use]
pub fn format_duration(ns: u64) -> String {
    const S: u64 = 1_000_000_000;
    match ns {
        0..1_000 => format!("{ns} ns"),
        1_000..1_000_000 => format!("{} us", format_number(ns as f64 / 1e3)),
        1_000_000..S => format!("{} ms", format_number(ns as f64 / 1e6)),
        S..60_000_000_000 => format!("{} s", format_number(ns as f64 / 1e9)),
        60_000_000_000..3_600_000_000_000 => format!("{} min {} s", ns / S / 60, ns / S % 60),
        _ => format!("{} h {} min", ns / S / 3600, ns / S / 60 % 60),
    }
}

/// Reads `5%` or `0.05` as the fraction 0.05.
///
/// # Errors
/// [`QuantityError::Percent`] when it is neither, or not finite, or negative.
pub fn parse_percent(text: &str) -> Result<f64, QuantityError> {
    let text = text.trim();
    let wrong = || QuantityError::Percent(text.into());
    let value = match text.strip_suffix('%') {
        Some(number) => number.trim().parse::<f64>().map_err(|_| wrong())? / 100.0,
        None => text.parse::<f64>().map_err(|_| wrong())?,
    };
    if value.is_finite() && value >= 0.0 { Ok(value) } else { Err(wrong()) }
}

/// Prints a number with four significant digits and no needless zeros: `54.12`, `1.6`, `25930000` as `25930000`, beyond what
/// can be read so with an exponent: `1e16`, `4.996e-10`.
#[must_use]
pub fn format_number(value: f64) -> String {
    if !value.is_finite() {
        return "-".into();
    }
    let magnitude = if value == 0.0 { 0 } else { value.abs().log10().floor() as i32 };
    if !(-6..=15).contains(&magnitude) {
        let text = format!("{value:.3e}");
        let (digits, exponent) = text.split_once('e').unwrap_or((&text, "0"));
        return format!("{}e{exponent}", digits.trim_end_matches('0').trim_end_matches('.'));
    }
    let decimals = usize::try_from((3 - magnitude).clamp(0, 9)).unwrap_or(0);
    let text = format!("{value:.decimals$}");
    if text.contains('.') { text.trim_end_matches('0').trim_end_matches('.').to_owned() } else { text }
}
