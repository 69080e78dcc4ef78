//! The words of the verbs that tell what is stored: `show`, `report`, `export`.
use std::path::PathBuf;

use clap::{Args, ValueEnum};

/// `show`.
#[derive(Args, Debug)]
pub(crate) struct Show {
    /// Number of the experiment, or `last`
    #[arg(default_value = "last")]
    pub(crate) id: String,
    /// What meters showed during its valid trials: a line for each, or with a number every reading of that trial as CSV
    #[arg(long, value_name = "TRIAL", num_args = 0..=1, require_equals = true)]
    pub(crate) timelines: Option<Option<u32>>,
}

/// `report`.
#[derive(Args, Debug)]
pub(crate) struct Report {
    /// Number of the experiment, or `last`
    #[arg(default_value = "last")]
    pub(crate) id: String,
    /// The file; powerband-ID.html when absent, - for standard output
    #[arg(short, long, value_name = "FILE.html")]
    pub(crate) output: Option<PathBuf>,
    /// Also where the file is there already
    #[arg(long)]
    pub(crate) force: bool,
}

/// `export`.
#[derive(Args, Debug)]
pub(crate) struct Export {
    /// Number of the experiment, or `last`
    #[arg(default_value = "last")]
    pub(crate) id: String,
    /// The events, one JSON value a line; the first line is the header, which alone differs between repeats
    #[arg(long)]
    pub(crate) journal: bool,
    /// A table for spreadsheets: levels, verdicts and percentiles, a line each
    #[arg(long, conflicts_with = "journal")]
    pub(crate) csv: bool,
    /// What to write; json when absent
    #[arg(long, value_name = "FORMAT", conflicts_with_all = ["journal", "csv"])]
    pub(crate) format: Option<Format>,
    /// Of svg and png: which picture, by its name in the page; the first when absent
    #[arg(long, value_name = "NAME")]
    pub(crate) picture: Option<String>,
    /// Of csv: every reading of what was read during the trials instead, a line each
    #[arg(long)]
    pub(crate) timelines: bool,
    /// Of svg and png: on dark paper
    #[arg(long)]
    pub(crate) dark: bool,
    /// Of png: so many pixels wide; 920 when absent
    #[arg(long, value_name = "PIXELS", value_parser = clap::value_parser!(u32).range(1..=20_000))]
    pub(crate) width: Option<u32>,
    /// To this file instead of standard output
    #[arg(short, long, value_name = "FILE")]
    pub(crate) output: Option<PathBuf>,
}

/// Formats of `export`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Format {
    /// The report as a versioned shape
    Json,
    /// A table for spreadsheets
    Csv,
    /// The events, a line each
    Journal,
    /// The finding and tables of pipes
    Md,
    /// One picture, as lines and letters
    Svg,
    /// One picture, as pixels
    Png,
}
