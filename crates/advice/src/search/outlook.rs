//! What the models say of every setting: which is best so far, what each promises, and which to run next.

use std::collections::BTreeSet;

use powerband_stats::distribution::normal_upper;

use super::cost::Cost;
use super::holes::Holes;
use super::log::{Log, closest};
use super::models::{Models, Surface};
use crate::{Candidate, Certificate, Goal, LevelPrediction, MetricIndex, Problem, Unproved};

/// Standard deviations of one run by which a setting must keep a bound so that some eight fresh runs can show it.
const PROVABLE_SD: f64 = 1.0;

/// Chance of being provable from which a tried setting can be the provisional answer, and from which it is worth
/// confirming where the search must end without one.
const SURE: f64 = 0.8;
const LIKELY: f64 = 0.5;

/// Below this probability of keeping the bounds the start is taken to break them.
const BREAKS: f64 = 0.05;

/// Runs of one setting while looking for others.
const REPEATS: usize = 4;

/// Probability of keeping the widened bounds that a safe search asks for.
const SAFE: f64 = 0.95;

/// Probability of keeping the bounds from which a setting that cannot be proved is worth naming.
const NAMED: f64 = 0.2;

/// Settings that are named.
const NAMED_AT_MOST: usize = 3;

/// Untried settings that a certificate looks at: those with the largest expected gain, and those most likely to be better
/// by a large share.
const BY_GAIN: usize = 90;
const BY_CHANCE: usize = 60;

/// Expected gain (logarithm), and chance, of a setting that a certificate need not look at: of hundreds of them together they
/// are a small part of what it lets pass.
const NEGLIGIBLE: f64 = 1e-5;

/// Added to the chance of keeping the bounds where a test of the model is chosen: bounds are modelled too.
const MAY_KEEP: f64 = 0.05;

/// By how much dearer than the best (logarithm) a setting is e times less worth a test.
const FAR_DEARER: f64 = 0.5;

/// Joint draws of a certificate.
const DRAWS: usize = 400;

/// Least saving (logarithm) that is looked for.
const NOTEWORTHY: f64 = 0.01;

/// Noise of a run of the goal (standard deviation) beyond which a certificate does not become more lenient.
const MAX_NOISE: f64 = 0.10;

/// A loss that a certificate names the chance of, and the chance that it lets pass.
const LARGE_LOSS: f64 = 0.05;
pub(super) const CHANCE: f64 = 0.05;

/// Runs of the incumbent's margin to a bound, in a run's noise, below which its confirmation needs more runs; and runs that
/// are kept for a confirmation: of an ample margin, of each step of a smaller one, and of a candidate that is only likely.
const CLOSE_SD: f64 = 2.0;
const RESERVE: f64 = 4.0;
const RESERVE_STEP: f64 = 2.0;
const RESERVE_STEPS: f64 = 3.0;
const RESERVE_LIKELY: u32 = 6;

/// What one setting promises.
#[derive(Debug, Clone)]
struct Entry {
    point: usize,
    runs: usize,
    goal: LevelPrediction,
    goal_mean: f64,
    goal_measured: bool,
    /// Chance of keeping the bounds, and of keeping them by so much that it can be shown.
    keeps: f64,
    provable: f64,
    keeps_widened: f64,
    improvement: f64,
    /// Chance of being better than the best by a large share.
    large: f64,
    /// Share of the least sure bound's uncertainty that one more run would take away.
    open: f64,
}

/// All of them.
#[derive(Debug, Clone)]
pub(super) struct Outlook {
    entries: Vec<Entry>,
    /// Settings that look better than the answer and cannot be shown to keep the bounds.
    given_up: Vec<Entry>,
    /// The best setting that very probably keeps the bounds; none means the start.
    pub(super) incumbent: Option<usize>,
    /// Its goal, which others must come below.
    pub(super) best: f64,
    /// Whether the start breaks a bound, so that cheaper than the start is no longer asked for.
    pub(super) start_breaks: bool,
    /// What an answer's goal must lie below, so that it is worth telling from the start.
    bar: Option<f64>,
    /// Standard deviation of one run's goal.
    pub(super) goal_noise: f64,
}

/// A run worth making.
#[derive(Debug, Clone, Copy)]
pub(super) struct Choice {
    pub(super) point: usize,
    /// Expected improvement by it, not divided by its cost.
    pub(super) worth: f64,
    /// Whether it is a safe search's safe step: worth making even where it promises nothing, because what lies behind is
    /// reached by steps that save nothing themselves.
    pub(super) is_step: bool,
}

impl Outlook {
    /// Looks at `points`, the start not among them; `tested` are those whose confirmation failed.
    pub(super) fn new(
        problem: &Problem,
        models: &Models,
        log: &Log,
        points: &[usize],
        tested: &BTreeSet<usize>,
    ) -> Self {
        let (mut given_up, mut entries): (Vec<Entry>, Vec<Entry>) =
            Entry::all(problem, models, log, points).partition(|entry| tested.contains(&entry.point));
        let start = start_goal(problem, log);
        let start_breaks = start.is_none() || start_keeps(problem, models, log) < BREAKS;
        let start = start.filter(|_| !start_breaks);
        let goal_noise = models.goal.noise_variance(start.unwrap_or_default()).sqrt();
        let start_runs = log.runs_of(Candidate::Start).max(1) as f64;
        let bar = start.map(|start| start - NOTEWORTHY - goal_noise / start_runs.sqrt());
        let eligible = entries.iter().filter(|entry| entry.is_answer() && entry.provable >= SURE);
        let eligible = eligible.filter(|entry| bar.is_none_or(|bar| entry.goal_mean < bar));
        let incumbent = eligible.min_by(|a, b| a.goal_mean.total_cmp(&b.goal_mean));
        let largest = || entries.iter().map(|entry| entry.goal_mean).fold(f64::NEG_INFINITY, f64::max);
        let best = incumbent.map(|entry| entry.goal_mean).or(start).unwrap_or_else(largest);
        let incumbent = incumbent.map(|entry| entry.point);
        // Run so often and still open: more runs would not show it either.
        let gives_up = |entry: &mut Entry| {
            let better = entry.goal_mean < best && Some(entry.point) != incumbent;
            entry.runs >= REPEATS && better && entry.provable < SURE
        };
        given_up.extend(entries.extract_if(.., gives_up));
        for entry in entries.iter_mut().filter(|entry| entry.runs == 0) {
            let goal = &entry.goal;
            (entry.improvement, entry.large) = (goal.improvement(best), goal.below(best - LARGE_LOSS));
        }
        Self { entries, given_up, incumbent, best, start_breaks, bar, goal_noise }
    }

    /// The run that promises most for its time, and what it promises; of equals the one with the lowest index. A safe
    /// search goes only where the bounds are very probably not exceeded by much, or where that is least improbable.
    pub(super) fn choose(&self, problem: &Problem, cost: &Cost) -> Option<Choice> {
        let (allowed, is_step) = self.allowed(problem);
        let again = self
            .entries
            .iter()
            .filter(|entry| entry.is_answer() && entry.runs < REPEATS && Some(entry.point) != self.incumbent);
        let rate =
            |entry: &Entry| self.worth(entry) / cost.of(&problem.space, problem.start, Candidate::Point(entry.point));
        let all: Vec<&Entry> = allowed.into_iter().chain(again).collect();
        let most = all.iter().map(|entry| self.worth(entry)).fold(0.0, f64::max);
        // Where nothing promises anything any more, the cheapest is the one nearest to what does.
        let order = |a: &(f64, &Entry), b: &(f64, &Entry)| {
            let cheaper = || b.1.goal_mean.total_cmp(&a.1.goal_mean);
            a.0.total_cmp(&b.0).then_with(cheaper).then(b.1.point.cmp(&a.1.point))
        };
        let chosen = all.into_iter().map(|entry| (rate(entry), entry)).max_by(order);
        chosen.map(|(_, entry)| Choice { point: entry.point, worth: most, is_step })
    }

    /// Expected improvement by a run.
    fn worth(&self, entry: &Entry) -> f64 {
        if entry.runs == 0 {
            entry.improvement * entry.provable
        } else {
            (self.best - entry.goal_mean).max(0.0) * entry.provable * entry.open
        }
    }

    /// Untried settings that may be tried, and whether they are a safe search's steps.
    fn allowed(&self, problem: &Problem) -> (Vec<&Entry>, bool) {
        let untried: Vec<&Entry> = self.entries.iter().filter(|entry| entry.runs == 0).collect();
        if problem.safe.is_none() {
            return (untried, false);
        }
        let safe: Vec<&Entry> = untried.iter().copied().filter(|entry| entry.keeps_widened >= SAFE).collect();
        if !safe.is_empty() {
            return (safe, true);
        }
        let order = |a: &&Entry, b: &&Entry| a.keeps_widened.total_cmp(&b.keeps_widened).then(b.point.cmp(&a.point));
        (untried.into_iter().max_by(order).into_iter().collect(), false)
    }

    /// The setting that a test of the model should try next, the `number`-th, counted from 0: by turns one far from all that
    /// were tried in a single knob's values too, near the best, and the one in the largest hole. Each among settings that may
    /// keep the bounds.
    pub(super) fn audit(&self, problem: &Problem, number: u32) -> Option<usize> {
        let tried: Vec<usize> =
            self.entries.iter().chain(&self.given_up).filter(|entry| entry.runs > 0).map(|entry| entry.point).collect();
        let holes = Holes::new(&problem.space, &tried);
        let score = |entry: &Entry| {
            let may_keep = entry.keeps + MAY_KEEP;
            if number % 2 == 1 {
                return holes.distance(entry.point) * may_keep;
            }
            let dearer = (entry.goal_mean - self.best).max(0.0);
            let far = holes.distance(entry.point) + holes.gaps(entry.point);
            far * may_keep * libm::exp(-dearer / FAR_DEARER)
        };
        let (allowed, _) = self.allowed(problem);
        let order = |a: &(f64, usize), b: &(f64, usize)| a.0.total_cmp(&b.0).then(b.1.cmp(&a.1));
        allowed.into_iter().map(|entry| (score(entry), entry.point)).max_by(order).map(|(_, point)| point)
    }

    /// Lower limits of the two numbers of a certificate: the largest gain that a single run promises, and the largest chance
    /// of a single setting. While one of them is too large, draws need not be made.
    pub(super) fn may_be_certified(&self) -> bool {
        let gain = self.entries.iter().map(|entry| self.worth(entry)).fold(0.0, f64::max);
        let chance = self.entries.iter().map(|entry| entry.large * entry.provable).fold(0.0, f64::max);
        gain < self.loss_allowed() && chance < CHANCE
    }

    /// The expected loss that a certificate lets pass: what is looked for, or more where runs are so noisy that a look
    /// cannot show less. Where there is no answer yet, what one would have to gain.
    fn loss_allowed(&self) -> f64 {
        let allowed = NOTEWORTHY.max(0.25 * self.goal_noise.min(MAX_NOISE));
        let needed = self.bar.filter(|_| self.incumbent.is_none()).map_or(0.0, |bar| self.best - bar);
        allowed.max(needed.min(MAX_NOISE))
    }

    /// Whether so little may have been missed that the search can end.
    pub(super) fn is_enough(&self, certificate: &Certificate) -> bool {
        certificate.expected_loss < self.loss_allowed() && certificate.chance_5_percent < CHANCE
    }

    /// What may have been missed by an answer, none being the start: from joint draws over the settings that promise most and
    /// all that were tried. It speaks of settings that can be shown to keep the bounds.
    pub(super) fn certificate(
        &self,
        answer: Option<usize>,
        problem: &Problem,
        models: &Models,
        seed: u64,
    ) -> Certificate {
        let largest = |count: usize, key: &dyn Fn(&Entry) -> f64| -> Vec<usize> {
            let counts = |entry: &&Entry| entry.runs == 0 && key(entry) > NEGLIGIBLE;
            let mut order: Vec<&Entry> = self.entries.iter().filter(counts).collect();
            order.sort_by(|a, b| key(b).total_cmp(&key(a)));
            order.into_iter().take(count).map(|entry| entry.point).collect()
        };
        let mut points: BTreeSet<usize> = largest(BY_GAIN, &|entry| self.worth(entry)).into_iter().collect();
        points.extend(largest(BY_CHANCE, &|entry| entry.large * entry.provable));
        points.extend(self.entries.iter().filter(|entry| entry.runs > 0).map(|entry| entry.point));
        // An answer that was confirmed stays in, whatever the model says of it.
        points.extend(answer);
        let points: Vec<usize> = points.into_iter().collect();
        let draws = |index: u64, surface: &Surface| surface.draws(&points, DRAWS, seed.wrapping_add(index << 32));
        let (goals, bounds) = models.each(draws);
        let limits: Vec<f64> = problem
            .bounds
            .iter()
            .zip(&models.bounds)
            .map(|(bound, surface)| provable_limit(bound.limit, surface))
            .collect();
        let own = answer.and_then(|point| points.iter().position(|other| *other == point));
        let regret = |draw: usize| {
            let keeps = |at: usize| (0..bounds.len()).all(|b| bounds[b][draw][at] <= limits[b]);
            let kept = (0..points.len()).filter(|at| keeps(*at)).map(|at| goals[draw][at]);
            let least = kept.fold(f64::INFINITY, f64::min);
            (own.map_or(self.best, |own| goals[draw][own]) - least).max(0.0)
        };
        let regrets: Vec<f64> = (0..DRAWS).map(regret).collect();
        Certificate {
            expected_loss: regrets.iter().sum::<f64>() / DRAWS as f64,
            chance_5_percent: regrets.iter().filter(|regret| **regret > LARGE_LOSS).count() as f64 / DRAWS as f64,
        }
    }

    /// The provisional answer, or where the search must end without one the cheapest tried setting that is rather provable
    /// than not.
    pub(super) fn candidate(&self) -> Option<usize> {
        let bar = self.bar;
        let good = |entry: &&Entry| {
            entry.is_answer() && entry.provable >= LIKELY && bar.is_none_or(|bar| entry.goal_mean < bar)
        };
        let cheapest = || self.entries.iter().filter(good).min_by(|a, b| a.goal_mean.total_cmp(&b.goal_mean));
        self.incumbent.or_else(|| cheapest().map(|entry| entry.point))
    }

    /// Runs that should be left for confirming what there is: more where the bound is close.
    pub(super) fn reserve(&self, problem: &Problem, models: &Models) -> u32 {
        let Some(incumbent) = self.incumbent else {
            return if self.candidate().is_some() { RESERVE_LIKELY } else { 0 };
        };
        let steps = problem.bounds.iter().zip(&models.bounds).map(|(bound, surface)| {
            let room = (bound.limit - surface.predict(incumbent).mean()).max(0.001);
            libm::floor(CLOSE_SD * surface.noise_variance(bound.limit).sqrt() / room)
        });
        (RESERVE + RESERVE_STEP * steps.fold(0.0, f64::max).min(RESERVE_STEPS)) as u32
    }

    /// How much better than the start (logarithm) the provisional answer is; none without one, or where the start breaks
    /// a bound.
    pub(super) fn gain(&self, problem: &Problem, log: &Log) -> Option<f64> {
        self.incumbent.and(start_goal(problem, log)).filter(|_| !self.start_breaks).map(|start| start - self.best)
    }

    /// Settings that may be better than `answer_goal` and are too near a bound to be shown, the largest saving first.
    pub(super) fn unproved(&self, models: &Models, answer_goal: f64) -> Vec<Unproved> {
        let open = self.entries.iter().filter(|entry| entry.is_answer() && entry.provable < LIKELY);
        let listed = self.given_up.iter().filter(|entry| entry.is_answer()).chain(open);
        let mut listed: Vec<&Entry> =
            listed.filter(|entry| entry.keeps >= NAMED && entry.goal_mean < answer_goal - NOTEWORTHY).collect();
        listed.sort_by(|a, b| a.goal_mean.total_cmp(&b.goal_mean).then(a.point.cmp(&b.point)));
        let unproved = |entry: &Entry| Unproved {
            point: entry.point,
            saving: answer_goal - entry.goal_mean,
            bounds: models.bounds.iter().map(|surface| surface.interval(entry.point)).collect(),
        };
        listed.into_iter().take(NAMED_AT_MOST).map(unproved).collect()
    }

    /// The tried setting whose runs come closest to the bounds; none where that is the start.
    pub(super) fn closest(&self, problem: &Problem, log: &Log) -> Option<usize> {
        let tried = self.entries.iter().chain(&self.given_up).filter(|entry| entry.runs > 0);
        let measured = std::iter::once(Candidate::Start).chain(tried.map(|entry| Candidate::Point(entry.point)));
        closest(measured, |candidate| problem.bounds.iter().enumerate().map(move |bound| log.excess(bound, candidate)))
    }

    /// The three cheapest tried settings that may well keep the bounds.
    pub(super) fn leaders(&self) -> Vec<usize> {
        let mut tried: Vec<&Entry> = self.entries.iter().filter(|entry| entry.runs > 0 && entry.keeps >= 0.3).collect();
        tried.sort_by(|a, b| a.goal_mean.total_cmp(&b.goal_mean));
        tried.into_iter().take(3).map(|entry| entry.point).collect()
    }
}

impl Entry {
    /// Of each of `points`.
    fn all(problem: &Problem, models: &Models, log: &Log, points: &[usize]) -> impl Iterator<Item = Self> {
        let tried = log.tried();
        let (goals, bounds) = models.each(|_, surface| surface.predict_all(points));
        let mut bounds: Vec<_> = bounds.into_iter().map(Vec::into_iter).collect();
        points.iter().zip(goals).map(move |(&point, goal)| {
            let levels: Vec<LevelPrediction> = bounds.iter_mut().filter_map(Iterator::next).collect();
            Self::new(problem, models, log, (point, tried.contains(&point)), goal, &levels)
        })
    }

    /// Of one point, and whether it was tried; its goal and the metrics that have bounds are predicted.
    fn new(
        problem: &Problem,
        models: &Models,
        log: &Log,
        (point, tried): (usize, bool),
        goal: LevelPrediction,
        levels: &[LevelPrediction],
    ) -> Self {
        let candidate = Candidate::Point(point);
        let (mut keeps, mut provable, mut keeps_widened) = (1.0, 1.0, 1.0);
        let (mut least, mut open) = (f64::INFINITY, 0.0);
        let slack = problem.safe.map_or(0.0, libm::log1p);
        for ((bound, surface), prediction) in problem.bounds.iter().zip(&models.bounds).zip(levels) {
            let below = prediction.below(provable_limit(bound.limit, surface));
            provable *= below;
            keeps *= prediction.below(bound.limit);
            keeps_widened *= if problem.safe.is_some() { prediction.below(bound.limit + slack) } else { 1.0 };
            if tried && below < least {
                let variance = prediction.variance();
                (least, open) = (below, variance / (variance + surface.noise_variance(prediction.mean())));
            }
        }
        let goal_measured =
            tried && (matches!(problem.goal, Goal::Known(_)) || log.mean(MetricIndex::Goal, candidate).is_some());
        Self {
            point,
            runs: if tried { log.runs_of(candidate) } else { 0 },
            goal_mean: goal.mean(),
            goal,
            goal_measured,
            keeps,
            provable,
            keeps_widened,
            improvement: 0.0,
            large: 0.0,
            open,
        }
    }

    /// Whether it was measured, so that it can be an answer.
    fn is_answer(&self) -> bool {
        self.runs > 0 && self.goal_measured
    }
}

/// The level up to which some eight fresh runs can show that a bound is kept.
fn provable_limit(limit: f64, surface: &Surface) -> f64 {
    limit - PROVABLE_SD * surface.noise_variance(limit).sqrt()
}

/// The start's goal: known where it is a point of known value, else the mean of its runs.
pub(super) fn start_goal(problem: &Problem, log: &Log) -> Option<f64> {
    match (&problem.goal, problem.start) {
        (Goal::Known(values), Some(start)) => Some(values[start]),
        _ => log.mean(MetricIndex::Goal, Candidate::Start),
    }
}

/// Probability that the start keeps all bounds.
fn start_keeps(problem: &Problem, models: &Models, log: &Log) -> f64 {
    let each = problem.bounds.iter().zip(&models.bounds).enumerate().map(|(index, (bound, surface))| {
        if let Some(above) = bound.above_start {
            return if above >= 0.0 { 1.0 } else { 0.0 };
        }
        if let Some(start) = problem.start {
            return surface.predict(start).below(bound.limit);
        }
        let runs = log.runs_of(Candidate::Start).max(1) as f64;
        let Some(mean) = log.mean(MetricIndex::Bound(index), Candidate::Start) else { return 0.0 };
        normal_upper((mean - bound.limit) / (surface.noise_variance(mean) / runs).sqrt().max(1e-12))
    });
    each.product()
}
