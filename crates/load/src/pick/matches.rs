//! Which of several matches in one output is taken.
use powerband_record::Output;
use regex_lite::Regex;
use serde::Deserialize;
use serde_json::Value;
use serde_json_path::JsonPath;

use super::document::last_document;
use super::reading::{NumberStyles, Place, Reading, Style, is_time};

/// Which of the numbers that match in one output a metric is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
#[non_exhaustive]
pub enum Take {
    /// The one there is; the last after lines of progress.
    #[default]
    Only,
    /// The first.
    First,
    /// The last.
    Last,
    /// The mean of all.
    Mean,
    /// The smallest.
    Min,
    /// The largest.
    Max,
    /// All added up.
    Sum,
}

impl Take {
    /// By the word behind `regex-` and `json-`.
    pub(super) const WORDS: [(&str, Take); 6] = [
        ("first", Take::First),
        ("last", Take::Last),
        ("mean", Take::Mean),
        ("min", Take::Min),
        ("max", Take::Max),
        ("sum", Take::Sum),
    ];

    /// Those of some items that count.
    pub(super) fn of<T>(self, mut items: Vec<T>) -> Vec<T> {
        match self {
            Take::First => items.truncate(1),
            Take::Last | Take::Only => drop(items.drain(..items.len().saturating_sub(1))),
            _ => {}
        }
        items
    }

    pub(super) fn sum_up(self, values: &[f64]) -> f64 {
        match self {
            Take::Mean => values.iter().sum::<f64>() / values.len() as f64,
            Take::Sum => values.iter().sum(),
            Take::Max => values.iter().copied().fold(f64::NEG_INFINITY, f64::max),
            Take::Min => values.iter().copied().fold(f64::INFINITY, f64::min),
            Take::Only | Take::First | Take::Last => values.last().copied().unwrap_or(f64::NAN),
        }
    }
}

/// What was found in an output: its text, and the number or why there is none.
type Found = (String, Result<Reading, String>);

/// The value of a metric by a regular expression.
pub(super) fn by_pattern(
    metric: &str,
    pattern: &Regex,
    take: Take,
    output: &Output,
    written: &mut NumberStyles,
) -> Result<f64, String> {
    let places = [&output.stdout, &output.stderr].into_iter().map(|text| places(pattern, text));
    let places = places.into_iter().find(|places| !places.is_empty());
    let places = places.ok_or_else(|| format!("the load printed nothing that matches '{pattern}'"))?;
    if output.cut && take != Take::First {
        return Err(format!(
            "the output is too long to be kept whole, and '{pattern}' may match in the rest; regex-first: takes the first match"
        ));
    }
    let mut style = written.style(metric);
    let considered = if take == Take::Only { places.clone() } else { take.of(places.clone()) };
    for place in &considered {
        style.mark = style.mark.or_else(|| super::number::number(&place.text[place.group.clone()], None).ok()?.mark);
    }
    let of = |place: &Place<'_>| {
        let text = place.text[place.group.clone()].to_owned();
        let read = Reading::of(place, is_time(metric), style.mark);
        let read = read.map_err(|why| format!("'{pattern}' found '{text}', {why}"));
        (text, read)
    };
    let found: Vec<Found> = considered.iter().map(of).collect();
    if take == Take::Only && differ(&found) {
        let (first, last) = (&found[0].0, &found[found.len() - 1].0);
        let count = found.len();
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
    taken(metric, take, found, style, written)
}

/// The value of a metric by a JSON path.
pub(super) fn by_path(
    metric: &str,
    path: &JsonPath,
    take: Take,
    output: &Output,
    written: &mut NumberStyles,
) -> Result<f64, String> {
    if output.cut {
        return Err("the JSON that the load printed is too long to be kept whole".into());
    }
    let document = last_document(&output.stdout)?;
    let nodes = path.query(&document).all();
    if nodes.is_empty() {
        return Err(format!("the load's JSON has nothing at {path}"));
    }
    let style = written.style(metric);
    let of = |node: &Value| {
        let wrong = |why: String| format!("{path} holds {node}, {why}");
        let read = match (node.as_f64(), node.as_str()) {
            (Some(value), _) => Ok(Reading::plain(value)),
            (None, Some(text)) => {
                let place = Place { text, group: 0..text.len(), whole: 0..0 };
                Reading::of(&place, is_time(metric), style.mark).map_err(wrong)
            }
            _ => Err(wrong("which is no number".into())),
        };
        (node.to_string(), read)
    };
    let found: Vec<Found> = nodes.into_iter().map(of).collect();
    if take == Take::Only && differ(&found) {
        let (first, last) = (&found[0].0, &found[found.len() - 1].0);
        return Err(format!(
            "{path} finds {} values, from {first} to {last}; use {metric}=json-last:{path}, or json-first:, json-mean:, json-min:, json-max:, json-sum:",
            found.len()
        ));
    }
    taken(metric, take, take.of(found), style, written)
}

/// What the numbers that count come to, in the metric's unit.
fn taken(
    metric: &str,
    take: Take,
    found: Vec<Found>,
    mut style: Style,
    written: &mut NumberStyles,
) -> Result<f64, String> {
    let mut values = Vec::new();
    for (_, read) in take.of(found) {
        let read = read?;
        style.agree(&read)?;
        values.push(read.in_unit_of(metric)?);
        if let Some((base, printed)) = read.converted().filter(|_| powerband_record::unit_of(metric).is_empty()) {
            written.note(metric, true, || {
                format!(
                    "{metric} is in {base}, the output has '{printed}'; a unit last in its name (p99_us) sets its unit"
                )
            });
        }
    }
    written.keep(metric, style);
    Ok(take.sum_up(&values))
}

fn differ(found: &[Found]) -> bool {
    let value = |(_, read): &Found| read.as_ref().ok().map(Reading::value);
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
    let line = |place: &Place<'_>| {
        let start = place.text[..place.group.start].rfind(['\n', '\r']).map_or(0, |at| at + 1);
        let rest = &place.text[start..];
        (start, shape(&rest[..rest.find(['\n', '\r']).unwrap_or(rest.len())]))
    };
    let lines: Vec<(usize, String)> = places.iter().map(line).collect();
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
