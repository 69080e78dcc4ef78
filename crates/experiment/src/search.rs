//! What a search is asked, from a plan: the goal, the requirements, the space of its settings.
use powerband_load::MetricSpec;
use powerband_record::{Better, InOrder, Metric, Requirement, SearchGoal, SearchPlan, Setting, parse_percent};

use crate::space::Space;
use crate::{Plan, PlanError, Tune};

/// Most settings a search chooses from.
pub(crate) const MAX_SEARCHED: usize = 100_000;

/// A search as asked, before it is known what is measured here.
pub(crate) struct Asked {
    space: Space,
    goal: SearchGoal,
    /// The goal as a metric is typed, where it is measured.
    measured: Option<String>,
    requirements: Vec<Requirement>,
    safe: Option<f64>,
}

impl Asked {
    /// Reads what a plan asks of `settings`, the baseline not among them.
    ///
    /// # Errors
    /// [`PlanError`]: what is asked makes no sense.
    pub(crate) fn of(plan: &Plan, tune: &Tune, settings: &[Setting], space: Space) -> Result<Asked, PlanError> {
        alone(plan)?;
        let (typed, better) = goal(tune)?;
        let requirements = requirements(&plan.require)?;
        let known = space.values(typed, settings)?;
        let (name, measured, known) = match known {
            Some(known) => (typed.to_owned(), None, known),
            None => {
                let spec = MetricSpec::parse(typed)?;
                (spec.metric.name, Some(typed.to_owned()), Vec::new())
            }
        };
        if measured.is_none() && requirements.is_empty() {
            let way = if better == Better::Lower { "least" } else { "most" };
            return Err(search_error(format!(
                "the {way} {name} is known without measuring; add what it must still do, e.g. --require 'real_s<=10'"
            )));
        }
        let safe = tune.safe.as_deref().map(parse_percent).transpose();
        let safe = safe.map_err(|error| PlanError::Quantity { key: "safe", why: error.to_string() })?;
        if safe.is_some() && requirements.is_empty() {
            return Err(search_error(
                "--safe keeps trials near what is required, and nothing is; add --require".into(),
            ));
        }
        Ok(Asked { space, goal: SearchGoal { name, better, known, found: None }, measured, requirements, safe })
    }

    /// The metrics to pick: those of the plan, then those the search is about.
    pub(crate) fn picks(&self, plan: &Plan) -> Result<Vec<String>, PlanError> {
        let mut texts = plan.metrics.clone();
        let mut named: Vec<String> =
            texts.iter().map(|text| Ok(MetricSpec::parse(text)?.metric.name)).collect::<Result<_, PlanError>>()?;
        let goal = self.measured.iter().map(|typed| (self.goal.name.clone(), typed.clone()));
        let limits = self.requirements.iter().map(|it| (it.metric.clone(), it.metric.clone()));
        for (name, typed) in goal.chain(limits) {
            if !named.contains(&name) {
                texts.push(typed);
                named.push(name);
            }
        }
        Ok(texts)
    }

    /// What is searched, and the metrics: those it is about judged and in front, as it sees them.
    pub(crate) fn search(self, mut metrics: Vec<Metric>) -> (SearchPlan, Vec<Metric>) {
        let place = |metric: &Metric| {
            let goal = (metric.name == self.goal.name && self.measured.is_some()).then_some(0);
            goal.or_else(|| Some(1 + self.requirements.iter().position(|it| it.metric == metric.name)?))
        };
        for metric in &mut metrics {
            metric.judged = place(metric).is_some();
            match place(metric) {
                Some(0) => metric.better = self.goal.better,
                Some(place) => metric.better = kept_by(&self.requirements[place - 1]),
                None => {}
            }
        }
        metrics.order_by_key(|metric| place(metric).unwrap_or(usize::MAX));
        let of = self.space.factors(&metrics);
        let found_at = self.space.found_at().and_then(|place| u32::try_from(place + 1).ok());
        let found = if self.measured.is_none() { self.space.found_value(&self.goal.name) } else { None };
        let search = SearchPlan {
            goal: SearchGoal { found, ..self.goal },
            requirements: self.requirements,
            safe: self.safe,
            factors: of.factors,
            points: of.points,
            found_at,
            only_held: self.space.only_held(),
            noise: std::collections::BTreeMap::new(),
        };
        (search, metrics)
    }
}

/// The side of its limit a metric must stay on, as the way that is better.
pub(crate) fn kept_by(requirement: &Requirement) -> Better {
    match requirement.relation {
        powerband_record::LimitSide::AtMost => Better::Lower,
        powerband_record::LimitSide::AtLeast => Better::Higher,
    }
}

/// A search compares with the baseline and seeks no knee.
fn alone(plan: &Plan) -> Result<(), PlanError> {
    let other = [("reference", plan.reference.is_some()), ("knee", plan.knee.is_some()), ("robust", plan.robust)];
    match other.into_iter().find(|(_, there)| *there) {
        Some((key, _)) => Err(search_error(format!(
            "tune does not take '{key}': it starts from the baseline and compares by its own rules; leave it out"
        ))),
        None => Ok(()),
    }
}

fn goal(tune: &Tune) -> Result<(&str, Better), PlanError> {
    match (&tune.minimize, &tune.maximize) {
        (Some(name), None) => Ok((name, Better::Lower)),
        (None, Some(name)) => Ok((name, Better::Higher)),
        _ => Err(search_error("a search has one goal: give --minimize or --maximize a metric or a knob".into())),
    }
}

fn requirements(texts: &[String]) -> Result<Vec<Requirement>, PlanError> {
    let all: Vec<Requirement> = texts.iter().map(|text| Requirement::parse(text)).collect::<Result<_, _>>()?;
    for (place, one) in all.iter().enumerate() {
        if one.limit <= 0.0 && !one.relative {
            return Err(search_error(format!("{one}: tune compares by ratios, so a limit must be above 0")));
        }
        if all[..place].iter().any(|other| other.metric == one.metric) {
            return Err(search_error(format!("{} is required twice; give it one limit", one.metric)));
        }
    }
    Ok(all)
}

fn search_error(why: String) -> PlanError {
    PlanError::Search(why)
}
