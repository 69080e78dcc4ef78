//! Rows: a label, a mark with its interval on a scale that all share, and a word behind.
use super::axis::{self, Area};
use super::label::{SIZE, SMALL, columns, folded, length, told_apart};
use super::legend::{self, Key};
use super::mark::{self, Datum, MarkStyle, Orientation, Stand};
use super::palette::{INK, PLAIN};
use super::scale::{AxisScale, Reach};
use super::svg::{self, Element};
use super::{STOPS, WIDTH};

/// One value in a row.
pub(super) struct RowMark {
    pub(super) value: f64,
    pub(super) interval: Option<(f64, f64)>,
    pub(super) look: MarkStyle,
    /// Whose it is, where rows have several.
    pub(super) label: String,
    pub(super) state: Option<&'static str>,
    pub(super) told: String,
}

/// One row.
pub(super) struct Row {
    pub(super) label: String,
    pub(super) setting: Option<u32>,
    pub(super) marks: Vec<RowMark>,
    /// Where a value of this row may lie.
    pub(super) ribbon: Option<(f64, f64)>,
    pub(super) behind: String,
}

/// What all rows share.
pub(super) struct Rows {
    pub(super) title: String,
    pub(super) desc: String,
    pub(super) axis: String,
    pub(super) reach: Reach,
    /// The value to compare with.
    pub(super) rule: Option<(f64, String)>,
    /// What counts as that value.
    pub(super) ribbon: Option<(f64, f64)>,
    pub(super) legend: Vec<Key>,
    pub(super) rows: Vec<Row>,
}

/// Most of the width that labels get.
const LABELS: f64 = 0.44;
/// So many rows get labels of two lines.
const FEW: usize = 30;
/// Marks of one row lie this far beneath one another.
const BETWEEN: f64 = 10.0;
/// More rows than this stand closer.
const MANY: usize = 40;

impl Rows {
    /// The drawing; nothing where no row has a value that can be shown.
    pub(super) fn draw(&self) -> Option<String> {
        let longest =
            |texts: &mut dyn Iterator<Item = &String>, size| texts.map(|text| length(text, size)).fold(0.0, f64::max);
        let behind = longest(&mut self.rows.iter().map(|row| &row.behind), SMALL);
        let lines = if self.rows.len() > FEW { 1 } else { 2 };
        let most = columns(WIDTH * LABELS, SIZE);
        let whole: Vec<&str> = self.rows.iter().map(|row| row.label.as_str()).collect();
        let short = told_apart(&whole, most * lines);
        let room = longest(&mut short.iter(), SIZE).min(WIDTH * LABELS);
        let labels: Vec<Vec<String>> =
            short.iter().map(|label| folded(label, columns(room, SIZE).max(4), lines)).collect();
        let (signs, top) = legend::draw(&self.legend, 4.0);
        let tall = self.rows.len() > FEW;
        let top = top + if tall { 20.0 } else { 8.0 };
        let heights: Vec<f64> =
            self.rows.iter().zip(&labels).map(|(row, label)| self.height(label.len(), row.marks.len())).collect();
        let bottom = top + heights.iter().sum::<f64>();
        let right = WIDTH - 8.0 - if behind > 0.0 { behind + 8.0 } else { 0.0 };
        let area = Area { left: room + 12.0, top, right, bottom };
        let scale = AxisScale::new(self.reach, self.values(), (area.left + 4.0, area.right - 4.0))?;
        let mut body: Vec<Element> = signs.into_iter().collect();
        body.push(axis::below(&scale, area, &self.axis));
        body.extend(tall.then(|| axis::numbers_above(&scale, area)));
        self.shared(&scale, area, &mut body);
        let stops = self.rows.iter().map(|row| row.marks.len()).sum::<usize>() <= STOPS;
        let mut y = top;
        for ((row, label), high) in self.rows.iter().zip(&labels).zip(heights) {
            body.push(drawn(row, label, (y, y + high), (&scale, stops), area));
            y += high;
        }
        Some(svg::document(&self.title, &self.desc, (WIDTH, bottom + axis::BELOW), stops, body))
    }

    /// Everything the scale has to reach.
    fn values(&self) -> Vec<f64> {
        let ends = |interval: Option<(f64, f64)>| interval.into_iter().flat_map(|(low, high)| [low, high]);
        let marks = self.rows.iter().flat_map(|row| &row.marks);
        let marks = marks.flat_map(|mark| [mark.value].into_iter().chain(ends(mark.interval)));
        let rows = self.rows.iter().flat_map(|row| ends(row.ribbon));
        let shared = self.rule.iter().map(|rule| rule.0).chain(ends(self.ribbon));
        marks.chain(rows).chain(shared).collect()
    }

    fn height(&self, lines: usize, marks: usize) -> f64 {
        let least = match (lines, self.rows.len() > MANY) {
            (2.., _) => 31.0,
            (_, true) => 16.0,
            (_, false) => 21.0,
        };
        (marks as f64 * BETWEEN + 10.0).max(least)
    }

    fn shared(&self, scale: &AxisScale, area: Area, body: &mut Vec<Element>) {
        if let Some((low, high)) = self.ribbon
            && let Some((from, to)) = scale.held(low).zip(scale.held(high))
        {
            let datum = Datum { low: Some(low), high: Some(high), ..Datum::default() };
            body.push(mark::ribbon((from, area.top), (to, area.bottom), INK, &datum));
        }
        if let Some((value, label)) = &self.rule
            && let Some(x) = scale.place(*value)
        {
            let datum = Datum { x: Some(*value), label: label.clone(), ..Datum::default() };
            body.push(mark::rule((x, area.top), (x, area.bottom), &datum));
        }
    }
}

fn drawn(
    row: &Row,
    label: &[String],
    (top, bottom): (f64, f64),
    (scale, stops): (&AxisScale, bool),
    area: Area,
) -> Element {
    let middle = (top + bottom) / 2.0;
    let mut group = Element::new("g").set("class", "pb-row").set("data-label", row.label.clone());
    group = group.exact("data-setting", row.setting.map(f64::from));
    for (line, text) in label.iter().enumerate() {
        let base = middle + SIZE * 0.35 + (line as f64 - (label.len() - 1) as f64 / 2.0) * (SIZE + 1.5);
        let text = mark::text((area.left - 6.0, base), Stand::Ends, false, text);
        group = group.with(text.with(Element::new("title").text(row.label.clone())));
    }
    if let Some((low, high)) = row.ribbon
        && let Some((from, to)) = scale.held(low).zip(scale.held(high))
    {
        let datum = Datum { low: Some(low), high: Some(high), ..Datum::default() };
        group = group.with(mark::ribbon((from, top + 2.0), (to, bottom - 2.0), PLAIN, &datum));
    }
    for (number, mark) in row.marks.iter().enumerate() {
        let y = middle + (number as f64 - (row.marks.len() - 1) as f64 / 2.0) * BETWEEN;
        let Some(x) = scale.place(mark.value) else { continue };
        let (low, high) = mark.interval.unzip();
        let datum = Datum {
            x: Some(mark.value),
            low,
            high,
            label: if mark.label.is_empty() { row.label.clone() } else { mark.label.clone() },
            setting: row.setting,
            state: mark.state,
            told: mark.told.clone(),
            stop: stops,
            y: None,
        };
        if let Some((from, to)) = mark.interval.and_then(|(low, high)| scale.held(low).zip(scale.held(high))) {
            group = group.with(mark::interval(Orientation::Across, (from, to), y, mark.look, &datum));
        }
        group = group.with(mark::point((x, y), mark.look, &datum));
    }
    if row.behind.is_empty() {
        return group;
    }
    group.with(mark::text((area.right + 8.0, middle + SMALL * 0.35), Stand::Begins, true, &row.behind))
}
