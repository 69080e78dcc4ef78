//! The models of all metrics, fitted to what was told.

use std::panic::resume_unwind;
use std::sync::Arc;
use std::thread;

use super::log::Log;
use crate::process::normal_quantile;
use crate::{Candidate, Coordinates, Goal, Interval, LevelPrediction, MetricIndex, Prior, Problem, Process};

/// What is known of one metric over the space.
#[derive(Debug, Clone)]
pub(super) enum Surface {
    Known(Vec<f64>),
    Modelled(Box<Process>),
}

/// The goal and the bounds.
#[derive(Debug, Clone)]
pub(super) struct Models {
    pub(super) goal: Surface,
    pub(super) bounds: Vec<Surface>,
}

impl Surface {
    pub(super) fn predict(&self, point: usize) -> LevelPrediction {
        match self {
            Self::Known(values) => LevelPrediction::known(values[point]),
            Self::Modelled(process) => process.predict(point),
        }
    }

    pub(super) fn predict_all(&self, points: &[usize]) -> Vec<LevelPrediction> {
        match self {
            Self::Known(values) => points.iter().map(|point| LevelPrediction::known(values[*point])).collect(),
            Self::Modelled(process) => process.predict_all(points),
        }
    }

    /// What is believed of a point before anything was measured.
    pub(super) fn prior_mean(&self, point: usize) -> f64 {
        match self {
            Self::Known(values) => values[point],
            Self::Modelled(process) => process.prior_mean(point),
        }
    }

    pub(super) fn draws(&self, points: &[usize], count: usize, seed: u64) -> Vec<Vec<f64>> {
        match self {
            Self::Known(values) => vec![points.iter().map(|point| values[*point]).collect(); count],
            Self::Modelled(process) => process.draws(points, count, seed),
        }
    }

    /// Variance of one run's noise at a level.
    pub(super) fn noise_variance(&self, level: f64) -> f64 {
        match self {
            Self::Known(_) => 0.0,
            Self::Modelled(process) => process.noise_variance(level),
        }
    }

    /// The same as a geometric mean over the hyperparameters.
    pub(super) fn typical_noise_variance(&self, level: f64) -> f64 {
        match self {
            Self::Known(_) => 0.0,
            Self::Modelled(process) => process.typical_noise_variance(level),
        }
    }

    /// 90 % interval at a point.
    pub(super) fn interval(&self, point: usize) -> Interval {
        let prediction = self.predict(point);
        let (mean, half) = (prediction.mean(), normal_quantile(0.95) * prediction.variance().sqrt());
        Interval { mean, low: mean - half, high: mean + half }
    }
}

impl Models {
    /// Fits all metrics to the log; `before` are the models of an earlier state of it.
    pub(super) fn fit(problem: &Problem, coordinates: &Arc<Coordinates>, log: &Log, before: Option<&Self>) -> Self {
        let one = |metric, prior: &Prior, trends: &[f64], noise: Option<f64>, before: Option<&Surface>| {
            let prior = prior.calibrated(noise);
            let mean = prior.mean(log.mean(metric, Candidate::Start).unwrap_or_default(), trends);
            let before = if let Some(Surface::Modelled(process)) = before { Some(&**process) } else { None };
            let data = log.data(metric, problem);
            Surface::Modelled(Box::new(Process::refit(coordinates, &prior, &mean, &data, before)))
        };
        let bound = |index: usize| {
            let bound = &problem.bounds[index];
            let noise = problem.noise.bounds.get(index).copied().flatten();
            let before = before.and_then(|models| models.bounds.get(index));
            one(MetricIndex::Bound(index), &bound.prior, &bound.trends, noise, before)
        };
        let goal = || match &problem.goal {
            Goal::Known(values) => Surface::Known(values.clone()),
            Goal::Measured { trends, prior } => {
                one(MetricIndex::Goal, prior, trends, problem.noise.goal, before.map(|models| &models.goal))
            }
        };
        let (goal, bounds) = side_by_side(goal, bound, problem.bounds.len());
        Self { goal, bounds }
    }

    /// What `of` makes of the goal (0) and of each bound (1 on).
    pub(super) fn each<T: Send>(&self, of: impl Fn(u64, &Surface) -> T + Sync) -> (T, Vec<T>) {
        let bound = |index: usize| of(index as u64 + 1, &self.bounds[index]);
        side_by_side(|| of(0, &self.goal), bound, self.bounds.len())
    }
}

/// The goal's and the bounds', each in a thread of its own: metrics do not depend on one another, and nothing is measured
/// while a search thinks.
fn side_by_side<T: Send>(goal: impl FnOnce() -> T, bound: impl Fn(usize) -> T + Sync, bounds: usize) -> (T, Vec<T>) {
    thread::scope(|scope| {
        let bound = &bound;
        let threads: Vec<_> = (0..bounds).map(|index| scope.spawn(move || bound(index))).collect();
        let goal = goal();
        let joined = |it: thread::ScopedJoinHandle<'_, T>| it.join().unwrap_or_else(|panic| resume_unwind(panic));
        (goal, threads.into_iter().map(joined).collect())
    })
}
