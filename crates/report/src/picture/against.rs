//! Metrics against the numeric knob that settings differ in, with intervals, and the knee.
use powerband_record::{Metric, unit_of};

use super::mark::{MarkStyle, Orientation};
use super::palette::GRID;
use super::plane::{Join, Panel, Plane, Rule, Series, Spot};
use super::scale::Reach;
use super::{Caption, Picture, cells, number, told, told_with};
use crate::Model;
use crate::knob_axis::{KnobAxis, knob_axis};
use crate::level::interval;
use crate::words::titled;

/// Values that span more than this are shown by their logarithm.
const WIDE: f64 = 30.0;
/// Metrics that are only shown, in panels of one picture.
const SHOWN: usize = 6;

/// More lines than this would cover one another: each gets a panel.
const OVER: usize = 3;
/// Height of such a panel.
const LOW: f64 = 80.0;

/// A picture for each judged metric, and one of those that are only shown.
pub(super) fn pictures(model: &Model) -> Vec<Picture> {
    let Some(axis) = knob_axis(model).filter(|_| model.started.search.is_none()) else { return Vec::new() };
    let judged = model.judged().filter_map(|(place, metric)| picture(model, &axis, &[(place, metric)]));
    let mut all: Vec<Picture> = judged.collect();
    let shown = model.started.metrics.iter().enumerate().filter(|(place, metric)| {
        let levels = || model.settings.iter().filter_map(|setting| setting.levels.get(*place)?.as_ref());
        // What is the same everywhere, to the digits that are told, shows nothing.
        let moved =
            levels().any(|level| levels().next().is_some_and(|first| number(first.typical) != number(level.typical)));
        !metric.judged && moved
    });
    let shown: Vec<(usize, &Metric)> = shown.take(SHOWN).collect();
    all.extend(picture(model, &axis, &shown));
    all
}

fn picture(model: &Model, axis: &KnobAxis, metrics: &[(usize, &Metric)]) -> Option<Picture> {
    let knee = knee(model, axis).filter(|_| metrics.iter().any(|(_, metric)| metric.judged));
    let lines = lines(axis);
    let last = metrics.len().checked_sub(1)?;
    let panels = metrics.iter().enumerate().map(|(number, (place, metric))| {
        let title = if number == last { axis.title.clone() } else { String::new() };
        panel(model, axis, *place, metric, title, &lines, knee)
    });
    let mut panels: Vec<Panel> = panels.collect();
    let apart = lines.len() > OVER && panels.len() == 1;
    if apart {
        panels = panels.pop().map(parted).unwrap_or_default();
    }
    let mut table = Vec::new();
    for (place, metric) in metrics {
        for (setting, x, line) in &axis.places {
            let Some(level) = model.settings[*setting as usize].levels.get(*place).and_then(Option::as_ref) else {
                continue;
            };
            let head = [metric.name.clone(), model.label(*setting), told(*x, axis.unit), line.clone()];
            table.push(head.into_iter().chain(cells(level.typical, interval(level))).collect());
        }
    }
    let names: Vec<&str> = metrics.iter().map(|(_, metric)| metric.name.as_str()).collect();
    let title = format!("{} against {}", names.join(", "), axis.knob);
    let mut desc = described(model, axis, metrics, knee);
    if apart {
        desc += " Each line has a panel, with the others behind it in grey.";
    }
    let legend = if lines.len() > 1 && !apart {
        panels.first().map(|panel| panel.series.iter().map(Series::key).collect()).unwrap_or_default()
    } else {
        Vec::new()
    };
    let plane = Plane { title: title.clone(), desc: desc.clone(), legend, panels };
    let columns = ["metric", "setting", axis.knob.as_str(), "line", "typical", "low", "high"];
    let id =
        if metrics[0].1.judged { format!("{}-against-knob", metrics[0].1.name) } else { "shown-against-knob".into() };
    Caption { id, title, desc }.hang(plane.draw(), &columns, table)
}

/// A panel for each line of one, all on the same scales, with the other lines behind it in grey.
fn parted(whole: Panel) -> Vec<Panel> {
    let spots = || whole.series.iter().flat_map(|series| &series.spots);
    let ends = |values: &mut dyn Iterator<Item = f64>| {
        values.filter(|it| it.is_finite()).fold((f64::INFINITY, f64::NEG_INFINITY), |(a, b), it| (a.min(it), b.max(it)))
    };
    let ys = &mut spots().flat_map(|spot| [Some(spot.y), spot.interval.map(|it| it.0), spot.interval.map(|it| it.1)]);
    let span = (ends(&mut spots().map(|spot| spot.x)), ends(&mut ys.flatten()));
    let faint = |series: &Series| Series {
        label: String::new(),
        setting: None,
        look: MarkStyle { colour: GRID, dash: "", ..series.look },
        join: Join::Line,
        pointed: false,
        spots: series.spots.iter().map(|spot| Spot { x: spot.x, y: spot.y, ..Spot::default() }).collect(),
    };
    let last = whole.series.len().saturating_sub(1);
    let panel = |own: usize| {
        let others = whole.series.iter().enumerate().filter(|(at, _)| *at != own).map(|(_, series)| faint(series));
        let series: Vec<Series> = others.chain(whole.series.get(own).cloned()).collect();
        let label = series.last().map_or("", |series| series.label.as_str());
        Panel {
            x: (whole.x.0, if own == last { whole.x.1.clone() } else { String::new() }),
            y: (whole.y.0, format!("{label}: {}", whole.y.1)),
            rules: whole.rules.clone(),
            shades: Vec::new(),
            span: Some(span),
            height: LOW,
            series,
        }
    };
    (0..whole.series.len()).map(panel).collect()
}

fn lines(axis: &KnobAxis) -> Vec<String> {
    let mut lines: Vec<String> = Vec::new();
    for (.., line) in &axis.places {
        if !lines.contains(line) {
            lines.push(line.clone());
        }
    }
    lines.sort();
    lines
}

/// The knee and where it lies; whether it is decided.
fn knee(model: &Model, axis: &KnobAxis) -> Option<(u32, f64, bool)> {
    let finding = model.knee.as_ref()?;
    let setting = finding.knee.or(finding.provisional)?;
    let (_, x, _) = axis.places.iter().find(|(known, ..)| *known == setting)?;
    Some((setting, *x, finding.knee.is_some()))
}

fn panel(
    model: &Model,
    axis: &KnobAxis,
    place: usize,
    metric: &Metric,
    title: String,
    lines: &[String],
    knee: Option<(u32, f64, bool)>,
) -> Panel {
    let unit = unit_of(&metric.name);
    let level = |setting: u32| model.settings[setting as usize].levels.get(place)?.as_ref();
    let spot = |(setting, x, _): &(u32, f64, String)| {
        let level = level(*setting).filter(|level| level.typical.is_finite())?;
        let is_knee = knee.is_some_and(|(at, ..)| at == *setting);
        Some(Spot {
            x: *x,
            y: level.typical,
            interval: interval(level),
            label: Some(model.label(*setting)),
            setting: Some(*setting),
            state: is_knee.then_some("knee"),
            told: format!("{}: {}", model.label(*setting), told_with(level.typical, interval(level), unit)),
            ringed: is_knee,
            ..Spot::default()
        })
    };
    let series = lines.iter().enumerate().map(|(at, line)| Series {
        label: line.clone(),
        setting: None,
        look: MarkStyle::of(at),
        join: Join::Line,
        pointed: true,
        spots: axis.places.iter().filter(|(.., of)| of == line).filter_map(spot).collect(),
    });
    let series: Vec<Series> = series.collect();
    let mut rules: Vec<Rule> = knee
        .filter(|_| metric.judged)
        .map(|(_, value, decided)| Rule {
            way: Orientation::Across,
            value,
            label: if decided { "knee".into() } else { "knee?".into() },
        })
        .into_iter()
        .collect();
    // The baseline has no place on the axis, if it is not one of the settings there.
    let off = level(0).filter(|_| axis.places.iter().all(|(setting, ..)| *setting != 0));
    rules.extend(off.map(|level| Rule { way: Orientation::Upright, value: level.typical, label: model.label(0) }));
    let (low, high) =
        axis.places.iter().fold((f64::INFINITY, 0.0_f64), |(low, high), (_, x, _)| (low.min(*x), high.max(*x)));
    let reach = if low > 0.0 && high / low > WIDE { Reach::Log } else { Reach::Values };
    let mut ys: Vec<f64> = series.iter().flat_map(|series| &series.spots).map(|spot| spot.y).collect();
    ys.sort_by(f64::total_cmp);
    let far = ys.first().zip(ys.last()).is_some_and(|(low, high)| *low > 0.0 && high / low > WIDE);
    let y = if far { Reach::Log } else { Reach::Values };
    Panel {
        x: (reach, title),
        y: (y, titled(metric)),
        series,
        rules,
        shades: Vec::new(),
        span: None,
        height: if metric.judged { 210.0 } else { 120.0 },
    }
}

fn described(model: &Model, axis: &KnobAxis, metrics: &[(usize, &Metric)], knee: Option<(u32, f64, bool)>) -> String {
    let span = axis.places.first().zip(axis.places.last());
    let span = span.map(|(low, high)| format!(" from {} to {}", told(low.1, axis.unit), told(high.1, axis.unit)));
    let ends = metrics.iter().filter_map(|(place, metric)| {
        let levels = axis
            .places
            .iter()
            .filter_map(|(setting, ..)| model.settings[*setting as usize].levels.get(*place)?.as_ref());
        let values: Vec<f64> = levels.map(|level| level.typical).filter(|value| value.is_finite()).collect();
        let (low, high) = (values.iter().copied().reduce(f64::min)?, values.iter().copied().reduce(f64::max)?);
        let unit = unit_of(&metric.name);
        Some(format!("{} between {} and {}", metric.name, told(low, unit), told(high, unit)))
    });
    let ends: Vec<String> = ends.collect();
    let knee = knee.map(|(setting, _, decided)| match decided {
        true => format!(" The knee is {}.", model.label(setting)),
        false => format!(" The knee may be {}, which is not decided.", model.label(setting)),
    });
    format!("Against {}{}: {}.{}", axis.knob, span.unwrap_or_default(), ends.join("; "), knee.unwrap_or_default())
}
