//! A search: its path trial by trial, what it sought against what it must keep, and the surface it walked on.
use powerband_record::format_number;

use super::palette::{BAD, GOOD, INK, PLAIN, Shape};
use super::plane::{Join, Panel, Series, Spot};
use super::scale::Reach;
use super::sought::Sought;
use super::{Caption, Picture, told};
use crate::Model;

/// The pictures of a search; none of another experiment.
pub(super) fn pictures(model: &Model) -> Vec<Picture> {
    let Some(plan) = &model.started.search else { return Vec::new() };
    let sought = Sought { model, plan };
    let mut all: Vec<Picture> = path(&sought).into_iter().collect();
    all.extend(super::surface::picture(&sought));
    all.extend(super::limit::picture(&sought));
    all
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
