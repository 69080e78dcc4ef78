//! What the daemon cpuspeed decides, as functions: sums of CPU time in, clocks out. No clock, no file, no thread.
//!
//! The daemon of Red Hat Enterprise Linux 5 and 6 moves the clock of CPUs under the governor `userspace`: every interval it
//! looks how idle they were, and goes one step up, one step down, or straight to the top. Here is the rule alone, so that a
//! simulated machine and a real daemon decide alike; who calls it waits, reads `/proc/stat` and writes `scaling_setspeed`.
//! Facts from the manual page and the behaviour of cpuspeed 1.5 (1.2.1 has the same intervals and thresholds).
mod config;
mod group;
mod options;
mod steps;
mod walker;
mod wish;

pub use config::{FileOptions, LineError};
pub use group::{Decision, Group};
pub use options::{DaemonOptions, OptionError};
pub use steps::{discover, discover_listed, within};
pub use walker::{Pin, Walker, Woken};
pub use wish::{Sums, Wish, idle_percent, wish, wish_of};

/// How long the daemon waits after each step of a walk over several, ms.
pub const PAUSE_MS: u32 = 10;

#[cfg(test)]
mod tests;
