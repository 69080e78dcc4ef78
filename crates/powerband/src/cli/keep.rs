//! The words of the verbs that keep settings over reboots: `keep`, `unkeep`.
use clap::Args;

use super::COMMON;

/// `keep`.
#[derive(Args, Debug)]
pub(crate) struct Keep {
    /// Number of the experiment whose recommended setting is kept, last, or knobs and values (default: last)
    #[arg(value_name = "ID|KNOB[@TARGET]=VALUE")]
    pub(crate) what: Vec<String>,
    /// Print every file as a diff, and change nothing
    #[arg(long, help_heading = COMMON)]
    pub(crate) dry_run: bool,
    /// Remove it at the second boot unless `powerband confirm` follows before, for settings that can lock you out
    #[arg(long, help_heading = COMMON, conflicts_with = "list")]
    pub(crate) until_confirmed: bool,
    /// Overwrite lines of powerband's that somebody has edited since
    #[arg(long, help_heading = COMMON, conflicts_with = "list")]
    pub(crate) force: bool,
    /// List what is kept, and by which file
    #[arg(long, help_heading = COMMON, conflicts_with_all = ["what", "dry_run"])]
    pub(crate) list: bool,
}

/// `unkeep`.
#[derive(Args, Debug)]
pub(crate) struct Unkeep {
    /// Knobs that are no longer kept (default: all)
    #[arg(value_name = "KNOB")]
    pub(crate) knobs: Vec<String>,
    /// Remove also files of powerband's that somebody has edited since
    #[arg(long, help_heading = COMMON)]
    pub(crate) force: bool,
    /// Remove it only if nobody has confirmed it since the boot before this one
    #[arg(long, hide = true)]
    pub(crate) unconfirmed: bool,
}
