//! Machines that are tables: measured rows, of which a trial draws one. Nothing is turned and nothing runs.
//!
//! A table is a CSV file and a TOML file next to it that says which columns are knobs and which are metrics, which rows are
//! the baseline, and how long a trial took. Both are handed in as text.
use std::collections::BTreeMap;

use powerband_load::MetricSpec;
use powerband_record::{CsvRows, InOrder, Metric, format_duration, parse_duration_ns};
use serde::Deserialize;
use thiserror::Error;

mod bench;
mod plan;

pub use bench::TableBench;
pub use plan::resolve_table;

/// Why two files are no table.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[error("{file}: {why}")]
pub struct TableError {
    /// Which of them.
    pub file: String,
    /// What is wrong, in one line.
    pub why: String,
}

/// What stands next to the rows.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Sidecar {
    /// A line for people: where the rows come from.
    title: String,
    /// How long a trial took.
    trial: String,
    /// What can be turned.
    knob: Vec<KnobColumn>,
    /// What was measured.
    metric: Vec<MetricColumn>,
    /// The column that numbers the repeats of a setting; rows of the same values are repeats also without it.
    #[serde(default)]
    repeat: Option<String>,
    /// The rows of the baseline: what their columns hold.
    found: BTreeMap<String, toml::Value>,
}

#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct KnobColumn {
    column: String,
    /// The knob's name, the column's when absent. One of the catalogue brings its spellings, its unit and its trends.
    #[serde(default)]
    name: Option<String>,
    /// The knob of the catalogue that it behaves like, where its name is none.
    #[serde(default)]
    like: Option<String>,
    /// Values that stand for something else than their size.
    #[serde(default)]
    special: Vec<String>,
}

#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct MetricColumn {
    column: String,
    /// The metric's name, the column's when absent.
    #[serde(default)]
    name: Option<String>,
    /// `higher` or `lower`, where the name does not say.
    #[serde(default)]
    better: Option<String>,
    /// What watts or joules cover.
    #[serde(default)]
    boundary: Option<String>,
    /// Whether it is judged where nothing else is asked for.
    #[serde(default)]
    judged: bool,
}

/// A knob of a table.
#[derive(Clone, Debug, PartialEq)]
struct TableKnob {
    /// As it is typed.
    name: String,
    /// The column's own name, which is understood too.
    column: String,
    /// The knob of the catalogue that it is or behaves like.
    like: Option<String>,
    /// Values that are no sizes.
    special: Vec<String>,
    /// Every value there is, numbers ascending.
    values: Vec<String>,
}

/// A machine that is a table.
#[derive(Clone, Debug, PartialEq)]
pub struct TableMachine {
    /// As the machine was named.
    name: String,
    title: String,
    /// How many rows and settings, and a checksum, so that another table is known for one.
    system: String,
    trial_ns: u64,
    knobs: Vec<TableKnob>,
    metrics: Vec<Metric>,
    /// By the value of each knob: the metrics of each row.
    rows: BTreeMap<Vec<String>, Vec<Vec<f64>>>,
    /// Those of the baseline.
    found: Vec<Vec<f64>>,
    /// The values of its knobs then, where they say that alone.
    found_at: Option<Vec<String>>,
}

impl TableMachine {
    /// Reads a table; `name` is the machine's, `file` and `sidecar` name the two texts in messages.
    ///
    /// # Errors
    /// [`TableError`] for the first thing that is wrong with one of them.
    pub fn parse(name: &str, file: (&str, &str), sidecar: (&str, &str)) -> Result<TableMachine, TableError> {
        let wrong = |why: String| TableError { file: sidecar.0.into(), why };
        let about = about(sidecar.1).map_err(wrong)?;
        let cells = cells(file.1).map_err(|why| TableError { file: file.0.into(), why })?;
        let trial_ns = parse_duration_ns(&about.trial).map_err(|error| wrong(format!("trial: {error}")))?;
        if trial_ns == 0 || about.knob.is_empty() || about.metric.is_empty() || about.found.is_empty() {
            return Err(wrong(
                "it needs a trial's length above 0, a [[knob]], a [[metric]] and what is [found]".into(),
            ));
        }
        about.repeat.iter().try_for_each(|column| place(&cells, column).map(drop)).map_err(wrong)?;
        let metrics = about.metric.iter().map(metric).collect::<Result<Vec<_>, _>>().map_err(wrong)?;
        let mut table = TableMachine {
            name: name.into(),
            title: about.title.clone(),
            system: String::new(),
            trial_ns,
            knobs: Vec::new(),
            metrics,
            rows: BTreeMap::new(),
            found: Vec::new(),
            found_at: None,
        };
        table.fill(&about, &cells).map_err(|why| TableError { file: file.0.into(), why })?;
        let (rows, settings) = (cells.rows.len(), table.rows.len());
        table.system =
            format!("a table of {rows} rows, {settings} settings, checksum {:08x}", checksum(file.1, sidecar.1));
        Ok(table)
    }

    fn fill(&mut self, about: &Sidecar, cells: &CsvRows) -> Result<(), String> {
        let knobs: Vec<usize> = about.knob.iter().map(|knob| place(cells, &knob.column)).collect::<Result<_, _>>()?;
        let metrics: Vec<usize> = about.metric.iter().map(|it| place(cells, &it.column)).collect::<Result<_, _>>()?;
        let found: Vec<(usize, String)> = about
            .found
            .iter()
            .map(|(column, value)| Ok((place(cells, column)?, written(value))))
            .collect::<Result<_, String>>()?;
        // Where knobs alone say which rows these are, they are rows of a setting as well.
        let placed = found.iter().all(|(column, _)| knobs.contains(column)) && found.len() == knobs.len();
        for (line, row) in &cells.rows {
            let number = |&column: &usize| {
                let value = row[column].parse::<f64>().ok().filter(|value| value.is_finite());
                value.ok_or_else(|| format!("line {line}: '{}' in {} is no number", row[column], cells.columns[column]))
            };
            let values: Vec<f64> = metrics.iter().map(number).collect::<Result<_, _>>()?;
            let setting: Vec<String> = knobs.iter().map(|&column| plain(&row[column])).collect();
            let is_found = found.iter().all(|(column, value)| plain(&row[*column]) == *value);
            if is_found {
                self.found.push(values.clone());
                self.found_at = placed.then(|| setting.clone());
            }
            if !is_found || placed {
                self.rows.entry(setting).or_default().push(values);
            }
        }
        if self.found.is_empty() || self.rows.is_empty() {
            return Err("no row is the baseline, or none is another setting".into());
        }
        for (place, knob) in about.knob.iter().enumerate() {
            let values = ordered(self.rows.keys().map(|setting| setting[place].clone()).collect());
            let special = knob.special.iter().map(|value| plain(value)).collect();
            self.knobs.push(TableKnob::of(knob, special, values));
        }
        Ok(())
    }

    /// What it is, for people.
    #[must_use]
    pub fn describe(&self) -> String {
        let knobs: Vec<String> =
            self.knobs.iter().map(|knob| format!("{} ({} values)", knob.name, knob.values.len())).collect();
        let metrics: Vec<&str> = self.metrics.iter().map(|metric| metric.name.as_str()).collect();
        format!(
            "{} is {}: {}; nothing is changed and nothing runs; a trial draws one of the rows of its setting and counts as {}; knobs: {}; metrics: {}",
            self.name,
            self.system,
            self.title,
            format_duration(self.trial_ns),
            knobs.join(", "),
            metrics.join(", ")
        )
    }

    /// What tells it from other tables.
    #[must_use]
    pub fn system(&self) -> &str {
        &self.system
    }
}

fn metric(column: &MetricColumn) -> Result<Metric, String> {
    let name = column.name.as_ref().unwrap_or(&column.column);
    let better = column.better.as_ref().map(|better| format!(":{better}")).unwrap_or_default();
    let spec = MetricSpec::parse(&format!("{name}{better}")).map_err(|error| error.to_string())?;
    Ok(Metric { judged: column.judged, boundary: column.boundary.clone(), ..spec.metric })
}

/// What the file next to the rows says.
fn about(text: &str) -> Result<Sidecar, String> {
    toml::from_str(text).map_err(|error| {
        let line = error.span().map(|span| text[..span.start.min(text.len())].matches('\n').count() + 1);
        let why = error.message();
        match why.strip_prefix("missing field ") {
            Some(missing) => format!(
                "{missing} is missing; it needs title, trial (how long a trial took), found (the rows of the baseline), a [[knob]] \
                 and a [[metric]], each with a column"
            ),
            None => format!("{}{why}", line.map(|line| format!("line {line}: ")).unwrap_or_default()),
        }
    })
}

/// The rows.
fn cells(text: &str) -> Result<CsvRows, String> {
    let cells = CsvRows::parse(text).map_err(|error| error.to_string())?;
    match (cells.columns.is_empty(), cells.rows.is_empty()) {
        (true, _) => Err("there is nothing in it".into()),
        (_, true) => Err("there is no row below the first line".into()),
        _ => Ok(cells),
    }
}

fn place(cells: &CsvRows, column: &str) -> Result<usize, String> {
    let known = || format!("there is no column '{column}'; there are: {}", cells.columns.join(", "));
    cells.place(column).ok_or_else(known)
}

/// A cell without what makes no difference: `1300000.0` is `1300000`.
fn plain(text: &str) -> String {
    let text = text.trim();
    text.parse::<f64>().ok().filter(|number| number.is_finite()).map_or_else(|| text.to_owned(), |it| it.to_string())
}

/// A TOML value as a cell.
fn written(value: &toml::Value) -> String {
    plain(&value.as_str().map_or_else(|| value.to_string(), str::to_owned))
}

/// Each value once, numbers ascending before words.
fn ordered(mut values: Vec<String>) -> Vec<String> {
    let number = |text: &String| text.parse::<f64>().unwrap_or(f64::INFINITY);
    values.order_by(|a, b| number(a).total_cmp(&number(b)).then_with(|| a.cmp(b)));
    values.dedup();
    values
}

/// FNV-1a over both texts: a table is known again by it, not protected.
fn checksum(rows: &str, sidecar: &str) -> u32 {
    rows.bytes().chain(sidecar.bytes()).fold(0x811c_9dc5, |sum, byte| (sum ^ u32::from(byte)).wrapping_mul(0x0100_0193))
}

#[cfg(test)]
mod tests;
