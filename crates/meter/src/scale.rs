//! From the numbers that files show to microwatts and microjoules, without rounding twice.
use serde::Serialize;

/// A file's number times `times` by `per` is microwatts or microjoules.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, schemars::JsonSchema)]
pub struct FileScale {
    /// Multiplied by.
    pub times: u64,
    /// Divided by; never 0.
    pub per: u64,
}

impl Default for FileScale {
    fn default() -> Self {
        FileScale { times: 1, per: 1 }
    }
}

/// More digits behind the point than any driver prints.
const DIGITS: usize = 12;

impl FileScale {
    /// Whether numbers stay as they are.
    #[must_use]
    pub fn is_one(&self) -> bool {
        self.times == self.per
    }

    /// A positive decimal number that stands in a file, times `unit`: `0.0625` and 1000 for milliwatts.
    #[must_use]
    pub fn decimal(text: &str, unit: u64) -> Option<FileScale> {
        let (whole, part) = text.trim().split_once('.').unwrap_or((text.trim(), ""));
        let part = part.trim_end_matches('0');
        let digits = u32::try_from(part.len()).ok().filter(|_| part.len() <= DIGITS)?;
        let times: u64 = format!("{whole}{part}").parse().ok()?;
        let times = times.checked_mul(unit)?;
        (times > 0).then_some(FileScale { times, per: 10_u64.pow(digits) })
    }

    /// A positive number in any notation that is one part of a whole number, or close to it, times `unit`: perf's
    /// `2.3283064365386962890625e-10` (2^-32) and 1000000 for microjoules.
    #[must_use]
    pub fn fraction(text: &str, unit: u64) -> Option<FileScale> {
        let scale: f64 = text.trim().parse().ok()?;
        let parts = (1.0 / scale).round();
        if !scale.is_normal() || !(1.0..1e15).contains(&parts) || (parts * scale - 1.0).abs() > 1e-9 {
            return FileScale::decimal(text, unit);
        }
        Some(FileScale { times: unit, per: parts as u64 })
    }

    /// What files that show `texts`, multiplied with one another, come to. The sign of a gauge shows which way current flows and
    /// is left off.
    ///
    /// # Errors
    /// The text that is no number.
    pub(crate) fn apply<'a>(&self, texts: impl Iterator<Item = &'a str>, is_gauge: bool) -> Result<u64, String> {
        let mut product = u128::from(self.times);
        for text in texts.map(str::trim) {
            let wrong = || format!("'{text}' is not a number");
            let number = text.strip_prefix('-').filter(|_| is_gauge).unwrap_or(text);
            product = product.saturating_mul(number.parse::<u64>().map_err(|_| wrong())?.into());
        }
        let per = u128::from(self.per.max(1));
        Ok(u64::try_from((product + per / 2) / per).unwrap_or(u64::MAX))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn decimals_are_exact() {
        let scale = FileScale::decimal("0.062500\n", 1000).unwrap();
        assert_eq!(scale, FileScale { times: 625_000, per: 10_000 });
        assert_eq!(scale.apply(["800"].into_iter(), true), Ok(50_000));
        assert_eq!(FileScale::decimal("25", 1000).unwrap().apply(["3"].into_iter(), true), Ok(75_000));
        assert_eq!(FileScale::decimal("1.000000", 1), Some(FileScale::default()));
        for odd in ["0", "", "-1", "x", "1.2.3", "0.0000000000001"] {
            assert_eq!(FileScale::decimal(odd, 1), None, "{odd}");
        }
    }

    #[test]
    fn a_fraction_is_told_by_its_parts() {
        let scale = FileScale::fraction("2.3283064365386962890625e-10\n", 1_000_000).unwrap();
        assert_eq!(scale, FileScale { times: 1_000_000, per: 1 << 32 });
        assert_eq!(scale.apply(["4294967296"].into_iter(), false), Ok(1_000_000));
        assert_eq!(scale.apply([u64::to_string(&(1 << 62)).as_str()].into_iter(), false), Ok(1_073_741_824_000_000));
        assert_eq!(FileScale::fraction("0.3", 10), Some(FileScale { times: 30, per: 10 }), "three parts of ten");
        assert_eq!(FileScale::fraction("1", 10), Some(FileScale { times: 10, per: 1 }));
        for odd in ["0", "", "-1", "x", "inf", "nan", "1e20"] {
            assert_eq!(FileScale::fraction(odd, 1), None, "{odd}");
        }
    }

    #[test]
    fn a_current_times_a_voltage_is_power_whichever_way_it_flows() {
        let scale = FileScale { times: 1, per: 1_000_000 };
        assert_eq!(scale.apply(["-1500000\n", "12000000\n"].into_iter(), true), Ok(18_000_000));
        assert_eq!(scale.apply(["x", "1"].into_iter(), true), Err("'x' is not a number".into()));
        // As drivers show it while a battery is discharged.
        assert_eq!(FileScale::default().apply(["-17500000\n"].into_iter(), true), Ok(17_500_000));
        for odd in ["--1", "-", "- 1"] {
            assert!(FileScale::default().apply([odd].into_iter(), true).is_err(), "{odd}");
        }
        // What is counted never falls below nothing.
        assert_eq!(FileScale::default().apply(["-1"].into_iter(), false), Err("'-1' is not a number".into()));
    }
}
