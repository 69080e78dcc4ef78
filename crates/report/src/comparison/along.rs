//! The one number in which the loads of several experiments differ: customers, a rate, the size of a packet.
use powerband_record::{format_number, parse_duration_ns};
use serde::Serialize;
use serde_json::Value;

use super::{Comparison, Measured};

/// What the experiments were made along.
#[derive(Clone, Debug, PartialEq, Serialize, schemars::JsonSchema)]
pub struct Along {
    /// The load's parameter, as a plan writes it.
    pub name: String,
    /// Unit of its values; may be empty.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub unit: String,
    /// Number of an experiment, and the value it had.
    pub values: Vec<(i64, f64)>,
}

impl Along {
    /// The parameter, where loads of one kind differ in one number and in nothing else, and not all have the same.
    #[must_use]
    pub fn of(loads: &[(i64, &Value)]) -> Option<Along> {
        let (_, first) = loads.first()?;
        let fields = first.as_object()?;
        let others = || loads.iter().skip(1).map(|(_, load)| *load);
        // A field that only some have has no value in the others that could be drawn.
        let same_fields = |load: &Value| load.as_object().is_some_and(|other| other.keys().eq(fields.keys()));
        if !others().all(same_fields) {
            return None;
        }
        let mut differing = fields.iter().filter(|(name, value)| others().any(|load| load.get(name) != Some(value)));
        let (name, _) = differing.next().filter(|_| differing.next().is_none())?;
        let read = loads.iter().map(|(id, load)| Some((*id, number(load.get(name)?)?)));
        let read: Vec<(i64, (f64, &str))> = read.collect::<Option<_>>()?;
        let kind = fields.get("kind").and_then(Value::as_str).unwrap_or_default();
        let unit = read.first().map_or("", |(_, (_, unit))| *unit);
        if read.iter().any(|(_, (_, other))| *other != unit) {
            return None;
        }
        let unit = if unit.is_empty() { unit_of(kind, name) } else { unit };
        let values = read.into_iter().map(|(id, (value, _))| (id, value)).collect();
        Some(Along { name: name.clone(), unit: unit.to_owned(), values })
    }

    /// As an axis names it.
    #[must_use]
    pub fn title(&self) -> String {
        if self.unit.is_empty() { self.name.clone() } else { format!("{}, {}", self.name, self.unit) }
    }

    /// The value an experiment had.
    #[must_use]
    pub fn value(&self, id: i64) -> Option<f64> {
        self.values.iter().find(|(of, _)| *of == id).map(|(_, value)| *value)
    }
}

/// A number, or a length of time in ms.
fn number(value: &Value) -> Option<(f64, &'static str)> {
    match value {
        Value::Number(number) => number.as_f64().map(|number| (number, "")),
        Value::String(text) => parse_duration_ns(text).ok().map(|ns| (ns as f64 / 1e6, "ms")),
        _ => None,
    }
}

/// Units of parameters whose names tell none.
fn unit_of(kind: &str, name: &str) -> &'static str {
    match (kind, name) {
        (_, "size") => "bytes",
        ("ping" | "orders", "rate") => "1/s",
        _ => powerband_record::unit_of(name),
    }
}

impl Comparison {
    /// Adds what the experiments were made along, if anything, and says it.
    pub(super) fn along(self, of: &[&Measured]) -> Comparison {
        let loads: Vec<_> =
            of.iter().filter_map(|one| one.origin.as_ref().map(|origin| (origin.id, &origin.load))).collect();
        let Some(along) = Along::of(&loads).filter(|_| loads.len() == of.len()) else {
            return self;
        };
        let told: Vec<String> =
            along.values.iter().map(|(id, value)| format!("{} in experiment {id}", format_number(*value))).collect();
        let note = format!(
            "the loads differ in {}: {}; a page (-o FILE.html) draws what changes with it, and no verdict parts that from whatever else differed between the experiments",
            along.title(),
            told.join(", ")
        );
        let mut notes = self.notes;
        notes.push(note);
        let values = || along.values.iter().map(|(_, value)| *value);
        let (low, high) = (values().fold(f64::INFINITY, f64::min), values().fold(f64::NEG_INFINITY, f64::max));
        let (low, high) = (format_number(low), format_number(high));
        let unit = if along.unit.is_empty() { String::new() } else { format!(" {}", along.unit) };
        let finding = format!("{} experiments along {}, {low} to {high}{unit}; {}", of.len(), along.name, self.finding);
        Comparison { along: Some(along), notes, finding, ..self }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn along(loads: &[Value]) -> Option<(String, Vec<f64>)> {
        let loads: Vec<(i64, &Value)> = (1..).zip(loads).collect();
        Along::of(&loads).map(|it| (it.title(), it.values.iter().map(|(_, value)| *value).collect()))
    }

    #[test]
    fn one_number_that_differs_is_found_and_nothing_else() {
        let shop = |customers: u32, think: &str| json!({"kind": "shop", "customers": customers, "think": think});
        let found = along(&[shop(500, "6s"), shop(2000, "6s"), shop(1000, "6s")]).unwrap();
        assert_eq!(found, ("customers".to_owned(), vec![500.0, 2000.0, 1000.0]));
        assert_eq!(along(&[shop(500, "6s"), shop(500, "900ms")]).unwrap(), ("think, ms".into(), vec![6000.0, 900.0]));
        assert_eq!(along(&[shop(500, "6s"), shop(1000, "1s")]), None, "two differ");
        assert_eq!(along(&[shop(500, "6s"), shop(500, "6s")]), None, "none differs");
        let ping = |size: u32| json!({"kind": "ping", "size": size});
        assert_eq!(along(&[ping(56), ping(1400)]).unwrap().0, "size, bytes");
        assert_eq!(along(&[shop(500, "6s"), ping(56)]), None, "another load");
        let stream = json!({"kind": "stream", "window_bytes": 32768});
        assert_eq!(along(&[json!({"kind": "stream"}), stream]), None, "one leaves it to the kernel");
        let words = |way: &str| json!({"kind": "stream", "direction": way});
        assert_eq!(along(&[words("both"), words("near-to-far")]), None, "no number");
    }
}
