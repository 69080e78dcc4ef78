//! The part of a machine file on the daemon cpuspeed: that it is there, and its options.
use powerband_cpuspeed::{DaemonOptions, within};
use serde::Deserialize;

use super::ProfileError;
use super::file::{scaled, wrong};

/// Options; what is left out is what the daemon takes by itself.
#[derive(Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub(super) struct Cpuspeed {
    interval_s: Option<f64>,
    fast_up_percent: Option<u32>,
    threshold_percent: Option<u32>,
    min_khz: Option<u32>,
    max_khz: Option<u32>,
    ignore_nice: bool,
    ignore_iowait: bool,
}

impl Cpuspeed {
    pub(super) fn options(&self, frequencies_khz: &[u32]) -> Result<DaemonOptions, ProfileError> {
        let usual = DaemonOptions::default();
        let tenths = match self.interval_s {
            Some(seconds) => scaled("cpuspeed.interval_s", seconds, 10.0, (0.1, 3_600.0))?,
            None => u64::from(usual.interval_tenths),
        };
        let options = DaemonOptions {
            interval_tenths: u32::try_from(tenths).unwrap_or(u32::MAX),
            fast_up_percent: self.fast_up_percent.unwrap_or(usual.fast_up_percent),
            threshold_percent: self.threshold_percent.unwrap_or(usual.threshold_percent),
            min_khz: self.min_khz,
            max_khz: self.max_khz,
            ignore_nice: self.ignore_nice,
            ignore_iowait: self.ignore_iowait,
        };
        if let Err(why) = options.check() {
            return wrong("cpuspeed", format!("makes no daemon: {why}"));
        }
        if within(frequencies_khz, options.min_khz, options.max_khz).is_empty() {
            return wrong("cpuspeed.min_khz and cpuspeed.max_khz", "leave no frequency of cpufreq.frequencies_khz");
        }
        Ok(options)
    }
}
