//! JSON Schemas of the shapes that programs read, made from their types.
use schemars::generate::SchemaSettings;
use schemars::{JsonSchema, Schema};
use serde_json::{Map, Value, json};

use crate::json::{Report, VERSION};
use crate::list::List;
use crate::replication::Replications;
use crate::timelines::Timelines;

/// The schemas (draft 2020-12) by the `kind` of their documents.
///
/// They say what is always there, and allow fields they do not name: a document of the same version that a later powerband
/// writes is valid as well.
#[must_use]
pub fn all() -> Vec<(&'static str, Value)> {
    vec![
        of::<Report>("report", VERSION),
        of::<List>("list", VERSION),
        of::<Timelines>("timelines", VERSION),
        of::<Replications<'_>>("replication", VERSION),
    ]
}

/// The schema of documents of one kind, which begin with their version and kind whether their type says so or not.
#[must_use]
pub fn of<T: JsonSchema>(kind: &'static str, version: u32) -> (&'static str, Value) {
    let schema: Schema = SchemaSettings::draft2020_12().for_serialize().into_generator().into_root_schema_for::<T>();
    let mut schema = schema.to_value();
    worded(&mut schema);
    let head = [("version", Value::from(version)), ("kind", Value::from(kind))];
    if let Value::Object(root) = &mut schema {
        let mut properties: Map<String, Value> =
            head.iter().map(|(name, value)| ((*name).to_owned(), json!({ "const": value }))).collect();
        let mut required: Vec<Value> = head.iter().map(|(name, _)| Value::from(*name)).collect();
        if let Some(Value::Object(others)) = root.get("properties") {
            properties.extend(
                others
                    .iter()
                    .filter(|(name, _)| !head.iter().any(|(known, _)| known == name))
                    .map(|(name, of)| (name.clone(), of.clone())),
            );
        }
        if let Some(Value::Array(others)) = root.get("required") {
            required.extend(others.iter().filter(|name| !head.iter().any(|(known, _)| known == name)).cloned());
        }
        root.insert("properties".into(), properties.into());
        root.insert("required".into(), required.into());
    }
    (kind, schema)
}

/// Descriptions in plain words: the types' links lead nowhere in a schema, and their lines end where code does.
fn worded(schema: &mut Value) {
    match schema {
        Value::Object(fields) => {
            for (name, value) in fields {
                match value {
                    Value::String(text) if name == "description" => {
                        *text = text.replace("[`", "`").replace("`]", "`").replace('\n', " ");
                    }
                    value => worded(value),
                }
            }
        }
        Value::Array(all) => all.iter_mut().for_each(worded),
        _ => {}
    }
}
