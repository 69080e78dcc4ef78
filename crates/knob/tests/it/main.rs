//! Knobs on a machine made of a map of files.
#![expect(clippy::unwrap_used, reason = "the tests' own setup: a panic is a failed test")]

mod differential;
mod fake;
mod limits;
mod neighbours;
mod properties;
mod restoring;
mod simulated;
mod story;
