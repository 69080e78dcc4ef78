//! A MACHINE AS IT RUNS: samples of its state, a screen of them, rows of them.
//!
//! A [`Sampler`] keeps the files open and reads them all at once: one round trip a [`MachineSample`]. A [`View`] draws samples on
//! a terminal of any size and answers keys; [`Rows`] makes lines of CSV or JSON of them; [`openmetrics`] a text file for
//! node_exporter. [`Watched`] does both live. The screen is the feature `tui`.
mod live;
mod openmetrics;
mod rows;
mod sampler;
#[cfg(feature = "tui")]
mod screen;

pub use live::{LogTarget, Pace, Time, WatchEnd, WatchError, Watched, write_metrics};
pub use openmetrics::{Family, LabelledValue, OPENMETRICS_END, family, openmetrics};
pub use rows::{Cost, KIND, RowShape, Rows, VERSION};
pub use sampler::{CpuNow, MachineSample, Sampler, Scene};
#[cfg(feature = "tui")]
pub use screen::{INTERVALS_NS, KeyRequest, View};

#[cfg(feature = "tui")]
#[cfg(test)]
mod tests;
