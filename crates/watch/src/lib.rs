//! A MACHINE AS IT RUNS: samples of its state, a screen of them, rows of them.
//!
//! A [`Sampler`] keeps the files open and reads them all at once: one round trip a [`Sample`]. A [`View`] draws samples on
//! a terminal of any size and answers keys; [`Rows`] makes lines of CSV or JSON of them; [`openmetrics`] a text file for
//! node_exporter. [`Watched`] does both live.
mod live;
mod openmetrics;
mod rows;
mod sampler;
mod screen;

pub use live::{End, Pace, Target, Time, WatchError, Watched, write_metrics};
pub use openmetrics::{Family, OPENMETRICS_END, Point, family, openmetrics};
pub use rows::{Cost, KIND, Row, Rows, VERSION};
pub use sampler::{CpuNow, Sample, Sampler, Scene};
pub use screen::{Asked, INTERVALS_NS, View};

#[cfg(test)]
mod tests;
