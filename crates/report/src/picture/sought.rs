//! What a search sought, and what trials and settings come to in it.
use powerband_record::{Better, SearchPlan, unit_of};

use crate::level::interval;
use crate::sentence::{headline, missed};
use crate::words::titled;
use crate::{Model, SearchReport, TrialValues};

/// What is sought, and what trials and settings come to in it.
pub(super) struct Sought<'a> {
    pub(super) model: &'a Model,
    pub(super) plan: &'a SearchPlan,
}

impl Sought<'_> {
    pub(super) fn place(&self, metric: &str) -> Option<usize> {
        self.model.started.metrics.iter().position(|known| known.name == metric)
    }

    /// A knob's own value at a setting, where that is sought.
    fn known(&self, setting: u32) -> Option<f64> {
        let goal = &self.plan.goal;
        let place = (setting as usize).checked_sub(1);
        place.map_or(goal.found, |place| goal.known.get(place).copied())
    }

    /// The goal in a trial.
    pub(super) fn goal_of(&self, trial: &TrialValues) -> Option<f64> {
        match self.place(&self.plan.goal.name) {
            Some(place) => *trial.values.get(place)?,
            None => self.known(trial.setting),
        }
    }

    /// The goal at a setting, over its trials, with its interval.
    pub(super) fn goal_at(&self, setting: u32) -> Option<(f64, Option<(f64, f64)>)> {
        let Some(place) = self.place(&self.plan.goal.name) else {
            let tried = self.model.values.iter().any(|trial| trial.setting == setting);
            return self.known(setting).filter(|_| tried).map(|value| (value, None));
        };
        let level = self.model.settings.get(setting as usize)?.levels.get(place)?.as_ref()?;
        level.typical.is_finite().then(|| (level.typical, interval(level)))
    }

    /// Whether values keep every limit, those against the reference included; a value that is missing breaks none.
    pub(super) fn keeps(&self, value: &dyn Fn(usize) -> Option<f64>) -> bool {
        self.plan.requirements.iter().all(|required| {
            let Some(place) = self.place(&required.metric) else { return true };
            let reference = || Some(self.model.settings.first()?.levels.get(place)?.as_ref()?.typical);
            let limit = if required.relative {
                reference().map(|it| it * (1.0 + required.limit))
            } else {
                Some(required.limit)
            };
            value(place).zip(limit).is_none_or(|(value, limit)| required.relation.holds(value, limit))
        })
    }

    /// Whether a setting's typical values keep every limit.
    pub(super) fn keeps_at(&self, setting: u32) -> bool {
        let levels = self.model.settings.get(setting as usize).map(|report| &report.levels);
        self.keeps(&|place| Some(levels?.get(place)?.as_ref()?.typical))
    }

    /// The answer, or the best guess: absent = the baseline, or nothing yet.
    pub(super) fn answer(&self) -> Option<u32> {
        match self.model.search.as_ref()? {
            SearchReport::Found(finding) => finding.setting,
            SearchReport::Stands(standing) => standing.setting,
        }
    }

    pub(super) fn unit(&self) -> &'static str {
        unit_of(&self.plan.goal.name)
    }

    pub(super) fn titled(&self) -> String {
        let named = self.model.started.metrics.iter().find(|metric| metric.name == self.plan.goal.name);
        named.map_or_else(|| self.plan.goal.name.clone(), titled)
    }

    pub(super) fn better(&self, one: f64, other: f64) -> bool {
        if self.plan.goal.better == Better::Lower { one < other } else { one > other }
    }

    /// What the search says of itself: its finding, and how sure it is that nothing was missed.
    pub(super) fn certificate(&self) -> String {
        let missed = missed(self.model).map(|missed| format!(" ({missed})"));
        let found = headline(self.model);
        // The words to type stand with the verdict.
        let found = found.split("; type: ").next().unwrap_or_default();
        format!("{found}{}.", missed.unwrap_or_default())
    }
}
