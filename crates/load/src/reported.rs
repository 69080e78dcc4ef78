//! What the parts of a load came to: numbers from what they reported, and the sentence about one that failed.
use std::collections::{BTreeMap, BTreeSet};

use powerband_machine::Finished;
use powerband_record::Void;

/// What the parts came to, by name.
pub type Finishes = BTreeMap<&'static str, Finished>;

/// What a load measured by itself.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Concluded {
    /// Values by metric.
    pub values: BTreeMap<String, f64>,
    /// Why a metric it promises is not there this time.
    pub missing: BTreeMap<String, String>,
    /// What one should know about the values.
    pub notes: BTreeSet<String>,
}

impl From<BTreeMap<String, f64>> for Concluded {
    fn from(values: BTreeMap<String, f64>) -> Self {
        Concluded { values, ..Concluded::default() }
    }
}

impl<const N: usize> From<[(&str, f64); N]> for Concluded {
    fn from(values: [(&str, f64); N]) -> Self {
        BTreeMap::from(values.map(|(name, value)| (name.to_owned(), value))).into()
    }
}

/// A number from a built-in part's report.
///
/// # Errors
/// [`Void::LoadFailed`] when the part did not run, or reported no such number.
pub(crate) fn reported(finishes: &Finishes, part: &'static str, key: &str) -> Result<f64, Void> {
    let finished = finishes
        .get(part)
        .ok_or_else(|| Void::LoadFailed { why: format!("the part '{part}' of the load never ran") })?;
    finished
        .report
        .as_ref()
        .and_then(|report| report.get(key))
        .and_then(serde_json::Value::as_f64)
        .ok_or_else(|| Void::LoadFailed { why: format!("the part '{part}' of the load reported no '{key}'") })
}

/// One sentence about a command that failed: what, how, and its last words.
#[must_use]
pub fn failed(what: &str, finished: &Finished) -> String {
    let said = [&finished.output.stderr, &finished.output.stdout];
    match said.iter().find_map(|text| text.lines().rev().find(|line| !line.trim().is_empty())) {
        Some(last) => format!("{what} ended with {}: {}", finished.status, last.trim()),
        None => format!("{what} ended with {} and printed nothing", finished.status),
    }
}

/// One sentence about a part of a load that failed, by what it complains of or by its last words.
pub(crate) fn failure(part: &str, load: &str, finished: &Finished, complaint: Option<String>) -> String {
    let load = briefly(load);
    let what = if part == "load" { load } else { format!("{load} ({part})") };
    match complaint {
        Some(last) => format!("the load '{what}' ended with {}: {}", finished.status, last.trim()),
        None => failed(&format!("the load '{what}'"), finished),
    }
}

/// Most characters of a command line in a sentence that has more to say.
const BRIEF: usize = 48;

/// A command line, cut off so that the reason behind it is not.
fn briefly(line: &str) -> String {
    match line.char_indices().nth(BRIEF) {
        Some((end, _)) => format!("{}…", &line[..end]),
        None => line.to_owned(),
    }
}
