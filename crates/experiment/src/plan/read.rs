//! A text as TOML: what is wrong with it is one line, with the file and the place.
use super::PlanError;

pub(super) fn read<T: serde::de::DeserializeOwned>(name: &str, text: &str) -> Result<T, PlanError> {
    toml::from_str(text).map_err(|error| {
        let line = error.span().map(|span| text[..span.start.min(text.len())].matches('\n').count() + 1);
        let place = line.map_or_else(|| name.to_owned(), |line| format!("{name} line {line}"));
        let why = error.message().replace('\n', "; ").replace("unknown field", "unknown key");
        let why = line.and_then(|line| plainly(text.lines().nth(line - 1)?, &why)).unwrap_or(why);
        let whole = ["expected u32", "expected u64"].into_iter().find(|kind| why.contains(kind));
        let why = whole.map_or_else(|| why.clone(), |kind| why.replace(kind, "expected a whole number from 0"));
        PlanError::Toml { place, why }
    })
}

/// What a line may say instead, where the parser only names types.
fn plainly(line: &str, why: &str) -> Option<String> {
    if line.trim() == "[[load]]" {
        return Some("a plan has one [load]; write that table once, with kind, e.g. kind = \"counter\"".into());
    }
    let given = why.strip_prefix("invalid type: ")?.strip_suffix(", expected a string")?;
    let (key, value) = (line.split_once('=')?.0.trim(), given.split_once('`')?.1.trim_end_matches('`'));
    let example = match key {
        "alpha" | "margin" => "5%",
        "budget" => "15m",
        "settle" => "500ms",
        _ => value,
    };
    Some(format!("{key} is a text in quotes, e.g. {key} = \"{example}\""))
}
