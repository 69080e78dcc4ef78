//! The command as a function, called in this process: its words, its JSON, its exit codes and the state it leaves behind, on machines
//! that are simulated, recorded or tables. What needs a process or this machine is in `it`.
//!
//! Each test has a state folder of its own.
#![expect(clippy::unwrap_used, reason = "a test that cannot go on has failed")]
mod broken;
mod calibrated;
mod chance;
mod compare;
mod cooled;
mod counter;
mod coursed;
mod desk;
#[cfg(feature = "png")]
mod drawn;
mod fuzzed;
mod journal_hash;
mod journals;
mod metered_truth;
mod mistakes;
mod moded;
mod paged;
mod pages;
mod paper;
mod recorded;
mod repeated;
mod replicated;
mod required;
mod router;
mod screen;
mod simulated;
mod terminal;
mod told;
mod tuned;
