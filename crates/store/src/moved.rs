//! From one store to another: every experiment, with its header, its events and those that were superseded.
use std::collections::BTreeMap;

use powerband_record::IntoOrdered as _;

use crate::{Store, StoreError};

/// What moving experiments came to.
#[derive(Debug, Default)]
pub struct Moved {
    /// Experiments that the other store did not have.
    pub experiments: u64,
    /// Experiments of which it had everything.
    pub complete: u64,
    /// Events it did not have.
    pub events: u64,
    /// Events that were there already, and are the same.
    pub already: u64,
    /// Experiments it has otherwise: number here, and why nothing of it was taken.
    pub differ: Vec<(i64, StoreError)>,
}

/// Delivers all experiments of `from` to `to`: what is there already is compared, and what differs is left alone and answered.
/// With `same_numbers`, experiments keep their numbers where those are free. Calling it again changes nothing.
///
/// # Errors
/// When a store cannot be read or written; what was delivered before stays.
pub fn migrate(from: &Store, to: &mut Store, same_numbers: bool) -> Result<Moved, StoreError> {
    let known: BTreeMap<String, i64> = to.engine.keys()?.into_iter().map(|(id, key)| (key, id)).into_map();
    let mut moved = Moved::default();
    for (id, key) in from.engine.keys()? {
        let kept = from.engine.kept(id, &key, 0)?;
        match to.engine.put(&kept, known.get(&key).copied(), same_numbers) {
            Ok(put) => {
                moved.experiments += u64::from(put.is_new);
                moved.complete += u64::from(!put.is_new && put.events == 0);
                moved.events += put.events;
                moved.already += put.already;
            }
            Err(error @ (StoreError::Differs(_) | StoreError::Forked { .. })) => moved.differ.push((id, error)),
            Err(error) => return Err(error),
        }
    }
    Ok(moved)
}
