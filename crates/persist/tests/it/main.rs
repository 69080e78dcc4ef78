//! Who set a knob, on machines made of prepared files: the chains of systems people run, and what must not go wrong.
#![expect(clippy::unwrap_used, reason = "a test that cannot go on has failed")]
mod broken;
mod edits;
mod faults;
mod story;
mod tree;
