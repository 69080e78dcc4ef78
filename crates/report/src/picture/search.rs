//! A search: its path trial by trial, what it sought against what it must keep, and the surface it walked on.
use powerband_record::{Better, SearchPlan, format_number, unit_of};

use super::levels::interval;
use super::palette::{BAD, GOOD, INK, PLAIN, Shape};
use super::plane::{Join, Panel, Series, Spot};
use super::scale::Reach;
use super::{Caption, Picture, told};
use crate::{Model, Search, TrialValues};

/// The pictures of a search; none of another experiment.
pub(super) fn pictures(model: &Model) -> Vec<Picture> {
    let Some(plan) = &model.started.search else { return Vec::new() };
    let sought = Sought { model, plan };
    let mut all: Vec<Picture> = path(&sought).into_iter().collect();
    all.extend(super::surface::picture(&sought));
    all.extend(super::limit::picture(&sought));
    all
}

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
    fn goal_of(&self, trial: &TrialValues) -> Option<f64> {
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
    fn keeps(&self, value: &dyn Fn(usize) -> Option<f64>) -> bool {
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

    /// The answer, or the best guess: absent = the machine as found, or nothing yet.
    pub(super) fn answer(&self) -> Option<u32> {
        match self.model.search.as_ref()? {
            Search::Found(finding) => finding.setting,
            Search::Stands(standing) => standing.setting,
        }
    }

    pub(super) fn unit(&self) -> &'static str {
        unit_of(&self.plan.goal.name)
    }

    pub(super) fn titled(&self) -> String {
        let named = self.model.started.metrics.iter().find(|metric| metric.name == self.plan.goal.name);
        named.map_or_else(|| self.plan.goal.name.clone(), super::titled)
    }

    fn better(&self, one: f64, other: f64) -> bool {
        if self.plan.goal.better == Better::Lower { one < other } else { one > other }
    }

    /// What the search says of itself: its finding, and how sure it is that nothing was missed.
    pub(super) fn certificate(&self) -> String {
        let missed = crate::sentence::missed(self.model).map(|missed| format!(" ({missed})"));
        let found = crate::sentence::headline(self.model);
        // The words to type stand with the verdict.
        let found = found.split("; type: ").next().unwrap_or_default();
        format!("{found}{}.", missed.unwrap_or_default())
    }
}

/// The goal in every trial, in running order, and the best that kept the limits so far.
fn path(sought: &Sought) -> Option<Picture> {
    let model = sought.model;
    let (mut kept, mut broken, mut answer) = (Vec::new(), Vec::new(), Vec::new());
    let (mut best, mut table) = (Vec::new(), Vec::new());
    let mut least: Option<f64> = None;
    for trial in &model.values {
        let Some(value) = sought.goal_of(trial).filter(|value| value.is_finite()) else { continue };
        let keeps = sought.keeps(&|place| *trial.values.get(place)?);
        let label = model.label(trial.setting);
        let x = f64::from(trial.trial);
        let state = if keeps { "keeps the limits" } else { "breaks a limit" };
        let told_so = format!("trial {}, {label}: {}, {state}", trial.trial, told(value, sought.unit()));
        let spot = Spot {
            x,
            y: value,
            label: Some(label.clone()),
            setting: Some(trial.setting),
            told: told_so,
            hollow: trial.block == 0,
            ..Spot::default()
        };
        if keeps && trial.block > 0 && least.is_none_or(|least| sought.better(value, least)) {
            least = Some(value);
        }
        best.extend(least.map(|y| Spot { x, y, ..Spot::default() }));
        let so_far = least.map(format_number).unwrap_or_default();
        let keeps_cell = if keeps { "yes" } else { "no" };
        table.push(vec![trial.trial.to_string(), label, format_number(value), keeps_cell.to_owned(), so_far]);
        let list = match (keeps, Some(trial.setting) == sought.answer()) {
            (false, _) => &mut broken,
            (true, true) => &mut answer,
            (true, false) => &mut kept,
        };
        list.push(spot);
    }
    if table.len() < 2 {
        return None;
    }
    let named = sought.answer().map_or_else(|| "the answer".to_owned(), |setting| model.label(setting));
    let mut all = vec![
        Series::apart("best trial so far", INK, Shape::Circle, best),
        Series::apart("keeps the limits", PLAIN, Shape::Circle, kept),
        Series::apart("breaks a limit", BAD, Shape::Cross, broken),
        Series::apart(&named, GOOD, Shape::Triangle, answer),
    ];
    (all[0].join, all[0].pointed) = (Join::Step, false);
    if sought.plan.requirements.is_empty() {
        all[1].label = "trials".to_owned();
    }
    all.retain(|series| !series.spots.is_empty());
    let goal = &sought.plan.goal.name;
    let title = format!("The path of the search: {goal} trial by trial");
    let count = table.len();
    let desc = format!("{goal} in {count} trials, in running order. {}", sought.certificate());
    let x = (Reach::Count, "trial, in running order".to_owned());
    let panel = Panel::of(x, (Reach::Values, sought.titled()), all, 220.0);
    let columns = ["trial", "setting", goal.as_str(), "keeps the limits", "best trial so far"];
    panel.hung(Caption { id: "search-path".into(), title, desc }, &columns, table)
}
