//! The final word on one candidate: fresh runs of it and of the start, and what they show.

use powerband_stats::distribution::{normal_upper, t_upper, t_upper_quantile};
use powerband_stats::{Draws, Purpose};

use super::log::Log;
use crate::{Bound, Candidate, Confirmed, Data, Goal, Held, Interval, MetricIndex, Observation, Problem};

/// Runs of the candidate after which the runs are judged.
const LOOKS: [usize; 4] = [2, 3, 5, 8];

/// Share of the candidate's error that each look spends.
const SPENT: [f64; 4] = [0.2, 0.3, 0.25, 0.25];

/// Chance of keeping any setting wrongly, over all candidates.
const ALPHA: f64 = 0.05;

/// Halvings of [`ALPHA`] from candidate to candidate, at most.
const HALVINGS: i32 = 6;

/// Chance of being shown by the last look below which a candidate is given up.
const HOPELESS: f64 = 0.15;

/// Standard deviation of one run's goal (logarithm) that is assumed where no calibration measured it, and the degrees of
/// freedom that it adds to those of the repeats.
const GOAL_NOISE: f64 = 0.01;
const GOAL_FREEDOM: f64 = 0.5;

/// Degrees of freedom that the model's noise of a bound counts for, and the most that the start's own runs count for.
const MODEL_FREEDOM: f64 = 1.0;
const START_FREEDOM: f64 = 3.0;

/// What the model says of a bound's noise at the candidate.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct BoundNoise {
    /// Variance of one run.
    pub(super) variance: f64,
    /// The same as a multiple of the start's.
    pub(super) of_start: f64,
}

/// Variance of one run of the candidate from all that is known before its own fresh runs, and its degrees of freedom.
struct Believed {
    squares: f64,
    freedom: f64,
}

impl Believed {
    /// The model's variance counts one degree of freedom, the start's own runs (`start`) up to three.
    fn new(noise: BoundNoise, start: &[f64]) -> Self {
        let runs_freedom = start.len().saturating_sub(1) as f64;
        let freedom = runs_freedom.min(START_FREEDOM);
        let own = noise.of_start * within(start.iter().copied()) / runs_freedom.max(1.0);
        Self { squares: MODEL_FREEDOM * noise.variance + freedom * own, freedom: MODEL_FREEDOM + freedom }
    }

    /// Level of fresh values, each of which has the noise of `runs` runs: their own scatter, pooled with the model's noise
    /// and the start's.
    fn level(&self, values: impl ExactSizeIterator<Item = f64> + Clone, runs: f64) -> Level {
        let count = values.len() as f64;
        let freedom = self.freedom + count - 1.0;
        Level {
            mean: mean(values.clone()),
            sd: ((runs * self.squares + within(values)) / freedom).sqrt(),
            freedom,
            per_run: 1.0 / count,
            per_run_last: 1.0 / LAST_LOOK,
        }
    }
}

/// One run: goal and bounds.
#[derive(Debug, Clone, PartialEq)]
struct Run {
    goal: f64,
    bounds: Vec<f64>,
}

/// Fresh runs of one candidate.
#[derive(Debug, Clone)]
pub(super) struct Confirmation {
    pub(super) candidate: usize,
    /// How many candidates came before, plus one.
    number: u32,
    /// Whether it has to be better than the start.
    against_start: bool,
    noise: Vec<BoundNoise>,
    /// Runs of the round under way that are still due.
    order: Vec<Candidate>,
    own: Vec<Run>,
    start: Vec<Run>,
    /// Whether a limit is against the start, so that each run of the candidate is compared with one of it.
    paired: bool,
    /// Whether a look needs nothing more of the start, so that the candidate alone goes on.
    start_left: bool,
}

/// How a confirmation stands.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Verdict {
    Open,
    Kept(Confirmed),
    /// Shown to break a bound, or not shown to keep all and to be better, and no longer likely to be.
    Failed,
}

/// Mean, standard deviation of one run, degrees of freedom, and the runs in units of which the mean's error falls.
struct Level {
    mean: f64,
    sd: f64,
    freedom: f64,
    /// 1/k of one mean, 1/k + 1/k' of a difference of two.
    per_run: f64,
    /// The same at the last look.
    per_run_last: f64,
}

impl Level {
    fn error(&self) -> f64 {
        self.sd * self.per_run.sqrt()
    }

    fn half_width(&self, level: f64) -> f64 {
        t_upper_quantile(level, self.freedom) * self.error()
    }

    /// Chance that the last look, at its own `level`, shows the mean to lie below `limit`.
    fn chance_below(&self, limit: f64, level: f64) -> f64 {
        let half = t_upper_quantile(level, self.freedom) * self.sd * self.per_run_last.sqrt();
        // One run more than the last look's, so that the chance stays defined at the last look.
        let open = (self.per_run - self.per_run_last * LAST_LOOK / (LAST_LOOK + 1.0)).max(0.0);
        normal_upper((self.mean - (limit - half)) / (self.sd * open.sqrt()).max(1e-12))
    }
}

const LAST_LOOK: f64 = LOOKS[LOOKS.len() - 1] as f64;

/// What a level of [`Confirmation::bound`] must not exceed.
fn limit(bound: &Bound) -> f64 {
    bound.above_start.unwrap_or(bound.limit)
}

fn mean(values: impl ExactSizeIterator<Item = f64>) -> f64 {
    let count = values.len().max(1) as f64;
    values.sum::<f64>() / count
}

/// Sum of squares around the values' mean.
fn within(values: impl ExactSizeIterator<Item = f64> + Clone) -> f64 {
    let centre = mean(values.clone());
    values.map(|value| (value - centre) * (value - centre)).sum()
}

impl Confirmation {
    pub(super) fn new(
        problem: &Problem,
        candidate: usize,
        number: u32,
        against_start: bool,
        noise: Vec<BoundNoise>,
    ) -> Self {
        let (order, own, start) = (Vec::new(), Vec::new(), Vec::new());
        let paired = problem.bounds.iter().any(|bound| bound.above_start.is_some());
        let mut confirmation =
            Self { candidate, number, against_start, noise, order, own, start, paired, start_left: false };
        confirmation.begin_round(problem.seed);
        confirmation
    }

    fn begin_round(&mut self, seed: u64) {
        self.order = vec![Candidate::Point(self.candidate)];
        if !(self.start_left || self.is_alone()) {
            self.order.push(Candidate::Start);
        }
        let stream = u64::from(self.number) << 32 | self.own.len() as u64;
        Draws::new(seed, Purpose::Order, stream, 1).shuffle(&mut self.order);
    }

    /// Whether the round under way is the candidate's alone: at the first look one fresh run of the start shows most gains.
    fn is_alone(&self) -> bool {
        self.own.len() == 1 && !self.paired
    }

    /// The run that is due.
    pub(super) fn next(&self) -> Candidate {
        self.order.first().copied().unwrap_or(Candidate::Point(self.candidate))
    }

    /// The round under way, counted from 1.
    pub(super) fn block(&self) -> u32 {
        let finished = if self.order.contains(&Candidate::Point(self.candidate)) { 1 } else { 0 };
        (self.own.len() + finished).max(1) as u32
    }

    /// Takes what the run that was due brought, `log` containing it already; a run that brought nothing is repeated.
    pub(super) fn take(&mut self, problem: &Problem, log: &Log, candidate: Candidate, observation: &Observation) {
        let Observation::Valid { goal, bounds } = observation else { return };
        if candidate != self.next() {
            return;
        }
        let run = Run { goal: *goal, bounds: bounds.clone() };
        match candidate {
            Candidate::Start => self.start.push(run),
            Candidate::Point(_) => self.own.push(run),
        }
        self.order.remove(0);
        if !self.order.is_empty() {
            return;
        }
        // Once the gain is shown the start's runs would add nothing: only the bounds are open. Where a limit is against
        // the start, its runs are what the candidate's are compared with.
        if LOOKS.contains(&self.own.len()) && !self.paired {
            self.start_left |= !self.against_start || self.gains(problem, log, self.level());
        }
        self.begin_round(problem.seed);
    }

    /// Error that belongs to the look after the runs there are, or to the next one where they fall between two.
    fn level(&self) -> f64 {
        let look = LOOKS.iter().position(|look| *look >= self.own.len()).unwrap_or(LOOKS.len() - 1);
        self.share() * SPENT[look]
    }

    /// The candidate's share of all error.
    fn share(&self) -> f64 {
        let halvings = i32::try_from(self.number).map_or(HALVINGS, |number| number.min(HALVINGS));
        ALPHA / libm::exp2(f64::from(halvings))
    }

    fn gains(&self, problem: &Problem, log: &Log, level: f64) -> bool {
        self.gain(problem, log).is_some_and(|gain| gain.mean + gain.half_width(level) < 0.0)
    }

    /// What the runs so far show; `last` where no further run fits, so that the next look is now. The means are those of
    /// fresh runs alone: the candidate was chosen by the old ones.
    pub(super) fn verdict(&self, problem: &Problem, log: &Log, last: bool) -> Verdict {
        let between = !self.start_left && self.order.len() == 1;
        let runs = self.own.len();
        if !last && (between || !LOOKS.contains(&runs)) {
            return Verdict::Open;
        }
        let gain = self.gain(problem, log);
        if runs == 0 || (self.against_start && gain.is_none()) {
            return if last { Verdict::Failed } else { Verdict::Open };
        }
        let level = self.level();
        let bounds: Vec<Level> =
            (0..problem.bounds.len()).filter_map(|index| self.bound(problem, log, index)).collect();
        if bounds.len() < problem.bounds.len() {
            return Verdict::Failed;
        }
        let pairs = || bounds.iter().zip(&problem.bounds).map(|(own, bound)| (own, limit(bound)));
        if pairs().any(|(own, limit)| own.mean - own.half_width(level) > limit) {
            return Verdict::Failed;
        }
        let gains = !self.against_start || self.start_left || self.gains(problem, log, level);
        let holds = pairs().all(|(own, limit)| own.mean + own.half_width(level) <= limit);
        if holds && gains {
            return Verdict::Kept(self.kept(problem, &bounds, gain));
        }
        let level = self.share() * SPENT[LOOKS.len() - 1];
        let gain_chance = if gains { 1.0 } else { gain.map_or(0.0, |gain| gain.chance_below(0.0, level)) };
        let chance = pairs().map(|(own, limit)| own.chance_below(limit, level)).fold(gain_chance, |all, one| all * one);
        let over = last || runs as f64 >= LAST_LOOK || chance < HOPELESS;
        if over { Verdict::Failed } else { Verdict::Open }
    }

    /// The candidate's goal less the start's. The runs' noise is that of every setting run more than once: two rounds give
    /// one degree of freedom, the whole search five or more. Not paired by rounds, for the same reason; drift between
    /// rounds only widens it. None before both were run.
    fn gain(&self, problem: &Problem, log: &Log) -> Option<Level> {
        let runs = self.own.len() as f64;
        if let Goal::Known(values) = &problem.goal {
            let start = problem.start.map(|at| values[at]);
            let start = start.or_else(|| log.mean(MetricIndex::Goal, Candidate::Start))?;
            let mean = values[self.candidate] - start;
            return Some(Level { mean, sd: 0.0, freedom: 1.0, per_run: 1.0, per_run_last: 1.0 });
        }
        if self.own.is_empty() || self.start.is_empty() {
            return None;
        }
        let Data { within, freedom, .. } = log.data(MetricIndex::Goal, problem);
        let prior = problem.noise.goal.unwrap_or(GOAL_NOISE);
        let freedom = GOAL_FREEDOM + freedom;
        let variance = (GOAL_FREEDOM * prior * prior + within) / freedom;
        let last = match (self.start_left, self.paired) {
            (true, _) => self.start.len() as f64,
            (false, true) => LAST_LOOK,
            (false, false) => LAST_LOOK - 1.0,
        };
        Some(Level {
            mean: mean(self.own.iter().map(|run| run.goal)) - mean(self.start.iter().map(|run| run.goal)),
            sd: variance.sqrt(),
            freedom,
            per_run: 1.0 / runs + 1.0 / self.start.len() as f64,
            per_run_last: 1.0 / LAST_LOOK + 1.0 / last,
        })
    }

    /// The candidate's level in one bound; where that is against the start, by how much it lies above the start's inside the
    /// rounds, which a drift of both leaves alone. None while no round of such a bound is complete.
    fn bound(&self, problem: &Problem, log: &Log, index: usize) -> Option<Level> {
        let own = self.own.iter().map(|run| run.bounds[index]);
        let noise = Believed::new(self.noise[index], &log.values(MetricIndex::Bound(index), Candidate::Start));
        if problem.bounds[index].above_start.is_none() {
            return Some(noise.level(own, 1.0));
        }
        let above: Vec<f64> = own.zip(&self.start).map(|(own, start)| own - start.bounds[index]).collect();
        (!above.is_empty()).then(|| noise.level(above.into_iter(), 2.0))
    }

    fn kept(&self, problem: &Problem, bounds: &[Level], gain: Option<Level>) -> Confirmed {
        let interval = |gain: Level| {
            let half = gain.half_width(0.5 * ALPHA);
            Interval { mean: gain.mean, low: gain.mean - half, high: gain.mean + half }
        };
        let held = |(own, bound): (&Level, &Bound)| Held {
            value: own.mean,
            certainty: 1.0 - t_upper((limit(bound) - own.mean) / own.error().max(1e-12), own.freedom),
        };
        let goal = match &problem.goal {
            Goal::Known(values) => values[self.candidate],
            Goal::Measured { .. } => mean(self.own.iter().map(|run| run.goal)),
        };
        Confirmed {
            point: self.candidate,
            gain: gain.map(interval),
            goal,
            bounds: bounds.iter().zip(&problem.bounds).map(held).collect(),
            blocks: self.own.len() as u32,
        }
    }
}
