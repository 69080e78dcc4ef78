//! Charts of what is no experiment, by the same grammar: lines through points, a panel beneath the other, one legend.
use super::mark::MarkStyle;
use super::palette::Theme;
use super::plane::{Join, Panel, Plane, Series, Spot};
use super::scale::Reach;
use super::{palette, svg_file};

/// An axis: how its values lie, and its title with the unit.
pub type ChartAxis = (Reach, String);

/// A point of a [`Line`], in the units of its axes.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Dot {
    /// Along.
    pub x: f64,
    /// Up.
    pub y: f64,
    /// As far up as it may lie, where that is more.
    pub up_to: Option<f64>,
    /// Whether it stands out by a ring.
    pub ringed: bool,
}

/// Points in order, and what they are called.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Line {
    /// What the legend calls it; lines of one name look the same in all panels where they are in the same order.
    pub name: String,
    /// Its points.
    pub dots: Vec<Dot>,
    /// Whether points are marked, or only the line between them is drawn.
    pub pointed: bool,
}

/// Two axes and lines between them.
#[derive(Clone, Debug, PartialEq)]
pub struct Chart {
    /// The axis below.
    pub x: ChartAxis,
    /// The axis on the left; its title stands above the panel and names it.
    pub y: ChartAxis,
    /// The lines.
    pub lines: Vec<Line>,
}

/// How high a panel is, in the drawing's units.
const HEIGHT: f64 = 200.0;

/// Charts as one drawing on white paper, a file of its own; nothing where none has a point that its scales can show.
#[must_use]
pub fn draw(title: &str, desc: &str, charts: &[Chart]) -> Option<String> {
    let panels: Vec<Panel> = charts.iter().map(panel).collect();
    let legend = panels.first().map(|panel| panel.series.iter().map(Series::key).collect()).unwrap_or_default();
    let drawing = Plane { title: title.to_owned(), desc: desc.to_owned(), legend, panels }.draw()?;
    Some(svg_file(&palette::plain(&drawing, Theme::Light)))
}

fn panel(chart: &Chart) -> Panel {
    let spot = |dot: &Dot| Spot {
        x: dot.x,
        y: dot.y,
        interval: dot.up_to.map(|high| (dot.y, high)),
        ringed: dot.ringed,
        ..Spot::default()
    };
    let series = chart.lines.iter().enumerate().map(|(number, line)| Series {
        label: line.name.clone(),
        setting: None,
        look: MarkStyle::of(number),
        join: Join::Line,
        pointed: line.pointed,
        spots: line.dots.iter().map(spot).collect(),
    });
    Panel::of(chart.x.clone(), chart.y.clone(), series.collect(), HEIGHT)
}
