//! Axes: a line, ticks at round values with their numbers, lines behind the data, and what the axis shows.
use super::label::{SIZE, SMALL, columns, folded, length};
use super::palette::{GRID, INK};
use super::scale::{AxisScale, Tick};
use super::svg::Element;

/// Where data are drawn.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Area {
    /// Left edge.
    pub left: f64,
    /// Top edge.
    pub top: f64,
    /// Right edge.
    pub right: f64,
    /// Bottom edge.
    pub bottom: f64,
}

/// Room below an area for an axis with its title.
pub const BELOW: f64 = 34.0;
/// The same without a title.
pub const BELOW_BARE: f64 = 18.0;

/// The axis below an area, with lines up through it.
#[must_use]
pub fn below(scale: &AxisScale, area: Area, title: &str) -> Element {
    let mut axis = Element::new("g").set("class", "pb-axis").set("data-axis", "x").set("data-scale", scale.told());
    for tick in fitting(scale) {
        let Some(x) = scale.place(tick.value) else { continue };
        axis = axis.with(stroke((x, area.top), (x, area.bottom), GRID));
        let half = length(&tick.label, SMALL) / 2.0;
        // The outermost numbers stay inside the drawing.
        let at = x.max(half + 1.0).min(super::WIDTH - half - 1.0);
        axis = axis.with(number(&tick).set("text-anchor", "middle").at("x", at).at("y", area.bottom + 13.0));
    }
    axis = axis.with(stroke((area.left, area.bottom), (area.right, area.bottom), INK));
    let title = &shortened(title);
    let (text, room) = (Element::new("text").set("class", "pb-title").set("fill", INK), length(title, SIZE));
    let middle = ((area.left + area.right) / 2.0).min(super::WIDTH - room / 2.0 - 2.0).max(room / 2.0 + 2.0);
    let text = text.set("text-anchor", "middle").at("x", middle).at("y", area.bottom + 29.0);
    if title.is_empty() { axis } else { axis.with(text.text(title.as_str())) }
}

/// The numbers of the axis below once more above an area that is taller than a screen.
#[must_use]
pub fn numbers_above(scale: &AxisScale, area: Area) -> Element {
    let texts = fitting(scale).into_iter().filter_map(|tick| {
        let x = scale.place(tick.value)?;
        Some(number(&tick).set("text-anchor", "middle").at("x", x).at("y", area.top - 5.0))
    });
    Element::new("g").set("class", "pb-numbers").with_all(texts)
}

/// The axis left of an area, with lines across it; its title lies above, where it can be read without turning the head.
#[must_use]
pub fn left(scale: &AxisScale, area: Area, title: &str) -> Element {
    let mut axis = Element::new("g").set("class", "pb-axis").set("data-axis", "y").set("data-scale", scale.told());
    for tick in upright(scale) {
        let Some(y) = scale.place(tick.value) else { continue };
        axis = axis.with(stroke((area.left, y), (area.right, y), GRID));
        let text = number(&tick).set("text-anchor", "end").at("x", area.left - 4.0).at("y", y + SMALL * 0.35);
        axis = axis.with(text);
    }
    axis = axis.with(stroke((area.left, area.top), (area.left, area.bottom), INK));
    let text = Element::new("text").set("class", "pb-title").set("fill", INK);
    axis.with(text.at("x", 2.0).at("y", area.top - 8.0).text(shortened(title)))
}

/// A title that has room on the drawing.
fn shortened(title: &str) -> String {
    folded(title, columns(super::WIDTH - 8.0, SIZE), 1).concat()
}

/// Room left of an area for the numbers of its axis.
#[must_use]
pub fn beside(scale: &AxisScale) -> f64 {
    upright(scale).iter().map(|tick| length(&tick.label, SMALL)).fold(12.0, f64::max) + 8.0
}

fn upright(scale: &AxisScale) -> Vec<Tick> {
    scale.ticks((scale.step() / 34.0) as usize)
}

/// As many ticks as have room next to one another.
fn fitting(scale: &AxisScale) -> Vec<Tick> {
    let apart = |ticks: &[Tick]| {
        ticks.windows(2).all(|pair| {
            let places = scale.place(pair[0].value).zip(scale.place(pair[1].value));
            let room = (length(&pair[0].label, SMALL) + length(&pair[1].label, SMALL)) / 2.0 + 7.0;
            places.is_some_and(|(one, other)| (other - one).abs() >= room)
        })
    };
    let few = (2..=8).rev().map(|most| scale.ticks(most)).find(|ticks| apart(ticks));
    few.unwrap_or_else(|| scale.ticks(2).into_iter().take(1).collect())
}

fn number(tick: &Tick) -> Element {
    let text = Element::new("text").set("class", "pb-tick").set("fill", INK).set("font-size", SMALL.to_string());
    text.exact("data-value", Some(tick.value)).text(tick.label.clone())
}

fn stroke((x1, y1): (f64, f64), (x2, y2): (f64, f64), colour: &str) -> Element {
    let line = Element::new("line").at("x1", x1).at("y1", y1).at("x2", x2).at("y2", y2);
    line.set("stroke", colour).set("stroke-width", "1")
}
