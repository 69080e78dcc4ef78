//! What is searched for: the goal, the bounds, and what is believed of them beforehand.

use crate::{Prior, ProblemError, Space};

/// One search.
#[derive(Debug, Clone, PartialEq)]
pub struct Problem {
    /// The settings.
    pub space: Space,
    /// The point that equals what the machine runs now, where it can be placed among the points.
    pub start: Option<usize>,
    /// What is to be small.
    pub goal: Goal,
    /// What must stay below a limit; may be empty.
    pub bounds: Vec<Bound>,
    /// Try only settings that very probably exceed no bound by more than this share (0.10: ten percent).
    pub safe: Option<f64>,
    /// Seed of the orders of blocks and of the draws.
    pub seed: u64,
    /// What a calibration found of this machine's noise.
    pub noise: RunNoise,
}

/// What is to be small.
#[derive(Debug, Clone, PartialEq)]
pub enum Goal {
    /// A metric that runs measure.
    Measured {
        /// Belief about the mean slope over each factor, from −1 to 1: 1 says that the metric surely grows with it,
        /// 0 that nothing is known. Never a constraint.
        trends: Vec<f64>,
        /// What is believed about the surface; [`Prior::watts`] suits power, energy, cost and time.
        prior: Prior,
    },
    /// The natural logarithm of a value known of each point without measuring (a knob's own value).
    Known(Vec<f64>),
}

/// A metric that must stay below a limit.
#[derive(Debug, Clone, PartialEq)]
pub struct Bound {
    /// The limit, natural logarithm; where it is against the start, a search puts it here as soon as that has run.
    pub limit: f64,
    /// By how much the logarithm may lie above the start's, where the limit is against the start.
    pub above_start: Option<f64>,
    /// As in [`Goal::Measured`].
    pub trends: Vec<f64>,
    /// What is believed about the surface; [`Prior::tail`] suits tails of latency.
    pub prior: Prior,
}

/// Standard deviation of one run's logarithm, where a calibration measured it. Lists may be shorter than the bounds.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct RunNoise {
    /// Of the goal.
    pub goal: Option<f64>,
    /// Of each bound.
    pub bounds: Vec<Option<f64>>,
}

/// Which of the problem's metrics.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum MetricIndex {
    /// The goal.
    Goal,
    /// A bound, by its index.
    Bound(usize),
}

impl Problem {
    /// Checks lengths and numbers.
    ///
    /// # Errors
    /// When something does not fit the space or is not finite.
    pub fn check(&self) -> Result<(), ProblemError> {
        self.space.check()?;
        let (points, factors) = (self.space.points.len(), self.space.factors.len());
        if let Some(start) = self.start.filter(|start| *start >= points) {
            return Err(ProblemError::Start { start, points });
        }
        let length =
            |what, have, need| if have == need { Ok(()) } else { Err(ProblemError::Length { what, have, need }) };
        match &self.goal {
            Goal::Measured { trends, .. } => length("the list of the goal's trends", trends.len(), factors)?,
            Goal::Known(values) => {
                length("the list of known values", values.len(), points)?;
                finite("a known value", values)?;
            }
        }
        for bound in &self.bounds {
            length("the list of a bound's trends", bound.trends.len(), factors)?;
            finite("a bound's limit", &[bound.limit, bound.above_start.unwrap_or_default()])?;
        }
        if self.safe.is_some_and(|share| !(share.is_finite() && share >= 0.0)) {
            return Err(ProblemError::NotFinite { what: "the share by which a bound may be exceeded" });
        }
        Ok(())
    }
}

fn finite(what: &'static str, values: &[f64]) -> Result<(), ProblemError> {
    if values.iter().all(|value| value.is_finite()) { Ok(()) } else { Err(ProblemError::NotFinite { what }) }
}
