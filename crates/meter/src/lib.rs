//! Something you can read while work runs: meters of power and energy, found on the machine and read around a load.
//!
//! A [`Meter`] describes itself and finds its instances ([`find_all`]: all meters there are, and why the others are
//! absent). A [`Session`] reads instances around a piece of work: counters by difference (wrap handled once, in
//! `counter.rs`), gauges by what the machine read meanwhile and a time-weighted mean (`gauge.rs`); what no machine draws is
//! told from what it does in `health.rs`. No number leaves without the name of its boundary, none is the [`sum`] of what
//! overlaps, and what could not be measured is a refusal with its reason, never zero.
//! What CPUs do meanwhile is in [`state`]: snapshots of files that stay open, and differences between them. [`OpenCourses`] keeps
//! how that went over a piece of work.
mod counter;
mod courses;
mod followed;
mod gauge;
mod health;
mod integrate;
mod lag;
mod late;
mod meter;
mod meters;
mod scale;
mod scope;
mod session;
pub mod state;

pub use counter::{CounterError, Wrap, advance_uj};
pub use courses::OpenCourses;
pub use gauge::{GaugeError, GaugeSample, Window, mean};
pub use lag::{LagError, Wave, lag_ns};
pub use meter::{Absent, Inventory, Kind, Meter, MeterAbout, MeterInstance, Quantity};
pub use meters::{ALL, Hwmon, Iio, Modelled, Perf, PowerSupply, Powercap, find_all};
pub use scale::FileScale;
pub use scope::{PowerScope, Relation, SharedParts, SumError, sum};
pub use session::{MeterUnavailable, MeterValue, Reading, Session};
