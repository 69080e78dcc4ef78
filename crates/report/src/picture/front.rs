//! Two judged metrics against each other: which settings no other beats on both.
use powerband_record::{Better, Level, Metric, unit_of};

use super::palette::{GOOD, INK, PLAIN, Shape};
use super::plane::{Panel, Series, Spot};
use super::scale::Reach;
use super::{Caption, Picture, cells, told};
use crate::Model;
use crate::labels::join_labels;
use crate::level::{interval, levels};
use crate::words::titled;

/// Labels next to points, up to so many settings; of more only the best have one.
const LABELLED: usize = 12;
/// Intervals of all, up to so many settings; of more only the best and the reference have theirs, as no other could be seen.
const CROSSED: usize = 30;
/// Pairs that are drawn.
const PAIRS: usize = 3;

/// A setting's two levels.
type Both<'a> = (u32, &'a Level, &'a Level);

/// A picture for each pair of judged metrics, the first three.
pub(super) fn pictures(model: &Model) -> Vec<Picture> {
    let judged: Vec<(usize, &Metric)> = model.judged().collect();
    let pairs =
        judged.iter().enumerate().flat_map(|(at, one)| judged[at + 1..].iter().map(move |other| (*one, *other)));
    pairs.take(PAIRS).filter_map(|(one, other)| picture(model, one, other)).collect()
}

fn picture(model: &Model, x: (usize, &Metric), y: (usize, &Metric)) -> Option<Picture> {
    let others = levels(model, y.0);
    let both: Vec<Both> = levels(model, x.0)
        .into_iter()
        .filter(|(setting, _)| model.failed(*setting).is_none())
        .filter_map(|(setting, level)| Some((setting, level, others.iter().find(|(other, _)| *other == setting)?.1)))
        .collect();
    if both.len() < 2 {
        return None;
    }
    let best: Vec<bool> =
        both.iter().map(|one| !both.iter().any(|other| beats(other, one, x.1.better, y.1.better))).collect();
    let all = series(model, &both, &best, (x.1, y.1));
    let named: Vec<String> =
        both.iter().zip(&best).filter(|(_, best)| **best).map(|((setting, ..), _)| model.label(*setting)).collect();
    let title = format!("{} against {}", y.1.name, x.1.name);
    let way = |metric: &Metric| {
        format!("{} wanted {}", metric.name, if metric.better == Better::Higher { "high" } else { "low" })
    };
    let desc = format!(
        "{} of {} settings by their typical values ({}, {}): no other setting is ahead of {} in both.{}",
        title,
        both.len(),
        way(x.1),
        way(y.1),
        join_labels(&named, 4),
        if both.len() > CROSSED { " Intervals are drawn for these and the reference." } else { "" }
    );
    let panel = Panel::of((Reach::Values, titled(x.1)), (Reach::Values, titled(y.1)), all, 260.0);
    let table = both.iter().zip(&best).map(|((setting, along, up), best)| {
        let numbers = cells(along.typical, interval(along)).into_iter().chain(cells(up.typical, interval(up)));
        let mark = if *best { "yes" } else { "" };
        [model.label(*setting)].into_iter().chain(numbers).chain([mark.to_owned()]).collect()
    });
    let columns = ["setting", x.1.name.as_str(), "low", "high", y.1.name.as_str(), "low", "high", "on the front"];
    panel.hung(Caption { id: format!("front-{}-{}", x.1.name, y.1.name), title, desc }, &columns, table.collect())
}

/// The reference, the front and the others, those that there are.
fn series(model: &Model, both: &[Both], best: &[bool], (x, y): (&Metric, &Metric)) -> Vec<Series> {
    let few = both.len() <= LABELLED;
    let spot = |((setting, along, up), best): (&Both, &bool)| {
        let label = model.label(*setting);
        let shown = both.len() <= CROSSED || *best || *setting == 0;
        let value =
            |level: &Level, metric: &Metric| format!("{} {}", metric.name, told(level.typical, unit_of(&metric.name)));
        Spot {
            x: along.typical,
            y: up.typical,
            interval: interval(up).filter(|_| shown),
            across: interval(along).filter(|_| shown),
            setting: Some(*setting),
            state: best.then_some("best"),
            told: format!("{label}: {}, {}", value(along, x), value(up, y)),
            beside: (few || *best).then(|| label.clone()),
            label: Some(label),
            ringed: *best,
            ..Spot::default()
        }
    };
    let of = |wanted: &dyn Fn(u32, bool) -> bool| {
        both.iter().zip(best).filter(|(one, best)| wanted(one.0, **best)).map(spot).collect()
    };
    let all = [
        Series::apart("reference", INK, Shape::Diamond, of(&|setting, _| setting == 0)),
        Series::apart("not beaten in both (ringed)", GOOD, Shape::Triangle, of(&|setting, best| setting != 0 && best)),
        Series::apart("others", PLAIN, Shape::Circle, of(&|setting, best| setting != 0 && !best)),
    ];
    all.into_iter().filter(|series| !series.spots.is_empty()).collect()
}

/// Whether one setting is at least as good in both metrics and better in one.
fn beats(one: &Both, other: &Both, x: Better, y: Better) -> bool {
    let ahead = |one: f64, other: f64, better| if better == Better::Higher { one - other } else { other - one };
    let (along, up) = (ahead(one.1.typical, other.1.typical, x), ahead(one.2.typical, other.2.typical, y));
    along >= 0.0 && up >= 0.0 && (along > 0.0 || up > 0.0)
}
