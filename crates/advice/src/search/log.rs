//! Everything a search was told, in order, and what each setting's runs come to.

use std::collections::{BTreeMap, BTreeSet};

use crate::{Bound, Candidate, Data, MetricIndex, Observation, Problem};

/// A setting whose work failed so often is removed.
const FAILURES: u32 = 2;

/// Runs of the start that may fail in a row.
const START_FAILURES: u32 = 3;

/// One run that brought something.
#[derive(Debug, Clone)]
struct Run {
    candidate: Candidate,
    goal: f64,
    bounds: Vec<f64>,
}

/// What was told.
#[derive(Debug, Clone, Default)]
pub(super) struct Log {
    runs: Vec<Run>,
    removed: BTreeSet<usize>,
    failures: BTreeMap<Candidate, u32>,
}

impl Log {
    /// Takes what a run brought.
    pub(super) fn take(&mut self, candidate: Candidate, observation: &Observation) {
        match observation {
            Observation::Valid { goal, bounds } => {
                self.failures.remove(&candidate);
                self.runs.push(Run { candidate, goal: *goal, bounds: bounds.clone() });
            }
            Observation::Refused => self.remove(candidate),
            Observation::Failed => {
                let failures = self.failures.entry(candidate).or_default();
                *failures += 1;
                if *failures >= FAILURES {
                    self.remove(candidate);
                }
            }
        }
    }

    fn remove(&mut self, candidate: Candidate) {
        if let Candidate::Point(point) = candidate {
            self.removed.insert(point);
        }
    }

    /// Whether `point` was refused or its work keeps failing.
    pub(super) fn is_removed(&self, point: usize) -> bool {
        self.removed.contains(&point)
    }

    /// Whether the start's runs fail again and again.
    pub(super) fn start_fails(&self) -> bool {
        self.failures.get(&Candidate::Start).is_some_and(|failures| *failures >= START_FAILURES)
    }

    /// Runs that brought something.
    pub(super) fn runs(&self) -> usize {
        self.runs.len()
    }

    /// Runs of `candidate` that brought something.
    pub(super) fn runs_of(&self, candidate: Candidate) -> usize {
        self.runs.iter().filter(|run| run.candidate == candidate).count()
    }

    /// Points with a run that brought something, ascending.
    pub(super) fn tried(&self) -> BTreeSet<usize> {
        let point = |run: &Run| run.candidate.point();
        self.runs.iter().filter_map(point).collect()
    }

    /// Values of `metric` at `candidate`, in order.
    pub(super) fn values(&self, metric: MetricIndex, candidate: Candidate) -> Vec<f64> {
        self.runs.iter().filter(|run| run.candidate == candidate).filter_map(|run| run.value(metric)).collect()
    }

    /// Mean of `metric` at `candidate`.
    pub(super) fn mean(&self, metric: MetricIndex, candidate: Candidate) -> Option<f64> {
        let values = self.values(metric, candidate);
        (!values.is_empty()).then(|| values.iter().sum::<f64>() / values.len() as f64)
    }

    /// By how much the runs of `candidate` exceed a bound on average; infinite where they did not measure it.
    pub(super) fn excess(&self, (index, bound): (usize, &Bound), candidate: Candidate) -> f64 {
        match bound.above_start {
            Some(above) if candidate == Candidate::Start => -above,
            _ => self.mean(MetricIndex::Bound(index), candidate).map_or(f64::INFINITY, |mean| mean - bound.limit),
        }
    }

    /// What a process of `metric` is fitted to.
    pub(super) fn data(&self, metric: MetricIndex, problem: &Problem) -> Data {
        let mut data = Data::default();
        data.add(problem.start, &self.values(metric, Candidate::Start));
        for point in self.tried() {
            data.add(Some(point), &self.values(metric, Candidate::Point(point)));
        }
        data
    }
}

/// The candidate that exceeds its worst bound by least, and of equals all its bounds together by least: nothing measured is
/// closer to one bound and as close to the others. None where that is the start.
pub(super) fn closest<E: Iterator<Item = f64>>(
    candidates: impl Iterator<Item = Candidate>,
    excesses: impl Fn(Candidate) -> E,
) -> Option<usize> {
    let over = |candidate: Candidate| {
        excesses(candidate).fold((f64::NEG_INFINITY, 0.0), |(worst, all), it| (it.max(worst), all + it.max(0.0)))
    };
    let order = |(a, _): &((f64, f64), Candidate), (b, _): &((f64, f64), Candidate)| {
        a.0.total_cmp(&b.0).then(a.1.total_cmp(&b.1))
    };
    candidates.map(|it| (over(it), it)).min_by(order).and_then(|(_, candidate)| candidate.point())
}

impl Run {
    fn value(&self, metric: MetricIndex) -> Option<f64> {
        match metric {
            MetricIndex::Goal => Some(self.goal),
            MetricIndex::Bound(index) => self.bounds.get(index).copied(),
        }
    }
}
