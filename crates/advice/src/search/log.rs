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
    goal: Option<f64>,
    bounds: Vec<Option<f64>>,
}

/// What was told.
#[derive(Debug, Clone, Default)]
pub(super) struct Log {
    runs: Vec<Run>,
    removed: BTreeSet<usize>,
    timed_out: BTreeSet<Who>,
    failures: BTreeMap<Who, u32>,
    /// Whether values are shifted by the line through the start's runs.
    pub(super) drifting: bool,
}

impl Log {
    /// Takes what a run brought.
    pub(super) fn take(&mut self, who: Who, told: &Told) {
        match told {
            Told::Valid { goal, bounds } => {
                self.failures.remove(&who);
                let bounds = bounds.iter().map(|value| Some(*value)).collect();
                self.runs.push(Run { who, goal: Some(*goal), bounds });
            }
            Told::TimedOut { bounds } => {
                self.timed_out.insert(who);
                self.runs.push(Run { who, goal: None, bounds: bounds.clone() });
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

    /// Whether a run of `who` was ever cut off.
    pub(super) fn timed_out(&self, who: Who) -> bool {
        self.timed_out.contains(&who)
    }

    /// Whether the start's runs fail again and again.
    pub(super) fn start_fails(&self) -> bool {
        self.failures.get(&Who::Start).is_some_and(|failures| *failures >= START_FAILURES)
    }

    /// Runs that brought something.
    pub(super) fn runs(&self) -> usize {
        self.runs.len()
    }

    /// Runs since the last one of the start.
    pub(super) fn since_start(&self) -> usize {
        self.runs.iter().rev().take_while(|run| run.who != Who::Start).count()
    }

    /// Runs of `who` that brought something.
    pub(super) fn runs_of(&self, who: Who) -> usize {
        self.runs.iter().filter(|run| run.who == who).count()
    }

    /// Points with a run that brought something, ascending.
    pub(super) fn tried(&self) -> BTreeSet<usize> {
        let point = |run: &Run| if let Who::Point(point) = run.who { Some(point) } else { None };
        self.runs.iter().filter_map(point).collect()
    }

    /// Values of `metric` at `who`, in order.
    pub(super) fn values(&self, metric: Metric, who: Who) -> Vec<f64> {
        let slope = if self.drifting { self.slope(metric) } else { 0.0 };
        let runs = self.runs.iter().enumerate().filter(|(_, run)| run.who == who);
        runs.filter_map(|(at, run)| run.value(metric).map(|value| value - slope * at as f64)).collect()
    }

    /// Slope of the line through the start's runs, a run.
    fn slope(&self, metric: Metric) -> f64 {
        let starts = self.runs.iter().enumerate().filter(|(_, run)| run.who == Who::Start);
        let starts: Vec<(f64, f64)> =
            starts.filter_map(|(at, run)| run.value(metric).map(|value| (at as f64, value))).collect();
        let count = starts.len().max(1) as f64;
        let (at, value) =
            (starts.iter().map(|s| s.0).sum::<f64>() / count, starts.iter().map(|s| s.1).sum::<f64>() / count);
        let square: f64 = starts.iter().map(|s| (s.0 - at) * (s.0 - at)).sum();
        let product: f64 = starts.iter().map(|s| (s.0 - at) * (s.1 - value)).sum();
        // Three runs far apart at the least, or the line is the noise of its ends.
        if starts.len() < 3 || square <= 0.0 { 0.0 } else { product / square }
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
            Metric::Goal => self.goal,
            Metric::Bound(index) => self.bounds.get(index).copied().flatten(),
        }
    }
}
