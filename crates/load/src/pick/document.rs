//! The last JSON document in an output that may print other lines as well.
use serde_json::Value;

use crate::drivers::short;

/// The last document, and how many there are.
///
/// # Errors
/// One sentence: there is none, or it is not whole.
pub(super) fn last_document(text: &str) -> Result<(Value, usize), String> {
    // What Windows programs begin a text with.
    let text = text.trim_start_matches('\u{feff}');
    if let Ok(document) = serde_json::from_str(text.trim()) {
        return Ok((document, 1));
    }
    let (mut at, mut last, mut count) = (0, None, 0);
    while let Some(line) = text[at..].split_inclusive('\n').next() {
        let begin = at + beginning(line);
        at += line.len();
        if !text[begin..at].starts_with(['{', '[']) {
            continue;
        }
        let mut documents = serde_json::Deserializer::from_str(&text[begin..]).into_iter::<Value>();
        match documents.next() {
            Some(Ok(document)) => {
                let end = begin + documents.byte_offset();
                let rest = text[end..].split_inclusive('\n').next().unwrap_or_default();
                // A line that goes on, as `[1] 12:00 started`, is no document, but for another document.
                let goes_on = rest.trim_start().starts_with('{');
                let is_object = document.as_object().is_some_and(|members| !members.is_empty());
                if goes_on || is_object || rest.trim().is_empty() {
                    (last, count) = (Some(document), count + 1);
                    at = end + if goes_on { 0 } else { rest.len() };
                }
            }
            Some(Err(error)) if error.is_eof() => return Err("the JSON that the load printed is cut short".into()),
            Some(Err(error)) if error.line() > 1 => {
                let wrong = text[begin..].lines().nth(error.line() - 1).unwrap_or_default();
                return Err(format!("the load did not print JSON: {error}, in '{}'", short(wrong.trim())));
            }
            _ if line.trim_start().starts_with("{\"") => {
                return Err(format!("the load did not print JSON, in '{}'", short(line.trim())));
            }
            _ => {}
        }
    }
    let words = text.lines().map(str::trim).find(|line| !line.is_empty());
    let none = || match words {
        Some(words) => format!("the load printed no JSON but '{}'", short(words)),
        None => "the load printed no JSON".to_owned(),
    };
    last.map(|document| (document, count)).ok_or_else(none)
}

/// Where a document may begin on a line: at its first word, or after a label, `RESULT: {"x": 5}`.
fn beginning(line: &str) -> usize {
    let first = line.len() - line.trim_start().len();
    let labelled = || ["{\"", "[{\""].iter().filter_map(|opening| line.find(opening)).min();
    if line[first..].starts_with(['{', '[']) { first } else { labelled().unwrap_or(first) }
}
