//! Why an experiment cannot be prepared, run or resumed, sorted by what the caller can do about it.
use std::path::PathBuf;

use powerband_experiment::{Fatal, PlanError, ResolveError};
use powerband_host::CallerError;
use powerband_knob::{ErrorKind, KnobError};
use powerband_machine::Errno;
use powerband_record::{ErrorClass, Hint};
use powerband_rig::{FileError, Names, RigError};
use powerband_store::StoreError;
use thiserror::Error;

/// Why there is no result.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum SessionError {
    /// The rig.
    #[error(transparent)]
    Rig(#[from] RigError),
    /// A knob.
    #[error(transparent)]
    Knob(#[from] KnobError),
    /// The plan does not fit the machines.
    #[error(transparent)]
    Resolve(Box<ResolveError>),
    /// The plan itself.
    #[error(transparent)]
    Plan(#[from] PlanError),
    /// A file that was named cannot be used.
    #[error(transparent)]
    File(#[from] FileError),
    /// The store cannot be used.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// Nothing is in the store yet.
    #[error("there are no experiments yet")]
    NoExperiments,
    /// The user that loads run as cannot be found.
    #[error(transparent)]
    Caller(#[from] CallerError),
    /// Something that was written or typed must be mended.
    #[error("{0}")]
    Usage(String),
    /// Not supported here.
    #[error("{0}")]
    Unsupported(String),
    /// The load cannot run.
    #[error("{0}")]
    LoadFailed(String),
    /// What must not fail has failed.
    #[error("{0}")]
    Failed(String),
    /// It cannot go on.
    #[error("{0}")]
    Aborted(String),
    /// A stop was asked for.
    #[error("{0}")]
    Stopped(&'static str),
    /// A file of knobs has none.
    #[error("{0} declares no knob; write a table [knobs.NAME] into it")]
    NoKnobs(String),
    /// A setting has a knob of the peer machine, and there is none.
    #[error("'{0}' sets a knob of the peer machine, and there is none")]
    NoPeer(String),
    /// A table has been measured already: nothing can run around its trials.
    #[error("a table has been measured already")]
    HooksOnTable,
    /// No seed can be drawn.
    #[error("no seed can be drawn ({0})")]
    NoSeed(String),
    /// A dry run would have to execute a command to reach the machine.
    #[error("{file} names a machine that is reached by the command `{command}`, and a dry run executes none")]
    DryRunExecutes {
        /// Page or plan.
        file: String,
        /// The command.
        command: String,
    },
    /// What is no page of an experiment.
    #[error("it is no page of an experiment")]
    NoPage,
    /// The experiment of a page cannot be run again.
    #[error("{page} cannot be run again")]
    Rerun {
        /// The page.
        page: String,
        /// Why.
        #[source]
        error: Box<SessionError>,
    },
    /// An experiment cannot be resumed.
    #[error("experiment {id} cannot go on")]
    Resume {
        /// Which.
        id: i64,
        /// Why.
        #[source]
        error: Box<SessionError>,
    },
    /// The plan it was begun with is another one now.
    #[error("experiment {id} was begun with another plan than {path} is now: {why}")]
    OtherPlan {
        /// Which.
        id: i64,
        /// The plan's file.
        path: String,
        /// What differs.
        why: String,
    },
    /// The loop ended.
    #[error("{fatal}")]
    Fatal {
        /// Why.
        fatal: Box<Fatal>,
        /// Which experiment.
        id: i64,
    },
    /// What stands in the journal does not come out again.
    #[error("experiment {id} cannot go on: {why}; begin it again")]
    Differs {
        /// Which experiment.
        id: i64,
        /// What differs.
        why: String,
    },
    /// Something is not restored; nothing else that an experiment came to matters more.
    #[error("RESTORE INCOMPLETE: {}", .left.join(", "))]
    Unrestored {
        /// What, a few words each.
        left: Vec<String>,
        /// Which experiment.
        id: i64,
        /// Its machines.
        names: Option<Box<Names>>,
        /// What ended the experiment besides.
        also: Option<Box<SessionError>>,
    },
    /// The same on simulated machines, which are gone.
    #[error("RESTORE INCOMPLETE: {}; it was the plan {plan}, on simulated machines that are gone", .left.join(", "))]
    UnrestoredSimulated {
        /// What, a few words each.
        left: Vec<String>,
        /// The plan.
        plan: String,
    },
    /// A plan of an article ended without restoring.
    #[error("the plan {plan}: {fatal}")]
    FatalSimulated {
        /// The plan.
        plan: String,
        /// Why.
        fatal: Box<Fatal>,
    },
    /// An article's plan names a machine that is not simulated.
    #[error("`replicate` needs simulated machines, sim:NAME")]
    NotSimulated,
    /// The store was deleted, moved or replaced under an experiment; what was measured is saved next to it.
    #[error("the store {store} was deleted, moved or replaced during the experiment; every setting is restored, and what was measured is in {saved}", store = store.display(), saved = saved.display())]
    StoreDisplaced {
        /// The store.
        store: PathBuf,
        /// What holds the experiment now.
        saved: PathBuf,
        /// Which experiment.
        id: i64,
    },
    /// The same, and what was measured is lost.
    #[error("the store {store} was deleted, moved or replaced during the experiment; every setting is restored, but what was measured is lost: {error}", store = store.display())]
    StoreLost {
        /// The store.
        store: PathBuf,
        /// Why nothing could be saved.
        error: StoreError,
    },
}

impl From<ResolveError> for SessionError {
    fn from(error: ResolveError) -> Self {
        SessionError::Resolve(Box::new(error))
    }
}

impl SessionError {
    /// What the caller can do.
    #[must_use]
    pub fn class(&self) -> ErrorClass {
        match self {
            SessionError::Rig(error) => error.class(),
            SessionError::Knob(error) => class_of_knob(error),
            SessionError::Resolve(error) => class_of_resolve(error),
            SessionError::File(error) => error.class(),
            SessionError::Rerun { error, .. } | SessionError::Resume { error, .. } => error.class(),
            SessionError::Plan(_)
            | SessionError::NoExperiments
            | SessionError::Caller(_)
            | SessionError::Usage(_)
            | SessionError::NoKnobs(_)
            | SessionError::NoPeer(_)
            | SessionError::DryRunExecutes { .. }
            | SessionError::NoPage
            | SessionError::HooksOnTable
            | SessionError::NotSimulated
            | SessionError::OtherPlan { .. } => ErrorClass::Usage,
            SessionError::Unsupported(_) => ErrorClass::Unsupported,
            SessionError::Fatal { fatal, .. } => class_of_fatal(fatal),
            SessionError::LoadFailed(_) => ErrorClass::LoadFailed,
            SessionError::Failed(_) => ErrorClass::Failed,
            SessionError::Stopped(_) => ErrorClass::Stopped,
            SessionError::FatalSimulated { .. }
            | SessionError::Unrestored { .. }
            | SessionError::UnrestoredSimulated { .. } => ErrorClass::RestoreIncomplete,
            SessionError::Store(error) => error.class(),
            SessionError::Aborted(_)
            | SessionError::NoSeed(_)
            | SessionError::Differs { .. }
            | SessionError::StoreDisplaced { .. }
            | SessionError::StoreLost { .. } => ErrorClass::Aborted,
        }
    }

    /// What a person can do, where the sentence does not say it.
    #[must_use]
    pub fn hint(&self) -> Option<Hint> {
        Some(match self {
            SessionError::Rig(error) => return error.hint(),
            SessionError::Caller(error) => return error.hint(),
            SessionError::Store(error) => return error.hint(),
            SessionError::NoExperiments => Hint::RunFirstPlan,
            SessionError::NoPeer(_) => Hint::NamePeer,
            SessionError::Resolve(error) if matches!(**error, ResolveError::NoFar(_)) => Hint::NamePeer,
            SessionError::HooksOnTable => Hint::LeaveOutHooks,
            SessionError::NoSeed(_) => Hint::GiveSeed,
            SessionError::DryRunExecutes { .. } => Hint::Trust,
            SessionError::NoPage => Hint::WritePage,
            SessionError::NotSimulated => Hint::RunPlan,
            SessionError::OtherPlan { id, path, .. } => Hint::AsBegun { id: *id, plan: path.clone() },
            SessionError::Fatal { fatal, id } => match **fatal {
                Fatal::CannotRestore { .. }
                | Fatal::Meter { .. }
                | Fatal::NoMeter { .. }
                | Fatal::NothingToCompare { .. } => return None,
                _ => Hint::Resume(*id),
            },
            SessionError::StoreDisplaced { saved, id, .. } => {
                Hint::ShowStored { store: saved.display().to_string(), id: *id }
            }
            _ => return None,
        })
    }
}

fn class_of_fatal(fatal: &Fatal) -> ErrorClass {
    match fatal {
        Fatal::NoMeter { .. } | Fatal::NothingToCompare { .. } => ErrorClass::Unsupported,
        Fatal::StoppedComputing => ErrorClass::Stopped,
        Fatal::CannotRestore { .. } => ErrorClass::RestoreIncomplete,
        _ => ErrorClass::Aborted,
    }
}

/// What can be done about a knob that cannot be read or set.
#[must_use]
pub fn class_of_knob(error: &KnobError) -> ErrorClass {
    match error.kind() {
        ErrorKind::Usage => ErrorClass::Usage,
        ErrorKind::Absent => ErrorClass::Unsupported,
        ErrorKind::Denied => ErrorClass::Denied,
        ErrorKind::CannotRestore => ErrorClass::RestoreIncomplete,
        ErrorKind::Refused if is_a_wrong_word(error) => ErrorClass::Usage,
        _ => ErrorClass::Aborted,
    }
}

/// Whether the kernel, or the file itself, says that what was typed makes no sense there.
fn is_a_wrong_word(error: &KnobError) -> bool {
    match error {
        KnobError::Refused { errno, .. } => errno.is_about_the_value(),
        KnobError::Unreadable { errno, .. } => {
            matches!(*errno, Errno::EISDIR | Errno::ENOTDIR | Errno::EILSEQ | Errno::EFBIG)
        }
        KnobError::On { error, .. } => is_a_wrong_word(error),
        _ => false,
    }
}

/// What can be done about a plan that does not fit the machines.
#[must_use]
pub fn class_of_resolve(error: &ResolveError) -> ErrorClass {
    match error {
        ResolveError::Knob(error) => class_of_knob(error),
        ResolveError::Plan(PlanError::NothingToJudge(_) | PlanError::NoFigure { .. } | PlanError::NoThermal) => {
            ErrorClass::Unsupported
        }
        _ => ErrorClass::Usage,
    }
}
