//! Knobs on a machine made of a map of files.
#![expect(clippy::unwrap_used, reason = "the tests' own setup: a panic is a failed test")]

mod doctor;
mod fake;
mod landing;
mod looked_at;
mod modes;
mod names_and_values;
mod network_cards;
mod restoring;
mod simulated;
mod whole_machine;
mod witnessed;
