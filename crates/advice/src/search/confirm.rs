//! The final word on one candidate: fresh blocks of it and the start, and what they show.

use powerband_stats::distribution::{t_upper, t_upper_quantile};
use powerband_stats::{Draws, Purpose};

use crate::{Bound, Confirmed, Goal, Held, Interval, Problem, Told, Who};

/// Blocks after which is looked.
const LOOKS: [usize; 3] = [3, 5, 8];

/// Blocks that a gain may need by what is seen of it; beyond, the candidate is given up early.
const HOPELESS: f64 = 16.0;

/// Chance of keeping any setting wrongly, over all candidates.
const ALPHA: f64 = 0.05;

/// Halvings of [`ALPHA`] from candidate to candidate, at most.
const HALVINGS: i32 = 6;

/// Degrees of freedom that the model's noise counts for.
const PRIOR_FREEDOM: f64 = 4.0;

/// Fresh blocks of one candidate.
#[derive(Debug, Clone)]
pub(super) struct Confirmation {
    pub(super) candidate: usize,
    /// How many candidates came before, plus one.
    number: u32,
    /// Whether it has to be better than the start.
    against_start: bool,
    /// Variance of one run's noise as the model has it, of the goal and of each bound.
    goal_noise: f64,
    bound_noise: Vec<f64>,
    order: Vec<Who>,
    /// The start's goal and bounds in the block under way.
    start: Option<(f64, Vec<f64>)>,
    own: Option<(f64, Vec<f64>)>,
    blocks: Vec<Block>,
}

#[derive(Debug, Clone)]
struct Block {
    /// Of the goals, the candidate's less the start's.
    difference: f64,
    goal: f64,
    bounds: Vec<f64>,
    start_bounds: Vec<f64>,
}

/// How a confirmation stands.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Verdict {
    Open,
    Kept(Confirmed),
    /// Shown to break a bound.
    Refused,
    /// Neither shown after the last look.
    Unproved,
}

/// Mean, standard error and degrees of freedom.
struct Level {
    mean: f64,
    error: f64,
    freedom: f64,
}

impl Level {
    /// Of fresh values whose noise is known beforehand to be about `variance`.
    fn new(values: impl Iterator<Item = f64> + Clone, variance: f64) -> Self {
        let count = values.clone().count() as f64;
        let mean = values.clone().sum::<f64>() / count;
        let within: f64 = values.map(|value| (value - mean) * (value - mean)).sum();
        let freedom = PRIOR_FREEDOM + count - 1.0;
        Self { mean, error: ((PRIOR_FREEDOM * variance + within) / freedom / count).sqrt(), freedom }
    }

    fn half_width(&self, level: f64) -> f64 {
        t_upper_quantile(level, self.freedom) * self.error
    }
}

/// What a level of [`Confirmation::bound`] must not exceed.
fn limit(bound: &Bound) -> f64 {
    bound.above_start.unwrap_or(bound.limit)
}

impl Confirmation {
    pub(super) fn new(
        problem: &Problem,
        candidate: usize,
        number: u32,
        against_start: bool,
        goal_noise: f64,
        bound_noise: Vec<f64>,
    ) -> Self {
        let (order, blocks) = (Vec::new(), Vec::new());
        let (start, own) = (None, None);
        let mut confirmation =
            Self { candidate, number, against_start, goal_noise, bound_noise, order, start, own, blocks };
        confirmation.shuffle(problem.seed);
        confirmation
    }

    fn shuffle(&mut self, seed: u64) {
        self.order = vec![Who::Start, Who::Point(self.candidate)];
        let stream = u64::from(self.number) << 32 | self.blocks.len() as u64;
        Draws::new(seed, Purpose::Order, stream, 1).shuffle(&mut self.order);
    }

    /// The run that is due.
    pub(super) fn next(&self) -> Who {
        self.order.first().copied().unwrap_or(Who::Start)
    }

    /// The block under way, counted from 1.
    pub(super) fn block(&self) -> u32 {
        self.blocks.len() as u32 + 1
    }

    /// Takes what the run that was due brought; a run that brought nothing is repeated.
    pub(super) fn take(&mut self, problem: &Problem, who: Who, told: &Told) {
        if who != self.next() {
            return;
        }
        match (who, told) {
            (Who::Start, Told::Valid { goal, bounds }) => self.start = Some((*goal, bounds.clone())),
            (Who::Point(_), Told::Valid { goal, bounds }) => self.own = Some((*goal, bounds.clone())),
            _ => return,
        }
        self.order.remove(0);
        if !self.order.is_empty() {
            return;
        }
        if let (Some((start, start_bounds)), Some((goal, bounds))) = (self.start.take(), self.own.take()) {
            let (start, goal) = match (&problem.goal, problem.start) {
                (Goal::Known(values), Some(at)) => (values[at], values[self.candidate]),
                (Goal::Known(values), None) => (start, values[self.candidate]),
                (Goal::Measured { .. }, _) => (start, goal),
            };
            self.blocks.push(Block { difference: goal - start, goal, bounds, start_bounds });
        }
        self.shuffle(problem.seed);
    }

    /// Error of one look: the candidate's share of all error, shared by the looks.
    fn level(&self) -> f64 {
        let halvings = i32::try_from(self.number).map_or(HALVINGS, |number| number.min(HALVINGS));
        ALPHA / libm::exp2(f64::from(halvings)) / LOOKS.len() as f64
    }

    /// What the blocks so far show. Only fresh values count: the candidate was chosen by the old ones.
    pub(super) fn verdict(&self, problem: &Problem) -> Verdict {
        let between = !self.order.is_empty() && self.order.len() < 2;
        let blocks = self.blocks.len();
        if between || !LOOKS.contains(&blocks) {
            return Verdict::Open;
        }
        let level = self.level();
        let bounds: Vec<Level> = (0..problem.bounds.len()).map(|index| self.bound(problem, index)).collect();
        let pairs = || bounds.iter().zip(&problem.bounds).map(|(own, bound)| (own, limit(bound)));
        if pairs().any(|(own, limit)| own.mean - own.half_width(level) > limit) {
            return Verdict::Refused;
        }
        let gain = Level::new(self.blocks.iter().map(|block| block.difference), 2.0 * self.goal_noise);
        let gains = gain.mean + gain.half_width(level) < 0.0;
        let holds = pairs().all(|(own, limit)| own.mean + own.half_width(level) <= limit);
        if holds && (gains || !self.against_start) {
            return Verdict::Kept(self.kept(problem, &bounds, &gain));
        }
        // What cannot be shown in twice the blocks there are is not waited for.
        let blocks_needed = blocks as f64 * (gain.half_width(level) / gain.mean) * (gain.half_width(level) / gain.mean);
        let futile = self.against_start && (gain.mean >= 0.0 || blocks_needed > HOPELESS);
        if futile || LOOKS.last() == Some(&blocks) { Verdict::Unproved } else { Verdict::Open }
    }

    /// The candidate's level in one bound; where that is against the start, by how much it lies above the start's inside the
    /// blocks.
    fn bound(&self, problem: &Problem, index: usize) -> Level {
        let noise = self.bound_noise[index];
        let own = self.blocks.iter().map(|block| block.bounds[index]);
        if problem.bounds[index].above_start.is_none() {
            return Level::new(own, noise);
        }
        let above = self.blocks.iter().map(|block| block.bounds[index] - block.start_bounds[index]);
        Level::new(above, 2.0 * noise)
    }

    fn kept(&self, problem: &Problem, bounds: &[Level], gain: &Level) -> Confirmed {
        let half = gain.half_width(0.5 * ALPHA);
        let gain = Some(Interval { mean: gain.mean, low: gain.mean - half, high: gain.mean + half });
        let held = |(own, bound): (&Level, &Bound)| Held {
            value: own.mean,
            certainty: 1.0 - t_upper((limit(bound) - own.mean) / own.error.max(1e-12), own.freedom),
        };
        Confirmed {
            point: self.candidate,
            gain,
            goal: self.blocks.iter().map(|block| block.goal).sum::<f64>() / self.blocks.len() as f64,
            bounds: bounds.iter().zip(&problem.bounds).map(held).collect(),
            blocks: self.blocks.len() as u32,
        }
    }
}
