//! Results: an append-only event table in SQLite, from which the rest is derived.
//!
//! One file. The `event` table holds the journal's lines exactly as they were serialised, and triggers keep it
//! append-only: what no longer stands when an experiment is gone on with moves to a table of its own, word for word; every other table is derived from it in the same transaction, so that there is no moment at which the
//! two differ, and [`Store::rederive`] can build them again. An event that [`Store::append`] has taken survives the
//! death of the process; the end of an experiment is synced to the disk as well.
mod derive;
mod error;
mod noise;
mod row;
mod schema;
mod store;

pub use error::StoreError;
pub use noise::Noise;
pub use row::{SearchSummary, State, Summary};
pub use store::Store;
