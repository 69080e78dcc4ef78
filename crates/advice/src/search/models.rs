//! The models of all metrics, fitted to what was told.

use std::sync::Arc;

use super::log::Log;
use crate::process::normal_quantile;
use crate::{Coordinates, Goal, Interval, Metric, Prediction, Prior, Problem, Process, Who};

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
    pub(super) fn predict(&self, point: usize) -> Prediction {
        match self {
            Self::Known(values) => Prediction::known(values[point]),
            Self::Modelled(process) => process.predict(point),
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
            let mean = prior.mean(log.mean(metric, Who::Start).unwrap_or_default(), trends);
            let before = if let Some(Surface::Modelled(process)) = before { Some(&**process) } else { None };
            let data = log.data(metric, problem);
            Surface::Modelled(Box::new(Process::refit(coordinates, &prior, &mean, &data, before)))
        };
        let goal = match &problem.goal {
            Goal::Known(values) => Surface::Known(values.clone()),
            Goal::Measured { trends, prior } => {
                one(Metric::Goal, prior, trends, problem.noise.goal, before.map(|models| &models.goal))
            }
        };
        let bounds = problem.bounds.iter().enumerate().map(|(index, bound)| {
            let noise = problem.noise.bounds.get(index).copied().flatten();
            let before = before.and_then(|models| models.bounds.get(index));
            one(Metric::Bound(index), &bound.prior, &bound.trends, noise, before)
        });
        Self { goal, bounds: bounds.collect() }
    }
}
