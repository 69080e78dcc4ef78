//! The search: asks for runs, is told what they brought, and ends.

mod candidates;
mod confirm;
mod cost;
mod course;
mod log;
mod models;
mod outlook;
mod race;

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use crate::{Ask, Belief, Coordinates, Data, Error, Metric, Phase, Problem, Space, Told, Who};
use confirm::Confirmation;
use cost::Cost;
use course::checked;
use log::Log;
use models::Models;
use race::Race;

/// Up to so many settings race in blocks; more are searched by a model.
pub const RACE_AT_MOST: usize = 12;

/// Runs of the start before anything else.
const START_RUNS: usize = 2;

/// Where no run promises more (logarithm), the certificate is asked.
const PROMISING: f64 = 0.005;

/// Where none promises more than this, there is nothing left to look for.
const NOTHING: f64 = 1e-6;

/// Largest expected loss, and largest chance of one above 5 %, that a certificate lets pass.
const EXPECTED_LOSS: f64 = 0.005;
const CHANCE: f64 = 0.05;

/// Runs of another round of looking, once no candidate is left, and how many rounds.
const ROUND_RUNS: u32 = 6;
const ROUNDS: u32 = 3;

/// Steps of a safe search towards what lies behind settings that save nothing.
const STEPS: u32 = 12;

/// A search under way.
#[derive(Debug, Clone)]
pub struct Search {
    problem: Problem,
    coordinates: Arc<Coordinates>,
    /// Points that are always looked at.
    spread: Vec<usize>,
    log: Log,
    cost: Cost,
    beliefs: BTreeMap<Metric, Belief>,
    models: Option<Models>,
    stage: Stage,
    /// The race, once it is over.
    raced: Option<Race>,
    next: Ask,
    /// The provisional answer when the models were last looked at.
    incumbent: Option<usize>,
    /// Points whose confirmation failed: they are no answer, whatever the model says.
    tested: BTreeSet<usize>,
    /// Candidates confirmed so far, and rounds of looking done.
    candidates: u32,
    rounds: u32,
    /// Steps made that promised nothing themselves.
    steps: u32,
    short: bool,
}

#[derive(Debug, Clone)]
enum Stage {
    /// By the model; once candidates ran out, for so many more runs.
    Searching {
        left: Option<u32>,
    },
    Confirming(Confirmation),
    Racing(Race),
    Done,
}

/// What to do after a look at the stage.
enum Step {
    Ask(Ask),
    Go(Stage),
}

impl Search {
    /// Begins a search.
    ///
    /// # Errors
    /// When the problem does not fit together.
    pub fn new(problem: Problem) -> Result<Self, Error> {
        problem.check()?;
        let points: Vec<usize> =
            (0..problem.space.points.len()).filter(|point| Some(*point) != problem.start).collect();
        let stage = if points.len() <= RACE_AT_MOST {
            Stage::Racing(Race::new(&problem, &points))
        } else {
            Stage::Searching { left: None }
        };
        let mut search = Self {
            coordinates: Arc::new(Coordinates::new(&problem.space)),
            spread: candidates::spread(&problem.space, problem.seed),
            log: Log::default(),
            cost: Cost::new(&problem.space),
            beliefs: BTreeMap::new(),
            models: None,
            stage,
            raced: None,
            next: Ask::Run(Who::Start),
            incumbent: None,
            tested: BTreeSet::new(),
            candidates: 0,
            rounds: 0,
            steps: 0,
            short: false,
            problem,
        };
        search.settle();
        Ok(search)
    }

    /// What should happen next. Changes nothing: asked twice, it answers the same.
    #[must_use]
    pub fn ask(&self) -> Ask {
        self.next.clone()
    }

    /// Takes what a run of `who` brought: it took `run_s`, and turning the knobs before it `switch_s` (seconds). A run
    /// that was not asked for counts for the model alone. Values that are not finite numbers, or too few, count as a
    /// failed run.
    pub fn tell(&mut self, who: Who, told: Told, run_s: f64, switch_s: f64) {
        let points = self.problem.space.points.len();
        let who = match who {
            Who::Point(point) if Some(point) == self.problem.start => Who::Start,
            Who::Point(point) if point >= points => return,
            who => who,
        };
        let told = checked(told, &self.problem);
        self.log.take(who, &told);
        for (index, bound) in self.problem.bounds.iter_mut().enumerate() {
            if let Some((above, start)) = bound.above_start.zip(self.log.mean(Metric::Bound(index), Who::Start)) {
                bound.limit = start + above;
            }
        }
        let brought = matches!(told, Told::Valid { .. });
        if brought {
            self.cost.note(&self.problem.space, self.problem.start, who, run_s, switch_s);
            self.models = None;
        }
        match &mut self.stage {
            Stage::Searching { left: Some(left) } if brought => *left = left.saturating_sub(1),
            Stage::Confirming(confirmation) => confirmation.take(&self.problem, who, &told),
            Stage::Racing(race) => race.take(&self.problem, &self.log, who, &told),
            _ => {}
        }
        self.settle();
    }

    /// Time is short: goes to the confirmation of what there is, then ends. A race ends with what it has.
    pub fn stop_exploring(&mut self) {
        self.short = true;
        if let Stage::Racing(race) = &mut self.stage {
            race.stop();
        }
        self.settle();
    }

    /// Puts a theory in place of level and trends of one metric, or takes it back. A theory that does not give a value to
    /// every point, and one of a metric that is not modelled, change nothing.
    pub fn believe(&mut self, metric: Metric, belief: Option<Belief>) {
        let points = self.problem.space.points.len();
        match belief {
            Some(belief) if belief.mean.len() == points => self.beliefs.insert(metric, belief),
            Some(_) => return,
            None => self.beliefs.remove(&metric),
        };
        self.models = None;
        self.settle();
    }

    /// The settings.
    #[must_use]
    pub fn space(&self) -> &Space {
        &self.problem.space
    }

    /// The settings as processes see them.
    #[must_use]
    pub fn coordinates(&self) -> &Arc<Coordinates> {
        &self.coordinates
    }

    /// What was measured of a metric.
    #[must_use]
    pub fn data(&self, metric: Metric) -> Data {
        self.log.data(metric, &self.problem)
    }

    /// Mean of the start's runs, natural logarithm; none before the first.
    #[must_use]
    pub fn start_mean(&self, metric: Metric) -> Option<f64> {
        self.log.mean(metric, Who::Start)
    }

    /// The provisional answer as of the last look, without the certificate that [`Search::standing`] computes; none means
    /// the start.
    #[must_use]
    pub fn incumbent(&self) -> Option<usize> {
        self.incumbent
    }

    /// Where the search stands in its course.
    #[must_use]
    pub fn phase(&self) -> Phase {
        match &self.stage {
            Stage::Searching { .. } if self.log.tried().is_empty() => Phase::Starting,
            Stage::Searching { .. } => Phase::Searching,
            Stage::Confirming(confirmation) => {
                Phase::Confirming { candidate: confirmation.candidate, block: confirmation.block() }
            }
            Stage::Racing(race) => Phase::Racing { block: race.block() },
            Stage::Done => Phase::Done,
        }
    }
}
