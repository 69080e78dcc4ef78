//! What measurements say that were not made for one another: settings of stored experiments, or of a table made elsewhere.
//!
//! Same blocks: judged as in an experiment. Two experiments that share their reference: the difference of the differences.
//! Anything else: nothing cancels what differed between the two, so the interval is shown and nothing decided, unless each
//! side has three sessions or more, which then are the observations.
use std::collections::BTreeMap;

use powerband_record::{Better, FailedTrials, Metric, Verdict};
use serde::Serialize;
use thiserror::Error;

mod along;
mod csv;
mod decide;
mod loads;
mod measured;
mod references;
mod several;
pub(crate) mod text;

pub use along::Along;
pub use csv::Csv;
pub(crate) use decide::verdict;
pub use decide::{ComparisonRequest, ComparisonSide, between, within};
pub use measured::{Measured, RunOrigin, Trial};
pub use several::several;

/// Why things cannot be compared. Every variant is the caller's to mend.
#[derive(Clone, Debug, PartialEq, Error)]
#[non_exhaustive]
pub enum CompareError {
    /// A line of a table that cannot be read.
    #[error("{place}: {why}")]
    Table {
        /// File and line.
        place: String,
        /// What is wrong there, and what to write.
        why: String,
    },
    /// A setting that is not there.
    #[error("{name} has no setting '{setting}'; it has: {known}")]
    NoSetting {
        /// Where it was looked for.
        name: String,
        /// What was asked for.
        setting: String,
        /// What there is.
        known: String,
    },
    /// Several settings, and none named.
    #[error("{name} has several settings; name one behind a colon: {known}")]
    WhichSetting {
        /// Where.
        name: String,
        /// What there is.
        known: String,
    },
    /// A setting whose command failed.
    #[error("{name} {failed}: what a failed command takes is not compared")]
    Failed {
        /// The setting, and of which experiment.
        name: String,
        /// In how many trials.
        failed: FailedTrials,
    },
    /// One thing only.
    #[error("{0} would be compared with itself; name two settings, e.g. 3:a 3:b")]
    Itself(String),
    /// One thing given as two.
    #[error("{0} is named twice; name each side once")]
    Twice(String),
    /// No metric that both have.
    #[error("they have no judged metric in common; name one with --metric: {0}")]
    NoMetric(String),
    /// An error rate or margin that makes no sense.
    #[error(transparent)]
    Stats(#[from] powerband_stats::Error),
}

/// On what a comparison rests.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, schemars::JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum How {
    /// Differences inside the same blocks.
    Blocks,
    /// The difference of two differences from a reference that both experiments have.
    SharedReference,
    /// The means of sessions, three or more a side.
    Sessions,
    /// Nothing that cancels: shown, never decided.
    Apart,
}

/// One comparison. Changes are of `setting` against `against`, relative (0.05 = 5 % more) unless `absolute`.
#[derive(Clone, Debug, PartialEq, Serialize, schemars::JsonSchema)]
pub struct ComparisonRow {
    /// The metric.
    pub metric: String,
    /// Which way is better.
    pub better: Better,
    /// What is compared.
    pub setting: String,
    /// With what.
    pub against: String,
    /// On what it rests.
    pub how: How,
    /// What is found.
    pub verdict: Verdict,
    /// Whether changes are in the metric's own unit.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub absolute: bool,
    /// Estimated change.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub change: Option<f64>,
    /// Its interval, lower end.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub low: Option<f64>,
    /// Upper end.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub high: Option<f64>,
    /// The change in standard errors.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub t: Option<f64>,
    /// Degrees of freedom.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub df: Option<f64>,
    /// Two-sided p of "no difference".
    #[serde(skip_serializing_if = "Option::is_none")]
    pub p: Option<f64>,
    /// The p that a difference needs here; absent where nothing can be decided.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub p_asked: Option<f64>,
    /// Margin of "same", relative.
    pub margin: f64,
    /// What was counted: blocks, blocks of the longer experiment, sessions of the side with fewer, trials of the side with
    /// fewer.
    pub count: u32,
    /// Predicted total of blocks, or of sessions a side, that would decide it, low and high.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub predicted: Option<(u32, u32)>,
    /// What must be known with it.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub notes: Vec<String>,
}

/// A whole comparison.
#[derive(Clone, Debug, PartialEq, Serialize, schemars::JsonSchema)]
pub struct Comparison {
    /// The finding in one sentence.
    pub finding: String,
    /// Error rate of all differences claimed together.
    pub alpha: f64,
    /// The comparisons, by metric.
    pub rows: Vec<ComparisonRow>,
    /// The one number in which the loads of the experiments differ, where there is one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub along: Option<Along>,
    /// What must be known with all of them.
    pub notes: Vec<String>,
    /// Whether the error rate is that of each experiment by itself.
    #[serde(skip)]
    pub(crate) each_by_itself: bool,
}

impl Comparison {
    /// With what else is to be known, a sentence each.
    #[must_use]
    pub fn with_notes(mut self, notes: Vec<String>) -> Self {
        self.notes.extend(notes);
        self
    }

    pub(crate) fn new(rows: Vec<ComparisonRow>, mut notes: Vec<String>, alpha: f64) -> Self {
        notes.dedup();
        Comparison { finding: text::finding(&rows), alpha, rows, along: None, notes, each_by_itself: false }
    }

    /// Prints what a terminal of 24 lines shows at once, the finding last; `all` is what is typed for everything.
    #[must_use]
    pub fn brief(&self, width: usize, all: &str) -> String {
        text::brief(self, width, all)
    }

    /// Prints it for `width` columns.
    #[must_use]
    pub fn render(&self, width: usize) -> String {
        text::render(self, width)
    }
}

/// Metrics by name, the same way round as they stand.
fn chosen(have: &[Metric], other: &[Metric], asked: &[Metric]) -> Result<Vec<Metric>, CompareError> {
    let same = |metric: &&Metric| other.iter().any(|it| it.name == metric.name && it.boundary == metric.boundary);
    let common: Vec<&Metric> = have.iter().filter(same).collect();
    let none = || {
        let names: Vec<&str> = common.iter().map(|metric| metric.name.as_str()).collect();
        CompareError::NoMetric(if names.is_empty() { "there is none".to_owned() } else { names.join(", ") })
    };
    let metrics: Vec<Metric> = if asked.is_empty() {
        common.iter().filter(|metric| metric.judged).map(|metric| (*metric).clone()).collect()
    } else {
        let find = |asked: &Metric| {
            let found = common.iter().find(|metric| metric.name == asked.name).ok_or_else(none)?;
            Ok(Metric { better: asked.better, ..(*found).clone() })
        };
        asked.iter().map(find).collect::<Result<_, CompareError>>()?
    };
    if metrics.is_empty() { Err(none()) } else { Ok(metrics) }
}

/// Values of one metric by what they belong to.
type Groups = BTreeMap<usize, Vec<f64>>;
