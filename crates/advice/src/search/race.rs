//! A few settings raced in blocks, without a model.

use std::collections::BTreeMap;

use powerband_stats::distribution::{t_upper, t_upper_quantile};
use powerband_stats::{Draws, Purpose};

use super::log::{Log, closest};
use crate::{
    Bound, Candidate, Confirmed, Goal, Held, Interval, Observation, Problem, SearchConclusion, UndecidedReason,
};

/// The first block after which is looked.
const FIRST_LOOK: usize = 3;

/// The last.
const LAST_LOOK: usize = 12;

/// Chance of any wrong decision.
const ALPHA: f64 = 0.05;

/// A setting that can be better by no more than this (logarithm) is not waited for.
const INDIFFERENT: f64 = 0.01;

/// A gain that is not shown yet is waited for while the chance that it ever is exceeds this.
const HOPELESS: f64 = 0.1;

/// Standard deviations of one run's noise that are believed beforehand, of the goal and of bounds.
const GOAL_NOISE: f64 = 0.005;
const BOUND_NOISE: f64 = 0.02;

/// Degrees of freedom that they count for: few, so that three blocks outweigh a belief that is wrong.
const PRIOR_FREEDOM: f64 = 1.0;

/// Values of a run: the goal, and behind it the bounds.
type Row = Vec<f64>;

/// A race under way.
#[derive(Debug, Clone)]
pub(super) struct Race {
    /// Who is still in, the start first.
    still: Vec<Candidate>,
    contenders: usize,
    rows: BTreeMap<Candidate, Vec<Row>>,
    order: Vec<Candidate>,
    blocks: usize,
    start_out: bool,
    short: bool,
}

/// Pooled noise of each metric: standard deviation and degrees of freedom.
struct Noise {
    sd: Row,
    freedom: f64,
}

impl Race {
    pub(super) fn new(problem: &Problem, points: &[usize]) -> Self {
        let still: Vec<Candidate> =
            std::iter::once(Candidate::Start).chain(points.iter().map(|point| Candidate::Point(*point))).collect();
        let mut race = Self {
            contenders: still.len(),
            still,
            rows: BTreeMap::new(),
            order: Vec::new(),
            blocks: 0,
            start_out: false,
            short: false,
        };
        race.shuffle(problem.seed);
        race
    }

    fn shuffle(&mut self, seed: u64) {
        self.order = self.still.clone();
        Draws::new(seed, Purpose::Order, self.blocks as u64, 2).shuffle(&mut self.order);
    }

    pub(super) fn block(&self) -> u32 {
        self.blocks as u32 + 1
    }

    pub(super) fn next(&self) -> Candidate {
        self.order.first().copied().unwrap_or(Candidate::Start)
    }

    /// No runs are left: it decides by its complete blocks, at the look that it had after them.
    pub(super) fn stop(&mut self) {
        self.short = true;
        if self.blocks >= FIRST_LOOK {
            self.rows.values_mut().for_each(|rows| rows.truncate(self.blocks));
        }
    }

    /// As if it had not been stopped.
    pub(super) fn resumed(&self) -> Race {
        Race { short: false, ..self.clone() }
    }

    /// Takes what the run that was due brought. A setting that is removed leaves; a run that failed is repeated.
    pub(super) fn take(&mut self, problem: &Problem, log: &Log, candidate: Candidate, observation: &Observation) {
        if candidate != self.next() {
            return;
        }
        let removed = matches!(candidate, Candidate::Point(point) if log.is_removed(point));
        match observation {
            Observation::Valid { goal, bounds } => {
                let goal = match (&problem.goal, candidate, problem.start) {
                    (Goal::Known(values), Candidate::Point(point), _)
                    | (Goal::Known(values), Candidate::Start, Some(point)) => values[point],
                    _ => *goal,
                };
                self.rows.entry(candidate).or_default().push([&[goal], bounds.as_slice()].concat());
            }
            Observation::Refused | Observation::Failed if removed => self.leave(candidate),
            Observation::Refused | Observation::Failed => return,
        }
        self.order.retain(|other| *other != candidate);
        if self.order.is_empty() {
            self.blocks += 1;
            self.drop_the_lost(problem);
            self.shuffle(problem.seed);
        }
    }

    fn leave(&mut self, candidate: Candidate) {
        self.still.retain(|other| *other != candidate);
        self.start_out |= candidate == Candidate::Start;
    }

    fn mean(&self, candidate: Candidate, metric: usize) -> f64 {
        let rows = self.rows.get(&candidate).map_or(&[][..], Vec::as_slice);
        rows.iter().map(|row| row[metric]).sum::<f64>() / rows.len() as f64
    }

    /// Within-setting noise pooled over all settings measured, those that left included.
    fn noise(&self, problem: &Problem) -> Noise {
        let prior = |metric: usize| match metric.checked_sub(1) {
            None if matches!(problem.goal, Goal::Known(_)) => 0.0,
            None => problem.noise.goal.unwrap_or(GOAL_NOISE),
            Some(bound) => problem.noise.bounds.get(bound).copied().flatten().unwrap_or(BOUND_NOISE),
        };
        let freedom = PRIOR_FREEDOM + self.rows.values().map(|rows| rows.len() as f64 - 1.0).sum::<f64>();
        let sd = |metric: usize| {
            let within = self.rows.iter().map(|(candidate, rows)| {
                let mean = self.mean(*candidate, metric);
                rows.iter().map(|row| (row[metric] - mean) * (row[metric] - mean)).sum::<f64>()
            });
            ((PRIOR_FREEDOM * prior(metric) * prior(metric) + within.sum::<f64>()) / freedom).sqrt()
        };
        Noise { sd: (0..=problem.bounds.len()).map(sd).collect(), freedom }
    }

    fn quantile(&self, noise: &Noise) -> f64 {
        self.quantile_at(self.blocks, 0.5, noise)
    }

    /// Quantile of a look, where `part` of a contender's error is at stake: half of the error belongs to the last, the nine
    /// before share the other.
    fn quantile_at(&self, blocks: usize, part: f64, noise: &Noise) -> f64 {
        let share = if blocks >= LAST_LOOK { 0.5 } else { 0.5 / (LAST_LOOK - FIRST_LOOK) as f64 };
        t_upper_quantile(ALPHA * part / self.contenders as f64 * share, noise.freedom)
    }

    /// By how much a setting exceeds a bound, and of how many settings' runs that is a difference.
    fn excess(&self, bound: &Bound, candidate: Candidate, index: usize) -> (f64, f64) {
        match bound.above_start {
            None => (self.mean(candidate, index + 1) - bound.limit, 1.0),
            Some(above) if candidate == Candidate::Start => (-above, 0.0),
            Some(above) => (self.mean(candidate, index + 1) - self.mean(Candidate::Start, index + 1) - above, 2.0),
        }
    }

    /// Whether every bound is shown to be kept.
    fn is_sure(&self, problem: &Problem, noise: &Noise, candidate: Candidate) -> bool {
        let width = self.quantile(noise) / (self.blocks as f64).sqrt();
        let mut bounds = problem.bounds.iter().enumerate();
        bounds.all(|(index, bound)| {
            let (excess, runs) = self.excess(bound, candidate, index);
            excess + width * noise.sd[index + 1] * runs.sqrt() <= 0.0
        })
    }

    fn is_out(&self, problem: &Problem, noise: &Noise, candidate: Candidate) -> bool {
        let width = self.quantile(noise) / (self.blocks as f64).sqrt();
        let mut bounds = problem.bounds.iter().enumerate();
        bounds.any(|(index, bound)| {
            let (excess, runs) = self.excess(bound, candidate, index);
            excess - width * noise.sd[index + 1] * runs.sqrt() > 0.0
        })
    }

    /// Uncertainty of the difference of two settings' goals.
    fn between(&self, noise: &Noise) -> f64 {
        self.quantile(noise) * noise.sd[0] * (2.0 / self.blocks as f64).sqrt()
    }

    /// By how much the start must be dearer than a setting that surely keeps the bounds. What that proof was allowed to err is
    /// free again once it is made (Bretz et al. 2009), so that all of the setting's error is left for the gain.
    fn gain_shown(&self, blocks: usize, noise: &Noise) -> f64 {
        self.quantile_at(blocks, 1.0, noise) * noise.sd[0] * (2.0 / blocks as f64).sqrt()
    }

    /// The cheapest setting still in that surely keeps the bounds.
    fn cheapest_sure(&self, problem: &Problem, noise: &Noise) -> Option<Candidate> {
        let sure = self.still.iter().filter(|candidate| self.is_sure(problem, noise, **candidate));
        let sure = sure.filter(|candidate| **candidate != Candidate::Start || !self.start_out);
        sure.min_by(|a, b| self.mean(**a, 0).total_cmp(&self.mean(**b, 0))).copied()
    }

    /// After a look: settings that break a bound or are shown to be dearer leave. The start stays for comparison.
    fn drop_the_lost(&mut self, problem: &Problem) {
        if self.blocks < FIRST_LOOK {
            return;
        }
        let noise = self.noise(problem);
        self.start_out |= self.still.contains(&Candidate::Start) && self.is_out(problem, &noise, Candidate::Start);
        let bar = self.cheapest_sure(problem, &noise).map(|candidate| self.mean(candidate, 0) + self.between(&noise));
        let lost = |candidate: &Candidate| {
            self.is_out(problem, &noise, *candidate) || bar.is_some_and(|bar| self.mean(*candidate, 0) > bar)
        };
        let lost: Vec<Candidate> =
            self.still.iter().filter(|candidate| **candidate != Candidate::Start && lost(candidate)).copied().collect();
        self.still.retain(|candidate| !lost.contains(candidate));
    }

    /// The race's end, once there is one.
    pub(super) fn end(&self, problem: &Problem) -> Option<SearchConclusion> {
        let complete = self.order.len() == self.still.len();
        if self.blocks < FIRST_LOOK || !(complete || self.short) {
            let undecided =
                || SearchConclusion::Undecided { why: UndecidedReason::Time, best_guess: self.best_guess(problem) };
            return self.short.then(undecided);
        }
        let noise = self.noise(problem);
        let last = self.short || self.blocks >= LAST_LOOK;
        let settings = || self.still.iter().filter(|candidate| **candidate != Candidate::Start || !self.start_out);
        let Some(best) = self.cheapest_sure(problem, &noise) else {
            if settings().next().is_none() {
                return Some(SearchConclusion::NoneKeepsTheBound { closest: self.closest(problem) });
            }
            let why = if self.blocks >= LAST_LOOK { UndecidedReason::NotShown } else { UndecidedReason::Time };
            return last.then(|| SearchConclusion::Undecided { why, best_guess: self.best_guess(problem) });
        };
        let open = settings().any(|candidate| *candidate != best && self.may_be_cheaper(&noise, *candidate, best))
            || best != Candidate::Start && self.may_be_shown(&noise, best);
        (last || !open).then(|| self.conclude(problem, &noise, best))
    }

    /// Whether a gain over the start is not shown yet and has a chance to be at the last look.
    fn may_be_shown(&self, noise: &Noise, best: Candidate) -> bool {
        if self.start_out || !self.still.contains(&Candidate::Start) {
            return false;
        }
        let gain = self.mean(Candidate::Start, 0) - self.mean(best, 0);
        let chance = t_upper_quantile(HOPELESS, noise.freedom) * noise.sd[0] * (2.0 / self.blocks as f64).sqrt();
        gain <= self.gain_shown(self.blocks, noise) && gain + chance > self.gain_shown(LAST_LOOK, noise)
    }

    /// Whether a setting can still be cheaper than another by what is waited for.
    fn may_be_cheaper(&self, noise: &Noise, candidate: Candidate, than: Candidate) -> bool {
        self.mean(candidate, 0) < self.mean(than, 0) + self.between(noise) - INDIFFERENT
    }

    /// Whether the start is the answer: it surely keeps the bounds, and nothing still in can be cheaper.
    /// What could not be shown to keep them is no proof that nothing does.
    fn is_start_best(&self, problem: &Problem, noise: &Noise) -> bool {
        let others = || self.still.iter().filter(|candidate| **candidate != Candidate::Start);
        self.is_sure(problem, noise, Candidate::Start)
            && !others().any(|candidate| self.may_be_cheaper(noise, *candidate, Candidate::Start))
    }

    fn conclude(&self, problem: &Problem, noise: &Noise, best: Candidate) -> SearchConclusion {
        let start = self.still.contains(&Candidate::Start).then(|| self.mean(Candidate::Start, 0));
        let difference = start.map(|start| self.mean(best, 0) - start);
        let shown = self.start_out
            || difference.is_some_and(|difference| difference + self.gain_shown(self.blocks, noise) < 0.0);
        let Some(point) = shown.then_some(best).and_then(Candidate::point) else {
            return if self.is_start_best(problem, noise) {
                SearchConclusion::StartIsBest { certificate: None }
            } else {
                SearchConclusion::Undecided { why: UndecidedReason::NotShown, best_guess: self.best_guess(problem) }
            };
        };
        let count = self.blocks as f64;
        // The same blocks have chosen it from all of them and ended the race (Bonferroni).
        let chosen = t_upper_quantile(0.5 * ALPHA / (self.contenders + 1) as f64, noise.freedom);
        let half = chosen * noise.sd[0] * (2.0 / count).sqrt();
        let held = |(index, bound): (usize, &Bound)| {
            let (excess, runs) = self.excess(bound, best, index);
            let error = noise.sd[index + 1] * (runs / count).sqrt();
            let value = excess + bound.above_start.unwrap_or(bound.limit);
            Held { value, certainty: 1.0 - t_upper(-excess / error.max(1e-12), noise.freedom) }
        };
        SearchConclusion::Confirmed(Confirmed {
            point,
            gain: difference.map(|mean| Interval { mean, low: mean - half, high: mean + half }),
            goal: self.mean(best, 0),
            bounds: problem.bounds.iter().enumerate().map(held).collect(),
            blocks: self.blocks as u32,
        })
    }

    /// The cheapest that seems to keep the bounds; none where that is the start, or nothing is known of it.
    fn best_guess(&self, problem: &Problem) -> Option<usize> {
        if !self.start_out && !self.rows.contains_key(&Candidate::Start) {
            return None;
        }
        let measured = self.still.iter().filter(|candidate| self.rows.contains_key(candidate));
        let keeps = |candidate: &Candidate| {
            problem.bounds.iter().enumerate().all(|(index, b)| self.excess(b, *candidate, index).0 <= 0.0)
        };
        let best = measured
            .filter(|candidate| keeps(candidate))
            .min_by(|a, b| self.mean(**a, 0).total_cmp(&self.mean(**b, 0)));
        best.and_then(|candidate| candidate.point())
    }

    /// The setting that comes closest to the bounds; none where that is the start.
    fn closest(&self, problem: &Problem) -> Option<usize> {
        closest(self.rows.keys().copied(), |candidate| {
            problem.bounds.iter().enumerate().map(move |(index, bound)| self.excess(bound, candidate, index).0)
        })
    }

    /// The provisional answer: the cheapest sure setting, its goal and bounds with 90 % intervals.
    pub(super) fn standing(&self, problem: &Problem) -> (Option<usize>, Option<Interval>, Vec<Option<Interval>>) {
        let noise = self.noise(problem);
        let looked = self.blocks >= FIRST_LOOK;
        let candidate = looked.then(|| self.cheapest_sure(problem, &noise)).flatten().unwrap_or(Candidate::Start);
        let interval = |metric: usize| {
            let count = self.rows.get(&candidate)?.len() as f64;
            let (mean, half) =
                (self.mean(candidate, metric), t_upper_quantile(0.05, noise.freedom) * noise.sd[metric] / count.sqrt());
            Some(Interval { mean, low: mean - half, high: mean + half })
        };
        (candidate.point(), interval(0), (1..=problem.bounds.len()).map(interval).collect())
    }
}
