//! The words of `guard`.
use std::path::PathBuf;

use clap::Args;

use super::{COMMON, OUTPUT};

/// `guard`.
#[derive(Args, Debug)]
pub(crate) struct Guard {
    /// Knobs and the values they should have, e.g. governor=performance (default: what `powerband keep` keeps)
    #[arg(value_name = "KNOB[@TARGET]=VALUE")]
    pub(crate) settings: Vec<String>,
    /// Report what other programs change, and change nothing (default)
    #[arg(long, conflicts_with = "hold", help_heading = COMMON)]
    report: bool,
    /// Set a knob again when another program changes it
    ///
    /// A knob that the same program changes again after three times within a minute is left to that program. Knobs that
    /// are not as wanted at the start are set first, as by `powerband set`.
    #[arg(long, help_heading = COMMON)]
    pub(crate) hold: bool,
    /// Check once: print what is not as wanted, exit with 0 (all as wanted) or 1
    #[arg(long, conflicts_with = "hold", help_heading = COMMON)]
    pub(crate) once: bool,
    /// Also keep counters and states in this file for node_exporter's textfile collector (FILE.prom)
    #[arg(long, value_name = "FILE", help_heading = OUTPUT)]
    pub(crate) textfile: Option<PathBuf>,
}
