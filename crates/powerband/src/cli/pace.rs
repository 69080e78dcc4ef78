//! The words of `pace`: the options of the daemon it follows, by their letters.
use std::path::PathBuf;

use clap::{Args, Subcommand};

use super::{COMMON, MountLoad};

/// `pace`.
#[derive(Args, Debug)]
pub(crate) struct Pace {
    /// Whose rule decides.
    #[command(subcommand)]
    pub(crate) rule: PaceRule,
}

/// Rules to set frequencies by.
#[derive(Subcommand, Debug)]
pub(crate) enum PaceRule {
    /// Step up or down by how idle the CPUs were, as the daemon cpuspeed of RHEL 5 and 6
    ///
    /// Sets the governor userspace and then, at each interval, for each group of CPUs with a common frequency: the highest
    /// frequency where the busiest CPU was idle for 10 % of the time or less, one step up below 25 %, one step down above. SIGUSR1
    /// pins the highest frequency, SIGUSR2 the lowest, SIGHUP lets it decide again. Governor and frequencies are restored when it
    /// ends, also by Ctrl-C, SIGTERM or SIGKILL. -v prints each decision, --json a line for each.
    Cpuspeed(Box<Cpuspeed>),
}

/// The options of cpuspeed.
#[derive(Args, Debug)]
pub(crate) struct Cpuspeed {
    /// Time between two looks, tenths of a second (default: 20)
    #[arg(short = 'i', value_name = "TENTHS", help_heading = COMMON)]
    pub(crate) interval: Option<u32>,
    /// Idle percentages: highest frequency at IDLE1 or less, one step up below IDLE2 (default: 10 25)
    #[arg(short = 'p', num_args = 2, value_names = ["IDLE1", "IDLE2"], help_heading = COMMON)]
    pub(crate) thresholds: Option<Vec<u32>>,
    /// Set no frequency below this, kHz
    #[arg(short = 'm', value_name = "KHZ", help_heading = COMMON)]
    pub(crate) lowest: Option<u32>,
    /// Set no frequency above this, kHz
    #[arg(short = 'M', value_name = "KHZ", help_heading = COMMON)]
    pub(crate) highest: Option<u32>,
    /// Leave the time of nice processes out of account (default: it counts as idle)
    #[arg(short = 'n', help_heading = COMMON)]
    pub(crate) ignore_nice: bool,
    /// Leave the time in which processes waited for a disk out of account (default: it counts as idle)
    #[arg(short = 'w', help_heading = COMMON)]
    pub(crate) ignore_iowait: bool,
    /// Restore the frequencies at the end, as pace always does
    #[arg(short = 'r', help_heading = COMMON)]
    pub(crate) restore: bool,
    /// Read MAX_SPEED, MIN_SPEED, UP_THRESHOLD, DOWN_THRESHOLD and IGNORE_NICE from this file; options override it
    ///
    /// Example: --config /etc/sysconfig/cpuspeed
    #[arg(long, value_name = "FILE", help_heading = COMMON)]
    pub(crate) config: Option<PathBuf>,
    /// Stop after this time, e.g. 10m (default: at Ctrl-C)
    #[arg(long = "for", value_name = "TIME", allow_hyphen_values = true, help_heading = COMMON)]
    pub(crate) length: Option<String>,
    /// What a simulated machine runs meanwhile (default: idle)
    #[arg(long, value_name = "NAME", help_heading = COMMON)]
    pub(crate) load: Option<MountLoad>,
    /// What is not followed.
    #[command(flatten)]
    pub(crate) other: NotFollowed,
}

/// Options of the daemon that are known here to be refused in words.
#[derive(Args, Debug)]
pub(crate) struct NotFollowed {
    #[arg(short = 'd', hide = true)]
    background: bool,
    #[arg(short = 't', hide = true, num_args = 2)]
    temperature: Option<Vec<String>>,
    #[arg(short = 'T', hide = true)]
    temperature_interval: Option<String>,
    #[arg(short = 'a', hide = true)]
    adapter: Option<String>,
    #[arg(short = 'A', hide = true)]
    adapter_interval: Option<String>,
    #[arg(short = 'C', hide = true)]
    highest_on_adapter: bool,
    #[arg(short = 'D', hide = true)]
    no_lowest_on_battery: bool,
    #[arg(short = 'S', hide = true)]
    grouping: Option<String>,
}

impl NotFollowed {
    /// Why one of them is refused.
    pub(crate) fn refusal(&self) -> Option<&'static str> {
        let adapter = self.adapter.is_some() || self.adapter_interval.is_some();
        if self.background {
            return Some("-d: pace stays in the foreground; start it as a service, or with `nohup … &`");
        }
        if self.temperature.is_some() || self.temperature_interval.is_some() {
            return Some(
                "-t and -T: pace does not follow a temperature; the kernel's thermal zones lower the limits, which pace keeps to",
            );
        }
        if adapter || self.highest_on_adapter || self.no_lowest_on_battery {
            return Some(
                "-a, -A, -C and -D: pace does not follow the AC adapter; let its events send SIGUSR1 for the highest \
                 frequency, SIGUSR2 for the lowest, and SIGHUP to decide again",
            );
        }
        self.grouping.is_some().then_some("-S: pace always groups the CPUs as the kernel does; leave it out")
    }
}
