//! Why a problem cannot be searched. Nothing here is about files, clocks or machines.

/// What is wrong with a problem. Every variant names what the caller can change.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum ProblemError {
    /// There is nothing to choose between.
    #[error("there is no setting to try: name at least one knob with two values")]
    NoPoints,
    /// A point does not have one level a factor, or names a level that its factor lacks.
    #[error(
        "setting {point} does not fit the knob {factor:?}: give it one of its values, or none where it is inactive"
    )]
    Level {
        /// Index of the point.
        point: usize,
        /// Name of the factor.
        factor: String,
    },
    /// Values of an ordered factor are not finite, or do not ascend.
    #[error("the values of the knob {factor:?} must be finite numbers that ascend")]
    Values {
        /// Name of the factor.
        factor: String,
    },
    /// The start names a point that is not there.
    #[error("the start is setting {start}, but there are only {points}")]
    Start {
        /// The point named.
        start: usize,
        /// Number of points.
        points: usize,
    },
    /// A list has the wrong length.
    #[error("{what} has {have} entries where {need} are needed")]
    Length {
        /// What the list is.
        what: &'static str,
        /// Entries it has.
        have: usize,
        /// Entries it must have.
        need: usize,
    },
    /// A number is NaN or infinite.
    #[error("{what} is not a finite number")]
    NotFinite {
        /// What the number is.
        what: &'static str,
    },
}
