//! The state of a machine's CPUs, read again and again: how busy they were, how fast their clock is, how they slept, how
//! often they were interrupted, what was drawn meanwhile.
//!
//! Each kind opens its files once and names their handles, so that one `read_many` reads all kinds together; it makes a
//! snapshot of the texts, and a later snapshot tells what happened since an earlier one. What is not known is `None`.
mod clock;
mod figure;
mod idle;
mod interrupts;
mod power;
mod thermal;
mod utilisation;

pub use clock::{ClockNow, ClockPolicy, Clocks};
pub use figure::{AskedFigure, FIGURES, Figure, OpenFigure};
pub use idle::{CpuSleeps, IdleTimes, SleepTime};
pub use interrupts::Interrupts;
pub use power::{PowerNow, Powers};
pub use thermal::ThermalZones;
pub use utilisation::Utilisation;

use powerband_machine::Errno;
pub use powerband_sysfs::{proc::CpuTime, topology::present};

/// What a handle read.
pub type Text = Result<String, Errno>;

/// A number a file holds.
fn number(text: Option<&Text>) -> Option<u64> {
    text?.as_ref().ok()?.trim().parse().ok()
}

/// A share of a stretch of time, from 0 to 1: clocks of different makers disagree by a little.
fn share(part: u64, whole: u64) -> Option<f64> {
    (whole > 0).then(|| (part as f64 / whole as f64).min(1.0))
}

/// How often something happened in a second.
fn rate(count: u64, ns: u64) -> Option<f64> {
    (ns > 0).then(|| count as f64 * 1e9 / ns as f64)
}

#[cfg(test)]
mod tests;
