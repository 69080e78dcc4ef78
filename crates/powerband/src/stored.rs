//! What the verbs read of the store: the store that the options name, and what one experiment in it says.
use powerband_record::Event;
use powerband_report::Model;
use powerband_report::timelines::Timelines;
use powerband_session::is_gone;
use powerband_store::Store;

use crate::cli::Shared;
use crate::exit::{Exit, Failure};

/// The store that the options name, for verbs that need an experiment.
pub(crate) fn need_store(shared: &Shared) -> Result<Store, Failure> {
    Ok(powerband_session::store::need(shared.store.as_deref())?)
}

/// What the store says of one experiment, and whether it still runs.
pub(crate) fn model(store: &Store, id: i64) -> Result<Model, Failure> {
    model_of(store, id, &store.events(id)?)
}

/// The same from its events.
pub(crate) fn model_of(store: &Store, id: i64, events: &[Event]) -> Result<Model, Failure> {
    let header = store.header(id)?;
    let gone = is_gone(&header.host, header.owner.as_ref());
    let model = Model::from_events(events).map_err(|error| Failure::new(Exit::Failed, error))?.with_header(header);
    Ok(if gone { model.interrupted() } else { model })
}

/// The readings of all trials, or of one.
pub(crate) fn readings(store: &Store, id: i64, only: Option<u32>) -> Result<Timelines, Failure> {
    let events = store.events(id)?;
    Timelines::from_events(&events, only).map_err(|error| Failure::new(Exit::Failed, error))
}
