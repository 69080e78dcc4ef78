//! What an engine of the store does: the few operations behind [`crate::Store`], which documents them.
use std::fmt::Debug;
use std::path::{Path, PathBuf};

use powerband_record::{Event, ExperimentHeader, Metric, Started};

use crate::delivery::{Kept, Put};
use crate::row::{Member, Summary};
use crate::{Basis, CalibratedNoise, Notice, StoreError};

pub(crate) trait Engine: Debug {
    /// The store as a person names it.
    fn place(&self) -> String;
    /// The SQLite file that experiments are written to here, whatever else has them.
    fn path(&self) -> &Path;
    fn is_in_place(&self) -> bool;
    fn save_displaced(&mut self) -> Result<PathBuf, StoreError>;
    fn begin(&mut self, header: &ExperimentHeader) -> Result<i64, StoreError>;
    fn update_header(&mut self, id: i64, header: &ExperimentHeader) -> Result<(), StoreError>;
    fn append(&mut self, id: i64, event: &Event) -> Result<(), StoreError>;
    fn rewind(&mut self, id: i64, seen: Basis<'_>, keep: usize, header: &ExperimentHeader) -> Result<(), StoreError>;
    fn list(&self) -> Result<Vec<Summary>, StoreError>;
    fn of_fleet(&self, fleet: &str) -> Result<Vec<Member>, StoreError>;
    fn header(&self, id: i64) -> Result<ExperimentHeader, StoreError>;
    fn lines(&self, id: i64) -> Result<Vec<String>, StoreError>;
    fn newest(&self) -> Result<Option<i64>, StoreError>;
    fn require(&self, id: i64) -> Result<(), StoreError>;
    fn rederive(&mut self, id: i64) -> Result<Vec<String>, StoreError>;
    fn withdraw(&mut self, id: i64) -> Result<bool, StoreError>;
    fn noise(&self, host: &str, started: &Started, metric: &Metric) -> Result<Option<CalibratedNoise>, StoreError>;

    /// Makes the local file have all of an experiment that is to be written again.
    fn take_over(&mut self, _id: i64) -> Result<(), StoreError> {
        Ok(())
    }

    fn take_notices(&mut self) -> Vec<Notice> {
        Vec::new()
    }

    /// The SQLite connection, for tests that look behind.
    #[cfg(test)]
    fn db(&self) -> Option<&rusqlite::Connection> {
        None
    }

    /// All experiments by number, each with its key.
    fn keys(&self) -> Result<Vec<(i64, String)>, StoreError>;
    /// One experiment with its events from `first` on; what was superseded is among it where `first` is 0.
    fn kept(&self, id: i64, key: &str, first: usize) -> Result<Kept, StoreError>;
    /// Takes an experiment of another store, or what is new of it. `known` is its number where the caller knows that it is here;
    /// otherwise it gets the number it had, if that is free and `same_number` is wanted.
    fn put(&mut self, kept: &Kept, known: Option<i64>, same_number: bool) -> Result<Put, StoreError>;
}
