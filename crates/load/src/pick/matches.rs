//! Which of several matches in one output is taken.
use powerband_record::{Matches, Output, TakenMatch};
use regex_lite::Regex;
use serde_json::Value;
use serde_json_path::{JsonPath, NormalizedPath};

use super::context::Context;
use super::document::last_document;
use super::progress::are_progress;
use super::reading::{Place, Reading, is_time};
use super::style::{NumberStyles, Style};
use super::unit::known;
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
    let mut style = written.style(metric);
    let streams = texts.iter().map(|text| places(pattern, text)).enumerate();
    let mut streams = streams.filter(|(_, places)| !places.is_empty()).collect::<Vec<_>>();
    if let Some(stream) = style.stream.filter(|_| !streams.is_empty()) {
        streams.retain(|(at, _)| *at == stream);
        if streams.is_empty() {
            let named = |at: usize| if at == 0 { "standard output" } else { "standard error" };
            return Err(format!(
                "'{pattern}' matches in {} only, and was read from {} before; let the program print it to one of them",
                named(1 - stream),
                named(stream)
            ));
        }
    }
    let places = streams.into_iter().next();
    let (stream, places) = places.ok_or_else(|| format!("the load printed nothing that matches '{pattern}'"))?;
    style.stream = Some(stream);
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
    let (document, count) = last_document(&uncoloured(&output.stdout))?;
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
            (None, Some(text)) => Reading::of(&Place::alone(text), is_time(metric), style.mark).map_err(wrong),
            _ => Err(wrong("which is no number".into())),
        };
        let pointer = location.to_json_pointer();
        let key = pointer.rsplit('/').next().unwrap_or_default();
        let read = read.map(|read| read.of_key(key).amid(Context::in_json(&document, location)));
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
        style.agree(&read, metric)?;
        let (read, note) = read.settled(metric)?;
        if let Some(note) = note {
            written.note(metric, true, || note);
        }
        if let Some(word) = read.unknown_unit().filter(|_| known(named).is_some()) {
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
pub(super) fn places<'t>(pattern: &'t Regex, text: &'t str) -> Vec<Place<'t>> {
    let of = |captures: regex_lite::Captures<'t>| {
        let whole = captures.get(0)?.range();
        captures.get(1).map(|group| Place { text, group: group.range(), whole, pattern: pattern.as_str() })
    };
    pattern.captures_iter(text).filter_map(of).collect()
}
