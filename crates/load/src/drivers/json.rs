//! The one JSON document a tool prints, or what is there in its place.
use serde_json::Value;

/// The document in a text that may say other things before it, on lines of their own.
///
/// # Errors
/// One sentence: none, cut short, or more than one.
pub(super) fn document(text: &str, tool: &str) -> Result<Value, String> {
    let begins = |line: &&str| line.trim_start().starts_with('{');
    let Some(first) = text.lines().find(begins) else {
        let words = text.lines().map(str::trim).find(|line| !line.is_empty());
        return Err(match words {
            Some(words) => format!("{tool} printed no JSON but '{}'", short(words)),
            None => format!("{tool} printed nothing"),
        });
    };
    // Both are slices of the same text.
    let at = first.as_ptr() as usize - text.as_ptr() as usize;
    let rest = text.get(at..).unwrap_or_default();
    let mut documents = serde_json::Deserializer::from_str(rest).into_iter::<Value>();
    let document = match documents.next() {
        Some(Ok(document)) => document,
        Some(Err(error)) if error.is_eof() => return Err(format!("the JSON that {tool} printed is cut short")),
        Some(Err(error)) => return Err(format!("what {tool} printed is not JSON: {error}")),
        None => return Err(format!("{tool} printed nothing")),
    };
    let behind = rest.get(documents.byte_offset()..).unwrap_or_default();
    if behind.lines().any(|line| begins(&line)) {
        return Err(format!("{tool} printed more than one JSON document, and it is unclear which counts"));
    }
    Ok(document)
}

/// A number that a JSON document has somewhere, by its pointer.
pub(super) fn number(document: &Value, pointer: &str) -> Option<f64> {
    document.pointer(pointer)?.as_f64()
}

/// The beginning of a line, for a sentence.
pub(crate) fn short(line: &str) -> String {
    const MAX: usize = 80;
    let cut: String = line.chars().filter(|c| !c.is_control()).take(MAX).collect();
    if line.chars().count() > MAX { format!("{cut}…") } else { cut }
}
