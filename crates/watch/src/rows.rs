//! Samples as rows: one list of columns, each named with its unit, as CSV or as lines of JSON.
use std::collections::BTreeSet;

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde_json::{Map, Value, json};

use crate::{MachineSample, Scene};

/// What the observer itself has cost so far.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Cost {
    /// CPU time, s.
    pub cpu_s: f64,
    /// How often it woke.
    pub wakeups: u64,
}

/// Version of the lines of JSON.
pub const VERSION: u32 = 1;

/// Their kind.
pub const KIND: &str = "watch";

/// The shape of a line of JSON: which columns there are depends on the machine, so that they are told by how they are named.
#[derive(Debug)]
pub struct RowShape;

impl JsonSchema for RowShape {
    fn schema_name() -> std::borrow::Cow<'static, str> {
        "Row".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        let known = |what: &str, unit: &str| json!({ "description": what, "type": [unit, "null"] });
        json_schema!({
            "description": "A machine as it was between two looks; what is not known is null.",
            "type": "object",
            "properties": {
                "time_s": { "description": "Time since watching began, s.", "type": "number" },
                "at_unix_ms": { "description": "When, Unix ms; absent where time is not the wall's.", "type": "integer" },
                "own_cpu_s": known("CPU time that watching itself took so far, s, where that is known.", "number"),
                "own_wakeups": known("How often it woke so far, likewise.", "integer"),
            },
            "patternProperties": {
                "^cpu[0-9]+_clock_khz$": known("Frequency of a CPU, kHz.", "integer"),
                "^cpu[0-9]+_busy_percent$": known("Time in which it was busy, %.", "number"),
                "^cpu[0-9]+_interrupts_per_s$": known("Interrupts it took, a second.", "number"),
                "^cpu[0-9]+_wakeups_per_s$": known("How often it left an idle state, a second.", "number"),
                "^cpu[0-9]+_idle_.*_percent$": known("Time it spent in an idle state, %.", "number"),
                "^policy[0-9]+_governor$": known("Governor in force.", "string"),
                "^policy[0-9]+_min_khz$": known("Lower limit of its frequency, kHz.", "integer"),
                "^policy[0-9]+_max_khz$": known("Upper limit, kHz.", "integer"),
                "_w$": known("Power that a meter showed, W, by the name of what it covers.", "number"),
            },
            "required": ["time_s"],
        })
    }
}

/// The columns of a scene, and its samples as rows of them.
#[derive(Debug)]
pub struct Rows {
    names: Vec<String>,
    /// How many idle states each CPU has.
    states: Vec<usize>,
    /// Wall time of the beginning, Unix ms; none where time is not the wall's.
    unix_ms: Option<u64>,
    start_ns: u64,
    cost: bool,
}

impl Rows {
    /// Rows that count time from `start_ns` of the World's clock, which was `unix_ms` on the wall, and tell the observer's
    /// own cost if `cost`.
    #[must_use]
    pub fn new(scene: &Scene, start_ns: u64, unix_ms: Option<u64>, cost: bool) -> Self {
        let mut names = vec!["time_s".to_owned()];
        names.extend(unix_ms.map(|_| "at_unix_ms".to_owned()));
        for (cpu, states) in &scene.cpus {
            for what in ["clock_khz", "busy_percent", "interrupts_per_s", "wakeups_per_s"] {
                names.push(format!("cpu{cpu}_{what}"));
            }
            names.extend(states.iter().map(|state| format!("cpu{cpu}_idle_{}_percent", slug(state))));
        }
        for policy in &scene.policies {
            for what in ["governor", "min_khz", "max_khz"] {
                names.push(format!("{}_{what}", policy.name));
            }
        }
        names.extend(scene.meters.iter().map(|meter| format!("{}_w", slug(&meter.boundary))));
        if cost {
            names.extend(["own_cpu_s".to_owned(), "own_wakeups".to_owned()]);
        }
        let states = scene.cpus.iter().map(|(_, states)| states.len()).collect();
        Rows { names: unique(names), states, unix_ms, start_ns, cost }
    }

    /// Names of the columns.
    #[must_use]
    pub fn names(&self) -> &[String] {
        &self.names
    }

    /// The first line of CSV.
    #[must_use]
    pub fn csv_header(&self) -> String {
        self.names.join(",")
    }

    /// A sample as a line of CSV; what is not known is empty.
    #[must_use]
    pub fn csv(&self, sample: &MachineSample, cost: Option<Cost>) -> String {
        let cell = |value: Value| match value {
            Value::Null => String::new(),
            Value::String(text) if text.contains([',', '"', '\n']) => format!("\"{}\"", text.replace('"', "\"\"")),
            Value::String(text) => text,
            other => other.to_string(),
        };
        self.cells(sample, cost).into_iter().map(cell).collect::<Vec<_>>().join(",")
    }

    /// A sample as a line of JSON, under the same names; what is not known is `null`.
    #[must_use]
    pub fn jsonl(&self, sample: &MachineSample, cost: Option<Cost>) -> String {
        let mut row = Map::new();
        row.insert("version".into(), json!(VERSION));
        row.insert("kind".into(), json!(KIND));
        row.extend(self.names.iter().cloned().zip(self.cells(sample, cost)));
        Value::Object(row).to_string()
    }

    fn cells(&self, sample: &MachineSample, cost: Option<Cost>) -> Vec<Value> {
        let since_ns = sample.at_ns.saturating_sub(self.start_ns);
        let mut cells = vec![number(Some(since_ns as f64 * 1e-9), 1e3)];
        cells.extend(self.unix_ms.map(|unix_ms| json!(unix_ms + since_ns / 1_000_000)));
        for (cpu, &states) in sample.cpus.iter().zip(&self.states) {
            cells.push(json!(cpu.clock_khz));
            cells.push(percent(cpu.busy));
            cells.push(number(cpu.interrupts_per_s, 10.0));
            cells.push(number(cpu.wakeups_per_s, 10.0));
            cells.extend(cpu.idle_of(states).map(percent));
        }
        for policy in &sample.policies {
            cells.extend([json!(policy.governor), json!(policy.min_khz), json!(policy.max_khz)]);
        }
        cells.extend(sample.watts.iter().map(|&watts| number(watts, 1e6)));
        if self.cost {
            cells.extend([number(cost.map(|cost| cost.cpu_s), 1e6), json!(cost.map(|cost| cost.wakeups))]);
        }
        cells
    }
}

/// Rounded to `1 / steps`.
fn number(value: Option<f64>, steps: f64) -> Value {
    json!(value.map(|value| (value * steps).round() / steps))
}

fn percent(share: Option<f64>) -> Value {
    number(share.map(|share| 100.0 * share), 100.0)
}

/// `amdgpu PPT` as part of a column's name.
fn slug(words: &str) -> String {
    let letters = words.chars().map(|c| if c.is_ascii_alphanumeric() { c.to_ascii_lowercase() } else { ' ' });
    let slug = letters.collect::<String>().split_whitespace().collect::<Vec<_>>().join("_");
    if slug.is_empty() { "unnamed".to_owned() } else { slug }
}

/// Names that are there twice get their number, before the unit.
fn unique(names: Vec<String>) -> Vec<String> {
    let mut known = BTreeSet::new();
    let mut own = |name: String| {
        let (stem, unit) = name.rsplit_once('_').map_or((name.as_str(), ""), |(stem, unit)| (stem, unit));
        let numbered = (2..).map(|number| format!("{stem}_{number}_{unit}"));
        let free = std::iter::once(name.clone()).chain(numbered).find(|name| !known.contains(name));
        let free = free.unwrap_or(name);
        known.insert(free.clone());
        free
    };
    names.into_iter().map(&mut own).collect()
}
