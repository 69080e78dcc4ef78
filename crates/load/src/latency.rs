//! Percentiles of the histogram that a part reports.
use std::collections::BTreeMap;

use powerband_record::{Histogram, Void};

use crate::Finishes;
use crate::reported::reported;

/// How often each value came, ns.
pub(crate) fn histogram(finishes: &Finishes) -> Option<Histogram> {
    let report = finishes.get("load")?.report.as_ref()?;
    serde_json::from_value(report.get("histogram")?.clone()).ok()
}

/// Metrics of `count` values: `p50_us`, `p90_us` and `p99_us`, each the smallest value that so large a share of all does not
/// exceed, and `max_us`.
///
/// # Errors
/// [`Void::LoadFailed`] when the histogram does not hold that many, or no largest value was reported.
pub(crate) fn percentiles(finishes: &Finishes, count: f64) -> Result<BTreeMap<String, f64>, Void> {
    let values = histogram(finishes).unwrap_or_default();
    let percentile_us = |share: f64| {
        let wanted = (share * count).ceil() as u64;
        let mut seen = 0;
        let reaches = |(_, count): &&(u64, u64)| {
            seen += count;
            seen >= wanted
        };
        values.iter().find(reaches).map_or(f64::NAN, |&(ns, _)| ns as f64 / 1e3)
    };
    let [p50, p90, p99] = [0.5, 0.9, 0.99].map(percentile_us);
    if p50.is_nan() || p90.is_nan() || p99.is_nan() {
        return Err(Void::LoadFailed {
            why: "the part 'load' of the load reported a histogram that is not whole".into(),
        });
    }
    let max = reported(finishes, "load", "max_ns")? / 1e3;
    Ok([("p50_us", p50), ("p90_us", p90), ("p99_us", p99), ("max_us", max)]
        .map(|(name, us)| (name.to_owned(), us))
        .into())
}
