//! Marks: points, intervals with caps, lines, steps, ribbons, bars, rules and text, each with the values it stands for.
use super::label::{SIZE, SMALL};
use super::palette::{INK, PAPER, Shape};
use super::svg::{Element, position};

/// What a mark stands for: the exact values, whose they are, and the same in words.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Datum {
    /// Along.
    pub x: Option<f64>,
    /// Up.
    pub y: Option<f64>,
    /// Lower end of the interval.
    pub low: Option<f64>,
    /// Upper end.
    pub high: Option<f64>,
    /// Label of the setting or series.
    pub label: String,
    /// Index of the setting.
    pub setting: Option<u32>,
    /// What more can be picked by: a verdict, `knee`, `best`.
    pub state: Option<&'static str>,
    /// Whether a point can be reached by keys.
    pub stop: bool,
    /// In words, shown where the pointer rests; nothing is shown when empty.
    pub told: String,
}

impl Datum {
    fn on(&self, element: Element) -> Element {
        let element = element.exact("data-x", self.x).exact("data-y", self.y);
        let element = element.exact("data-low", self.low).exact("data-high", self.high);
        let element = if self.label.is_empty() { element } else { element.set("data-label", self.label.clone()) };
        let element = element.exact("data-setting", self.setting.map(f64::from));
        let element = self.state.map_or(element.clone(), |state| element.set("data-state", state));
        if self.told.is_empty() { element } else { element.with(Element::new("title").text(self.told.clone())) }
    }
}

/// How a mark looks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct MarkStyle {
    /// Its colour.
    pub colour: &'static str,
    /// Its shape, where it is a point.
    pub shape: Shape,
    /// Its dash, where it is a line; empty = none.
    pub dash: &'static str,
    /// Only its outline.
    pub hollow: bool,
}

impl MarkStyle {
    /// That of the series with this number.
    #[must_use]
    pub fn of(series: usize) -> MarkStyle {
        let (colour, shape, dash) =
            (super::palette::colour(series), super::palette::shape(series), super::palette::dash(series));
        MarkStyle { colour, shape, dash, hollow: false }
    }
}

impl MarkStyle {
    /// That of a setting, the same in all pictures; the reference is of ink.
    #[must_use]
    pub fn of_setting(setting: u32) -> MarkStyle {
        match (setting as usize).checked_sub(1) {
            None => MarkStyle { colour: INK, shape: Shape::Diamond, dash: "", hollow: false },
            Some(series) => MarkStyle::of(series),
        }
    }
}

/// Half the size of a point.
pub const HALF: f64 = 4.2;

/// A point.
#[must_use]
pub fn point((x, y): (f64, f64), look: MarkStyle, datum: &Datum) -> Element {
    // The shapes cover about the same area.
    let around = |corners: &[(f64, f64)]| {
        let corner = |(dx, dy): &(f64, f64)| format!("{} {}", position(x + dx * HALF), position(y + dy * HALF));
        format!("M{}Z", corners.iter().map(corner).collect::<Vec<_>>().join("L"))
    };
    let drawn = match look.shape {
        Shape::Circle => {
            let circle = Element::new("circle").at("cx", x).at("cy", y);
            return stopping(datum.on(filled(circle.at("r", HALF), look).set("class", "pb-mark pb-point")), datum);
        }
        Shape::Square => around(&[(-0.88, -0.88), (0.88, -0.88), (0.88, 0.88), (-0.88, 0.88)]),
        Shape::Triangle => around(&[(0.0, -1.2), (1.14, 0.78), (-1.14, 0.78)]),
        Shape::Diamond => around(&[(0.0, -1.3), (1.3, 0.0), (0.0, 1.3), (-1.3, 0.0)]),
        Shape::Wedge => around(&[(0.0, 1.2), (1.14, -0.78), (-1.14, -0.78)]),
        Shape::Cross => {
            let part = |dx: f64, dy: f64| {
                format!("M{} {}L{} {}", position(x - dx), position(y - dy), position(x + dx), position(y + dy))
            };
            format!("{}{}", part(HALF * 0.9, HALF * 0.9), part(-HALF * 0.9, HALF * 0.9))
        }
    };
    let path = filled(Element::new("path").set("d", drawn), look).set("class", "pb-mark pb-point");
    // A path tells its place to anyone who reads it, as a circle does.
    stopping(datum.on(path.at("data-cx", x).at("data-cy", y)), datum)
}

/// A point that can be reached is an image of its own, named by its words.
fn stopping(point: Element, datum: &Datum) -> Element {
    if datum.stop { point.set("tabindex", "0").set("role", "img") } else { point }
}

fn filled(element: Element, look: MarkStyle) -> Element {
    let (fill, line, width) = match (look.shape, look.hollow) {
        (Shape::Cross, _) => ("none", look.colour, "2.6"),
        (_, true) => (PAPER, look.colour, "1.8"),
        // An outline of ink, so that pale colours stand out.
        (_, false) => (look.colour, INK, "0.7"),
    };
    element.set("fill", fill).set("stroke", line).set("stroke-width", width)
}

/// A ring around what stands out.
#[must_use]
pub fn ring((x, y): (f64, f64), datum: &Datum) -> Element {
    let ring = Element::new("circle").at("cx", x).at("cy", y).at("r", HALF * 1.9).set("fill", "none");
    datum.on(ring.set("stroke", INK).set("stroke-width", "1.4").set("class", "pb-ring"))
}

/// Which way an interval lies.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Orientation {
    /// Along.
    Across,
    /// Up.
    Upright,
}

/// An interval with caps, from one position to another, at the position `at` of the other axis.
#[must_use]
pub fn interval(way: Orientation, (from, to): (f64, f64), at: f64, look: MarkStyle, datum: &Datum) -> Element {
    const CAP: f64 = 3.0;
    let stroke = |along: (f64, f64), aside: (f64, f64)| {
        let ((x1, x2), (y1, y2)) = if way == Orientation::Across { (along, aside) } else { (aside, along) };
        format!("M{} {}L{} {}", position(x1), position(y1), position(x2), position(y2))
    };
    let caps = [from, to].map(|end| stroke((end, end), (at - CAP, at + CAP)));
    let path = format!("{}{}", stroke((from, to), (at, at)), caps.concat());
    let (from_name, to_name) = if way == Orientation::Across { ("data-x1", "data-x2") } else { ("data-y1", "data-y2") };
    let path = Element::new("path").set("d", path).at(from_name, from).at(to_name, to);
    let path = path.set("class", "pb-mark pb-interval").set("fill", "none").set("stroke", look.colour);
    datum.on(path.set("stroke-width", "1.6"))
}

/// A line through points, or a step at each.
#[must_use]
pub fn line(points: &[(f64, f64)], steps: bool, look: MarkStyle, datum: &Datum) -> Element {
    let mut path = String::new();
    for (number, (x, y)) in points.iter().enumerate() {
        match (number, steps) {
            (0, _) => path += &format!("M{} {}", position(*x), position(*y)),
            (_, false) => path += &format!("L{} {}", position(*x), position(*y)),
            (_, true) => path += &format!("H{}V{}", position(*x), position(*y)),
        }
    }
    let class = if steps { "pb-mark pb-step" } else { "pb-mark pb-line" };
    let line = Element::new("path").set("d", path).set("class", class).set("fill", "none").set("stroke", look.colour);
    let line = line.set("stroke-width", "1.6").set("stroke-linejoin", "round");
    datum.on(if look.dash.is_empty() { line } else { line.set("stroke-dasharray", look.dash) })
}

/// A ground with an outline; `strength` from 0 to 1 is how much of its colour it has.
#[must_use]
pub fn area(outline: &str, colour: &str, strength: f64, datum: &Datum) -> Element {
    let area = Element::new("path").set("d", outline).set("class", "pb-mark pb-strip").set("fill", colour);
    datum.on(area.at("fill-opacity", strength.clamp(0.0, 1.0)))
}

/// A ribbon between two positions of one axis, over the whole of the other.
#[must_use]
pub fn ribbon((left, top): (f64, f64), (right, bottom): (f64, f64), colour: &str, datum: &Datum) -> Element {
    datum.on(boxed((left, top), (right, bottom))
        .set("class", "pb-ribbon")
        .set("fill", colour)
        .set("fill-opacity", "0.16"))
}

/// A bar, or a cell of a surface; `strength` from 0 to 1 is how much of its colour it has.
#[must_use]
pub fn bar(
    (left, top): (f64, f64),
    (right, bottom): (f64, f64),
    colour: &str,
    strength: f64,
    datum: &Datum,
) -> Element {
    let bar = boxed((left, top), (right, bottom)).set("class", "pb-mark pb-bar").set("fill", colour);
    datum.on(bar.at("fill-opacity", strength.clamp(0.0, 1.0)).set("stroke", INK).set("stroke-width", "0.5"))
}

fn boxed((left, top): (f64, f64), (right, bottom): (f64, f64)) -> Element {
    let (x, y) = (left.min(right), top.min(bottom));
    let (wide, high) = ((right - left).abs(), (bottom - top).abs());
    Element::new("rect").at("x", x).at("y", y).at("width", wide).at("height", high)
}

/// A straight line that stands for one value.
#[must_use]
pub fn rule((x1, y1): (f64, f64), (x2, y2): (f64, f64), datum: &Datum) -> Element {
    let line = Element::new("line").at("x1", x1).at("y1", y1).at("x2", x2).at("y2", y2).set("class", "pb-rule");
    datum.on(line.set("stroke", INK).set("stroke-width", "1.2").set("stroke-dasharray", "4 3"))
}

/// Where a text stands to its position.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stand {
    /// It begins there.
    Begins,
    /// Its middle is there.
    Middle,
    /// It ends there.
    Ends,
}

/// A text on the drawing.
#[must_use]
pub fn text((x, y): (f64, f64), stand: Stand, small: bool, words: &str) -> Element {
    let anchor = match stand {
        Stand::Begins => "start",
        Stand::Middle => "middle",
        Stand::Ends => "end",
    };
    let text = Element::new("text").at("x", x).at("y", y).set("fill", INK).set("text-anchor", anchor);
    text.set("font-size", if small { SMALL } else { SIZE }.to_string()).set("class", "pb-text").text(words)
}

/// A text that lies over data, on a ground of paper.
#[must_use]
pub fn above(text: Element) -> Element {
    let text = text.set("paint-order", "stroke").set("stroke", PAPER);
    text.set("stroke-width", "3").set("stroke-opacity", "0.85").set("stroke-linejoin", "round")
}
