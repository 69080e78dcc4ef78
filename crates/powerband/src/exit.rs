//! How the command ends: the documented exit codes, and the one sentence that goes with a failure.
use std::fmt;

use powerband_experiment::ResolveError;
use powerband_knob::KnobError;
use powerband_record::{ErrorClass, Hint};
use powerband_rig::{FileError, RigError};
use powerband_session::SessionError;
use powerband_store::StoreError;
use powerband_watch::WatchError;

use crate::{corrected, hint, incomplete};

/// Exit codes. A stable interface: scripts may rely on the numbers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub(crate) enum Exit {
    /// Fine; also an experiment that ended undecided.
    Fine = 0,
    /// A check failed, or what `--fail-on` names happened.
    Failed = 1,
    /// Wrong words, plan or value.
    Usage = 2,
    /// No permission.
    Denied = 3,
    /// Not supported here.
    Unsupported = 4,
    /// Something could not be put back; the sentence names the file to replay.
    CannotRestore = 6,
    /// The load failed.
    LoadFailed = 7,
    /// Could not go on: the store cannot be written, another powerband holds the machine, a far end is lost.
    CannotGoOn = 8,
    /// Stopped by Ctrl-C or SIGTERM; everything was put back.
    Stopped = 130,
}

/// What a verb answers: a code to end with, or a failure with its sentence. `with` passes its command's own code.
pub(crate) type Answer = Result<u8, Failure>;

/// A failure: one sentence that says what, why and what to type next.
#[derive(Debug)]
pub(crate) struct Failure {
    /// Code to end with.
    pub(crate) exit: Exit,
    /// The sentence, without a final stop.
    pub(crate) sentence: String,
}

impl Failure {
    /// A failure with its sentence.
    pub(crate) fn new(exit: Exit, sentence: impl fmt::Display) -> Self {
        Failure { exit, sentence: sentence.to_string() }
    }
}

/// Turns any error that is the user's to mend into a usage failure.
pub(crate) fn usage(error: impl fmt::Display) -> Failure {
    Failure::new(Exit::Usage, error)
}

impl From<ErrorClass> for Exit {
    fn from(class: ErrorClass) -> Exit {
        match class {
            ErrorClass::Usage => Exit::Usage,
            ErrorClass::Denied => Exit::Denied,
            ErrorClass::Unsupported => Exit::Unsupported,
            ErrorClass::RestoreIncomplete => Exit::CannotRestore,
            ErrorClass::LoadFailed => Exit::LoadFailed,
            ErrorClass::Failed => Exit::Failed,
            ErrorClass::Aborted => Exit::CannotGoOn,
            ErrorClass::Stopped => Exit::Stopped,
        }
    }
}

/// A failure whose sentence ends with what to type next.
pub(crate) fn hinted(exit: Exit, error: impl fmt::Display, hint: Option<&Hint>) -> Failure {
    Failure::new(exit, format!("{error}{}", hint::behind(hint)))
}

impl From<RigError> for Failure {
    fn from(error: RigError) -> Failure {
        hinted(error.class().into(), &error, error.hint().as_ref())
    }
}

impl From<FileError> for Failure {
    fn from(error: FileError) -> Failure {
        Failure::new(error.class().into(), error)
    }
}

impl From<StoreError> for Failure {
    /// A store that cannot be used ends a command that measures; nothing was changed.
    fn from(error: StoreError) -> Failure {
        hinted(Exit::CannotGoOn, &error, error.hint().as_ref())
    }
}

/// The failure of an experiment that the words do not name.
pub(crate) fn not_found(error: StoreError) -> Failure {
    hinted(Exit::Usage, &error, error.hint().as_ref())
}

impl From<WatchError> for Failure {
    fn from(error: WatchError) -> Failure {
        match error {
            WatchError::Rig(error) => error.into(),
            error => Failure::new(error.class().into(), error),
        }
    }
}

impl From<KnobError> for Failure {
    fn from(error: KnobError) -> Failure {
        Failure::new(powerband_session::class_of_knob(&error).into(), corrected::sentence(&error))
    }
}

impl From<SessionError> for Failure {
    fn from(error: SessionError) -> Failure {
        Failure::new(error.class().into(), sentence(&error))
    }
}

/// The sentence of a session's error, with what to type next.
fn sentence(error: &SessionError) -> String {
    if let Some(error) = knob_of(error) {
        return corrected::sentence(error);
    }
    match error {
        SessionError::Rerun { error: why, .. } | SessionError::Resume { error: why, .. } => {
            format!("{error}: {}", sentence(why))
        }
        SessionError::Unrestored { left, id, names, .. } => incomplete::of_experiment(left, *id, names.as_ref()),
        error => format!("{error}{}", hint::behind(error.hint().as_ref())),
    }
}

/// What is wrong with a knob, where that is what the error is about.
fn knob_of(error: &SessionError) -> Option<&KnobError> {
    match error {
        SessionError::Knob(error) => Some(error),
        SessionError::Resolve(error) => match &**error {
            ResolveError::Knob(error) => Some(error),
            _ => None,
        },
        _ => None,
    }
}
