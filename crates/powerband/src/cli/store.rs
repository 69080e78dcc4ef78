//! The words of `store`.
use std::path::PathBuf;

use clap::{Args, Subcommand};

use super::COMMON;

/// `store`.
#[derive(Args, Debug)]
pub(crate) struct StoreArgs {
    /// What to do with it.
    #[command(subcommand)]
    pub(crate) verb: StoreVerb,
}

/// Verbs of `store`.
#[derive(Subcommand, Debug)]
pub(crate) enum StoreVerb {
    /// Deliver the experiments of this host that the shared store of --store does not have
    ///
    /// An experiment with a shared store is written to journal-HOST.sqlite in the state folder first. What is there already is
    /// compared and not doubled, so that this can be run at any time.
    Push(Push),
    /// Copy all experiments of a store to another: an SQLite file or postgresql://USER@HOST/DATABASE each
    ///
    /// Experiments keep their numbers where those are free. What is there already is compared and not doubled.
    Migrate {
        /// Store to read
        from: PathBuf,
        /// Store to write; it is made where there is none
        to: PathBuf,
    },
}

/// `store push`.
#[derive(Args, Debug)]
pub(crate) struct Push {
    /// SQLite file to deliver from (default: journal-HOST.sqlite in the state folder)
    #[arg(long, value_name = "FILE", help_heading = COMMON)]
    pub(crate) from: Option<PathBuf>,
}
