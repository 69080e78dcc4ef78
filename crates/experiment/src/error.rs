//! Why a plan cannot become an experiment, and why an interrupted one cannot go on.
use powerband_knob::KnobError;
use thiserror::Error;

use crate::PlanError;

/// Why a plan cannot become an experiment on these machines.
#[derive(Clone, Debug, PartialEq, Error)]
#[non_exhaustive]
pub enum ResolveError {
    /// The plan itself.
    #[error(transparent)]
    Plan(#[from] PlanError),
    /// A knob.
    #[error(transparent)]
    Knob(#[from] KnobError),
    /// A setting for a far machine that is not there.
    #[error("{0} is for the far machine, and there is none")]
    NoFar(String),
}

/// Why an interrupted experiment cannot go on.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum ResumeError {
    /// Its journal does not say what is to be done.
    #[error("it stopped before it said what it would do, so there is nothing to go on with; begin it again")]
    NotBegun,
    /// It came to its end.
    #[error("it has ended: {how}; there is nothing to go on with")]
    Ended {
        /// In a few words.
        how: String,
    },
    /// It ran its blocks, and may run more.
    #[error("it has ended: the most blocks were run; add e.g. --blocks {more} to extend it")]
    AtLimit {
        /// A higher limit.
        more: u32,
    },
    /// It cannot be extended.
    #[error("it cannot be extended: {why}")]
    NotExtended {
        /// Why, and what to type instead.
        why: String,
    },
    /// What stands in its journal cannot be read as a plan any more.
    #[error("{what} of its plan cannot be read any more: {why}; begin it again")]
    Unreadable {
        /// Which part.
        what: &'static str,
        /// What is wrong with it.
        why: String,
    },
    /// This is not what it was begun on.
    #[error("{what} was {then} when it was begun and is {now}; go on where it was begun, or begin it again here")]
    OtherRig {
        /// Which part of the rig.
        what: String,
        /// Then.
        then: String,
        /// Now.
        now: String,
    },
}
