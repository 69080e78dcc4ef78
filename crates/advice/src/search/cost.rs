//! What a trial costs: the run, and turning the knobs from where they stand.

use crate::{Candidate, Space};

/// Times told so far.
#[derive(Debug, Clone)]
pub(super) struct Cost {
    runs_s: Vec<f64>,
    /// For each factor the settling times its changes were seen to take.
    switches_s: Vec<Vec<f64>>,
    now: Candidate,
}

/// Run time until one is known: long next to turning a knob, short next to a reboot.
const RUN_S: f64 = 10.0;

impl Cost {
    pub(super) fn new(space: &Space) -> Self {
        Self { runs_s: Vec::new(), switches_s: vec![Vec::new(); space.factors.len()], now: Candidate::Start }
    }

    /// Factors that change between two settings; all, where one is a start that is no point.
    fn changed(space: &Space, start: Option<usize>, from: Candidate, to: Candidate) -> Vec<usize> {
        let point = |candidate: Candidate| candidate.point().or(start);
        match (point(from), point(to)) {
            (Some(from), Some(to)) => space.differing(from, to).collect(),
            (None, None) => Vec::new(),
            _ => (0..space.factors.len()).collect(),
        }
    }

    /// Notes a run. What turning took is shared among the changed knobs as the catalogue expects it of them.
    pub(super) fn note(
        &mut self,
        space: &Space,
        start: Option<usize>,
        candidate: Candidate,
        run_s: f64,
        switch_s: f64,
    ) {
        if run_s.is_finite() && run_s > 0.0 {
            self.runs_s.push(run_s);
        }
        let changed = Self::changed(space, start, self.now, candidate);
        let expected: f64 = changed.iter().map(|factor| space.factors[*factor].switch_s).sum();
        if expected > 0.0 && switch_s.is_finite() && switch_s >= 0.0 {
            for factor in changed {
                self.switches_s[factor].push(switch_s * space.factors[factor].switch_s / expected);
            }
        }
        self.now = candidate;
    }

    /// Expected seconds of a trial of `candidate` from where the knobs stand.
    pub(super) fn of(&self, space: &Space, start: Option<usize>, candidate: Candidate) -> f64 {
        let one = |factor: usize| median(&self.switches_s[factor]).unwrap_or(space.factors[factor].switch_s);
        let switch_s: f64 = Self::changed(space, start, self.now, candidate).into_iter().map(one).sum();
        median(&self.runs_s).unwrap_or(RUN_S) + switch_s
    }
}

fn median(values: &[f64]) -> Option<f64> {
    let mut sorted = values.to_vec();
    sorted.sort_by(f64::total_cmp);
    let upper = *sorted.get(sorted.len() / 2)?;
    let lower = sorted[(sorted.len() - 1) / 2];
    Some(0.5 * (lower + upper))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Factor, FactorKind};

    #[test]
    fn a_far_setting_costs_its_switches_as_measured() {
        let factor = |name: &str, switch_s| Factor { name: name.to_owned(), kind: FactorKind::Names(2), switch_s };
        let points = [[0, 0], [0, 1], [1, 0]].map(|levels| levels.map(Some).to_vec()).to_vec();
        let space = Space { factors: vec![factor("freq", 0.01), factor("kernel", 300.0)], points };
        let mut cost = Cost::new(&space);
        cost.note(&space, Some(0), Candidate::Start, 20.0, 0.0);
        assert_eq!(cost.of(&space, Some(0), Candidate::Point(2)), 20.01);
        assert_eq!(cost.of(&space, Some(0), Candidate::Point(1)), 320.0);
        cost.note(&space, Some(0), Candidate::Point(1), 22.0, 100.0);
        assert_eq!(cost.of(&space, Some(0), Candidate::Start), 121.0);
    }
}
