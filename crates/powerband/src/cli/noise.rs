//! The words of the verbs about noise and about what is stored: `calibrate`, `compare`.
use std::path::PathBuf;

use clap::Args;

use super::{COMMON, Loading, OUTPUT, STATISTICS, Setup};

/// `calibrate`.
#[derive(Args, Debug)]
pub(crate) struct Calibrate {
    /// Run this many trials, at least 12 (default: 24, or as many as --budget allows)
    #[arg(long, value_name = "N", allow_negative_numbers = true, help_heading = COMMON)]
    pub(crate) trials: Option<u32>,
    /// What makes the machine work.
    #[command(flatten)]
    pub(crate) loading: Loading,
    /// How to measure.
    #[command(flatten)]
    pub(crate) setup: Setup,
}

/// `compare`.
#[derive(Args, Debug)]
pub(crate) struct Compare {
    /// Experiments to compare with the first, e.g. 3 7, or with a setting each: 3:performance 7:performance
    ///
    /// An experiment is its number, or last. Several with commas are sessions of one side: 3,5,7. With --from-csv: the two
    /// settings to compare.
    #[arg(value_name = "ID[,ID...][:SETTING]")]
    pub(crate) sides: Vec<String>,
    /// Read measurements from a table with the columns setting, metrics and, if any, block and session, or hyperfine's JSON
    ///
    /// Given twice, each file is a side.
    #[arg(long, value_name = "FILE", help_heading = COMMON)]
    pub(crate) from_csv: Vec<PathBuf>,
    /// Compare by this metric; append :higher or :lower to say which is better (default: all decision metrics, or all columns)
    #[arg(long = "metric", value_name = "NAME", help_heading = COMMON)]
    pub(crate) metrics: Vec<String>,
    /// Equivalence margin: smaller differences count as equal, e.g. 2% (default: the experiments' own, else 1%)
    #[arg(long, value_name = "PERCENT", allow_hyphen_values = true, help_heading = STATISTICS)]
    pub(crate) margin: Option<String>,
    /// Error rate of all better and worse verdicts together (default: 5%)
    #[arg(long, value_name = "PERCENT", allow_hyphen_values = true, help_heading = STATISTICS)]
    pub(crate) alpha: Option<String>,
    /// Judge the typical trial, or the mean of all trials as measured (default: as the experiments did)
    #[arg(long, value_name = "WHAT", value_parser = ["typical", "mean"], help_heading = STATISTICS)]
    pub(crate) judge: Option<String>,
    /// Write one HTML page with charts instead (-: standard output)
    #[arg(short, long, value_name = "FILE.html", conflicts_with = "from_csv", help_heading = OUTPUT)]
    pub(crate) output: Option<PathBuf>,
    /// Overwrite the file
    #[arg(long, requires = "output", help_heading = OUTPUT)]
    pub(crate) force: bool,
}
