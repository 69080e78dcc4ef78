//! JSON Schemas of the shapes that programs read, made from their types.
use schemars::generate::SchemaSettings;
use schemars::{JsonSchema, Schema};
use serde_json::Value;

use crate::comparison::Comparison;
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
        of::<Report>("report"),
        of::<List>("list"),
        of::<Comparison>("comparison"),
        of::<Timelines>("timelines"),
        of::<Replications<'_>>("replication"),
    ]
}

fn of<T: JsonSchema>(kind: &'static str) -> (&'static str, Value) {
    let schema: Schema = SchemaSettings::draft2020_12().for_serialize().into_generator().into_root_schema_for::<T>();
    let mut schema = schema.to_value();
    worded(&mut schema);
    for (field, value) in [("version", Value::from(VERSION)), ("kind", Value::from(kind))] {
        if let Some(field) = schema.pointer_mut(&format!("/properties/{field}")) {
            *field = serde_json::json!({ "const": value });
        }
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
