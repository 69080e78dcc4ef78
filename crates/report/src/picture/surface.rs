//! The surface a search walked on: the goal along one numeric knob, or over two of them as cells.
use powerband_record::{InOrder, SearchFactor, SearchFactorKind, SearchRole, format_number};

use super::axis::Area;
use super::label::{SMALL, columns, folded, length};
use super::mark::{self, Datum, HALF, MarkStyle, Stand};
use super::palette::{BAD, INK, PLAIN, Shape};
use super::plane::{Join, Panel, Series, Spot};
use super::scale::{AxisScale, Reach};
use super::sought::Sought;
use super::svg::{self, Element};
use super::{Caption, Picture, STOPS, WIDTH, cells, told, told_with};

/// More different values of a knob than this make cells too small to see.
const MAX: usize = 40;

/// A setting that was tried: its values of the knobs, and the goal there.
struct Tried {
    setting: u32,
    at: Vec<f64>,
    goal: f64,
    interval: Option<(f64, f64)>,
}

/// The surface over one or two numeric knobs; none over others.
pub(super) fn picture(sought: &Sought) -> Option<Picture> {
    let numbers = sought.plan.factors.iter().map(|factor| match &factor.kind {
        SearchFactorKind::Numbers(values) => Some(values.iter().map(|value| value / named(factor).1).collect()),
        _ => None,
    });
    let numbers: Vec<Vec<f64>> = numbers.collect::<Option<_>>()?;
    let tried: Vec<Tried> = sought
        .plan
        .points
        .iter()
        .zip(1..)
        .filter_map(|(point, setting)| {
            let at = point.iter().zip(&numbers).map(|(level, values)| values.get(usize::from((*level)?)).copied());
            let (goal, interval) = sought.goal_at(setting)?;
            Some(Tried { setting, at: at.collect::<Option<_>>()?, goal, interval })
        })
        .collect();
    if tried.len() < 2 {
        return None;
    }
    match sought.plan.factors.as_slice() {
        [one] => along(sought, &named(one).0, &tried),
        [x, y] => over(sought, (&named(x).0, &named(y).0), &tried),
        _ => None,
    }
}

/// A knob as an axis names it, and by what its values are divided: clocks are shown in MHz.
fn named(factor: &SearchFactor) -> (String, f64) {
    match factor.role {
        Some(SearchRole::ClockKhz) => (format!("{}, MHz", factor.name), 1e3),
        Some(SearchRole::DelayUs) => (format!("{}, us", factor.name), 1.0),
        None => (factor.name.clone(), 1.0),
    }
}

fn along(sought: &Sought, knob: &str, tried: &[Tried]) -> Option<Picture> {
    let goal = &sought.plan.goal.name;
    let spot = |it: &Tried| Spot {
        x: it.at[0],
        y: it.goal,
        interval: it.interval,
        label: Some(sought.model.label(it.setting)),
        setting: Some(it.setting),
        told: format!("{}: {}", sought.model.label(it.setting), told_with(it.goal, it.interval, sought.unit())),
        ringed: sought.answer() == Some(it.setting),
        hollow: !sought.keeps_at(it.setting),
        ..Spot::default()
    };
    let mut spots: Vec<Spot> = tried.iter().map(spot).collect();
    spots.order_by(|a, b| a.x.total_cmp(&b.x));
    let series =
        Series { label: goal.clone(), setting: None, look: MarkStyle::of(0), join: Join::Line, pointed: true, spots };
    let title = format!("{goal} against {knob}, where it was tried");
    let desc = described(
        sought,
        tried,
        &format!("against {knob}"),
        " Hollow points break a limit; the ring is around the answer.",
    );
    let panel = Panel::of((Reach::Values, knob.to_owned()), (Reach::Values, sought.titled()), vec![series], 220.0);
    let names = ["setting", knob, goal.as_str(), "low", "high"];
    panel.hung(Caption { id: "search-surface".into(), title, desc }, &names, table(sought, tried))
}

fn over(sought: &Sought, (x, y): (&str, &str), tried: &[Tried]) -> Option<Picture> {
    let goal = &sought.plan.goal.name;
    let values = |knob: usize| {
        let mut values: Vec<f64> = tried.iter().map(|it| it.at[knob]).collect();
        values.sort_by(f64::total_cmp);
        values.dedup();
        values
    };
    let (xs, ys) = (values(0), values(1));
    if xs.len() > MAX || ys.len() > MAX {
        return None;
    }
    let left = ys.iter().map(|value| length(&format_number(*value), SMALL)).fold(20.0, f64::max) + 8.0;
    let high = (ys.len() as f64 * 26.0).min(340.0);
    let area = Area { left, top: 26.0, right: WIDTH - 8.0, bottom: 26.0 + high };
    let across = AxisScale::band(xs.len(), (area.left, area.right));
    let upright = AxisScale::band(ys.len(), (area.bottom, area.top));
    let mut body = names_of(&across, &xs, area, x);
    body.extend(names_beside(&upright, &ys, area, y));
    body.extend(tried.iter().filter_map(|it| cell(sought, it, tried, (&xs, &ys), (&across, &upright))));
    let title = format!("{goal} over {x} and {y}, where it was tried");
    let how = " The deeper a cell, the better; a cross breaks a limit, the ring is around the answer.";
    let desc = described(sought, tried, &format!("over {x} (across) and {y} (up)"), how);
    let svg = svg::document(&title, &desc, (WIDTH, area.bottom + super::axis::BELOW), tried.len() <= STOPS, body);
    let names = ["setting", x, y, goal.as_str(), "low", "high"];
    Caption { id: "search-surface".into(), title, desc }.hang(Some(svg), &names, table(sought, tried))
}

fn cell(
    sought: &Sought,
    it: &Tried,
    all: &[Tried],
    (xs, ys): (&[f64], &[f64]),
    (x, y): (&AxisScale, &AxisScale),
) -> Option<Element> {
    let place = |values: &[f64], value: f64| values.iter().position(|known| *known == value).map(|place| place as f64);
    let (at_x, at_y) = (x.place(place(xs, it.at[0])?)?, y.place(place(ys, it.at[1])?)?);
    let (half_x, half_y) = (x.step() / 2.0, y.step() / 2.0);
    // By rank, as one far-off value would leave all others alike.
    let lower = all.iter().filter(|other| other.goal < it.goal).count() as f64 / (all.len() - 1) as f64;
    let good = if sought.plan.goal.better == powerband_record::Better::Lower { 1.0 - lower } else { lower };
    let label = sought.model.label(it.setting);
    let keeps = sought.keeps_at(it.setting);
    let (low, high) = it.interval.unzip();
    let kept = if keeps { "" } else { ", breaks a limit" };
    let datum = Datum {
        x: Some(it.at[0]),
        y: Some(it.at[1]),
        low,
        high,
        setting: Some(it.setting),
        state: (!keeps).then_some("breaks a limit"),
        told: format!("{label}: {}{kept}", told(it.goal, sought.unit())),
        label,
        stop: false,
    };
    let corners = ((at_x - half_x + 0.5, at_y - half_y + 0.5), (at_x + half_x - 0.5, at_y + half_y - 0.5));
    let bar = mark::bar(corners.0, corners.1, PLAIN, 0.06 + 0.5 * good, &datum).exact("data-value", Some(it.goal));
    let mut group = Element::new("g").set("class", "pb-cell").with(bar);
    let words = format_number(it.goal);
    let fits = length(&words, SMALL) < 2.0 * half_x - 4.0 && half_y * 2.0 > SMALL + 2.0;
    let sign = if keeps { None } else { Some(MarkStyle { colour: BAD, shape: Shape::Cross, dash: "", hollow: false }) };
    if fits {
        let beside = if sign.is_some() && half_x > length(&words, SMALL) / 2.0 + 12.0 { 6.0 } else { 0.0 };
        group = group.with(mark::text((at_x + beside, at_y + SMALL * 0.35), Stand::Middle, true, &words));
    }
    if let Some(look) = sign {
        let at = if fits { (at_x - half_x + HALF + 3.0, at_y) } else { (at_x, at_y) };
        group = group.with(mark::point(at, look, &Datum::default()).without_class());
    }
    if sought.answer() == Some(it.setting) {
        group = group.with(frame(corners));
    }
    Some(group)
}

/// A strong line around a cell.
fn frame(((left, top), (right, bottom)): ((f64, f64), (f64, f64))) -> Element {
    let path = [(left, top), (right, top), (right, bottom), (left, bottom), (left, top)];
    let look = MarkStyle { colour: INK, shape: Shape::Circle, dash: "", hollow: false };
    mark::line(&path, false, look, &Datum::default()).without_class().set("class", "pb-frame")
}

/// The values below, as many as have room.
fn names_of(scale: &AxisScale, values: &[f64], area: Area, title: &str) -> Vec<Element> {
    let widest = values.iter().map(|value| length(&format_number(*value), SMALL)).fold(0.0, f64::max) + 6.0;
    let every = (widest / scale.step()).ceil().max(1.0) as usize;
    let named = values.iter().enumerate().step_by(every).filter_map(|(place, value)| {
        let at = (scale.place(place as f64)?, area.bottom + 13.0);
        Some(mark::text(at, Stand::Middle, true, &format_number(*value)))
    });
    let title = folded(title, columns(WIDTH - 20.0, super::label::SIZE), 1).concat();
    let title = mark::text(((area.left + area.right) / 2.0, area.bottom + 29.0), Stand::Middle, false, &title);
    named.chain([title]).collect()
}

/// The values left of it, as many as have room, and their knob above.
fn names_beside(scale: &AxisScale, values: &[f64], area: Area, title: &str) -> Vec<Element> {
    let every = ((SMALL + 3.0) / scale.step()).ceil().max(1.0) as usize;
    let named = values.iter().enumerate().step_by(every).filter_map(|(place, value)| {
        let at = (area.left - 5.0, scale.place(place as f64)? + SMALL * 0.35);
        Some(mark::text(at, Stand::Ends, true, &format_number(*value)))
    });
    let title = folded(title, columns(WIDTH - 20.0, super::label::SIZE), 1).concat();
    named.chain([mark::text((2.0, area.top - 9.0), Stand::Begins, false, &title)]).collect()
}

fn table(sought: &Sought, tried: &[Tried]) -> Vec<Vec<String>> {
    let row = |it: &Tried| {
        let at = it.at.iter().map(|value| format_number(*value));
        [sought.model.label(it.setting)].into_iter().chain(at).chain(cells(it.goal, it.interval)).collect()
    };
    tried.iter().map(row).collect()
}

fn described(sought: &Sought, tried: &[Tried], over: &str, how: &str) -> String {
    let goals = || tried.iter().map(|it| it.goal);
    let (low, high) = (goals().fold(f64::INFINITY, f64::min), goals().fold(f64::NEG_INFINITY, f64::max));
    let answer = sought.answer().map(|setting| format!(" The answer is {}.", sought.model.label(setting)));
    let span = format!("from {} to {}", told(low, sought.unit()), told(high, sought.unit()));
    format!(
        "{} {over} at {} settings that were tried, {span}.{how}{}",
        sought.plan.goal.name,
        tried.len(),
        answer.unwrap_or_default()
    )
}
