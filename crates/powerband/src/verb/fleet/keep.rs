//! The results of a fleet in the store, once each: every node's experiment, as it was handed back.
use std::collections::BTreeSet;

use powerband_fleet::{Fleet, Folder, Reader, best};
use powerband_record::IntoOrdered as _;

use crate::cli::Shared;
use crate::exit::Failure;

/// Stores the attempts that count, except those that are there already by their keys.
pub(super) fn keep(shared: &Shared, fleet: &Fleet, folder: &Folder) -> Result<(), Failure> {
    if fleet.store.is_some() {
        // The tasks stored them there themselves.
        return Ok(());
    }
    let attempts = Reader::default().read(folder, fleet)?;
    let mut store = powerband_session::store::open(shared.store.as_deref())?;
    let members = store.experiments_of_fleet(&fleet.key)?;
    let mut there: BTreeSet<String> = members.into_iter().filter_map(|member| member.header.run).into_set();
    for attempt in attempts.values().filter_map(|all| best(all)) {
        let Some(header) = &attempt.header else { continue };
        if header.run.as_ref().is_some_and(|run| !there.insert(run.clone())) {
            continue;
        }
        let id = store.begin(header)?;
        for event in &attempt.events {
            store.append(id, event)?;
        }
    }
    Ok(())
}
