//! Who set a knob, on machines made of prepared files: the chains of systems people run, and what must not go wrong.
#![expect(clippy::unwrap_used, reason = "a test that cannot go on has failed")]
mod broken;
mod cards;
mod conflicts;
mod keeping;
mod lists;
mod own;
mod scripts;
mod services;
mod stories;
mod systems;
mod tree;
