//! What was found of an article as its own pictures show it: lines over load or customers, rows of settings, and published
//! numbers as hollow marks next to those found.
use powerband_record::{format_number, unit_of};

use super::legend::Key;
use super::mark::MarkStyle;
use super::palette::{FAINT, PLAIN, Shape};
use super::plane::{Join, Panel, Series, Spot};
use super::rows::{Row, RowMark, Rows};
use super::scale::Reach;
use super::{Caption, Picture, told, told_with};
use crate::replication::{self, Drawn, Replication};

/// Numbers that span more than this are shown by their logarithm.
const WIDE: f64 = 12.0;
/// What published marks are called.
const PUBLISHED: &str = "published";

/// All pictures of an article.
pub(super) fn pictures(again: &Replication) -> Vec<Picture> {
    let one = |drawn: &Drawn| if drawn.along.is_empty() { by_setting(again, drawn) } else { over(again, drawn) };
    again.figures.iter().filter_map(one).collect()
}

/// The metric without its level of load.
fn kind(drawn: &Drawn) -> &str {
    let level = drawn.metric.strip_prefix("at_").and_then(|rest| rest.split_once('_'));
    level.map_or(drawn.metric.as_str(), |(_, kind)| kind)
}

fn axis(drawn: &Drawn) -> String {
    let unit = unit_of(kind(drawn));
    if unit.is_empty() { kind(drawn).to_owned() } else { format!("{}, {unit}", kind(drawn)) }
}

fn row(place: String, spot: &replication::Spot) -> Vec<String> {
    let number = |value: Option<f64>| value.map(format_number).unwrap_or_default();
    let (low, high) = spot.interval.unzip();
    let (least, most) = spot.span.unzip();
    let numbers = [Some(spot.found), low, high, spot.published, least, most].map(number);
    [place, spot.setting.clone()].into_iter().chain(numbers).collect()
}

/// Lines over a number.
fn over(again: &Replication, drawn: &Drawn) -> Option<Picture> {
    let unit = unit_of(kind(drawn));
    let mut table = Vec::new();
    let mut series = Vec::new();
    for (number, line) in (0_u32..).zip(&drawn.lines) {
        let alone = line.label.is_empty();
        let look = if alone { MarkStyle::of(0) } else { MarkStyle::of_setting(number) };
        table.extend(line.spots.iter().map(|spot| row(format_number(spot.at), spot)));
        let label = if alone { "found".to_owned() } else { line.label.clone() };
        let found = |spot: &replication::Spot| Spot {
            x: spot.at,
            y: spot.found,
            interval: spot.interval,
            label: Some(spot.setting.clone()),
            told: format!(
                "{}, {}: {}",
                spot.setting,
                format_number(spot.at),
                told_with(spot.found, spot.interval, unit)
            ),
            ..Spot::default()
        };
        let published = |spot: &replication::Spot| {
            let value = spot.published?;
            let words = format!("{}, published: {}", spot.setting, told_with(value, spot.span, unit));
            let label = Some(spot.setting.clone());
            Some(Spot {
                x: spot.at,
                y: value,
                interval: spot.span,
                told: words,
                label,
                hollow: true,
                ..Spot::default()
            })
        };
        let hollow: Vec<Spot> = line.spots.iter().filter_map(published).collect();
        let spots = line.spots.iter().map(found).collect();
        series.push(Series { label, setting: None, look, join: Join::Line, pointed: true, spots });
        if !hollow.is_empty() {
            let label = if alone { PUBLISHED.to_owned() } else { format!("{}, {PUBLISHED}", line.label) };
            let look = MarkStyle { hollow: true, shape: Shape::Square, colour: FAINT, ..look };
            series.push(Series { label, setting: None, look, join: Join::None, pointed: true, spots: hollow });
        }
    }
    series.retain(|series| !series.spots.is_empty());
    let numbers = || drawn.lines.iter().flat_map(|line| &line.spots).map(|spot| spot.at);
    let (low, high) = (numbers().fold(f64::INFINITY, f64::min), numbers().fold(f64::NEG_INFINITY, f64::max));
    let reach = if low > 0.0 && high > low * WIDE { Reach::Log } else { Reach::Zero };
    let ends = |line: &replication::FigureLine| {
        let (first, last) = (line.spots.first()?, line.spots.last()?);
        let name = if line.label.is_empty() { String::new() } else { format!("{}: ", line.label) };
        let end = |spot: &replication::Spot| format!("{} at {}", told(spot.found, unit), format_number(spot.at));
        Some(format!("{name}{}, {}", end(first), end(last)))
    };
    let ends: Vec<String> = drawn.lines.iter().filter_map(ends).collect();
    let desc = format!("Found with 95 % intervals over {}: {}.{}", drawn.along, ends.join("; "), hollow_words(drawn));
    let caption = caption(again, drawn, desc);
    let panel = Panel::of((reach, drawn.along.clone()), (Reach::Zero, axis(drawn)), series, 220.0);
    panel.hung(caption, &columns(&drawn.along), table)
}

fn columns(first: &str) -> [&str; 8] {
    [first, "setting", "found", "low", "high", PUBLISHED, "lowest", "highest"]
}

fn caption(again: &Replication, drawn: &Drawn, desc: String) -> Caption {
    Caption { id: format!("figure-{}-{}", again.name, drawn.title), title: drawn.title.clone(), desc }
}

fn hollow_words(drawn: &Drawn) -> &'static str {
    let spots = || drawn.lines.iter().flat_map(|line| &line.spots).filter(|spot| spot.published.is_some());
    match (spots().next(), spots().any(|spot| spot.span.is_some())) {
        (None, _) => "",
        (_, false) => " Hollow marks are published numbers.",
        (_, true) => " Hollow marks are the means of published runs, from their lowest to their highest.",
    }
}

/// Settings that no number orders: a row each.
fn by_setting(again: &Replication, drawn: &Drawn) -> Option<Picture> {
    let unit = unit_of(kind(drawn));
    let found_look = MarkStyle { colour: PLAIN, shape: Shape::Circle, dash: "", hollow: false };
    let published_look = MarkStyle { colour: FAINT, shape: Shape::Square, dash: "", hollow: true };
    let spots: Vec<&replication::Spot> = drawn.lines.iter().flat_map(|line| &line.spots).collect();
    let rows = spots.iter().map(|spot| {
        let mark = |value: f64, interval: Option<(f64, f64)>, look: MarkStyle, what: &str| RowMark {
            value,
            interval,
            look,
            label: String::new(),
            state: None,
            told: format!("{}, {what}: {}", spot.setting, told_with(value, interval, unit)),
        };
        let found = mark(spot.found, spot.interval, found_look, "found");
        let published = spot.published.map(|value| mark(value, spot.span, published_look, PUBLISHED));
        let marks = std::iter::once(found).chain(published).collect();
        Row { label: spot.setting.clone(), setting: None, marks, ribbon: None, behind: String::new() }
    });
    let key = |label: &str, look| Key { label: label.to_owned(), look, joined: false, pointed: true };
    let beside = spots.iter().any(|spot| spot.published.is_some());
    let legend = if beside { vec![key("found", found_look), key(PUBLISHED, published_look)] } else { Vec::new() };
    let each = spots.iter().map(|spot| format!("{}: {}", spot.setting, told(spot.found, unit)));
    let each: Vec<String> = each.collect();
    let desc = format!("Found with 95 % intervals: {}.{}", each.join("; "), hollow_words(drawn));
    let caption = caption(again, drawn, desc);
    let drawing = Rows {
        title: caption.title.clone(),
        desc: caption.desc.clone(),
        axis: axis(drawn),
        reach: Reach::Values,
        rule: None,
        ribbon: None,
        legend,
        rows: rows.collect(),
    };
    let table = spots.iter().map(|spot| row(String::new(), spot).into_iter().skip(1).collect());
    caption.hang(drawing.draw(), &columns("")[1..], table.collect())
}
