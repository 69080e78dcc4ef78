//! Pictures of a report, each one drawing in SVG that stands alone: a small grammar (scales, axes, marks) and what is drawn
//! with it. The looks, classes and attributes are told in `docs/design/pictures.md`.
//!
//! A number that is none is left out, a picture without a value is not drawn. Every mark carries its exact values.
use crate::Model;
use crate::comparison::Comparison;
use crate::courses::Courses;
use crate::fleet::FleetAnswer;
use crate::replication::Replication;

pub mod axis;
pub mod label;
pub mod mark;
pub mod palette;
pub mod scale;
pub mod svg;

mod again;
mod against;
mod changes;
pub mod chart;
mod chosen;
mod compared;
mod course;
mod curve;
mod dense;
mod drift;
mod figure;
mod fleet;
mod front;
mod ladder;
mod legend;
mod levels;
mod limit;
mod noise;
mod plane;
mod rows;
mod search;
mod sought;
mod strips;
mod surface;
mod tail;

pub(crate) use compared::SUMMARY;
pub use dense::{Dense, DenseLine};

/// Width of a drawing in its own units; letters are twelve of them high, so that they can be read where it is 360 pixels wide.
pub const WIDTH: f64 = 460.0;

/// With more points than this none can be reached by keys: nobody walks through hundreds.
pub const STOPS: usize = 100;

/// More lines than this in one picture cannot be told apart; the settings after are left out of it.
const LINES: usize = 12;

/// One picture.
#[derive(Clone, Debug, PartialEq)]
pub struct Picture {
    /// Short name, of small letters, digits and `-`; no two pictures of one answer have the same.
    pub id: String,
    /// What it shows, to stand above or below it.
    pub title: String,
    /// The same with the main numbers, for readers who do not see it.
    pub desc: String,
    /// The drawing: one `<svg>` element, as HTML and XML take it.
    pub svg: String,
    /// The same data as a table, a line each.
    pub rows: Vec<Vec<String>>,
    /// What stands above its columns.
    pub columns: Vec<String>,
    /// The lines in more detail than the drawing has, where there is more.
    pub dense: Option<Dense>,
}

impl Picture {
    /// The drawing as a file of its own, for programs that know no custom properties of style sheets.
    #[must_use]
    pub fn file(&self, theme: palette::Theme) -> String {
        svg_file(&palette::plain(&self.svg, theme))
    }
}

/// A drawing whose colours are resolved, as a file.
fn svg_file(drawing: &str) -> String {
    format!("<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n{drawing}\n")
}

/// The pictures of an experiment, the most telling first; those that it has data for.
#[must_use]
pub fn pictures(model: &Model, courses: Option<&Courses>) -> Vec<Picture> {
    let mut all = Vec::new();
    if model.started.calibration {
        all.extend(noise::picture(model));
    } else {
        all.extend(search::pictures(model));
        all.extend(levels::pictures(model));
        all.extend(changes::picture(model));
        all.extend(against::pictures(model));
        all.extend(ladder::pictures(model));
        if model.started.search.is_none() {
            all.extend(front::pictures(model));
        }
        all.extend(tail::pictures(model));
        all.extend(courses.iter().flat_map(|courses| course::pictures(model, courses)));
        all.extend(courses.iter().flat_map(|courses| strips::utilisation(model, courses)));
    }
    all.extend(drift::pictures(model));
    named_once(all)
}

/// The pictures of an article done again; those that it has data for.
#[must_use]
pub fn replication_pictures(again: &Replication) -> Vec<Picture> {
    named_once(figure::pictures(again).into_iter().chain(again::points(again)).collect())
}

/// The pictures of a fleet: its nodes in the drawn order, for each decision metric and setting.
#[must_use]
pub fn fleet_pictures(of: &FleetAnswer) -> Vec<Picture> {
    named_once(fleet::pictures(of))
}

/// The picture of all claims of some articles.
#[must_use]
pub fn claims_picture(articles: &[Replication]) -> Option<Picture> {
    again::claims(articles)
}

/// The pictures of a comparison and the experiments it is of, each once: metrics as curves over what the experiments were made
/// along, or else by setting side by side, with the differences.
#[must_use]
pub fn comparison_pictures(of: &Comparison, models: &[Model]) -> Vec<Picture> {
    let curves = of.along.as_ref().map(|along| curve::pictures(of, along, models)).unwrap_or_default();
    let summary = compared::summary(of);
    if !curves.is_empty() {
        return named_once(summary.into_iter().chain(curves).collect());
    }
    // Differences in one metric are the summary.
    let differences = compared::differences(of);
    let differences = if differences.len() > 1 || summary.is_none() { differences } else { Vec::new() };
    named_once(summary.into_iter().chain(compared::levels(of, models)).chain(differences).collect())
}

/// What a picture is drawn from, besides its drawing.
struct Caption {
    id: String,
    title: String,
    desc: String,
}

impl Caption {
    /// Hung below a drawing, if there is one.
    fn hang(self, svg: Option<String>, columns: &[&str], rows: Vec<Vec<String>>) -> Option<Picture> {
        let columns = columns.iter().map(|name| (*name).to_owned()).collect();
        Some(Picture { id: slug(&self.id), title: self.title, desc: self.desc, svg: svg?, rows, columns, dense: None })
    }
}

/// Small letters, digits and single dashes of a text.
fn slug(text: &str) -> String {
    let mut slug = String::new();
    for c in text.chars() {
        match c {
            c if c.is_ascii_alphanumeric() => slug.push(c.to_ascii_lowercase()),
            _ if slug.ends_with('-') || slug.is_empty() => {}
            _ => slug.push('-'),
        }
    }
    slug.trim_end_matches('-').to_owned()
}

/// A number behind names that came before.
fn named_once(mut all: Vec<Picture>) -> Vec<Picture> {
    let mut known = std::collections::BTreeSet::new();
    for picture in &mut all {
        let first = picture.id.clone();
        for number in 2.. {
            if known.insert(picture.id.clone()) {
                break;
            }
            picture.id = format!("{first}-{number}");
        }
    }
    all
}

/// A number in a sentence: large ones as axes write them, `5.074M`; tables have all digits.
fn number(value: f64) -> String {
    const LARGE: [(f64, &str); 4] = [(1e12, "T"), (1e9, "G"), (1e6, "M"), (1e4, "k")];
    let large = LARGE.iter().find(|(from, _)| value.is_finite() && value.abs() >= *from);
    let (by, sign) = large.map_or((1.0, ""), |(from, sign)| (if *sign == "k" { 1e3 } else { *from }, *sign));
    format!("{}{sign}", powerband_record::format_number(value / by))
}

/// `54.12`, with its unit.
fn told(value: f64, unit: &str) -> String {
    let blank = if unit.is_empty() { "" } else { " " };
    format!("{}{blank}{unit}", number(value))
}

/// `54.12 (53.8 .. 54.4) Mbit/s`.
fn told_with(value: f64, interval: Option<(f64, f64)>, unit: &str) -> String {
    let between = interval.map(|(low, high)| format!(" ({} .. {})", number(low), number(high)));
    let blank = if unit.is_empty() { "" } else { " " };
    format!("{}{}{blank}{unit}", number(value), between.unwrap_or_default())
}

/// Cells of a value and its interval.
fn cells(value: f64, interval: Option<(f64, f64)>) -> [String; 3] {
    let number = powerband_record::format_number;
    let end = |end: Option<f64>| end.map(number).unwrap_or_default();
    [number(value), end(interval.map(|it| it.0)), end(interval.map(|it| it.1))]
}

#[cfg(test)]
mod tests;
