//! Everything a search was told, in order, and what each setting's runs come to.

use std::collections::{BTreeMap, BTreeSet};

use crate::{Data, Metric, Problem, Told, Who};

/// A setting whose work failed so often is removed.
const FAILURES: u32 = 2;

/// Runs of the start that may fail in a row.
const START_FAILURES: u32 = 3;

/// One run that brought something.
#[derive(Debug, Clone)]
struct Run {
    who: Who,
    goal: f64,
    bounds: Vec<f64>,
}

/// What was told.
#[derive(Debug, Clone, Default)]
pub(super) struct Log {
    runs: Vec<Run>,
    removed: BTreeSet<usize>,
    failures: BTreeMap<Who, u32>,
}

impl Log {
    /// Takes what a run brought.
    pub(super) fn take(&mut self, who: Who, told: &Told) {
        match told {
            Told::Valid { goal, bounds } => {
                self.failures.remove(&who);
                self.runs.push(Run { who, goal: *goal, bounds: bounds.clone() });
            }
            Told::Refused => self.remove(who),
            Told::Failed => {
                let failures = self.failures.entry(who).or_default();
                *failures += 1;
                if *failures >= FAILURES {
                    self.remove(who);
                }
            }
        }
    }

    fn remove(&mut self, who: Who) {
        if let Who::Point(point) = who {
            self.removed.insert(point);
        }
    }

    /// Whether `point` was refused or its work keeps failing.
    pub(super) fn is_removed(&self, point: usize) -> bool {
        self.removed.contains(&point)
    }

    /// Whether the start's runs fail again and again.
    pub(super) fn start_fails(&self) -> bool {
        self.failures.get(&Who::Start).is_some_and(|failures| *failures >= START_FAILURES)
    }

    /// Runs that brought something.
    pub(super) fn runs(&self) -> usize {
        self.runs.len()
    }

    /// Runs of `who` that brought something.
    pub(super) fn runs_of(&self, who: Who) -> usize {
        self.runs.iter().filter(|run| run.who == who).count()
    }

    /// Points with a run that brought something, ascending.
    pub(super) fn tried(&self) -> BTreeSet<usize> {
        let point = |run: &Run| run.who.point();
        self.runs.iter().filter_map(point).collect()
    }

    /// Values of `metric` at `who`, in order.
    pub(super) fn values(&self, metric: Metric, who: Who) -> Vec<f64> {
        self.runs.iter().filter(|run| run.who == who).filter_map(|run| run.value(metric)).collect()
    }

    /// Mean of `metric` at `who`.
    pub(super) fn mean(&self, metric: Metric, who: Who) -> Option<f64> {
        let values = self.values(metric, who);
        (!values.is_empty()).then(|| values.iter().sum::<f64>() / values.len() as f64)
    }

    /// What a process of `metric` is fitted to.
    pub(super) fn data(&self, metric: Metric, problem: &Problem) -> Data {
        let mut data = Data::default();
        data.add(problem.start, &self.values(metric, Who::Start));
        for point in self.tried() {
            data.add(Some(point), &self.values(metric, Who::Point(point)));
        }
        data
    }
}

impl Run {
    fn value(&self, metric: Metric) -> Option<f64> {
        match metric {
            Metric::Goal => Some(self.goal),
            Metric::Bound(index) => self.bounds.get(index).copied(),
        }
    }
}
