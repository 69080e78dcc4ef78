//! The words of the verbs about noise and about what is stored: `calibrate`, `compare`.
use std::path::PathBuf;

use clap::Args;

use super::{Loading, Setup};

/// `calibrate`.
#[derive(Args, Debug)]
pub(crate) struct Calibrate {
    /// How many trials, at least 12; 24 when no budget is given, else as many as it allows
    #[arg(long, value_name = "N", allow_negative_numbers = true)]
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
    /// Two of them or more, each against the first: numbers of experiments (or `last`), with a setting behind a colon;
    /// several with commas are the sessions of one side: 3:performance, 3,5,7. With --from-csv the two settings to compare
    #[arg(value_name = "ID[,ID…][:SETTING]")]
    pub(crate) sides: Vec<String>,
    /// Measurements made elsewhere: a table with the columns setting, metrics and, where there are any, block and session;
    /// given twice, one file a side
    #[arg(long, value_name = "FILE")]
    pub(crate) from_csv: Vec<PathBuf>,
    /// Compare by this metric, with :higher or :lower behind it; all judged ones, or all columns, when absent
    #[arg(long = "metric", value_name = "NAME")]
    pub(crate) metrics: Vec<String>,
    /// What counts as the same, e.g. 2%; of experiments their own when absent, else 1 %
    #[arg(long, value_name = "PERCENT", allow_hyphen_values = true)]
    pub(crate) margin: Option<String>,
    /// Error rate of all verdicts "better" and "worse" together
    #[arg(long, value_name = "PERCENT", allow_hyphen_values = true)]
    pub(crate) alpha: Option<String>,
    /// Write a page instead: one file of HTML with all side by side and pictures over them; - for standard output
    #[arg(short, long, value_name = "FILE.html", conflicts_with = "from_csv")]
    pub(crate) output: Option<PathBuf>,
    /// Also where the file is there already
    #[arg(long, requires = "output")]
    pub(crate) force: bool,
}
