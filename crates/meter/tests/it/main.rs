//! Meters on a machine made of a map of files, with a clock the test turns.
#![expect(clippy::unwrap_used, reason = "the tests' own setup: a panic is a failed test")]

mod courses;
mod fake;
mod figures;
mod properties;
mod story;
