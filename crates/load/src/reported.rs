//! What the parts of a load came to, and numbers from what they reported.
use std::collections::BTreeMap;

use powerband_machine::Finished;
use powerband_record::Void;

/// What the parts came to, by name.
pub type Finishes = BTreeMap<&'static str, Finished>;

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
