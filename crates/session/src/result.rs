//! What an experiment came to: its finding, or why there is none, once everything that was to be restored is.
use powerband_experiment::Fatal;
use powerband_host::with_rights_for;
use powerband_record::{CloseReason, ErrorClass, Event, Finding};
use powerband_rig::{Names, Notes, RigError};
use powerband_store::Store;

use crate::{SessionError, header};

/// An experiment whose loop has ended.
pub struct EndedExperiment {
    /// Where it is kept.
    pub(crate) store: Store,
    /// Its number.
    pub(crate) id: i64,
    pub(crate) finding: Result<Finding, Fatal>,
    pub(crate) in_place: Result<(), RigError>,
}

/// An experiment that came to a finding.
#[derive(Debug)]
pub struct Settled {
    /// Where it is kept.
    pub store: Store,
    /// Its number.
    pub id: i64,
    /// What was found.
    pub finding: Finding,
    /// What was not restored, as an error: it matters more than any finding.
    pub unrestored: Option<SessionError>,
    /// Whether the state folder still is the one that was locked.
    pub in_place: Result<(), RigError>,
}

impl EndedExperiment {
    /// Writes down what measuring cost and answers what the experiment came to. Notes say what is not delivered to a shared store.
    ///
    /// # Errors
    /// What ended it without a finding, or displaced its store.
    pub fn settle(self, notes: &mut dyn Notes) -> Result<Settled, SessionError> {
        let EndedExperiment { mut store, id, finding, in_place } = self;
        if let Ok(Finding { reason: CloseReason::LoadFailed { why }, trials: 0, .. }) = &finding
            && is_restored(&store, id)?
            && store.withdraw(id)?
        {
            return Err(SessionError::LoadFailed(format!("{why}; nothing was measured, nothing is stored")));
        }
        let finished = header::finish(&mut store, id);
        crate::store::note(&mut store, notes);
        if !store.is_in_place() && !matches!(finding, Err(Fatal::CannotRestore { .. })) {
            return Err(displaced(&mut store, id));
        }
        // What ended the experiment is reported before what only its header suffers from.
        let finding = match finding {
            Ok(finding) => finding,
            Err(fatal) => return Err(ended_by(fatal, &store, id)),
        };
        finished?;
        let unrestored = unrestored(&store, id).map(|(left, names)| SessionError::Unrestored {
            left,
            id,
            names: names.map(Box::new),
            also: None,
        });
        Ok(Settled { store, id, finding, unrestored, in_place })
    }
}

fn ended_by(fatal: Fatal, store: &Store, id: i64) -> SessionError {
    let error = match fatal {
        Fatal::Knob(error) => SessionError::Knob(error),
        Fatal::Differs { why } => SessionError::Differs { id, why },
        fatal => SessionError::Fatal { fatal: Box::new(fatal), id },
    };
    match unrestored(store, id).filter(|_| error.class() != ErrorClass::RestoreIncomplete) {
        None => error,
        Some((left, names)) => {
            SessionError::Unrestored { left, id, names: names.map(Box::new), also: Some(Box::new(error)) }
        }
    }
}

/// What the journal says was not restored, and its machines.
fn unrestored(store: &Store, id: i64) -> Option<(Vec<String>, Option<Names>)> {
    let events = store.events(id).ok()?;
    let failed = events.iter().rev().find_map(|event| match event {
        Event::Restored { failed, .. } => Some(failed),
        _ => None,
    });
    let failed = failed.filter(|failed| !failed.is_empty())?;
    let names = events.iter().find_map(|event| match event {
        Event::Started(started) => Some(Names::begun(started)),
        _ => None,
    });
    Some((failed.clone(), names))
}

/// The store was deleted, moved or replaced under an experiment: saves what was measured.
fn displaced(store: &mut Store, id: i64) -> SessionError {
    let path = store.path().to_owned();
    match with_rights_for(&path, || store.save_displaced()) {
        Ok(saved) => SessionError::StoreDisplaced { store: path, saved, id },
        Err(error) => SessionError::StoreLost { store: path, error },
    }
}

/// Whether an experiment restored everything; what it could not is kept with it.
fn is_restored(store: &Store, id: i64) -> Result<bool, SessionError> {
    let events = store.events(id)?;
    Ok(!events.iter().any(|event| matches!(event, Event::Restored { failed, .. } if !failed.is_empty())))
}
