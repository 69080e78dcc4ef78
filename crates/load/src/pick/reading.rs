//! One number of an output with its unit.
use std::ops::Range;

use powerband_record::unit_of;

use super::context::{ByContext, Context};
use super::length::{goes_on, is_end_of_length, length};
use super::number::{Number, cut, has_loose_minus, is_dash_spelled, is_spaced_group, number};
use super::style::Word;
use super::unit::{
    Behind, Unit, behind, error_len, has_power, in_list, is_claim, is_rate, is_spelled, known, unit_of_key,
};

/// Where a number is expected: a group of a match, or a whole string.
#[derive(Clone, Debug)]
pub(super) struct Place<'t> {
    pub(super) text: &'t str,
    pub(super) group: Range<usize>,
    /// What the pattern matched: other words and numbers in there are part of the pattern.
    pub(super) whole: Range<usize>,
    /// The pattern; empty where there is none.
    pub(super) pattern: &'t str,
}

impl<'t> Place<'t> {
    /// A string that is to be nothing but a number and its unit.
    pub(super) fn alone(text: &'t str) -> Place<'t> {
        Place { text, group: 0..text.len(), whole: 0..0, pattern: "" }
    }

    /// What the group matched.
    pub(super) fn group_text(&self) -> String {
        self.text[self.group.clone()].to_owned()
    }

    /// Where its line begins.
    pub(super) fn line_start(&self) -> usize {
        self.text[..self.group.start].rfind(['\n', '\r']).map_or(0, |at| at + 1)
    }

    /// The line that it begins on.
    pub(super) fn line(&self) -> &'t str {
        let rest = &self.text[self.line_start()..];
        &rest[..rest.find(['\n', '\r']).unwrap_or(rest.len())]
    }
}

/// A number that was read.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Reading {
    /// As printed.
    pub(super) printed: f64,
    pub(super) unit: Option<Unit>,
    /// The word behind it that is no unit.
    pub(super) word: Word,
    /// What is behind it, as printed.
    pub(super) behind: String,
    /// Units that may be its own.
    pub(super) context: Context,
    pub(super) mark: Option<char>,
    pub(super) digits: Digits,
}

/// What the digits of a number show of how numbers are written.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(super) enum Digits {
    #[default]
    Other,
    /// At most three.
    Few,
    /// More than three, not in groups.
    Ungrouped,
    /// `1.234`: a fraction, or thousands.
    Dotted,
}

impl Reading {
    /// A number that has no unit.
    pub(super) fn plain(value: f64) -> Reading {
        Reading {
            printed: value,
            unit: None,
            word: Word::default(),
            behind: String::new(),
            context: Context::default(),
            mark: None,
            digits: Digits::Other,
        }
    }

    /// The same number with units that may be its own.
    pub(super) fn amid(self, context: Context) -> Reading {
        Reading { context, ..self }
    }

    /// The same number in a unit that is known from elsewhere, unless it has one of its own.
    pub(super) fn or_in(mut self, unit: Option<Unit>) -> Reading {
        self.unit = self.unit.or(unit);
        self
    }

    /// The same number in the unit that its key of a JSON object has last, `lat_ns`, unless it has one of its own.
    pub(super) fn of_key(mut self, key: &str) -> Reading {
        if self.unit.is_none()
            && let Some(unit) = unit_of_key(key)
        {
            (self.unit, self.behind) = (Some(unit), key.to_owned());
        }
        self
    }

    /// The word after it that is no unit.
    pub(super) fn unknown_unit(&self) -> Option<&str> {
        let is_surprise = self.unit.is_none() && !self.word.text.is_empty() && !self.word.is_matched;
        Some(self.behind.as_str()).filter(|_| is_surprise)
    }

    /// The same number in the unit that it has by what is around it, where the metric's name has one and the number none.
    ///
    /// # Errors
    /// Why its unit is unclear, in words that stand alone.
    pub(super) fn settled(mut self, metric: &str) -> Result<(Reading, Option<String>), String> {
        let named = unit_of(metric);
        let Some(wanted) = known(named).filter(|_| self.base().is_empty()) else { return Ok((self, None)) };
        if self.word.is_claim && self.unit.is_none() {
            return Err(format!(
                "'{}' follows the number and is no known unit, but {metric} is in {named} by its name; let the program print {named}, or give the metric a name without a unit",
                self.word.text
            ));
        }
        // A bare K, M or G is a size of whatever is meant.
        if self.unit.is_some() {
            return Ok((self, None));
        }
        match self.context.unit(wanted) {
            ByContext::AsNamed => Ok((self, None)),
            ByContext::Other(unit, word) => {
                let note = format!(
                    "{metric} is in {named} by its name; its numbers have no unit of their own and are read as {word}, which is in the output next to them"
                );
                (self.unit, self.behind) = (Some(unit), word);
                Ok((self, Some(note)))
            }
            ByContext::Unclear(words) => {
                let stem = metric.rsplit_once('_').map_or(metric, |(stem, _)| stem);
                Err(format!(
                    "{metric} is in {named} by its name, but the output has {words} and no {named} around the number, whose unit is unclear; use {stem}_UNIT=… with the unit it is in, or {stem}=… without one (--metric)"
                ))
            }
        }
    }

    /// The number at a place.
    ///
    /// # Errors
    /// Why it cannot be read for sure, in words that follow its text.
    pub(super) fn of(place: &Place<'_>, is_time: bool, mark: Option<char>) -> Result<Reading, String> {
        let group = &place.text[place.group.clone()];
        let start = place.group.start + group.len() - group.trim_start().len();
        let rest = &place.text[start..];
        let line = place.text[..start].rfind(['\n', '\r']).map_or(0, |at| at + 1);
        let before = &place.text[line..start];
        let no_number = || "which is no number".to_owned();
        if start >= place.group.end || !rest.starts_with(|c: char| c.is_ascii_digit() || "+-−.".contains(c)) {
            return Err(no_number());
        }
        if let Some((seconds, len)) = length(rest) {
            let unit = Some(Unit { factor: 1.0, base: "s" });
            let read = Reading { unit, behind: rest[..len].to_owned(), ..Reading::plain(seconds) };
            let whole = cut(before, rest, "").is_none() && !is_end_of_length(before, "", None);
            return if whole { Ok(read) } else { Err("which is only a part of a length of time".into()) };
        }
        let read = all_of_it(place, start, mark)?;
        let end = start + read.len;
        let after = &place.text[end..];
        let Behind { unit, word, len } = behind(after, is_time).map_err(|why| format!("which {why}"))?;
        let is_slash =
            place.whole.start < start && before.ends_with('/') || place.whole.end > end && after.starts_with('/');
        let of_list = in_list(before, &rest[..read.len], after, is_slash).map_err(|why| format!("which {why}"))?;
        let of_list = of_list.filter(|_| unit.is_none()).map(|list| Ok((list, behind(list, is_time)?))).transpose();
        let of_list = of_list.map_err(|why: String| format!("which {why}"))?;
        let second = unit.filter(|unit| unit.base == "s").map(|unit| unit.factor);
        if (is_time || second.is_some()) && is_end_of_length(before, &rest[..read.len], second) {
            return Err("which is only the end of a length of time such as 1m02s".into());
        }
        let taken = if unit.is_some() { end + len } else { end };
        if place.text.get(taken..place.group.end).is_some_and(|more| !matches!(more.trim(), "" | ".")) {
            return Err(no_number());
        }
        let whole = Reading { mark: read.mark, digits: digits(&read), ..Reading::plain(read.value) };
        if let Some((list, Behind { unit: unit @ Some(_), len, .. })) = &of_list {
            return Ok(Reading { unit: *unit, behind: list[..*len].trim().to_owned(), ..whole });
        }
        if let Some((unit, name)) = ahead(before, is_time).filter(|_| unit.is_none()) {
            return Ok(Reading { unit: Some(unit), behind: name.to_owned(), ..whole });
        }
        let word = of_list.map_or(word, |(_, list)| list.word);
        let word_after = after[error_len(after).min(len)..len].trim_matches([' ', '\t', '(', '[']).to_owned();
        let word = word_behind(place, word, after, place.whole.end >= end + len);
        let is_shown = unit.is_some() || !word.text.is_empty() && !word.is_matched;
        let behind = if is_shown { word_after } else { String::new() };
        let has_base = unit.is_some_and(|unit| !unit.base.is_empty());
        let context = if has_base { Context::default() } else { Context::in_text(place) };
        Ok(Reading { unit, word, behind, context, ..whole })
    }

    /// Its value in the base of its unit.
    pub(super) fn value(&self) -> f64 {
        self.unit.map_or(self.printed, |unit| scaled(self.printed, unit.factor))
    }

    /// Its value in the unit that the metric's name has last, else in the base of its own.
    ///
    /// # Errors
    /// Where the two have nothing to do with each other.
    pub(super) fn in_unit_of(&self, metric: &str) -> Result<f64, String> {
        let (named, own) = (unit_of(metric), self.unit.filter(|unit| !unit.base.is_empty()));
        let (Some(own), Some(wanted)) = (own, known(named)) else { return Ok(self.value()) };
        let Some(times) = own.times(wanted) else {
            return Err(format!(
                "'{}' is at the number, but {metric} is in {named} by its name; give the metric another name",
                self.behind
            ));
        };
        Ok(scaled(self.printed, own.factor * times / wanted.factor))
    }

    /// The base of the unit that was printed; empty where none was.
    pub(super) fn base(&self) -> &'static str {
        self.unit.map_or("", |unit| unit.base)
    }

    /// The base its value was converted to, where that is not what was printed.
    pub(super) fn converted(&self) -> Option<(&'static str, &str)> {
        let unit = self.unit.filter(|unit| !unit.base.is_empty() && unit.factor != 1.0)?;
        Some((unit.base, &self.behind))
    }
}

/// The number that begins at a byte of a place, if that is all of it.
///
/// # Errors
/// Why it may be a part of another, in words that follow its text.
fn all_of_it(place: &Place<'_>, start: usize, mark: Option<char>) -> Result<Number, String> {
    let rest = &place.text[start..];
    let before = &place.text[place.text[..start].rfind(['\n', '\r']).map_or(0, |at| at + 1)..start];
    let read = number(rest, mark).map_err(|why| format!("which {why}"))?;
    let (text, after) = rest.split_at(read.len);
    let end = start + read.len;
    if end > place.group.end {
        return Err(format!("which is only a part of '{text}'; put the whole number into the group"));
    }
    if let Some(why) = cut(before, text, after) {
        return Err(format!("which {why}"));
    }
    let early = if place.whole.start == start { before } else { "" };
    let late = if place.whole.end <= end { after } else { "" };
    if is_spaced_group(early, text, late) {
        return Err(
            "which may be a part of a number that has blanks in it; let the pattern match the number next to it".into(),
        );
    }
    if has_loose_minus(before) && !is_dash_spelled(place.pattern) {
        return Err("which has a minus apart before it; put the dash into the pattern right before the group".into());
    }
    if has_power(after) {
        return Err("which is followed by a power of ten; let the program print plain numbers".into());
    }
    if goes_on(&after[error_len(after)..]) {
        return Err("which is only the beginning of a length of time; let the program print seconds".into());
    }
    Ok(read)
}

/// A word behind a number, as the pattern has it.
fn word_behind(place: &Place<'_>, word: &str, after: &str, is_matched: bool) -> Word {
    let is_spelled = is_matched && is_spelled(word, place.pattern);
    let is_glued = after.starts_with(char::is_alphabetic);
    // Something by the second that the user knows.
    let is_users = is_spelled && is_rate(word);
    let is_claim = !word.is_empty() && (is_glued || is_claim(word)) && !is_users;
    Word { is_spelled, is_claim, is_matched, text: word.to_owned() }
}

fn digits(read: &Number) -> Digits {
    match read {
        Number { is_dotted: true, .. } => Digits::Dotted,
        Number { is_plain: true, value, .. } if *value != 0.0 && value.abs() < 1_000.0 => Digits::Few,
        Number { is_plain: true, value, .. } if *value != 0.0 => Digits::Ungrouped,
        _ => Digits::Other,
    }
}

/// The unit in front of a number, as the heads of columns and keys have it: `time (ms): `, `p99_us=`.
fn ahead(before: &str, is_time: bool) -> Option<(Unit, &str)> {
    let lead = before.trim_end_matches([' ', '\t', ':', '=', '"', '\'']);
    let lead = lead.strip_suffix([')', ']']).unwrap_or(lead);
    let at = lead.rfind(['(', '[', '_'])? + 1;
    // `request(s): 5` is no time.
    let name = Some(&lead[at..]).filter(|name| name.chars().count() > 1 || is_time && !lead[..at].ends_with("(s"))?;
    known(name).filter(|unit| !unit.base.is_empty()).map(|unit| (unit, name))
}

/// A number times a factor: a thousandth is no exact factor, and a thousand is an exact divisor.
fn scaled(value: f64, factor: f64) -> f64 {
    let exact = |factor: f64| Some(factor.round()).filter(|whole| (whole / factor - 1.0).abs() < 1e-12);
    match (exact(factor), exact(1.0 / factor)) {
        (Some(times), _) => value * times,
        (_, Some(parts)) => value / parts,
        _ => value * factor,
    }
}

/// Whether a metric's name says that it is a time.
pub(super) fn is_time(metric: &str) -> bool {
    let words = ["time", "latency", "duration", "elapsed"];
    known(unit_of(metric)).is_some_and(|unit| unit.base == "s") || metric.split('_').any(|word| words.contains(&word))
}
