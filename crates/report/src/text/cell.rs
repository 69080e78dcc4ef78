//! Numbers in cells: three to four significant digits, an interval with no more decimals than its own width supports.
use powerband_record::Level;

use crate::words::finite;

/// A level as it is printed: the value, and its interval if there is one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Cell {
    pub(crate) value: String,
    pub(crate) interval: String,
}

/// By which power of ten a column is divided, so that counts of millions stay readable: 0, 6, 9, 12, …
pub(crate) fn exponent(levels: &[&Level]) -> i32 {
    let largest = levels.iter().filter_map(|l| finite(l.typical)).map(f64::abs).fold(0.0, f64::max);
    match largest {
        small if small < 1e6 => 0,
        large => (magnitude(large) / 3 * 3).min(300),
    }
}

/// The power of ten a column is divided by, and its unit with it: seconds below one are read in ms or us, so that nothing reads
/// `0 s`, and large numbers of us in ms.
pub(crate) fn scale(unit: &str, levels: &[&Level]) -> (i32, String) {
    let largest = levels.iter().filter_map(|level| finite(level.typical)).map(f64::abs).fold(0.0, f64::max);
    match (unit, exponent(levels)) {
        ("s", _) if largest > 0.0 && largest < 1e-3 => (-6, "us".into()),
        ("s", _) if largest > 0.0 && largest < 1.0 => (-3, "ms".into()),
        ("us", _) if largest >= 1e5 => (3, "ms".into()),
        (unit, 0) => (0, unit.into()),
        (unit, power) => (power, format!("10^{power} {unit}").trim_end().to_owned()),
    }
}

fn magnitude(value: f64) -> i32 {
    // A float's logarithm fits; zero has none.
    if value == 0.0 { 0 } else { value.abs().log10().floor() as i32 }
}

fn decimals(magnitude: i32, digits: i32) -> usize {
    usize::try_from((digits - 1 - magnitude).clamp(0, 9)).unwrap_or(0)
}

/// Prints a level divided by ten to the `exponent`.
pub(crate) fn cell(level: &Level, exponent: i32) -> Cell {
    let scaled = |value: f64| finite(value).map(|value| value / 10_f64.powi(exponent));
    let Some(typical) = scaled(level.typical) else {
        return Cell { value: "-".into(), interval: String::new() };
    };
    let most = decimals(magnitude(typical), 4);
    let plain = || {
        let value = format!("{typical:.most$}");
        if value.contains('.') { value.trim_end_matches('0').trim_end_matches('.').into() } else { value }
    };
    let (Some(low), Some(high)) = (level.low.and_then(scaled), level.high.and_then(scaled)) else {
        return Cell { value: plain(), interval: String::new() };
    };
    let half = (high - low) / 2.0;
    if half <= 0.0 {
        return Cell { value: plain(), interval: "±0".into() };
    }
    let places = most.min(decimals(magnitude(half), 2));
    let value = format!("{typical:.places$}");
    // The ends of an interval of logarithms are not equally far from the middle; small differences are not told.
    let (from, to) = (format!("{low:.places$}"), format!("{high:.places$}"));
    let interval = if from != to && ((low + high) / 2.0 - typical).abs() > 0.1 * half {
        format!("{from}..{to}")
    } else {
        match format!("{half:.places$}") {
            none if none.bytes().all(|b| matches!(b, b'0' | b'.')) => {
                format!("±<{:.places$}", 10_f64.powi(-i32::try_from(places).unwrap_or(0)))
            }
            told => format!("±{told}"),
        }
    };
    Cell { value, interval }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(typical: f64, low: Option<f64>, high: Option<f64>, value: &str, interval: &str) {
        let level = Level { setting: 0, metric: "m".into(), trials: 3, typical, low, high };
        let found = cell(&level, exponent(&[&level]));
        assert_eq!((found.value.as_str(), found.interval.as_str()), (value, interval), "{typical} {low:?} {high:?}");
    }

    #[test]
    fn short_times_are_read_in_ms_and_us() {
        let scaled = |unit: &str, typical: f64| {
            let level = Level { setting: 0, metric: "m".into(), trials: 3, typical, low: None, high: None };
            let (power, unit) = scale(unit, &[&level]);
            format!("{} {unit}", cell(&level, power).value)
        };
        assert_eq!(scaled("s", 0.011_23), "11.23 ms");
        assert_eq!(scaled("s", 0.000_512), "512 us");
        assert_eq!(scaled("s", 1.5), "1.5 s");
        assert_eq!(scaled("s", 0.0), "0 s");
        assert_eq!(scaled("W", 0.5), "0.5 W");
        assert_eq!(scaled("1/s", 25_930_000.0), "25.93 10^6 1/s");
    }

    #[test]
    fn values_and_intervals() {
        check(54.123, Some(53.811), Some(54.44), "54.12", "±0.31");
        check(54.123, Some(53.8), Some(55.4), "54.12", "53.80..55.40");
        check(54.123, Some(40.0), Some(68.0), "54", "±14");
        check(54.123, Some(54.122_9), Some(54.123_1), "54.12", "±<0.01");
        check(54.123, None, None, "54.12", "");
        check(54.0, Some(54.0), Some(54.0), "54", "±0");
        check(25_930_000.0, Some(25_900_000.0), Some(25_960_000.0), "25.93", "±0.03");
        check(0.001_234_6, None, None, "0.001235", "");
        check(0.0, Some(0.0), Some(0.0), "0", "±0");
        check(f64::NAN, None, None, "-", "");
        check(3.0, Some(f64::NEG_INFINITY), Some(f64::NAN), "3", "");
    }
}
