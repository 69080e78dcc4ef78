//! Metrics picked out of a command's output: `NAME=SOURCE[:higher|lower]`, a source being a measured metric (`far/` or `both/`
//! in front of a meter's), a regular expression with one group, or a JSON path.
use powerband_machine::Finished;
use powerband_record::{Better, Metric, canonical_metric};
use regex::Regex;
use serde_json_path::JsonPath;
use thiserror::Error;

/// Where a metric's value comes from.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub enum Source {
    /// Measured by the load or by a meter, under this name; `far/power_w` by a meter of the far machine.
    Measured(String),
    /// First group of the first match in standard output, else in standard error.
    Pattern(Regex),
    /// First node of a JSON path (RFC 9535) in standard output.
    Path(JsonPath),
}

/// A metric a user asked for.
#[derive(Clone, Debug)]
pub struct MetricSpec {
    /// Name, direction, judged.
    pub metric: Metric,
    /// Where it comes from.
    pub source: Source,
}

/// Why a metric cannot be used.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum PickError {
    /// A pattern or path without a name.
    #[error("'{0}' needs a name in front, its unit last; write e.g. 'p99_us={0}'")]
    NoName(String),
    /// Not a pattern with one group.
    #[error("'{pattern}' is not a regular expression with a group around the number: {why}")]
    Pattern {
        /// The pattern.
        pattern: String,
        /// The parser's words, one line.
        why: String,
    },
    /// Not a JSON path.
    #[error("'{path}' is not a JSON path: {why}; write e.g. json:$.end.sum_received.bits_per_second")]
    Path {
        /// The path.
        path: String,
        /// The parser's words.
        why: String,
    },
    /// A side that no rig has.
    #[error("'{0}' names no machine; write far/ or both/ in front of a meter's metric, e.g. far/power_w")]
    Side(String),
    /// Not a metric at all.
    #[error(
        "'{0}' is not a metric; write NAME, NAME=regex:PATTERN or NAME=json:$.PATH, with :higher or :lower behind it"
    )]
    Form(String),
}

impl MetricSpec {
    /// Reads `[NAME=]SOURCE[:higher|lower]`. What is not said is guessed from the name: rates, counts and scores are
    /// better high, everything else low.
    ///
    /// # Errors
    /// [`PickError`] saying what is wrong with it.
    pub fn parse(text: &str) -> Result<Self, PickError> {
        let (body, better) = match text.rsplit_once(':') {
            Some((body, "higher")) => (body, Some(Better::Higher)),
            Some((body, "lower")) => (body, Some(Better::Lower)),
            _ => (text, None),
        };
        let (name, source) = match body.split_once('=') {
            Some((name, source)) if !name.starts_with("regex:") && !name.starts_with("json:") => (Some(name), source),
            _ => (None, body),
        };
        if source.is_empty() || name == Some("") {
            return Err(PickError::Form(text.into()));
        }
        let named = |source: &str| name.map(str::to_owned).ok_or_else(|| PickError::NoName(source.into()));
        let (name, source) = if let Some(pattern) = source.strip_prefix("regex:") {
            (named(source)?, Source::Pattern(compile(pattern)?))
        } else if let Some(path) = source.strip_prefix("json:") {
            let parsed =
                JsonPath::parse(path).map_err(|e| PickError::Path { path: path.into(), why: e.to_string() })?;
            (named(source)?, Source::Path(parsed))
        } else if source.chars().all(|c| c.is_ascii_alphanumeric() || "_/".contains(c)) {
            let measured = measured_name(source)?;
            (
                name.map_or_else(|| measured.clone(), |name| canonical_metric(name).to_owned()),
                Source::Measured(measured),
            )
        } else {
            return Err(PickError::Form(text.into()));
        };
        let better = better.unwrap_or_else(|| guess(&name));
        Ok(MetricSpec { metric: Metric { name, better, judged: true, boundary: None }, source })
    }

    /// Its value in what a command printed.
    ///
    /// # Errors
    /// Why there is none, in words; [`Source::Measured`] is never picked from output.
    pub fn pick(&self, finished: &Finished) -> Result<f64, String> {
        let output = &finished.output;
        match &self.source {
            Source::Measured(name) => Err(format!("nothing here measures {name}")),
            Source::Pattern(pattern) => {
                let found =
                    [&output.stdout, &output.stderr].into_iter().find_map(|text| pattern.captures(text)?.get(1));
                let text = found.ok_or_else(|| format!("the load printed nothing that matches '{pattern}'"))?.as_str();
                number(text).ok_or_else(|| format!("'{pattern}' found '{text}', which is no number"))
            }
            Source::Path(path) => {
                let json: serde_json::Value = serde_json::from_str(output.stdout.trim())
                    .map_err(|e| format!("the load did not print JSON: {e}"))?;
                let node = path.query(&json).first().ok_or_else(|| format!("the load's JSON has nothing at {path}"))?;
                let value = node.as_f64().or_else(|| number(node.as_str()?));
                value.ok_or_else(|| format!("{path} holds {node}, which is no number"))
            }
        }
    }
}

/// The full name of what is measured: `far/watts` is `far/power_w`, and the near machine's goes without a side.
fn measured_name(source: &str) -> Result<String, PickError> {
    match source.split_once('/') {
        None => Ok(canonical_metric(source).to_owned()),
        Some(("near", name)) => Ok(canonical_metric(name).to_owned()),
        Some((side @ ("far" | "both"), name)) => Ok(format!("{side}/{}", canonical_metric(name))),
        Some(_) => Err(PickError::Side(source.to_owned())),
    }
}

fn compile(pattern: &str) -> Result<Regex, PickError> {
    let wrong = |why: &str| PickError::Pattern { pattern: pattern.into(), why: why.into() };
    let last_line = |e: regex::Error| e.to_string().lines().last().unwrap_or_default().trim().to_owned();
    let regex = Regex::new(pattern).map_err(|e| wrong(&last_line(e)))?;
    if regex.captures_len() < 2 { Err(wrong("it has no group; put ( ) around the number")) } else { Ok(regex) }
}

/// A finite number, thousands separators tolerated.
fn number(text: &str) -> Option<f64> {
    text.trim().replace([',', '_'], "").parse::<f64>().ok().filter(|value| value.is_finite())
}

fn guess(name: &str) -> Better {
    let high = ["_per_s", "_mbit_s", "rate", "count", "score", "ops", "throughput", "work", "_per_joule", "_per_w"];
    if high.iter().any(|part| name.contains(part)) { Better::Higher } else { Better::Lower }
}

#[cfg(test)]
mod tests;
