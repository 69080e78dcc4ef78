//! Why a plan cannot become an experiment.
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
    #[error("{0} is for the far machine, and there is none; name it with --far")]
    NoFar(String),
}
