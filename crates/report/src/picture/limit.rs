//! What a search sought against what it must keep: a point for each setting that was tried, and the limit.
use powerband_record::{LimitSide, format_number};

use super::mark::Orientation;
use super::palette::{BAD, INK, PLAIN, Shape};
use super::plane::{Panel, Rule, Series, Spot};
use super::scale::Reach;
use super::sought::Sought;
use super::{Caption, Picture, cells, told_with};
use crate::level::interval;
use crate::words::titled;

/// Labels next to points, up to so many settings.
const LABELLED: usize = 12;
/// Longest label next to a point of many, bytes.
const SHORT: usize = 24;

/// The goal against the first metric that is limited, a point for each setting that was tried.
pub(super) fn picture(sought: &Sought) -> Option<Picture> {
    let model = sought.model;
    let required = sought.plan.requirements.first().filter(|required| required.metric != sought.plan.goal.name)?;
    let place = sought.place(&required.metric)?;
    let metric = model.started.metrics.get(place)?;
    let tried: Vec<u32> = model.shown().into_iter().filter_map(|setting| u32::try_from(setting).ok()).collect();
    let named = |setting: u32, label: &str| {
        let marked = setting == 0 || sought.answer() == Some(setting);
        // Long labels are alike where they are cut.
        marked || tried.len() <= LABELLED && label.len() <= SHORT
    };
    let (mut table, mut spots) = (Vec::new(), Vec::new());
    for setting in tried.iter().copied() {
        let level = model.settings.get(setting as usize).and_then(|report| report.levels.get(place)?.as_ref());
        let level = level.filter(|it| it.typical.is_finite());
        let Some((level, (goal, around))) = level.zip(sought.goal_at(setting)) else { continue };
        let label = model.label(setting);
        let goal_told = told_with(goal, around, sought.unit());
        let numbers = cells(goal, around).into_iter().chain(cells(level.typical, interval(level)));
        table.push([label.clone()].into_iter().chain(numbers).collect());
        spots.push(Spot {
            x: level.typical,
            y: goal,
            interval: around,
            across: interval(level),
            setting: Some(setting),
            told: format!(
                "{label}: {} {goal_told}, {} {}",
                sought.plan.goal.name,
                metric.name,
                format_number(level.typical)
            ),
            beside: named(setting, &label).then(|| label.clone()),
            label: Some(label),
            ringed: sought.answer() == Some(setting),
            ..Spot::default()
        });
    }
    if table.len() < 2 {
        return None;
    }
    let of = |wanted: &dyn Fn(u32) -> bool| spots.iter().filter(|it| it.setting.is_some_and(wanted)).cloned().collect();
    let mut all = vec![
        Series::apart(&model.label(0), INK, Shape::Diamond, of(&|setting| setting == 0)),
        Series::apart(
            "keeps the limits",
            PLAIN,
            Shape::Circle,
            of(&|setting| setting != 0 && sought.keeps_at(setting)),
        ),
        Series::apart("breaks a limit", BAD, Shape::Cross, of(&|setting| setting != 0 && !sought.keeps_at(setting))),
    ];
    all.retain(|series| !series.spots.is_empty());
    let side = if required.relation == LimitSide::AtMost { "at most" } else { "at least" };
    let label = format!("{side} {}", format_number(required.limit));
    let rule = Rule { way: Orientation::Across, value: required.limit, label };
    let goal = &sought.plan.goal.name;
    let title = format!("{goal} against {}, which has a limit", metric.name);
    let answer = sought.answer().map(|setting| format!(" The ring is around {}.", model.label(setting)));
    let desc = format!(
        "{goal} and {} of {} settings that were tried; to be kept: {required}.{}",
        metric.name,
        table.len(),
        answer.unwrap_or_default()
    );
    let mut panel = Panel::of((Reach::Values, titled(metric)), (Reach::Values, sought.titled()), all, 240.0);
    if !required.relative {
        panel.rules.push(rule);
    }
    let columns = ["setting", goal.as_str(), "low", "high", metric.name.as_str(), "low", "high"];
    panel.hung(Caption { id: "search-limit".into(), title, desc }, &columns, table)
}
