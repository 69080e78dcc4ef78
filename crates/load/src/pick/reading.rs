//! One number of an output with its unit, and how the numbers of one metric are written through an experiment.
use std::collections::BTreeMap;
use std::ops::Range;

use powerband_record::unit_of;

use super::number::{cut, is_spaced_group, number};
use super::unit::{Behind, Unit, behind, error_len, has_power, known, loose_units};

/// Where a number is expected: a group of a match, or a whole string.
#[derive(Clone, Debug)]
pub(super) struct Place<'t> {
    pub(super) text: &'t str,
    pub(super) group: Range<usize>,
    /// What the pattern matched: other words and numbers in there are part of the pattern.
    pub(super) whole: Range<usize>,
}

impl<'t> Place<'t> {
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

    /// Units in its line, at the end of the heading above it and alone in the line below, that are no number's.
    fn loose_units(&self) -> String {
        let (start, line) = (self.line_start(), self.line());
        let heading = self.text[..start].trim_end_matches(['\n', '\r']).rsplit(['\n', '\r']).next().unwrap_or_default();
        let heading = heading.trim_end().strip_suffix(':').unwrap_or_default();
        let below = self.text[start + line.len()..].trim_start_matches(['\n', '\r']);
        let below = below.split(['\n', '\r']).next().unwrap_or_default().trim();
        let below = if below.contains(char::is_whitespace) { "" } else { below };
        let units: Vec<&str> = [heading, line, below].into_iter().flat_map(loose_units).collect();
        units.join(" ")
    }
}

/// A number that was read.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Reading {
    /// As printed.
    printed: f64,
    unit: Option<Unit>,
    word: String,
    /// What is behind it, as printed.
    behind: String,
    /// Units in its lines that may be its own.
    around: String,
    mark: Option<char>,
}

/// How the numbers of each metric are written in an experiment: all its trials are read alike, or not at all.
#[derive(Clone, Debug, Default)]
pub struct NumberStyles {
    styles: BTreeMap<String, Style>,
    notes: BTreeMap<(String, bool), String>,
}

/// How the numbers of one metric are written.
#[derive(Clone, Debug, Default)]
pub(super) struct Style {
    /// What stands before a fraction, once that was seen.
    pub(super) mark: Option<char>,
    /// Base and word behind the first number, and how they were printed.
    kind: Option<(&'static str, String, String)>,
    /// Units around the first number that had none of its own.
    around: Option<String>,
}

impl NumberStyles {
    /// What must be known with what was read, a sentence each.
    #[must_use]
    pub fn notes(&self) -> Vec<String> {
        self.notes.values().cloned().collect()
    }

    pub(super) fn style(&self, metric: &str) -> Style {
        self.styles.get(metric).cloned().unwrap_or_default()
    }

    pub(super) fn keep(&mut self, metric: &str, style: Style) {
        self.styles.insert(metric.to_owned(), style);
    }

    /// Keeps the first note of a metric about its unit, or about which match was taken.
    pub(super) fn note(&mut self, metric: &str, of_unit: bool, note: impl FnOnce() -> String) {
        self.notes.entry((metric.to_owned(), of_unit)).or_insert_with(note);
    }
}

impl Style {
    /// Holds a reading against those before it.
    pub(super) fn agree(&mut self, read: &Reading) -> Result<(), String> {
        self.mark = self.mark.or(read.mark);
        let base = read.unit.map_or("", |unit| unit.base);
        if read.printed == 0.0 && base.is_empty() {
            return Ok(());
        }
        let (around, named) =
            (&read.around, |units: &str| if units.is_empty() { "none".to_owned() } else { units.to_owned() });
        let first = self.around.get_or_insert_with(|| around.clone());
        if base.is_empty() && first != around {
            return Err(format!(
                "the units in its lines are {} now and were {} before, and it has none of its own; let the program print one unit",
                named(around),
                named(first)
            ));
        }
        let (first_base, first_word, first) =
            self.kind.get_or_insert_with(|| (base, read.word.clone(), read.behind.clone()));
        if (*first_base, first_word.as_str()) == (base, read.word.as_str()) {
            return Ok(());
        }
        let named = |word: &str| if word.is_empty() { "nothing".to_owned() } else { format!("'{word}'") };
        Err(format!(
            "{} follows the number, and {} followed an earlier one: the unit may have changed; let the program print one unit, or put the word into the pattern",
            named(&read.behind),
            named(first)
        ))
    }
}

impl Reading {
    /// A number that has no unit.
    pub(super) fn plain(value: f64) -> Reading {
        Reading {
            printed: value,
            unit: None,
            word: String::new(),
            behind: String::new(),
            around: String::new(),
            mark: None,
        }
    }

    /// The same number with units that may be its own.
    pub(super) fn amid(self, around: String) -> Reading {
        Reading { around, ..self }
    }

    /// The same number in a unit that is known from elsewhere, unless it has one of its own.
    pub(super) fn or_in(mut self, unit: Option<Unit>) -> Reading {
        self.unit = self.unit.or(unit);
        self
    }

    /// The same number in the unit that its key of a JSON object has last, `lat_ns`, unless it has one of its own.
    pub(super) fn of_key(mut self, key: &str) -> Reading {
        if self.unit.is_none()
            && let Some(unit) = known(unit_of(key)).filter(|unit| !unit.base.is_empty())
        {
            (self.unit, self.behind) = (Some(unit), key.to_owned());
        }
        self
    }

    /// The word after it that is no unit.
    pub(super) fn unknown_unit(&self) -> Option<&str> {
        Some(self.behind.as_str()).filter(|_| self.unit.is_none() && !self.word.is_empty())
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
            let whole = cut(before, rest, "").is_none() && !is_end_of_length(before);
            return if whole { Ok(read) } else { Err("which is only a part of a length of time".into()) };
        }
        let read = number(rest, mark).map_err(|why| format!("which {why}"))?;
        let end = start + read.len;
        if end > place.group.end {
            return Err(format!(
                "which is only a part of '{}'; put the whole number into the group",
                &rest[..read.len]
            ));
        }
        let after = &place.text[end..];
        if let Some(why) = cut(before, &rest[..read.len], after) {
            return Err(format!("which {why}"));
        }
        let early = if place.whole.start == start { before } else { "" };
        let late = if place.whole.end <= end { after } else { "" };
        if is_spaced_group(early, &rest[..read.len], late) {
            return Err(
                "which may be a part of a number that has blanks in it; let the pattern match the number next to it"
                    .into(),
            );
        }
        if has_power(after) {
            return Err("which is followed by a power of ten; let the program print plain numbers".into());
        }
        let Behind { unit, word, len } = behind(after, is_time).map_err(|why| format!("which {why}"))?;
        if unit.is_some_and(|unit| unit.base == "s") && goes_on(&after[len..]) {
            return Err("which is only the beginning of a length of time; let the program print seconds".into());
        }
        if is_end_of_length(before) && (is_time || unit.is_some_and(|unit| unit.base == "s")) {
            return Err("which is only the end of a length of time such as 1m02s".into());
        }
        let taken = if unit.is_some() { end + len } else { end };
        if place.text.get(taken..place.group.end).is_some_and(|more| !more.trim().is_empty()) {
            return Err(no_number());
        }
        let ahead = if unit.is_none() { ahead(before, is_time) } else { None };
        // A word that the pattern spells out is no surprise.
        let word = if place.whole.end >= end + len { "" } else { word };
        let word_after = after[error_len(after).min(len)..len].trim_matches([' ', '\t', '(', '[']).to_owned();
        if let Some((unit, name)) = ahead {
            return Ok(Reading {
                unit: Some(unit),
                behind: name.to_owned(),
                mark: read.mark,
                ..Reading::plain(read.value)
            });
        }
        let behind = if unit.is_some() || !word.is_empty() { word_after } else { String::new() };
        let around = if unit.is_none() { place.loose_units() } else { String::new() };
        Ok(Reading {
            printed: read.value,
            unit,
            word: word.trim_end_matches('s').to_owned(),
            behind,
            around,
            mark: read.mark,
        })
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
        let times = match (own.base, wanted.base) {
            (own, wanted) if own == wanted => 1.0,
            ("B", "bit") | ("B/s", "bit/s") => 8.0,
            ("bit", "B") | ("bit/s", "B/s") => 0.125,
            ("Hz", "1/s") | ("1/s", "Hz") => 1.0,
            _ => {
                return Err(format!(
                    "'{}' is at the number, but {metric} is in {named} by its name; give the metric another name",
                    self.behind
                ));
            }
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

/// Parts of lengths of time, the largest first, s.
const PARTS: [(&str, f64); 8] =
    [("h", 3600.0), ("m", 60.0), ("min", 60.0), ("s", 1.0), ("ms", 1e-3), ("us", 1e-6), ("µs", 1e-6), ("ns", 1e-9)];

/// A length of time of several parts, `1m02.5s` or `1min 2s`, in seconds, and the bytes it takes.
fn length(text: &str) -> Option<(f64, usize)> {
    let (mut at, mut seconds, mut count, mut least) = (0, 0.0, 0, f64::INFINITY);
    loop {
        let rest = &text[at..];
        let rest = if count > 0 { rest.strip_prefix(' ').unwrap_or(rest) } else { rest };
        let digits = &rest[..rest.find(|c: char| !c.is_ascii_digit() && c != '.' && c != ',').unwrap_or(rest.len())];
        let behind = &rest[digits.len()..];
        let word = &behind[..behind.find(|c: char| !c.is_alphabetic()).unwrap_or(behind.len())];
        let part = PARTS.iter().find(|(name, part)| *name == word && *part < least);
        let value: Option<f64> = digits.replace(',', ".").parse().ok();
        let (Some((_, part)), Some(value)) = (part, value) else { break };
        // Below a larger part, nothing has thousands.
        if count > 0 && value * part >= least {
            break;
        }
        (seconds, least, count) = (seconds + value * part, *part, count + 1);
        at = text.len() - behind.len() + word.len();
        if digits.contains(['.', ',']) {
            break;
        }
    }
    (count > 1).then_some((seconds, at))
}

/// Words of the larger parts of a length of time.
const LARGER: [&str; 18] = [
    "d", "day", "days", "h", "hr", "hrs", "hour", "hours", "m", "min", "mins", "minute", "minutes", "s", "sec", "secs",
    "second", "seconds",
];

/// Whether what is before a number is a larger part of the same length of time, and not 0: `1m` of `1m02s`, `5 minutes and `.
fn is_end_of_length(before: &str) -> bool {
    let text = before.strip_suffix(' ').unwrap_or(before);
    let text = text.strip_suffix(" and").or_else(|| text.strip_suffix(',')).unwrap_or(text);
    let rest = text.trim_end_matches(char::is_alphabetic);
    let number = rest.strip_suffix(' ').unwrap_or(rest);
    let digits = &number[number.trim_end_matches(|c: char| c.is_ascii_digit()).len()..];
    LARGER.contains(&&text[rest.len()..]) && digits.bytes().any(|b| b != b'0')
}

/// Whether another part of a length of time follows a first one: ` 50 ms`, ` and 30 seconds`, `, 03:00:00`.
fn goes_on(after: &str) -> bool {
    let text = after.strip_prefix(',').or_else(|| after.strip_prefix(" and")).unwrap_or(after);
    let text = text.strip_prefix(' ').unwrap_or(text);
    let rest = text.trim_start_matches(|c: char| c.is_ascii_digit() || c == '.');
    let word = rest.strip_prefix(' ').unwrap_or(rest);
    let word = &word[..word.find(|c: char| !c.is_alphabetic() && c != 'µ').unwrap_or(word.len())];
    let is_part = LARGER.contains(&word) || known(word).is_some_and(|unit| unit.base == "s");
    rest.len() < text.len() && (is_part || rest.starts_with(':'))
}
