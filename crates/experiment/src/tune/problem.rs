//! From what a journal says is searched to the problem that is solved: logarithms, smaller is better.
use powerband_advice::{Bound, Factor, FactorKind, Goal, Prior, Problem, RunNoise, Space};
use powerband_record::{Better, SearchFactorKind, SearchPlan, Started};

use crate::search::kept_by;

/// The problem a search solves.
pub(super) fn problem(started: &Started, plan: &SearchPlan) -> Problem {
    let factors = plan.factors.iter().map(|factor| Factor {
        name: factor.name.clone(),
        kind: match &factor.kind {
            SearchFactorKind::Numbers(values) => FactorKind::Number(values.clone()),
            SearchFactorKind::Names(names) => FactorKind::Names(names.len()),
            SearchFactorKind::Category(names) => FactorKind::Category(names.len()),
        },
        switch_s: factor.switch_s,
    });
    let trends = |metric: &str, better: Better| -> Vec<f64> {
        let slope = |it: &powerband_record::SearchFactor| it.trends.get(metric).copied().unwrap_or(0.0);
        plan.factors.iter().map(|factor| signed(better, slope(factor))).collect()
    };
    let goal = &plan.goal;
    let bound = |limit: &powerband_record::Requirement| Bound {
        limit: if limit.relative { 0.0 } else { signed(kept_by(limit), libm::log(limit.limit)) },
        above_start: limit.relative.then(|| signed(kept_by(limit), libm::log1p(limit.limit))),
        trends: trends(&limit.metric, kept_by(limit)),
        prior: Prior::tail(),
    };
    Problem {
        space: Space { factors: factors.collect(), points: plan.points.clone() },
        start: plan.found_at.and_then(|at| (at as usize).checked_sub(1)),
        goal: if goal.known.is_empty() {
            Goal::Measured { trends: trends(&goal.name, goal.better), prior: Prior::watts() }
        } else {
            Goal::Known(goal.known.iter().map(|&value| signed(goal.better, libm::log(value))).collect())
        },
        bounds: plan.requirements.iter().map(bound).collect(),
        safe: plan.safe,
        seed: started.seed,
        noise: RunNoise {
            goal: plan.noise.get(&goal.name).copied(),
            bounds: plan.requirements.iter().map(|limit| plan.noise.get(&limit.metric).copied()).collect(),
        },
    }
}

/// A logarithm such that smaller is better.
pub(super) fn signed(better: Better, value: f64) -> f64 {
    match better {
        Better::Lower => value,
        Better::Higher => -value,
    }
}
