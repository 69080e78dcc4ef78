//! A load in a few words.
use powerband_record::format_duration;
use serde_json::Value;

use crate::Model;

/// A load in a few words: its kind and what distinguishes it.
#[must_use]
pub fn load(load: &Value) -> String {
    let plain = |value: &Value| match value {
        Value::String(text) => text.clone(),
        other => other.to_string(),
    };
    let Value::Object(fields) = load else { return plain(load) };
    // A command is best told by itself.
    let command = fields.contains_key("argv") || fields.contains_key("commands");
    let words: Vec<String> = fields
        .iter()
        .filter(|(name, value)| !(value.is_null() || **value == Value::Bool(false) || command && *name == "kind"))
        .map(|(name, value)| match (name.as_str(), value) {
            ("kind" | "name" | "load", Value::String(text)) => text.clone(),
            ("ignore_failure", Value::Array(codes)) => {
                format!("exit status {} accepted", codes.iter().map(plain).collect::<Vec<_>>().join(","))
            }
            ("commands", Value::Array(lines)) => lines.iter().map(command_line).collect::<Vec<_>>().join(" | "),
            ("argv" | "command", Value::Array(words)) => words.iter().map(plain).collect::<Vec<_>>().join(" "),
            (name, Value::Number(number)) if name.ends_with("_ns") => {
                let length = number.as_u64().map_or_else(|| number.to_string(), format_duration);
                format!("{} {length}", name.trim_end_matches("_ns"))
            }
            (name, Value::Bool(true)) => name.replace('_', " "),
            (name, value) => format!("{name} {}", plain(value)),
        })
        .collect();
    words.join(", ")
}

/// One of several commands: its text, or its words.
fn command_line(line: &Value) -> String {
    let text = |value: &Value| value.as_str().map_or_else(|| value.to_string(), str::to_owned);
    match line {
        Value::Array(words) => words.iter().map(text).collect::<Vec<_>>().join(" "),
        line => text(line),
    }
}

/// The load of an experiment in a few words; without a peer it has no direction, and says where it runs.
#[must_use]
pub fn load_of(model: &Model) -> String {
    let kind = model.started.load.get("kind").and_then(Value::as_str);
    if model.started.far.is_some() || !matches!(kind, Some("stream" | "ping")) {
        return load(&model.started.load);
    }
    let mut alone = model.started.load.clone();
    if let Value::Object(fields) = &mut alone {
        fields.remove("direction");
    }
    format!("{}, over loopback (no peer)", load(&alone))
}
