//! The words of the command as snapshots: its help, its errors with their advice, its lists and its reports. A changed sentence
//! fails here with its difference, and nowhere else.
//!
//! `INSTA_UPDATE=always cargo test --test pure_words` writes the snapshots again; look at what changed.
#![expect(clippy::unwrap_used, reason = "a test that cannot go on has failed, and shows why")]
mod desk;

mod help;
#[path = "../pure/journal_hash.rs"]
mod journal_hash;
mod kinds;
mod normal;
mod plans;
mod script;
mod scripts;
#[path = "../pure/terminal.rs"]
mod terminal;
