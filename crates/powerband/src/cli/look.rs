//! The words of the verbs that look at a machine and change nothing: `info`, `get`, `why`, `knobs`, `doctor`, `capture`, `watch`.
use std::path::PathBuf;

use clap::{Args, ValueEnum};

use super::{COMMON, MountLoad, OUTPUT};

/// `info`.
#[derive(Args, Debug)]
pub(crate) struct Info {
    /// Part to show (default: all)
    pub(crate) part: Option<InfoPart>,
    /// With `net`: find the values each driver accepts, by setting, reading back and restoring (default: all devices)
    #[arg(long, value_name = "DEVICE", num_args = 0..=1, help_heading = COMMON)]
    pub(crate) probe: Option<Option<String>>,
    /// With `meters`: read them for 2 s and show their values and how often they are updated
    #[arg(long, help_heading = COMMON)]
    pub(crate) measure: bool,
    /// With `meters`: load every CPU on and off for 45 s and show the delay of each meter
    #[arg(long, help_heading = COMMON)]
    pub(crate) lag: bool,
}

/// Parts of `info`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum InfoPart {
    /// CPUs, frequencies, governors
    Cpu,
    /// Idle states and limits on wake-up latency
    Idle,
    /// Power and temperature limits
    Power,
    /// Network devices, their links and interrupt coalescing
    Net,
    /// Power and energy meters, with what each covers
    Meters,
    /// Settings changed and not yet restored
    Turned,
}

/// `get`.
#[derive(Args, Debug)]
pub(crate) struct Get {
    /// Knobs to read, e.g. governor or max_freq@policy0
    #[arg(required = true, value_name = "KNOB[@TARGET]")]
    pub(crate) knobs: Vec<String>,
}

/// `why`.
#[derive(Args, Debug)]
pub(crate) struct WhyKnob {
    /// Knobs to explain (default: governor; with --watch: all)
    #[arg(value_name = "KNOB[@TARGET]")]
    pub(crate) knobs: Vec<String>,
    /// Print each change as it happens, and the program that made it, until Ctrl-C
    #[arg(long, help_heading = COMMON)]
    pub(crate) watch: bool,
    /// With --watch: stop after this time, e.g. 10s
    #[arg(long = "for", value_name = "TIME", requires = "watch", allow_hyphen_values = true, help_heading = COMMON)]
    pub(crate) length: Option<String>,
}

/// `knobs`.
#[derive(Args, Debug)]
pub(crate) struct Knobs {
    /// Knob to explain (default: list all)
    pub(crate) knob: Option<String>,
}

/// `doctor`.
#[derive(Args, Debug)]
pub(crate) struct Doctor {
    /// Check a kernel configuration file (.config or config.gz) instead of this machine; with --machine: as its kernel
    #[arg(long, value_name = "FILE", help_heading = COMMON)]
    pub(crate) kernel: Option<PathBuf>,
    /// Governor the kernel should boot with, e.g. ondemand
    #[arg(long, value_name = "NAME", help_heading = COMMON)]
    pub(crate) default_governor: Option<String>,
    /// Print only the lines to merge into the kernel's configuration
    #[arg(long, help_heading = OUTPUT)]
    pub(crate) fragment: bool,
}

/// `capture`.
#[derive(Args, Debug)]
pub(crate) struct Capture {
    /// Folder to write: empty, or not there yet
    #[arg(value_name = "DIR")]
    pub(crate) folder: PathBuf,
}

/// `watch`.
#[derive(Args, Debug)]
pub(crate) struct Watch {
    /// Write one row per sample to FILE.csv or FILE.jsonl instead of the screen (-: standard output)
    #[arg(long, value_name = "FILE", help_heading = OUTPUT)]
    pub(crate) log: Option<PathBuf>,
    /// With --log: write over a file that is there
    #[arg(long, requires = "log", help_heading = OUTPUT)]
    pub(crate) force: bool,
    /// Time between samples, at least 100ms (simulated machines: 10ms)
    #[arg(long, value_name = "TIME", default_value = "1s", allow_hyphen_values = true, help_heading = COMMON)]
    pub(crate) interval: String,
    /// Stop after this time, e.g. 10s
    #[arg(long = "for", value_name = "TIME", allow_hyphen_values = true, help_heading = COMMON)]
    pub(crate) length: Option<String>,
    /// Stop after this many samples
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..), help_heading = COMMON)]
    pub(crate) count: Option<u64>,
    /// Also keep the latest sample in this file as OpenMetrics, for node_exporter's textfile collector (FILE.prom)
    #[arg(long, value_name = "FILE", help_heading = OUTPUT)]
    pub(crate) openmetrics: Option<PathBuf>,
    /// Print the overhead of watching: CPU time and wake-ups
    #[arg(long, help_heading = OUTPUT)]
    pub(crate) cost: bool,
    /// What a simulated machine runs meanwhile (default: idle)
    #[arg(long, value_name = "NAME", help_heading = COMMON)]
    pub(crate) load: Option<MountLoad>,
}
