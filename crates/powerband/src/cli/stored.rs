//! The words of the verbs that show what is stored: `show`, `report`, `export`.
use std::path::PathBuf;

use clap::{Args, ValueEnum};

use super::{COMMON, OUTPUT};

/// `show`.
#[derive(Args, Debug)]
pub(crate) struct Show {
    /// Number of the experiment, or last
    #[arg(default_value = "last")]
    pub(crate) id: String,
    /// Show the recorded time series, a line per trial; with a trial's number: all of its readings as CSV
    #[arg(long, value_name = "TRIAL", num_args = 0..=1, require_equals = true, help_heading = OUTPUT)]
    pub(crate) timelines: Option<Option<u32>>,
}

/// `report`.
#[derive(Args, Debug)]
pub(crate) struct Report {
    /// Number of the experiment, or last
    #[arg(default_value = "last")]
    pub(crate) id: String,
    /// File to write (default: powerband-ID.html; -: standard output)
    #[arg(short, long, value_name = "FILE.html", help_heading = OUTPUT)]
    pub(crate) output: Option<PathBuf>,
    /// Overwrite the file
    #[arg(long, help_heading = OUTPUT)]
    pub(crate) force: bool,
}

/// `export`.
#[derive(Args, Debug)]
pub(crate) struct Export {
    /// Number of the experiment, or last
    #[arg(default_value = "last")]
    pub(crate) id: String,
    /// Write the events, one JSON value per line; between repeats only the first line, the header, differs
    #[arg(long, help_heading = OUTPUT)]
    pub(crate) journal: bool,
    /// Write a table for spreadsheets: values, verdicts and percentiles
    #[arg(long, conflicts_with = "journal", help_heading = OUTPUT)]
    pub(crate) csv: bool,
    /// Format to write (default: json)
    #[arg(long, value_name = "FORMAT", conflicts_with_all = ["journal", "csv"], help_heading = COMMON)]
    pub(crate) format: Option<Format>,
    /// With svg and png: chart to write, by its name in the page (default: the first)
    #[arg(long, value_name = "NAME", help_heading = OUTPUT)]
    pub(crate) picture: Option<String>,
    /// With csv: write the recorded time series instead, a line per reading
    #[arg(long, help_heading = OUTPUT)]
    pub(crate) timelines: bool,
    /// With svg and png: use a dark background
    #[arg(long, help_heading = OUTPUT)]
    pub(crate) dark: bool,
    /// With png: width in pixels (default: 920)
    #[arg(long, value_name = "PIXELS", value_parser = clap::value_parser!(u32).range(1..=20_000), help_heading = OUTPUT)]
    pub(crate) width: Option<u32>,
    /// File to write (default: standard output)
    #[arg(short, long, value_name = "FILE", help_heading = COMMON)]
    pub(crate) output: Option<PathBuf>,
    /// Overwrite the file
    #[arg(long, requires = "output", help_heading = OUTPUT)]
    pub(crate) force: bool,
}

/// Formats of `export`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Format {
    /// The report as JSON (docs/schema/report.json)
    Json,
    /// A table for spreadsheets
    Csv,
    /// The events, one JSON value per line
    Journal,
    /// The result and its tables as Markdown
    Md,
    /// One chart as a vector graphic
    Svg,
    /// One chart as pixels
    Png,
}
