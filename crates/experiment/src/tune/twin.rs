//! The machine's physical twin beside a search: which knobs and metrics its laws are about, and how far it can be trusted.
use powerband_advice::twin::{Law, Twin, TwinRoles};
use powerband_advice::{Metric as Modelled, Problem};
use powerband_record::{Better, Relation, SearchPlan, SearchRole, SearchTwin, unit_of};

/// The twin of what is searched; none where it has no clock, no delay, or no metric with a law.
pub(super) fn twin(plan: &SearchPlan, problem: &Problem) -> Option<Twin> {
    let at = |role: SearchRole| {
        // Two knobs of one kind, on two machines say, are no single clock.
        let mut of_role = plan.factors.iter().enumerate().filter(|(_, factor)| factor.role == Some(role));
        of_role.next().map(|(at, _)| at).filter(|_| of_role.next().is_none())
    };
    let goal = &plan.goal;
    let watts = unit_of(&goal.name) == "W" && goal.better == Better::Lower && goal.known.is_empty();
    let tail = |limit: &powerband_record::Requirement| {
        let us_per_unit = us_per(unit_of(&limit.metric)).filter(|_| limit.relation == Relation::AtMost)?;
        Some(Law::Tail { us_per_unit })
    };
    let roles = TwinRoles {
        freq: at(SearchRole::ClockKhz),
        rx_usecs: at(SearchRole::DelayUs),
        goal: watts.then_some(Law::Watts),
        bounds: plan.requirements.iter().map(tail).collect(),
    };
    Twin::new(problem, &roles)
}

/// Microseconds in a unit of short times; of seconds are not, which jobs take and no answer does.
fn us_per(unit: &str) -> Option<f64> {
    match unit {
        "ns" => Some(1e-3),
        "us" => Some(1.0),
        "ms" => Some(1e3),
        _ => None,
    }
}

/// How far it can be trusted, for each metric that has been tested.
pub(super) fn trust(twin: &Twin, plan: &SearchPlan) -> Vec<SearchTwin> {
    let goal = (plan.goal.name.clone(), Modelled::Goal);
    let bounds = plan.requirements.iter().enumerate().map(|(at, limit)| (limit.metric.clone(), Modelled::Bound(at)));
    let told = |(metric, modelled): (String, Modelled)| {
        let trust = twin.trust(modelled)?;
        Some(SearchTwin {
            metric,
            tried: u32::try_from(trust.tried).unwrap_or(u32::MAX),
            error_laws: libm::expm1(trust.twin.median),
            error_model: libm::expm1(trust.process.median),
            error_both: libm::expm1(trust.both.median),
            used: trust.used,
            reliable: trust.reliable,
        })
    };
    std::iter::once(goal).chain(bounds).filter_map(told).collect()
}
