//! Percentiles of the histogram that a part reports.
use powerband_record::{Histogram, Void};

use crate::Finishes;

/// How often each value came, ns.
pub(crate) fn histogram(finishes: &Finishes) -> Option<Histogram> {
    let report = finishes.get("load")?.report.as_ref()?;
    serde_json::from_value(report.get("histogram")?.clone()).ok()
}

/// The median and the 90th and 99th percentiles of `count` values, us: each the smallest value that so large a share of all
/// does not exceed.
///
/// # Errors
/// [`Void::LoadFailed`] when the histogram does not hold that many.
pub(crate) fn percentiles_us(finishes: &Finishes, count: f64) -> Result<[f64; 3], Void> {
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
    let found = [0.5, 0.9, 0.99].map(percentile_us);
    if found.iter().any(|us| us.is_nan()) {
        return Err(Void::LoadFailed {
            why: "the part 'load' of the load reported a histogram that is not whole".into(),
        });
    }
    Ok(found)
}
