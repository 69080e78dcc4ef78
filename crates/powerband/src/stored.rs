//! What the verbs read of the store: the store that the options name, and what one experiment in it says.
use powerband_record::Event;
use powerband_report::Model;
use powerband_report::timelines::Timelines;
use powerband_session::{SessionError, is_gone};
use powerband_store::Store;

use crate::cli::Shared;
use crate::exit::{Exit, Failure, usage};

/// The store that the options name; `None` where none is named and there is none yet.
///
/// # Errors
/// A file that was named on the command line and is not there: a slip of the keyboard is no empty store.
pub(crate) fn find_store(shared: &Shared) -> Result<Option<Store>, Failure> {
    let found = powerband_session::store::find(shared.store.as_deref())?;
    match store_named(shared).filter(|name| found.is_none() && !powerband_store::is_shared(name)) {
        Some(name) => Err(usage(format!(
            "there is no store {name}; check its spelling, or make it with `powerband --store {} try …`",
            powerband_record::quoted(&name)
        ))),
        None => Ok(found),
    }
}

/// The same for verbs that need an experiment.
pub(crate) fn need_store(shared: &Shared) -> Result<Store, Failure> {
    find_store(shared)?.ok_or_else(|| SessionError::NoExperiments.into())
}

/// What the store says of one experiment, and whether it still runs.
pub(crate) fn model(shared: &Shared, store: &Store, id: i64) -> Result<Model, Failure> {
    model_of(shared, store, id, &store.events(id)?)
}

/// The store as the next command has to name it; none where that is the default one, or an environment variable's.
pub(crate) fn store_named(shared: &Shared) -> Option<String> {
    let named = shared.store.as_ref().map(|path| path.display().to_string());
    let named = named.filter(|name| powerband_host::text_variable("POWERBAND_STORE").as_ref() != Some(name));
    named.map(|name| powerband_store::without_password(&name))
}

/// The same from its events.
pub(crate) fn model_of(shared: &Shared, store: &Store, id: i64, events: &[Event]) -> Result<Model, Failure> {
    let header = store.header(id)?;
    let gone = is_gone(&header.host, header.owner.as_ref());
    let model = Model::from_events(events).map_err(|error| Failure::new(Exit::Failed, error))?.with_header(header);
    let model = model.in_store(store_named(shared).as_deref());
    Ok(if gone { model.interrupted() } else { model })
}

/// The readings of all trials, or of one.
pub(crate) fn readings(store: &Store, id: i64, only: Option<u32>) -> Result<Timelines, Failure> {
    let events = store.events(id)?;
    Timelines::from_events(&events, only).map_err(|error| Failure::new(Exit::Failed, error))
}
