//! Metrics a user asks for: `NAME=SOURCE[:higher|lower|info]`, a source being a measured metric (`far/`, `both/` or `all/` in
//! front of a meter's, `@eth0` behind a network card's), one metric divided by another, a regular expression with one group, or a JSON path.
mod context;
mod document;
mod known;
mod length;
mod matches;
mod number;
mod progress;
mod reading;
mod style;
mod unit;

use powerband_record::{Better, DirectionSource, Metric, Output, TakenMatch, canonical_metric, direction_of};
use regex_lite::Regex;
use serde_json_path::JsonPath;
use thiserror::Error;

pub(crate) use known::{Wanted, most};
pub use matches::{Picked, Take};
pub use style::NumberStyles;

/// Where a metric's value comes from.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub enum Source {
    /// Measured by the load or by a meter, under this name; `far/power_w` by a meter of the far machine.
    Measured(String),
    /// One metric divided by another: names of what is measured, or of other metrics of the experiment.
    Ratio(String, String),
    /// First group of the matches in standard output, else in standard error.
    Pattern(Regex, Take),
    /// Nodes of a JSON path (RFC 9535, without its functions match and search) in the last document in standard output.
    Path(JsonPath, Take),
}

/// A metric a user asked for.
#[derive(Clone, Debug)]
pub struct MetricSpec {
    /// Name, direction, judged.
    pub metric: Metric,
    /// Where it comes from.
    pub source: Source,
    /// How it is known which way is better.
    pub direction: DirectionSource,
}

/// Why a metric cannot be used.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum PickError {
    /// A pattern or path without a name.
    #[error("'{0}' needs a name in front, its unit last; write e.g. 'p99_us={0}'")]
    NoName(String),
    /// A ratio without a name.
    #[error(
        "'{0}' names no machine; write far/, both/ or all/ in front of a meter's metric, e.g. far/power_w; one metric by another needs a name, e.g. 'work_per_joule={0}'"
    )]
    Ratio(String),
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
    /// Not a metric at all.
    #[error(
        "'{0}' is not a metric; write NAME, NAME=METRIC/METRIC, NAME=regex:PATTERN or NAME=json:$.PATH, with :higher, :lower or :info behind it"
    )]
    Form(String),
}

/// What names a machine in front of a metric.
const SIDES: [&str; 4] = ["near", "far", "both", "all"];

impl MetricSpec {
    /// Reads `[NAME=]SOURCE[:higher|lower|info]`; what is for information is shown and not judged. Which way is better, where
    /// that is not said, is known from the words of the name ([`direction_of`]); else it is guessed that less is better.
    ///
    /// # Errors
    /// [`PickError`] saying what is wrong with it.
    pub fn parse(text: &str) -> Result<Self, PickError> {
        let (body, better, judged) = match text.rsplit_once(':') {
            Some((body, "higher")) => (body, Some(Better::Higher), true),
            Some((body, "lower")) => (body, Some(Better::Lower), true),
            Some((body, "info")) => (body, None, false),
            _ => (text, None, true),
        };
        let (name, source) = match body.split_once('=') {
            Some((name, source)) if printed(name).is_none() => (Some(name), source),
            _ => (None, body),
        };
        if source.is_empty() || name == Some("") {
            return Err(PickError::Form(text.into()));
        }
        let (name, source) = if let Some((is_json, take, wanted)) = printed(source) {
            let parsed = if is_json {
                let wrong =
                    |e: serde_json_path::ParseError| PickError::Path { path: wanted.into(), why: e.to_string() };
                JsonPath::parse(wanted).map_err(wrong).map(|path| Source::Path(path, take))
            } else {
                compile(wanted).map(|pattern| Source::Pattern(pattern, take))
            };
            let name = name.map(str::to_owned).ok_or_else(|| PickError::NoName(source.into()))?;
            (name, parsed?)
        } else if source.split('/').all(is_measured) {
            let own = |name: &str| canonical_metric(name).to_owned();
            match operands(source)? {
                (measured, None) => (name.map_or_else(|| measured.clone(), own), Source::Measured(measured)),
                (over, Some(under)) => {
                    let name = name.ok_or_else(|| PickError::Ratio(source.into()))?;
                    (own(name), Source::Ratio(over, under))
                }
            }
        } else {
            return Err(PickError::Form(text.into()));
        };
        let (better, direction) = match (better, direction_of(&name)) {
            (Some(better), _) => (better, DirectionSource::Stated),
            (None, Some(better)) => (better, DirectionSource::Name),
            (None, None) => (Better::Lower, DirectionSource::Guessed),
        };
        Ok(MetricSpec { metric: Metric { name, better, judged, boundary: None }, source, direction })
    }

    /// What is to be known of a direction that was guessed: which way counts, and what says otherwise.
    #[must_use]
    pub fn direction_note(&self) -> Option<String> {
        let name = &self.metric.name;
        let is_picked = matches!(self.source, Source::Pattern(..) | Source::Path(..));
        let is_guessed = is_picked && self.metric.judged && self.direction == DirectionSource::Guessed;
        is_guessed.then(|| {
            format!(
                "no word of the name {name} shows which way is better: lower counts as better; if higher is, use {name}=…:higher (--metric)"
            )
        })
    }

    /// Its value in what a command printed, read as in the trials before it, for which `written` is kept through an experiment.
    ///
    /// # Errors
    /// Why there is none, in words; [`Source::Measured`] and [`Source::Ratio`] are never picked from output.
    pub fn pick(&self, output: &Output, written: &mut NumberStyles) -> Result<Picked, String> {
        let name = &self.metric.name;
        match &self.source {
            Source::Measured(name) => Err(format!("nothing here measures {name}")),
            Source::Ratio(over, under) => Err(format!("{over}/{under} is not printed by anything")),
            Source::Pattern(pattern, take) => matches::by_pattern(name, pattern, *take, output, written),
            Source::Path(path, take) => matches::by_path(name, path, *take, output, written),
        }
    }
}

/// What a source picks from output, `regex-last:PATTERN`: whether by JSON, which match, and the pattern or path.
fn printed(source: &str) -> Option<(bool, Take, &str)> {
    let (is_json, rest) = match source.strip_prefix("regex") {
        Some(rest) => (false, rest),
        None => (true, source.strip_prefix("json")?),
    };
    if let Some(wanted) = rest.strip_prefix(':') {
        return Some((is_json, None, wanted));
    }
    let (word, wanted) = rest.strip_prefix('-')?.split_once(':')?;
    let take = TakenMatch::ALL.into_iter().find(|take| take.word() == word)?;
    Some((is_json, Some(take), wanted))
}

/// Whether a text may name what is measured: `power_w`, or of one network card `packets_per_interrupt@eth0`.
fn is_measured(text: &str) -> bool {
    let (name, card) = text.split_once('@').map_or((text, None), |(name, card)| (name, Some(card)));
    let fits = |text: &str, more: &str| text.chars().all(|c| c.is_ascii_alphanumeric() || more.contains(c));
    fits(name, "_") && card.is_none_or(|card| !card.is_empty() && fits(card, "_-."))
}

/// The full names of what is measured: `far/watts` is `far/power_w`, the near machine's goes without a side, and
/// `count/far/watts` is one by the other.
fn operands(source: &str) -> Result<(String, Option<String>), PickError> {
    let mut words = source.split('/');
    let mut next = || {
        let first = words.next()?;
        let side = Some(first).filter(|word| SIDES.contains(word));
        Some((side, if side.is_some() { words.next().unwrap_or_default() } else { first }))
    };
    let (over, under, beyond) = (next(), next(), next());
    let full = |(side, name): (Option<&str>, &str)| match side {
        _ if name.is_empty() || SIDES.contains(&name) => Err(PickError::Form(source.to_owned())),
        None | Some("near") => Ok(canonical_metric(name).to_owned()),
        Some(side) => Ok(format!("{side}/{}", canonical_metric(name))),
    };
    let over = full(over.unwrap_or_default())?;
    match (under, beyond) {
        (under, None) => Ok((over, under.map(full).transpose()?)),
        (_, Some(_)) => Err(PickError::Form(source.to_owned())),
    }
}

fn compile(pattern: &str) -> Result<Regex, PickError> {
    let wrong = |why: &str| PickError::Pattern { pattern: pattern.into(), why: why.into() };
    let last_line = |e: regex_lite::Error| e.to_string().lines().last().unwrap_or_default().trim().to_owned();
    let regex = Regex::new(pattern).map_err(|e| wrong(&last_line(e)))?;
    if regex.captures_len() < 2 { Err(wrong("it has no group; put ( ) around the number")) } else { Ok(regex) }
}

#[cfg(test)]
mod tests;
