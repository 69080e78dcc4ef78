//! `cargo xtask bench --all --check`: what benchmarks measure, against the limits of the table in docs/performance.md.
use std::collections::BTreeMap;
use std::fmt;
use std::process::Stdio;

use anyhow::{Context as _, Result, ensure};
use serde_json::Value;

use crate::cargo::{cargo, top};

const TABLE: &str = "docs/performance.md";

/// One row of the table.
#[derive(Debug, PartialEq)]
struct Row {
    what: String,
    /// A folder of bench/.
    benchmark: String,
    /// Where the value is in what the benchmark prints with --json: a JSON pointer (RFC 6901).
    value: String,
    limit: Limit,
}

/// What a value must keep.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Limit {
    AtMost(f64),
    AtLeast(f64),
}

impl Limit {
    fn parse(words: &str) -> Option<Limit> {
        let number = |text: &str| text.trim().replace(',', "").parse().ok();
        let at_most = || words.strip_prefix("at most").and_then(number).map(Limit::AtMost);
        at_most().or_else(|| words.strip_prefix("at least").and_then(number).map(Limit::AtLeast))
    }

    fn is_kept(self, value: f64) -> bool {
        match self {
            Limit::AtMost(limit) => value <= limit,
            Limit::AtLeast(limit) => value >= limit,
        }
    }
}

impl fmt::Display for Limit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Limit::AtMost(limit) => write!(f, "at most {limit}"),
            Limit::AtLeast(limit) => write!(f, "at least {limit}"),
        }
    }
}

/// Runs the benchmarks of the table, or the one named, and answers whether each row is kept.
///
/// # Errors
/// When the table cannot be read, names no such benchmark, or a benchmark does not print what a row asks for.
pub(crate) fn check(only: Option<&str>) -> Result<bool> {
    let text = std::fs::read_to_string(top().join(TABLE)).with_context(|| format!("cannot read {TABLE}"))?;
    let only = only.map(|name| name.strip_prefix("bench-").unwrap_or(name));
    let mut rows = rows(&text)?;
    rows.retain(|row| only.is_none_or(|only| row.benchmark == only));
    ensure!(!rows.is_empty(), "{TABLE} has no row of '{}'", only.unwrap_or_default());
    let mut printed = BTreeMap::new();
    let mut lines = Vec::new();
    let mut well = true;
    for row in &rows {
        if !printed.contains_key(&row.benchmark) {
            printed.insert(row.benchmark.clone(), measured(&row.benchmark)?);
        }
        let value = printed.get(&row.benchmark).and_then(|json| json.pointer(&row.value)).and_then(Value::as_f64);
        let value = value.with_context(|| format!("bench-{} prints no number at {}", row.benchmark, row.value))?;
        let kept = row.limit.is_kept(value);
        well &= kept;
        let result = if kept { "ok  " } else { "MISS" };
        lines.push(format!("{result} {value:>12.3}  {:<18} {}: {}", row.limit.to_string(), row.benchmark, row.what));
    }
    println!("{}", lines.join("\n"));
    Ok(well)
}

/// What a benchmark prints with --json. That it misses marks of its own does not matter here.
fn measured(benchmark: &str) -> Result<Value> {
    let mut command = cargo();
    command.args(["run", "--quiet", "--release", "-p", &format!("bench-{benchmark}"), "--", "--json"]);
    eprintln!("bench-{benchmark} …");
    let output = command.stderr(Stdio::inherit()).output().context("cannot start cargo")?;
    serde_json::from_slice(&output.stdout).with_context(|| format!("bench-{benchmark} prints no JSON"))
}

/// The rows: of each line of a table whose second and third cell are code.
fn rows(text: &str) -> Result<Vec<Row>> {
    let mut rows = Vec::new();
    for line in text.lines().filter(|line| line.starts_with('|')) {
        let cells: Vec<&str> = line.trim_matches('|').split('|').map(str::trim).collect();
        let code = |place: usize| {
            cells.get(place).and_then(|cell| cell.strip_prefix('`')?.strip_suffix('`')).map(str::to_owned)
        };
        let (Some(benchmark), Some(value)) = (code(1), code(2)) else { continue };
        let limit = cells.get(3).and_then(|words| Limit::parse(words));
        let limit = limit.with_context(|| format!("{TABLE}: no limit ('at most' or 'at least') in {line}"))?;
        rows.push(Row { what: cells[0].to_owned(), benchmark, value, limit });
    }
    Ok(rows)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_row_of_the_table_names_a_benchmark_and_a_limit() {
        let text = std::fs::read_to_string(top().join(TABLE)).unwrap();
        let rows = rows(&text).unwrap();
        for name in ["simulator", "cost", "info", "verdict", "page", "replicate"] {
            assert!(rows.iter().any(|row| row.benchmark == name), "{name} has no row");
        }
        for row in &rows {
            assert!(top().join("bench").join(&row.benchmark).is_dir() && row.value.starts_with('/'), "{row:?}");
        }
    }

    #[test]
    fn limits_are_kept_or_not() {
        assert_eq!(Limit::parse("at most 3,000,000"), Some(Limit::AtMost(3e6)));
        let least = Limit::parse("at least 0.12").unwrap();
        assert!(least.is_kept(0.12) && !least.is_kept(0.119));
        assert!(rows("| what | `info` | `/a` | soon |").is_err());
    }
}
