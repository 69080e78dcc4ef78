//! The search: asks for runs, is told what they brought, and ends.

mod candidates;
mod confirm;
mod cost;
mod course;
mod holes;
mod log;
mod models;
mod needed;
mod outlook;
mod race;

use std::collections::BTreeSet;
use std::sync::Arc;

use crate::{Ask, Candidate, Coordinates, Data, MetricIndex, Observation, Problem, ProblemError, SearchStage, Space};
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

/// Runs of the start before it is said that nothing, or little, is gained over it.
const START_RUNS_AT_END: usize = 3;

/// Expected loss below which a search that has found nothing looks at the start again, and runs of the start by then.
const LOSS_TO_LOOK_AGAIN: f64 = 0.02;
const START_RUNS_AT_MOST: usize = 8;

/// Where none promises more than this (logarithm), there is nothing left to look for.
const NOTHING: f64 = 1e-7;

/// Tests of the model before it is believed, one less where nothing keeps the bounds and the goal does not matter; and more
/// of them for each surprise.
const AUDITS: u32 = 3;
const AUDITS_BY_SURPRISE: u32 = 2;

/// Where no run promises more than this (logarithm), the model is put to a test.
const PROMISING: f64 = 0.02;

/// A goal is a surprise where it lies so many standard deviations from its prediction, and by this much (logarithm); of
/// smaller standard deviations than the third no more is made. The first settings teach the model rather than surprise it.
const SURPRISE_SD: f64 = 2.5;
const SURPRISE: f64 = 0.04;
const SURPRISE_LEAST_SD: f64 = 0.015;
const SURPRISE_FROM: usize = 3;

/// Settings that are confirmed one after the other.
const CANDIDATES: u32 = 5;

/// Runs of a search without a budget: one more than there are settings, but not fewer nor more than these.
const FEWEST_RUNS: u32 = 24;
const MAX_RUNS: u32 = 150;

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
    models: Option<Models>,
    /// Those of the log before the last run.
    before: Option<Models>,
    stage: Stage,
    /// The race, once it is over.
    raced: Option<Race>,
    next: Ask,
    /// The provisional answer when the models were last looked at.
    incumbent: Option<usize>,
    /// Points whose confirmation failed: they are no answer, whatever the model says.
    tested: BTreeSet<usize>,
    /// The setting that is asked for, where it is a new one, and what is expected of it.
    expected: Option<Expected>,
    /// Tests of the model done, and how many there have to be.
    audits: u32,
    audits_needed: u32,
    /// Candidates confirmed so far.
    candidates: u32,
    /// Steps made that promised nothing themselves.
    steps: u32,
    /// Runs that fit into the caller's budget, where there is one.
    runs_left: Option<u32>,
    /// Whether looking ended for want of runs.
    cut_short: bool,
}

/// What is expected of the goal of a setting that is tried for the first time.
#[derive(Debug, Clone, Copy)]
struct Expected {
    point: usize,
    mean: f64,
    /// Standard deviation of a run around it.
    sd: f64,
    /// Whether the model did not ask for it, so that it tests the model.
    is_audit: bool,
}

#[derive(Debug, Clone)]
enum Stage {
    /// By the model.
    Searching,
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
    pub fn new(problem: Problem) -> Result<Self, ProblemError> {
        problem.check()?;
        let points: Vec<usize> =
            (0..problem.space.points.len()).filter(|point| Some(*point) != problem.start).collect();
        let stage =
            if points.len() <= RACE_AT_MOST { Stage::Racing(Race::new(&problem, &points)) } else { Stage::Searching };
        let mut search = Self {
            coordinates: Arc::new(Coordinates::new(&problem.space)),
            spread: candidates::spread(&problem.space, problem.seed),
            log: Log::default(),
            cost: Cost::new(&problem.space),
            models: None,
            before: None,
            stage,
            raced: None,
            next: Ask::Run(Candidate::Start),
            incumbent: None,
            tested: BTreeSet::new(),
            expected: None,
            audits: 0,
            audits_needed: AUDITS,
            candidates: 0,
            steps: 0,
            runs_left: None,
            cut_short: false,
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

    /// Takes what a run of `candidate` brought: it took `run_s`, and turning the knobs before it `switch_s` (seconds). A run
    /// that was not asked for counts for the model alone. Values that are not finite numbers, or too few, count as a
    /// failed run.
    pub fn tell(&mut self, candidate: Candidate, observation: Observation, run_s: f64, switch_s: f64) {
        let points = self.problem.space.points.len();
        let candidate = match candidate {
            Candidate::Point(point) if Some(point) == self.problem.start => Candidate::Start,
            Candidate::Point(point) if point >= points => return,
            candidate => candidate,
        };
        let observation = checked(observation, &self.problem);
        self.compare(candidate, &observation);
        self.log.take(candidate, &observation);
        for (index, bound) in self.problem.bounds.iter_mut().enumerate() {
            if let Some((above, start)) =
                bound.above_start.zip(self.log.mean(MetricIndex::Bound(index), Candidate::Start))
            {
                bound.limit = start + above;
            }
        }
        if let Some(left) = self.runs_left.as_mut().filter(|_| observation != Observation::Refused) {
            *left = left.saturating_sub(1);
        }
        if matches!(observation, Observation::Valid { .. }) {
            self.cost.note(&self.problem.space, self.problem.start, candidate, run_s, switch_s);
            self.before = self.models.take().or_else(|| self.before.take());
        }
        match &mut self.stage {
            Stage::Confirming(confirmation) => confirmation.take(&self.problem, &self.log, candidate, &observation),
            Stage::Racing(race) => race.take(&self.problem, &self.log, candidate, &observation),
            _ => {}
        }
        self.settle();
    }

    /// Compares a setting's first run with what was expected of it. A surprise asks for more tests of the model.
    fn compare(&mut self, candidate: Candidate, observation: &Observation) {
        let Some(expected) = self.expected.take_if(|expected| candidate == Candidate::Point(expected.point)) else {
            return;
        };
        let Observation::Valid { goal, .. } = observation else { return };
        self.audits += u32::from(expected.is_audit);
        let off = (goal - expected.mean).abs();
        let surprises = off > SURPRISE && off > SURPRISE_SD * expected.sd.max(SURPRISE_LEAST_SD);
        if surprises && (expected.is_audit || self.log.tried().len() >= SURPRISE_FROM) {
            self.audits_needed = self.audits_needed.max(self.audits) + AUDITS_BY_SURPRISE;
        }
    }

    /// Says how many runs still fit into the caller's budget; each one told counts down from it. The search keeps as many
    /// as the confirmation of what it has needs, and decides by the last one that fits. A race with none left ends with
    /// what it has.
    pub fn set_runs_left(&mut self, runs: u32) {
        if self.runs_left.replace(runs) == Some(runs) {
            return;
        }
        if let Stage::Racing(race) = &mut self.stage
            && runs == 0
        {
            race.stop();
            self.cut_short = true;
        }
        self.settle();
    }

    /// Whether looking for better settings ended because runs ran out, not because it was certain enough.
    #[must_use]
    pub fn is_cut_short(&self) -> bool {
        self.cut_short
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
    pub fn data(&self, metric: MetricIndex) -> Data {
        self.log.data(metric, &self.problem)
    }

    /// Mean of the start's runs, natural logarithm; none before the first.
    #[must_use]
    pub fn start_mean(&self, metric: MetricIndex) -> Option<f64> {
        self.log.mean(metric, Candidate::Start)
    }

    /// The provisional answer as of the last look, without the certificate that [`Search::standing`] computes; none means
    /// the start.
    #[must_use]
    pub fn incumbent(&self) -> Option<usize> {
        self.incumbent
    }

    /// Where the search stands in its course.
    #[must_use]
    pub fn phase(&self) -> SearchStage {
        match &self.stage {
            Stage::Searching if self.log.tried().is_empty() => SearchStage::Starting,
            Stage::Searching => SearchStage::Searching,
            Stage::Confirming(confirmation) => {
                SearchStage::Confirming { candidate: confirmation.candidate, block: confirmation.block() }
            }
            Stage::Racing(race) => SearchStage::Racing { block: race.block() },
            Stage::Done => SearchStage::Done,
        }
    }
}
