//! Which setting to try next, when to stop, and what to say then. Pure: ask and tell, numbers and a seed in.
//!
//! A [`Problem`] says which settings there are ([`Space`]), what is to be small ([`Goal`]) and what must stay below a
//! limit ([`Bound`]). All values are natural logarithms and smaller is better: who wants to maximise, or to stay above,
//! hands in the negative. [`Search::ask`] names the next run, [`Search::tell`] takes what it brought, until the answer is
//! an [`SearchConclusion`].
//!
//! Up to [`RACE_AT_MOST`] settings race in blocks. More are searched by a model, one Gaussian [`Process`] a metric, whose
//! hyperparameters are averaged rather than chosen; what it finds is then confirmed in fresh blocks next to the start.
//!
//! Every transcendental function comes from `libm`, every random number from a keyed stream, and nothing is summed in an
//! order that depends on the host: the same answers give the same questions everywhere.

mod answer;
mod error;
mod problem;
mod process;
mod search;
mod space;

pub use answer::{
    Ask, Candidate, Certificate, Confirmed, Held, Interval, Observation, ProvisionalAnswer, SearchConclusion,
    SearchStage, UndecidedReason, Unproved,
};
pub use error::ProblemError;
pub use problem::{Bound, Goal, MetricIndex, Problem, RunNoise};
pub use process::{
    Coordinates, Data, LevelPrediction, LogNormal, MeasuredSetting, MixturePart, Normal, Prior, PriorMean, Process,
    Repeats,
};
pub use search::{RACE_AT_MOST, Search};
pub use space::{Factor, FactorKind, Space};
