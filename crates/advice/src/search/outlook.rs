//! What the models say of every setting: which is best so far, what each promises, and which to run next.

use std::collections::BTreeSet;

use powerband_stats::distribution::normal_upper;

use super::EXPECTED_LOSS;
use super::cost::Cost;
use super::log::Log;
use super::models::{Models, Surface};
use crate::{Certificate, Goal, Metric, Problem, Who};

/// Probability of keeping the bounds from which a tried setting can be the provisional answer.
const SURE: f64 = 0.95;

/// Probability of keeping the bounds from which a tried setting is worth confirming.
const WORTH_CONFIRMING: f64 = 0.90;

/// Below this probability of keeping the bounds the start is taken to break them.
const BREAKS: f64 = 0.05;

/// Runs of one setting while looking for others.
const REPEATS: usize = 6;

/// Probability of keeping the widened bounds that a safe search asks for.
const SAFE: f64 = 0.9;

/// Untried settings that a certificate looks at.
const CERTIFIED: usize = 60;

/// Joint draws of a certificate.
const DRAWS: usize = 256;

/// Standard deviations of a run's noise that the last look of a confirmation can just show as a difference.
const QUIET: f64 = 1.5;

/// A loss that a certificate names the chance of.
const LARGE_LOSS: f64 = 0.05;

/// What one setting promises.
#[derive(Debug, Clone)]
struct Entry {
    point: usize,
    runs: usize,
    goal_mean: f64,
    goal_measured: bool,
    keeps: f64,
    keeps_widened: f64,
    improvement: f64,
    /// By how much the mean exceeds the worst bound.
    excess: f64,
    /// Share of the least sure bound's uncertainty that one more run would take away.
    open: f64,
}

/// All of them.
#[derive(Debug, Clone)]
pub(super) struct Outlook {
    entries: Vec<Entry>,
    /// The best setting that very probably keeps the bounds; none means the start.
    pub(super) incumbent: Option<usize>,
    /// Its goal, which others must come below.
    best: f64,
    /// Whether the start breaks a bound, so that cheaper than the start is no longer asked for.
    pub(super) start_breaks: bool,
    /// Whether a setting whose confirmation failed still looks better than the start.
    pub(super) tested_better: bool,
    /// What an answer's goal must lie below, so that it is worth telling from the start.
    bar: Option<f64>,
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
        points: impl Iterator<Item = usize>,
        tested: &BTreeSet<usize>,
    ) -> Self {
        let tried = log.tried();
        let entry = |point| Entry::new(problem, models, log, point, tried.contains(&point));
        let mut entries: Vec<Entry> = points.map(entry).collect();
        let start = start_goal(problem, log);
        let start_breaks = start.is_none() || start_keeps(problem, models, log) < BREAKS;
        let start = start.filter(|_| !start_breaks);
        let bar = start.map(|start| start - noteworthy(models));
        let eligible =
            entries.iter().filter(|entry| entry.is_answer() && entry.keeps >= SURE && !tested.contains(&entry.point));
        let eligible = eligible.filter(|entry| bar.is_none_or(|bar| entry.goal_mean < bar));
        let incumbent = eligible.min_by(|a, b| a.goal_mean.total_cmp(&b.goal_mean));
        let largest = || entries.iter().map(|entry| entry.goal_mean).fold(f64::NEG_INFINITY, f64::max);
        let best = incumbent.map(|entry| entry.goal_mean).or(start).unwrap_or_else(largest);
        let incumbent = incumbent.map(|entry| entry.point);
        for entry in &mut entries {
            if entry.runs == 0 {
                entry.improvement = models.goal.predict(entry.point).improvement(best);
            }
        }
        let better = |entry: &Entry| bar.is_none_or(|bar| entry.goal_mean < bar);
        let tested_better = entries.iter().any(|entry| tested.contains(&entry.point) && better(entry));
        entries.retain(|entry| !tested.contains(&entry.point));
        Self { entries, incumbent, best, start_breaks, tested_better, bar }
    }

    /// The run that promises most for its time, and what it promises; of equals the one with the lowest index. A safe
    /// search goes only where the bounds are very probably not exceeded by much, or where that is least improbable.
    pub(super) fn choose(&self, problem: &Problem, cost: &Cost) -> Option<Choice> {
        let mut allowed: Vec<&Entry> = self.entries.iter().filter(|entry| entry.runs == 0).collect();
        let mut is_step = false;
        if problem.safe.is_some() {
            let safe: Vec<&Entry> = allowed.iter().copied().filter(|entry| entry.keeps_widened >= SAFE).collect();
            if safe.is_empty() {
                let order =
                    |a: &&&Entry, b: &&&Entry| a.keeps_widened.total_cmp(&b.keeps_widened).then(b.point.cmp(&a.point));
                allowed = allowed.iter().max_by(order).map(|entry| vec![*entry]).unwrap_or_default();
            } else {
                is_step = true;
                allowed = safe;
            }
        }
        let again = self
            .entries
            .iter()
            .filter(|entry| entry.is_answer() && entry.runs < REPEATS && Some(entry.point) != self.incumbent);
        let worth = |entry: &Entry| {
            if entry.runs == 0 {
                entry.improvement * entry.keeps
            } else {
                (self.best - entry.goal_mean).max(0.0) * entry.keeps * entry.open
            }
        };
        let rate = |entry: &Entry| worth(entry) / cost.of(&problem.space, problem.start, Who::Point(entry.point));
        let all: Vec<&Entry> = allowed.into_iter().chain(again).collect();
        let most = all.iter().map(|entry| worth(entry)).fold(0.0, f64::max);
        // Where nothing promises anything any more, the cheapest is the one nearest to what does.
        let order = |a: &(f64, &Entry), b: &(f64, &Entry)| {
            let cheaper = || b.1.goal_mean.total_cmp(&a.1.goal_mean);
            a.0.total_cmp(&b.0).then_with(cheaper).then(b.1.point.cmp(&a.1.point))
        };
        let chosen = all.into_iter().map(|entry| (rate(entry), entry)).max_by(order);
        chosen.map(|(_, entry)| Choice { point: entry.point, worth: most, is_step })
    }

    /// What may have been missed by an answer, none being the start: from joint draws over the settings that promise most and
    /// all that were tried.
    pub(super) fn certificate(
        &self,
        answer: Option<usize>,
        problem: &Problem,
        models: &Models,
        seed: u64,
    ) -> Certificate {
        let mut order: Vec<&Entry> = self.entries.iter().filter(|entry| entry.runs == 0).collect();
        order.sort_by(|a, b| (b.improvement * b.keeps).total_cmp(&(a.improvement * a.keeps)));
        order.truncate(CERTIFIED);
        let tried = self.entries.iter().filter(|entry| entry.runs > 0);
        let points: Vec<usize> = order.into_iter().chain(tried).map(|entry| entry.point).collect();
        let draws = |index: u64, surface: &Surface| surface.draws(&points, DRAWS, seed.wrapping_add(index << 32));
        let goals = draws(0, &models.goal);
        let bounds: Vec<_> = (1..).zip(&models.bounds).map(|(index, surface)| draws(index, surface)).collect();
        let own = answer.and_then(|point| points.iter().position(|other| *other == point));
        let regret = |draw: usize| {
            let keeps = |at: usize| (0..bounds.len()).all(|b| bounds[b][draw][at] <= problem.bounds[b].limit);
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

    /// Tried settings worth confirming, cheapest first.
    pub(super) fn worth_confirming(&self) -> Vec<usize> {
        let bar = self.bar;
        let good = |entry: &&Entry| {
            entry.is_answer() && entry.keeps >= WORTH_CONFIRMING && bar.is_none_or(|bar| entry.goal_mean < bar)
        };
        let mut list: Vec<&Entry> = self.entries.iter().filter(good).collect();
        list.sort_by(|a, b| a.goal_mean.total_cmp(&b.goal_mean));
        list.into_iter().map(|entry| entry.point).collect()
    }

    /// The tried setting that exceeds its worst bound by least.
    pub(super) fn closest(&self) -> Option<usize> {
        let tried = self.entries.iter().filter(|entry| entry.runs > 0);
        tried.min_by(|a, b| a.excess.total_cmp(&b.excess)).map(|entry| entry.point)
    }

    /// The three cheapest tried settings that rather keep the bounds than not.
    pub(super) fn leaders(&self) -> Vec<usize> {
        let mut tried: Vec<&Entry> = self.entries.iter().filter(|entry| entry.runs > 0 && entry.keeps >= 0.5).collect();
        tried.sort_by(|a, b| a.goal_mean.total_cmp(&b.goal_mean));
        tried.into_iter().take(3).map(|entry| entry.point).collect()
    }
}

impl Entry {
    fn new(problem: &Problem, models: &Models, log: &Log, point: usize, tried: bool) -> Self {
        let who = Who::Point(point);
        let (mut keeps, mut keeps_widened, mut least, mut open) = (1.0, 1.0, f64::INFINITY, 0.0);
        let mut excess = f64::NEG_INFINITY;
        let slack = problem.safe.map_or(0.0, libm::log1p);
        for (bound, surface) in problem.bounds.iter().zip(&models.bounds) {
            let prediction = surface.predict(point);
            let below = prediction.below(bound.limit);
            keeps *= below;
            excess = excess.max(prediction.mean() - bound.limit);
            keeps_widened *= if problem.safe.is_some() { prediction.below(bound.limit + slack) } else { 1.0 };
            if tried && below < least {
                let variance = prediction.variance();
                (least, open) = (below, variance / (variance + surface.noise_variance()));
            }
        }
        let goal_measured = tried && (matches!(problem.goal, Goal::Known(_)) || log.mean(Metric::Goal, who).is_some());
        Self {
            point,
            runs: if tried { log.runs_of(who) } else { 0 },
            goal_mean: models.goal.predict(point).mean(),
            goal_measured,
            keeps,
            keeps_widened,
            improvement: 0.0,
            excess,
            open,
        }
    }

    /// Whether it was measured, so that it can be an answer.
    fn is_answer(&self) -> bool {
        self.runs > 0 && self.goal_measured
    }
}

/// The least saving (logarithm) worth telling from the start: what a certificate lets pass as a loss, or less where runs
/// are so quiet that blocks can show less.
fn noteworthy(models: &Models) -> f64 {
    (QUIET * models.goal.noise_variance().sqrt()).min(EXPECTED_LOSS)
}

/// The start's goal: known where it is a point of known value, else the mean of its runs.
pub(super) fn start_goal(problem: &Problem, log: &Log) -> Option<f64> {
    match (&problem.goal, problem.start) {
        (Goal::Known(values), Some(start)) => Some(values[start]),
        _ => log.mean(Metric::Goal, Who::Start),
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
        let runs = log.runs_of(Who::Start).max(1) as f64;
        let Some(mean) = log.mean(Metric::Bound(index), Who::Start) else { return 0.0 };
        normal_upper((mean - bound.limit) / (surface.noise_variance() / runs).sqrt().max(1e-12))
    });
    each.product()
}
