//! Planes: panels beneath one another, each with two axes and series of points, lines or steps between them.
use super::axis::{self, Area};
use super::label::{Placing, SMALL, length};
use super::legend::{self, Key};
use super::mark::{self, Datum, HALF, MarkStyle, Orientation, Stand};
use super::palette::Shape;
use super::scale::{AxisScale, Reach};
use super::svg::{self, Element};
use super::{Caption, Picture, STOPS, WIDTH};

/// How the points of a series are joined.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Join {
    /// Not at all.
    None,
    /// By straight lines.
    Line,
    /// By steps at each.
    Step,
}

/// One point.
#[derive(Clone, Debug, Default)]
pub(super) struct Spot {
    pub(super) x: f64,
    pub(super) y: f64,
    /// Interval upwards.
    pub(super) interval: Option<(f64, f64)>,
    /// Interval along.
    pub(super) across: Option<(f64, f64)>,
    /// Whose it is, where it is not the series'.
    pub(super) label: Option<String>,
    pub(super) setting: Option<u32>,
    pub(super) state: Option<&'static str>,
    pub(super) told: String,
    /// Written next to it where there is room.
    pub(super) beside: Option<String>,
    /// Stands out.
    pub(super) ringed: bool,
    /// Only its outline.
    pub(super) hollow: bool,
}

/// Points that belong together.
#[derive(Clone)]
pub(super) struct Series {
    pub(super) label: String,
    pub(super) setting: Option<u32>,
    pub(super) look: MarkStyle,
    pub(super) join: Join,
    /// Whether points are drawn, or only what joins them.
    pub(super) pointed: bool,
    pub(super) spots: Vec<Spot>,
}

/// A value to compare with: along or up.
#[derive(Clone)]
pub(super) struct Rule {
    pub(super) way: Orientation,
    pub(super) value: f64,
    pub(super) label: String,
}

/// Two axes and what lies between.
pub(super) struct Panel {
    pub(super) x: (Reach, String),
    pub(super) y: (Reach, String),
    pub(super) series: Vec<Series>,
    pub(super) rules: Vec<Rule>,
    /// Stretches of the axis below that are shaded.
    pub(super) shades: Vec<(f64, f64)>,
    /// What its scales reach besides, along and up: the ends of its neighbours'.
    pub(super) span: Option<((f64, f64), (f64, f64))>,
    pub(super) height: f64,
}

/// Panels that share a legend.
pub(super) struct Plane {
    pub(super) title: String,
    pub(super) desc: String,
    pub(super) legend: Vec<Key>,
    pub(super) panels: Vec<Panel>,
}

/// What points tell besides their values.
struct Telling {
    words: bool,
    stops: bool,
}

/// Places on a line that words keep clear of.
const PARTS: u32 = 8;

/// More points than this tell their values in no words of their own: a drawing stays small.
const TOLD: usize = 600;

impl Plane {
    /// The drawing; nothing where no panel has a point that can be shown.
    pub(super) fn draw(&self) -> Option<String> {
        let (signs, mut top) = legend::draw(&self.legend, 4.0);
        let mut body: Vec<Element> = signs.into_iter().collect();
        let pointed = self.panels.iter().flat_map(|panel| &panel.series).filter(|series| series.pointed);
        let spots: usize = pointed.map(|series| series.spots.len()).sum();
        let telling = Telling { words: spots <= TOLD, stops: spots <= STOPS };
        let empty = body.len();
        // Panels beneath one another begin at one line.
        let left = self.panels.iter().filter_map(|panel| Some(axis::beside(&panel.upright(0.0)?))).fold(0.0, f64::max);
        for panel in &self.panels {
            let Some((drawn, bottom)) = panel.draw(top, left, &telling) else { continue };
            body.push(drawn);
            top = bottom;
        }
        (body.len() > empty).then(|| svg::document(&self.title, &self.desc, (WIDTH, top), telling.stops, body))
    }
}

impl Panel {
    /// Two axes and what lies between, nothing to compare with.
    pub(super) fn of(x: (Reach, String), y: (Reach, String), series: Vec<Series>, height: f64) -> Panel {
        Panel { x, y, series, rules: Vec::new(), shades: Vec::new(), span: None, height }
    }

    /// A picture of this panel alone, with a legend of its series.
    pub(super) fn hung(self, caption: Caption, columns: &[&str], rows: Vec<Vec<String>>) -> Option<Picture> {
        let mut legend: Vec<Key> = Vec::new();
        for series in &self.series {
            match legend.iter_mut().find(|key| key.label == series.label) {
                Some(key) => key.pointed |= series.pointed,
                None => legend.push(series.key()),
            }
        }
        let (title, desc) = (caption.title.clone(), caption.desc.clone());
        let svg = Plane { title, desc, legend, panels: vec![self] }.draw();
        caption.hang(svg, columns, rows)
    }

    fn upright(&self, above: f64) -> Option<AxisScale> {
        let spots = self.series.iter().flat_map(|series| &series.spots);
        let ends = |interval: Option<(f64, f64)>| interval.into_iter().flat_map(|(low, high)| [low, high]);
        let rules = self.rules.iter().filter(|rule| rule.way == Orientation::Upright).map(|rule| rule.value);
        let values = spots.flat_map(|spot| [spot.y].into_iter().chain(ends(spot.interval))).chain(rules);
        let values = values.chain(ends(self.span.map(|span| span.1)));
        AxisScale::new(self.y.0, values, (above + self.height, above))
    }

    fn draw(&self, top: f64, left: f64, telling: &Telling) -> Option<(Element, f64)> {
        let spots = || self.series.iter().flat_map(|series| &series.spots);
        let ends = |interval: Option<(f64, f64)>| interval.into_iter().flat_map(|(low, high)| [low, high]);
        let rules = self.rules.iter().filter(|rule| rule.way == Orientation::Across).map(|rule| rule.value);
        let xs = spots().flat_map(|spot| [spot.x].into_iter().chain(ends(spot.across))).chain(rules);
        let xs = xs.chain(ends(self.span.map(|span| span.0)));
        let (above, below) = (top + 26.0, top + 26.0 + self.height);
        let y = self.upright(above)?;
        let area = Area { left, top: above, right: WIDTH - 10.0, bottom: below };
        let x = AxisScale::new(self.x.0, xs, (area.left + 2.0, area.right))?;
        let shown = spots().any(|spot| x.place(spot.x).is_some() && y.place(spot.y).is_some());
        if !shown {
            return None;
        }
        let mut group = Element::new("g").set("class", "pb-panel").set("data-title", self.y.1.clone());
        for (from, to) in &self.shades {
            if let Some((from, to)) = x.held(*from).zip(x.held(*to)) {
                let datum = Datum::default();
                group = group.with(mark::ribbon((from, above), (to, below), super::palette::GRID, &datum));
            }
        }
        group = group.with(axis::below(&x, area, &self.x.1)).with(axis::left(&y, area, &self.y.1));
        let mut occupied = self.occupied(&x, &y, area);
        let words = words_of(&self.rules, &y);
        let ruled = self.rules.iter().zip(&words);
        group = group
            .with_all(ruled.filter_map(|(rule, words)| ruled_at(rule, words, &x, &y, area, &mut occupied)).flatten());
        for series in &self.series {
            group = group.with(series.draw(&x, &y, telling));
        }
        group = group.with_all(self.beside(&x, &y, area, &occupied));
        let foot = if self.x.1.is_empty() { axis::BELOW_BARE } else { axis::BELOW };
        Some((group, below + foot + 4.0))
    }

    /// What words are better not written over: points, their intervals, and the straight lines between them.
    fn occupied(&self, x: &AxisScale, y: &AxisScale, area: Area) -> Placing {
        let place = |spot: &Spot| x.place(spot.x).zip(y.place(spot.y));
        let pointed = self.series.iter().filter(|series| series.pointed).flat_map(|series| &series.spots);
        let places: Vec<(f64, f64)> = pointed.clone().filter_map(place).collect();
        let frame = (area.left + 1.0, area.top - 4.0, WIDTH - 1.0, area.bottom - 1.0);
        let mut placing = Placing::new(frame, &places, HALF + 1.0);
        for spot in pointed {
            let Some((at_x, at_y)) = place(spot) else { continue };
            if let Some((low, high)) = spot.interval.and_then(|(low, high)| y.held(low).zip(y.held(high))) {
                placing.take((at_x - 2.0, low.min(high), at_x + 2.0, low.max(high)));
            }
            if let Some((low, high)) = spot.across.and_then(|(low, high)| x.held(low).zip(x.held(high))) {
                placing.take((low.min(high), at_y - 2.0, low.max(high), at_y + 2.0));
            }
        }
        for series in self.series.iter().filter(|series| series.pointed && series.join == Join::Line) {
            let places: Vec<(f64, f64)> = series.spots.iter().filter_map(place).collect();
            for pair in places.windows(2) {
                let along = |part: f64| {
                    (pair[0].0 + part * (pair[1].0 - pair[0].0), pair[0].1 + part * (pair[1].1 - pair[0].1))
                };
                for (x, y) in (1..PARTS).map(|part| along(f64::from(part) / f64::from(PARTS))) {
                    placing.take((x - 2.0, y - 1.0, x + 2.0, y + 1.0));
                }
            }
        }
        placing
    }

    /// Words next to points, where there is room for them; over intervals and lines only where there is none next to these.
    fn beside(&self, x: &AxisScale, y: &AxisScale, area: Area, occupied: &Placing) -> Vec<Element> {
        let spots = || self.series.iter().flat_map(|series| &series.spots);
        let places: Vec<(f64, f64)> = spots().filter_map(|spot| x.place(spot.x).zip(y.place(spot.y))).collect();
        let frame = (area.left + 1.0, area.top - 4.0, WIDTH - 1.0, area.bottom - 1.0);
        let mut placing = Placing::new(frame, &places, HALF + 1.0);
        let mut free = occupied.clone();
        for rule in self.rules.iter().filter(|rule| rule.way == Orientation::Across) {
            x.place(rule.value).into_iter().for_each(|at| placing.take((at - 1.0, area.top, at + 1.0, area.bottom)));
            let long = length(&rule.label, SMALL) + 6.0;
            let at = x.place(rule.value).unwrap_or(area.left);
            placing.take((at - long, area.top - 2.0, at + long, area.top + SMALL + 3.0));
        }
        let worded = spots().filter_map(|spot| {
            let place = x.place(spot.x).zip(y.place(spot.y))?;
            let words = super::label::folded(spot.beside.as_ref()?, 30, 1).concat();
            let at = match free.place(&words, place, SMALL) {
                Some(at) => placing.taken_at(&words, at, SMALL).then_some(at),
                None => placing.place(&words, place, SMALL),
            }?;
            Some(mark::above(mark::text(at, Stand::Begins, true, &words)))
        });
        worded.collect()
    }
}

impl Series {
    /// Points that nothing joins.
    pub(super) fn apart(label: &str, colour: &'static str, shape: Shape, spots: Vec<Spot>) -> Series {
        let look = MarkStyle { colour, shape, dash: "", hollow: false };
        Series { label: label.to_owned(), setting: None, look, join: Join::None, pointed: true, spots }
    }

    /// Its entry in a legend.
    pub(super) fn key(&self) -> Key {
        Key { label: self.label.clone(), look: self.look, joined: self.join != Join::None, pointed: self.pointed }
    }

    fn draw(&self, x: &AxisScale, y: &AxisScale, telling: &Telling) -> Element {
        let mut group = Element::new("g").set("class", "pb-series").set("data-label", self.label.clone());
        group = group.exact("data-setting", self.setting.map(f64::from));
        let whole = Datum { label: self.label.clone(), setting: self.setting, ..Datum::default() };
        // A value that cannot be shown parts the line.
        let places: Vec<Option<(f64, f64)>> =
            self.spots.iter().map(|spot| x.place(spot.x).zip(y.place(spot.y))).collect();
        if self.join != Join::None {
            for part in places.split(Option::is_none).filter(|part| part.len() > 1) {
                let part: Vec<(f64, f64)> = part.iter().flatten().copied().collect();
                group = group.with(mark::line(&part, self.join == Join::Step, self.look, &whole));
            }
        }
        for (spot, place) in self.spots.iter().zip(&places) {
            let Some((at_x, at_y)) = *place else { continue };
            if !self.pointed {
                continue;
            }
            let (low, high) = spot.interval.unzip();
            let datum = Datum {
                x: Some(spot.x),
                y: Some(spot.y),
                low,
                high,
                label: spot.label.clone().unwrap_or_else(|| self.label.clone()),
                setting: spot.setting.or(self.setting),
                state: spot.state,
                told: if telling.words { spot.told.clone() } else { String::new() },
                stop: telling.stops,
            };
            if let Some(ends) = spot.interval.and_then(|(low, high)| y.held(low).zip(y.held(high))) {
                group = group.with(mark::interval(Orientation::Upright, ends, at_x, self.look, &datum));
            }
            if let Some((low, high)) = spot.across
                && let Some(ends) = x.held(low).zip(x.held(high))
            {
                let across = Datum { low: Some(low), high: Some(high), ..datum.clone() };
                group = group.with(mark::interval(Orientation::Across, ends, at_y, self.look, &across));
            }
            let look = MarkStyle { hollow: self.look.hollow || spot.hollow, ..self.look };
            group = group.with(mark::point((at_x, at_y), look, &datum));
            if spot.ringed {
                group = group.with(mark::ring((at_x, at_y), &Datum { told: String::new(), ..datum }));
            }
        }
        group
    }
}

/// The words at each rule. Lines across a panel that are nearer to each other than words are high have theirs together at the
/// uppermost, from top to bottom, and the others none.
pub(super) fn words_of(rules: &[Rule], y: &AxisScale) -> Vec<String> {
    let mut words: Vec<String> = rules.iter().map(|rule| rule.label.clone()).collect();
    let upright = rules.iter().enumerate().filter(|(_, rule)| rule.way == Orientation::Upright);
    let mut placed: Vec<(f64, usize)> = upright.filter_map(|(at, rule)| Some((y.place(rule.value)?, at))).collect();
    placed.sort_by(|a, b| a.0.total_cmp(&b.0));
    for group in placed.chunk_by(|upper, lower| lower.0 - upper.0 < SMALL + 2.0) {
        let together: Vec<String> = group.iter().map(|&(_, at)| std::mem::take(&mut words[at])).collect();
        words[group[0].1] = together.join(" / ");
    }
    words
}

/// A rule with its words at its end; at the other one, or below it, where they would lie on data.
fn ruled_at(
    rule: &Rule,
    words: &str,
    x: &AxisScale,
    y: &AxisScale,
    area: Area,
    occupied: &mut Placing,
) -> Option<Vec<Element>> {
    let mut datum = Datum { label: rule.label.clone(), ..Datum::default() };
    let (line, at, stand) = match rule.way {
        Orientation::Across => {
            let at = x.place(rule.value)?;
            datum.x = Some(rule.value);
            let long = length(words, SMALL);
            let stand = if at + 4.0 + long < WIDTH { Stand::Begins } else { Stand::Ends };
            let beside = if stand == Stand::Begins { at + 4.0 } else { at - 4.0 };
            (mark::rule((at, area.top), (at, area.bottom), &datum), (beside, area.top + SMALL), stand)
        }
        Orientation::Upright => {
            let at = y.place(rule.value)?;
            datum.y = Some(rule.value);
            let long = length(words, SMALL);
            let (above, below) = (at - 3.0, at + SMALL + 1.0);
            let ends = [(area.right - 2.0, Stand::Ends), (area.left + 4.0, Stand::Begins)];
            let middle = ((area.left + area.right - long) / 2.0, Stand::Begins);
            let ends = ends.into_iter().chain([middle]).flat_map(|(x, stand)| [(x, above, stand), (x, below, stand)]);
            let inside = |base: f64| base - SMALL > area.top && base + 2.0 < area.bottom;
            let frame = |x: f64, base: f64, stand: Stand| {
                let left = if stand == Stand::Ends { x - long } else { x };
                (left, base - SMALL * 0.8, left + long, base + 1.0)
            };
            let mut places = ends.filter(|(_, base, _)| inside(*base));
            let free = places.clone().find(|(x, base, stand)| occupied.is_free(frame(*x, *base, *stand)));
            let (along, base, stand) = free.or_else(|| places.next()).unwrap_or((area.right - 2.0, above, Stand::Ends));
            if !words.is_empty() {
                occupied.take(frame(along, base, stand));
            }
            (mark::rule((area.left, at), (area.right, at), &datum), (along, base), stand)
        }
    };
    let text = (!words.is_empty()).then(|| mark::above(mark::text(at, stand, true, words)));
    Some([line].into_iter().chain(text).collect())
}
