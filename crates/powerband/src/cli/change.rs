//! The words of the verbs that change a machine: `set`, `undo`, `with`.
use clap::Args;

use super::COMMON;

/// `set`.
#[derive(Args, Debug)]
pub(crate) struct Set {
    /// Knobs and values, e.g. governor=userspace freq=1867MHz
    #[arg(required = true, value_name = "KNOB[@TARGET]=VALUE")]
    pub(crate) settings: Vec<String>,
    /// Restore the old values unless `powerband confirm` follows within this time, e.g. 60s
    #[arg(long, value_name = "TIME", allow_hyphen_values = true, help_heading = COMMON)]
    pub(crate) confirm_within: Option<String>,
    /// Print what would be changed, in order, and change nothing
    #[arg(long, help_heading = COMMON)]
    pub(crate) dry_run: bool,
    /// Change also what the kernel does not take back; it is then not restored
    #[arg(long, help_heading = COMMON)]
    pub(crate) accept_unrestorable: bool,
}

/// `undo`.
#[derive(Args, Debug)]
pub(crate) struct Undo {
    /// Undo every step, not only the last
    #[arg(long, help_heading = COMMON)]
    pub(crate) all: bool,
    /// List what can be undone, and change nothing
    #[arg(long, help_heading = COMMON)]
    pub(crate) list: bool,
    /// Restore only what an interrupted powerband left changed; keep what `set` changed
    #[arg(long, help_heading = COMMON, conflicts_with_all = ["all", "list"])]
    pub(crate) left: bool,
    /// Restore also values that another program has changed since; forget what cannot be reached from here
    #[arg(long, help_heading = COMMON)]
    pub(crate) force: bool,
}

/// `with`.
#[derive(Args, Debug)]
pub(crate) struct With {
    /// Knobs and values, e.g. governor=performance
    #[arg(required = true, value_name = "KNOB[@TARGET]=VALUE")]
    pub(crate) settings: Vec<String>,
    /// Under sudo: run the command as root (default: as the user who called sudo)
    #[arg(long, help_heading = COMMON)]
    pub(crate) as_root: bool,
    /// Change also what the kernel does not take back; it is then not restored
    #[arg(long, help_heading = COMMON)]
    pub(crate) accept_unrestorable: bool,
    /// Command to run
    #[arg(last = true, required = true, value_name = "COMMAND")]
    pub(crate) command: Vec<String>,
}
