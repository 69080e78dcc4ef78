//! Which values of a knob a policy allows: any, those of a list, or a range of numbers.
use powerband_knob::{Site, Target, Value};
use powerband_machine::Look;
use powerband_record::parse_frequency_khz;

/// Allowed values, as they are written in the policy.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Range {
    /// Whatever the knob takes.
    Any,
    /// These.
    OneOf(Vec<String>),
    /// From a number to a number, in the knob's unit, both allowed.
    Between {
        /// The lowest.
        low: u64,
        /// The highest.
        high: u64,
        /// As written.
        typed: String,
    },
}

impl Range {
    /// From a text of the policy: `any`, `A..B`, or one value. `unit` is the knob's, where one knob is meant.
    ///
    /// # Errors
    /// What is wrong with it, as a sentence goes on after the knob's name.
    pub(super) fn parse(text: &str, unit: Option<&str>) -> Result<Range, String> {
        if text == "any" {
            return Ok(Range::Any);
        }
        if text.eq_ignore_ascii_case("any") {
            return Err(format!("'{text}' would match no value; write \"any\" for every value"));
        }
        let Some((low, high)) = text.split_once("..") else {
            let both = text.split_once('-').filter(|_| matches!(unit, Some("kHz" | "Hz")));
            return match both {
                Some((low, high)) => Err(format!("'{text}' would match no value; write a range as \"{low}..{high}\"")),
                None => Ok(Range::OneOf(vec![text.to_owned()])),
            };
        };
        let Some(unit) = unit else { return Err("a range is for one knob, not for several".into()) };
        let number = |text: &str| match unit {
            "kHz" | "Hz" => parse_frequency_khz(text.trim()).map(u64::from).map_err(|error| error.to_string()),
            _ => text.trim().parse().map_err(|_| format!("'{}' is not a whole number", text.trim())),
        };
        let (low, high) = (number(low)?, number(high)?);
        if low > high {
            return Err(format!("the range {text} ends below its beginning"));
        }
        Ok(Range::Between { low, high, typed: text.to_owned() })
    }

    /// Whether a value is among them, at a site of a machine, where the words of the list may stand for numbers.
    pub(super) fn has(&self, target: &Target<'_>, machine: &mut dyn Look, site: &Site) -> bool {
        match self {
            Range::Any => true,
            Range::Between { low, high, .. } => {
                target.value.number().is_some_and(|number| (*low..=*high).contains(&number))
            }
            Range::OneOf(values) => values.iter().any(|value| {
                let parsed = target.named.knob.parse(&target.named.name, value, machine, site);
                // Where it is no value here, it is compared as it is written.
                parsed.map_or_else(|_| *value == target.value.typed(), |parsed: Value| parsed == *target.value)
            }),
        }
    }
}

impl std::fmt::Display for Range {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Range::Any => f.write_str("any value"),
            Range::OneOf(values) => f.write_str(&values.join(", ")),
            Range::Between { typed, .. } => f.write_str(typed),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ranges_are_read_in_the_unit_of_the_knob() {
        let texts = "1.2GHz..2.6GHz|0..100|any|ondemand|2GHz..1GHz|a..b|1..2|ANY|1.6GHz-2.1GHz";
        let units = [Some("kHz"), Some(""), None, Some(""), Some("kHz"), Some(""), None, Some(""), Some("kHz")];
        let told = texts.split('|').zip(units).map(|(text, unit)| format!("{text}: {:?}\n", Range::parse(text, unit)));
        insta::assert_snapshot!("ranges", told.collect::<String>());
    }
}
