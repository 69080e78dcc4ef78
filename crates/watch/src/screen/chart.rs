//! The clocks of the picked CPUs over time, large.
use ratatui::Frame;
use ratatui::layout::Rect;
use ratatui::style::Color;
use ratatui::symbols::Marker;
use ratatui::text::Line;
use ratatui::widgets::{Axis, Chart, Dataset, GraphType, LegendPosition};

use super::View;
use super::draw::{clock, time};

/// Told apart by colour, and by their names beside them.
const COLOURS: [Color; 6] = [Color::Cyan, Color::Yellow, Color::Magenta, Color::Green, Color::Blue, Color::Red];

/// Draws them.
pub(super) fn draw(view: &View, frame: &mut Frame<'_>, area: Rect) {
    let Some(latest) = view.samples.back() else { return };
    let large = view.large();
    let ranges: Vec<(u32, u32)> = large.iter().filter_map(|&line| view.range_khz(line)).collect();
    let low = ranges.iter().map(|range| range.0).min();
    let Some((low, high)) = low.zip(ranges.iter().map(|range| range.1).max()) else { return };
    let labels = [clock(Some(low)), clock(Some(low.midpoint(high))), clock(Some(high))];
    // Two dots of braille a column.
    let wide = usize::from(area.width).saturating_sub(labels.iter().map(String::len).max().unwrap_or(0) + 1).max(1);
    let span_s = view.interval_ns as f64 * 1e-9 * (2 * wide) as f64;
    let ago_s = |at_ns: u64| -(latest.at_ns.saturating_sub(at_ns) as f64) * 1e-9;
    let points = |line: usize| -> Vec<(f64, f64)> {
        let points = view.samples.iter().map(|sample| (ago_s(sample.at_ns), sample.cpus.get(line)));
        points.filter_map(|(at_s, cpu)| Some((at_s, f64::from(cpu?.clock_khz?)))).collect()
    };
    let all: Vec<(usize, Vec<(f64, f64)>)> = large.iter().map(|&line| (line, points(line))).collect();
    let dataset = |(place, (line, points)): (usize, &'_ (usize, Vec<(f64, f64)>))| {
        let name = view.scene.cpus.get(*line).map_or_else(String::new, |(cpu, _)| format!("cpu {cpu}"));
        let style = view.tint(COLOURS[place % COLOURS.len()]);
        (Line::from(name), style, points.clone())
    };
    let told: Vec<_> = all.iter().enumerate().map(dataset).collect();
    let sets = told.iter().map(|(name, style, points)| {
        let set = Dataset::default().name(name.clone()).marker(Marker::Braille).graph_type(GraphType::Line);
        set.style(*style).data(points)
    });
    // The least and the greatest clock keep a little distance from the edge.
    let edge = (f64::from(high - low) * 0.02).max(1.0);
    let x = Axis::default().bounds([-span_s, 0.0]).labels([format!("{} ago", time(span_s)), "now".into()]);
    let y = Axis::default().bounds([f64::from(low) - edge, f64::from(high) + edge]).labels(labels);
    // The latest is at the right.
    let chart = Chart::new(sets.collect()).legend_position(Some(LegendPosition::TopLeft));
    frame.render_widget(chart.x_axis(x).y_axis(y), area);
}
