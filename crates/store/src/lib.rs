//! Results: an append-only event table, from which the rest is derived; in one SQLite file, or in PostgreSQL for many machines.
//!
//! The `event` table holds the journal's lines exactly as they were serialised, and triggers keep it append-only: what is
//! superseded when an experiment is resumed moves to a table of its own, word for word. Every other table is derived from it in
//! the same transaction, so that there is no moment at which the two differ, and [`Store::rederive`] can build them again. An
//! event that [`Store::append`] has taken survives the death of the process; the end of an experiment is synced to the disk as
//! well.
//!
//! An experiment is always written to an SQLite file first. A shared store is where that file's experiments are delivered to
//! (`delivery`), so that a database which cannot be reached stops no experiment.
mod address;
mod attempts;
mod copied;
mod delivery;
mod derive;
mod engine;
mod error;
mod local;
mod moved;
mod noise;
mod notice;
#[cfg(feature = "postgresql")]
mod postgresql;
mod row;
mod run_key;
mod schema;
mod store;

pub use address::{is_shared, without_password};
pub use error::{Difference, StoreError};
pub use moved::{Moved, migrate};
pub use noise::CalibratedNoise;
pub use notice::Notice;
pub use row::{Member, SearchSummary, State, Summary};
pub use store::{Basis, Purpose, Store};
