//! Which of several matches in one output is taken.
use powerband_record::{Matches, Output, TakenMatch};
use regex_lite::Regex;
use serde_json::Value;
use serde_json_path::{JsonPath, NormalizedPath};

use super::document::last_document;
use super::reading::{NumberStyles, Place, Reading, Style, is_time};
use super::unit::{known, loose_units};
use crate::drivers::uncoloured;

/// A number that was picked from an output.
#[derive(Clone, Debug, PartialEq)]
pub struct Picked {
    /// The metric's value, in `unit`.
    pub value: f64,
    /// Its unit: that of the metric's name, else the base of the unit that was printed; empty where there is none.
    pub unit: String,
    /// What it was taken from.
    pub matches: Matches,
    /// The line of the number that was taken, or the node of a JSON document; of several the last.
    pub line: String,
}

/// Which of the numbers that match are wanted: one by its place, or what all come to. Where nobody said, it is the only one there
/// is, or the last after lines of progress.
pub type Take = Option<TakenMatch>;

/// What a take is in the end.
pub(super) fn taken_match(take: Take) -> TakenMatch {
    take.unwrap_or(TakenMatch::Last)
}

/// Those of some items that count.
pub(super) fn counting<T>(take: TakenMatch, mut items: Vec<T>) -> Vec<T> {
    match take {
        TakenMatch::First => items.truncate(1),
        TakenMatch::Last => drop(items.drain(..items.len().saturating_sub(1))),
        _ => {}
    }
    items
}

pub(super) fn summed_up(take: TakenMatch, values: &[f64]) -> f64 {
    match take {
        TakenMatch::Mean => values.iter().sum::<f64>() / values.len() as f64,
        TakenMatch::Sum => values.iter().sum(),
        TakenMatch::Max => values.iter().copied().fold(f64::NEG_INFINITY, f64::max),
        TakenMatch::Min => values.iter().copied().fold(f64::INFINITY, f64::min),
        TakenMatch::First | TakenMatch::Last => values.last().copied().unwrap_or(f64::NAN),
    }
}

/// What was found in an output.
struct Found {
    /// As printed.
    text: String,
    /// Where.
    line: String,
    read: Result<Reading, String>,
}

/// The value of a metric by a regular expression.
pub(super) fn by_pattern(
    metric: &str,
    pattern: &Regex,
    take: Take,
    output: &Output,
    written: &mut NumberStyles,
) -> Result<Picked, String> {
    let texts = [&output.stdout, &output.stderr].map(|text| uncoloured(text));
    let places = texts.iter().map(|text| places(pattern, text));
    let places = places.into_iter().find(|places| !places.is_empty());
    let places = places.ok_or_else(|| format!("the load printed nothing that matches '{pattern}'"))?;
    if output.cut && take != Some(TakenMatch::First) {
        return Err(format!(
            "the output is too long to be kept whole, and '{pattern}' may match in the rest; regex-first: takes the first match"
        ));
    }
    let matches = Matches {
        count: u32::try_from(places.len()).unwrap_or(u32::MAX),
        first: places.first().map(Place::group_text).unwrap_or_default(),
        last: places.last().map(Place::group_text).unwrap_or_default(),
        taken: taken_match(take),
    };
    let mut style = written.style(metric);
    let considered = match take {
        None => places.clone(),
        Some(take) => counting(take, places.clone()),
    };
    for place in &considered {
        style.mark = style.mark.or_else(|| super::number::number(&place.text[place.group.clone()], None).ok()?.mark);
    }
    let of = |place: &Place<'_>| {
        let text = place.group_text();
        let read = Reading::of(place, is_time(metric), style.mark);
        let read = read.map_err(|why| format!("'{pattern}' found '{text}', {why}"));
        Found { line: place.line().trim().to_owned(), text, read }
    };
    let found: Vec<Found> = considered.iter().map(of).collect();
    if take.is_none() && differ(&found) {
        let Matches { count, first, last, .. } = &matches;
        if !are_progress(&places) {
            return Err(format!(
                "'{pattern}' matches {count} times, from '{first}' to '{last}'; use {metric}=regex-last:{pattern}, or regex-first:, regex-mean:, regex-min:, regex-max:, regex-sum:"
            ));
        }
        let note = || {
            format!(
                "the pattern of {metric} matches {count} times in an output, e.g. '{first}' first and '{last}' last; the last is taken"
            )
        };
        written.note(metric, false, note);
    }
    taken(metric, matches, found, style, written)
}

/// The value of a metric by a JSON path.
pub(super) fn by_path(
    metric: &str,
    path: &JsonPath,
    take: Take,
    output: &Output,
    written: &mut NumberStyles,
) -> Result<Picked, String> {
    if output.cut {
        return Err("the JSON that the load printed is too long to be kept whole".into());
    }
    let (document, count) = last_document(&output.stdout)?;
    if count > 1 {
        written
            .note(metric, false, || format!("{metric} is read from the last of {count} JSON documents in an output"));
    }
    let nodes = path.query_located(&document);
    // The path's own words have a point too many in front of a name anywhere below.
    let path = path.to_string().replace("...", "..");
    let style = written.style(metric);
    let of = |location: &NormalizedPath<'_>, node: &Value| {
        let wrong = |why: String| format!("{path} holds {node}, {why}");
        let read = match (node.as_f64(), node.as_str()) {
            (Some(value), _) => Ok(Reading::plain(value)),
            (None, Some(text)) => {
                let place = Place { text, group: 0..text.len(), whole: 0..0 };
                Reading::of(&place, is_time(metric), style.mark).map_err(wrong)
            }
            _ => Err(wrong("which is no number".into())),
        };
        let pointer = location.to_json_pointer();
        let (folder, key) = pointer.rsplit_once('/').unwrap_or_default();
        let siblings = document.pointer(folder).and_then(Value::as_object).into_iter().flatten();
        let units: Vec<&str> = siblings.filter_map(|(_, value)| value.as_str()).flat_map(loose_units).collect();
        let read = read.map(|read| read.of_key(key).amid(units.join(" ")));
        Found { text: node.to_string(), line: format!("{location}: {node}"), read }
    };
    let found: Vec<Found> = nodes.iter().map(|node| of(node.location(), node.node())).collect();
    let (Some(first), Some(last)) = (found.first(), found.last()) else {
        return Err(format!("the load's JSON has nothing at {path}"));
    };
    let matches = Matches {
        count: u32::try_from(found.len()).unwrap_or(u32::MAX),
        first: first.text.clone(),
        last: last.text.clone(),
        taken: taken_match(take),
    };
    if take.is_none() && differ(&found) {
        let Matches { count, first, last, .. } = matches;
        return Err(format!(
            "{path} finds {count} values, from {first} to {last}; use {metric}=json-last:{path}, or json-first:, json-mean:, json-min:, json-max:, json-sum:",
        ));
    }
    taken(metric, matches, found, style, written)
}

/// What the numbers that count come to, in the metric's unit.
fn taken(
    metric: &str,
    matches: Matches,
    found: Vec<Found>,
    mut style: Style,
    written: &mut NumberStyles,
) -> Result<Picked, String> {
    let named = powerband_record::unit_of(metric);
    let (mut values, mut unit, mut line) = (Vec::new(), named, String::new());
    for found in counting(matches.taken, found) {
        let read = found.read?;
        style.agree(&read)?;
        if let Some(word) = read.unknown_unit().filter(|_| known(named).is_some()) {
            if word.contains('/') {
                return Err(format!(
                    "'{word}' follows the number and is no known unit, but {metric} is in {named} by its name"
                ));
            }
            written.note(metric, true, || {
                format!("{metric} is in {named} by its name; the output has '{word}' behind its number")
            });
        }
        values.push(read.in_unit_of(metric)?);
        if named.is_empty() {
            unit = read.base();
        }
        line = found.line;
        if let Some((base, printed)) = read.converted().filter(|_| named.is_empty()) {
            written.note(metric, true, || {
                format!(
                    "{metric} is in {base}, the output has '{printed}'; a unit last in its name (p99_us) sets its unit"
                )
            });
        }
    }
    written.keep(metric, style);
    Ok(Picked { value: summed_up(matches.taken, &values), unit: unit.to_owned(), matches, line })
}

fn differ(found: &[Found]) -> bool {
    let value = |found: &Found| found.read.as_ref().ok().map(Reading::value);
    found.len() > 1 && found.windows(2).any(|pair| value(&pair[0]).is_none() || value(&pair[0]) != value(&pair[1]))
}

/// All matches of a pattern whose group took part.
pub(super) fn places<'t>(pattern: &Regex, text: &'t str) -> Vec<Place<'t>> {
    let of = |captures: regex_lite::Captures<'t>| {
        let whole = captures.get(0)?.range();
        captures.get(1).map(|group| Place { text, group: group.range(), whole })
    };
    pattern.captures_iter(text).filter_map(of).collect()
}

/// Whether all matches before the last are lines of one shape, each on its own: two of them, or one that the last resembles.
fn are_progress(places: &[Place<'_>]) -> bool {
    let lines: Vec<(usize, String)> = places.iter().map(|place| (place.line_start(), shape(place.line()))).collect();
    let apart = lines.windows(2).all(|pair| pair[0].0 != pair[1].0);
    let alike = |lines: &[(usize, String)]| lines.len() > 1 && lines.windows(2).all(|pair| pair[0].1 == pair[1].1);
    apart && (alike(&lines) || lines.split_last().is_some_and(|(_, earlier)| alike(earlier)))
}

/// The letters of a line, and where numbers are between them.
fn shape(line: &str) -> String {
    let mut shape = String::new();
    for c in line.chars() {
        match c {
            '0'..='9' if !shape.ends_with('#') => shape.push('#'),
            c if c.is_alphabetic() => shape.push(c),
            _ => {}
        }
    }
    shape
}
