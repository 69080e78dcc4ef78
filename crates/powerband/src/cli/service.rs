//! The words of `service`.
use std::path::PathBuf;

use clap::Args;

use super::COMMON;

/// `service`.
#[derive(Args, Debug)]
pub(crate) struct Service {
    /// Print what a user may set, by name or number (default: every rule; without root, what you may set)
    #[arg(long, value_name = "USER", num_args = 0..=1, default_missing_value = "", help_heading = COMMON)]
    pub(crate) check: Option<String>,
    /// Policy: who may set what (default: /etc/powerband/access.toml)
    #[arg(long, value_name = "FILE", help_heading = COMMON)]
    pub(crate) policy: Option<PathBuf>,
    /// Listen at this socket (default: /run/powerband/service.sock)
    #[arg(long, value_name = "PATH", help_heading = COMMON)]
    pub(crate) socket: Option<PathBuf>,
    /// Serve the client at standard input and output
    #[arg(long, hide = true)]
    pub(crate) client: bool,
}
