//! Failures of the libraries in the command's words: the exit code of each error, and its sentence with what to type next.
use std::fmt;

use powerband_experiment::ResolveError;
use powerband_knob::KnobError;
use powerband_record::Hint;
use powerband_rig::{FileError, RigError};
use powerband_session::SessionError;
use powerband_store::StoreError;
use powerband_watch::WatchError;

use crate::exit::{Exit, Failure};
use crate::{corrected, hint, incomplete};

/// A failure whose sentence ends with what to type next.
pub(crate) fn hinted(exit: Exit, error: impl fmt::Display, hint: Option<&Hint>) -> Failure {
    Failure::new(exit, format!("{error}{}", hint::behind(hint)))
}

/// The failure of a command that this build lacks; `otherwise` is another way, which ends in "or ".
#[cfg(any(test, not(all(feature = "fuse", feature = "png", feature = "replicate", feature = "tui"))))]
pub(crate) fn lacks(what: &str, otherwise: &str, feature: &str) -> Failure {
    Failure::new(
        Exit::Unsupported,
        format!(
            "this powerband was built without {what}; {otherwise}build it with `cargo install --path crates/powerband --features {feature}`"
        ),
    )
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
        hinted(error.class().into(), &error, error.hint().as_ref())
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
        SessionError::Unrestored { left, id, names, .. } => incomplete::of_experiment(left, *id, names.as_deref()),
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_build_lacks_is_said_with_how_to_get_it() {
        let failure = lacks("PNG", "use --format svg, or ", "png");
        assert_eq!(
            (failure.exit, failure.sentence.as_str()),
            (
                Exit::Unsupported,
                "this powerband was built without PNG; use --format svg, or build it with `cargo install --path crates/powerband --features png`"
            )
        );
    }
}
