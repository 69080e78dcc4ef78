//! The search: asks for runs, is told what they brought, and ends.

use crate::{Ask, Belief, Data, End, Error, Metric, Phase, Problem, Space, Standing, Told, Who};

/// Up to so many settings race in blocks; more are searched by a model.
pub const RACE_AT_MOST: usize = 12;

/// A search under way.
#[derive(Debug, Clone)]
pub struct Search {
    problem: Problem,
}

impl Search {
    /// Begins a search.
    ///
    /// # Errors
    /// When the problem does not fit together.
    pub fn new(problem: Problem) -> Result<Self, Error> {
        problem.check()?;
        Ok(Self { problem })
    }

    /// What should happen next. Changes nothing: asked twice, it answers the same.
    #[must_use]
    pub fn ask(&self) -> Ask {
        Ask::End(End::StartIsBest { certificate: None })
    }

    /// Takes what a run of `who` brought: it took `run_s`, and turning the knobs before it `switch_s` (seconds).
    pub fn tell(&mut self, who: Who, told: Told, run_s: f64, switch_s: f64) {
        let _ = (who, told, run_s, switch_s);
    }

    /// Time is short: goes to the confirmation of what there is, then ends.
    pub fn stop_exploring(&mut self) {}

    /// Drift was seen: from now on every sixth run is the start, and values are shifted by the line through its runs.
    pub fn follow_drift(&mut self) {}

    /// Where the search stands in its course.
    #[must_use]
    pub fn phase(&self) -> Phase {
        Phase::Done
    }

    /// The provisional answer.
    #[must_use]
    pub fn standing(&self) -> Standing {
        Standing { incumbent: None, certificate: None, goal: None, bounds: Vec::new(), tried: 0, runs: 0 }
    }

    /// The settings.
    #[must_use]
    pub fn space(&self) -> &Space {
        &self.problem.space
    }

    /// What was measured of a metric.
    #[must_use]
    pub fn data(&self, metric: Metric) -> Data {
        let _ = metric;
        Data::default()
    }

    /// Mean of the start's runs, natural logarithm; none before the first.
    #[must_use]
    pub fn start_mean(&self, metric: Metric) -> Option<f64> {
        let _ = metric;
        None
    }

    /// Puts a theory in place of level and trends of one metric, or takes it back.
    pub fn believe(&mut self, metric: Metric, belief: Option<Belief>) {
        let _ = (metric, belief);
    }
}
