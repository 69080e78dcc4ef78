//! What of the trials is judged, and by which rule.
use clap::Args;

use super::STATISTICS;

/// What is judged.
#[derive(Args, Clone, Debug, Default)]
pub(crate) struct Judged {
    /// What --alpha holds of as a whole: differences, or same: then of all "same" together too (default: differences)
    ///
    /// Each "same" is wrong in 5 % at most when its setting is just beyond the margin; of seven such settings any is called
    /// "same" in 12 %. With `same` that is 5 % at most, and "same" takes more blocks.
    #[arg(long, value_name = "WHAT", value_parser = ["differences", "same"], hide_possible_values = true, help_heading = STATISTICS)]
    pub(crate) family: Option<String>,
    /// What to judge: typical, the typical trial, or mean, the mean of all trials as measured (default: typical)
    ///
    /// The typical trial is known sooner, and outliers do not move it. Judge the mean where a few slow trials count as much as
    /// they last; the first verdict then comes after 8 blocks. A quantile is judged as a metric of the load, e.g. p95_us.
    #[arg(long, value_name = "WHAT", help_heading = STATISTICS)]
    pub(crate) judge: Option<String>,
    /// Decide by ranks alone: slower, assumes nothing about the noise
    #[arg(long, help_heading = STATISTICS)]
    pub(crate) robust: bool,
}
