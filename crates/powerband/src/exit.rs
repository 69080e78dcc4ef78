//! How the command ends: the documented exit codes, and the one sentence that goes with a failure.
use std::fmt;

use powerband_record::ErrorClass;

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
    /// Something could not be restored; the sentence names the file to replay.
    CannotRestore = 6,
    /// The load failed.
    LoadFailed = 7,
    /// Could not go on: the store cannot be written, another powerband holds the machine, a peer is lost.
    CannotGoOn = 8,
    /// Stopped by Ctrl-C or SIGTERM; everything was restored.
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
