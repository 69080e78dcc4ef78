//! The clocks of the picked CPUs over time, large; where there are none, how busy they were.
use ratatui::Frame;
use ratatui::layout::Rect;
use ratatui::style::Color;
use ratatui::symbols::Marker;
use ratatui::widgets::{Axis, Chart, Dataset, GraphType, LegendPosition};

use super::View;
use super::cell::{clock, time};
use crate::CpuNow;

/// Told apart by colour, and by their names next to them.
const COLOURS: [Color; 6] = [Color::Cyan, Color::Yellow, Color::Magenta, Color::Green, Color::Blue, Color::Red];

/// One CPU: how many seconds ago (below 0), and kHz or percent.
struct Curve {
    name: String,
    colour: Color,
    points: Vec<(f64, f64)>,
}

/// Draws them.
pub(super) fn draw(view: &View, frame: &mut Frame<'_>, area: Rect) {
    let Some(latest) = view.samples.back() else { return };
    let large = view.large();
    let clocks = view.clocks();
    let ranges: Vec<(u32, u32)> = large.iter().filter_map(|&line| view.range_khz(line)).collect();
    let (low, high) = match (clocks, ranges.iter().map(|range| range.0).min(), ranges.iter().map(|range| range.1).max())
    {
        (true, Some(low), Some(high)) => (low, high),
        (true, ..) => return,
        (false, ..) => (0, 100),
    };
    let label = |value: u32| if clocks { clock(Some(value)) } else { format!("{value:>3} %") };
    let labels = [label(low), label(low.midpoint(high)), label(high)];
    let value = |cpu: &CpuNow| if clocks { cpu.clock_khz.map(f64::from) } else { cpu.busy.map(|share| 100.0 * share) };
    // Two dots of braille a column.
    let wide = usize::from(area.width).saturating_sub(labels.iter().map(String::len).max().unwrap_or(0) + 1).max(1);
    let span_s = view.interval_ns as f64 * 1e-9 * (2 * wide) as f64;
    let ago_s = |at_ns: u64| -(latest.at_ns.saturating_sub(at_ns) as f64) * 1e-9;
    let curve = |(place, &line): (usize, &usize)| Curve {
        name: view.scene.cpus.get(line).map_or_else(String::new, |(cpu, _)| format!("cpu {cpu}")),
        colour: COLOURS[place % COLOURS.len()],
        points: view.samples.iter().filter_map(|it| Some((ago_s(it.at_ns), value(it.cpus.get(line)?)?))).collect(),
    };
    let curves: Vec<Curve> = large.iter().enumerate().map(curve).collect();
    if curves.iter().all(|curve| curve.points.is_empty()) {
        return;
    }
    let sets = curves.iter().map(|curve| {
        let set = Dataset::default().name(curve.name.as_str()).marker(Marker::Braille).graph_type(GraphType::Line);
        set.style(view.tint(curve.colour)).data(&curve.points)
    });
    // The least and the greatest clock keep a little distance from the edge.
    let edge = (f64::from(high - low) * 0.02).max(1.0);
    let x = Axis::default().bounds([-span_s, 0.0]).labels([format!("{} ago", time(span_s)), "now".into()]);
    let y = Axis::default().bounds([f64::from(low) - edge, f64::from(high) + edge]).labels(labels);
    // The latest is at the right.
    let chart = Chart::new(sets.collect()).legend_position(Some(LegendPosition::TopLeft));
    frame.render_widget(chart.x_axis(x).y_axis(y), area);
}
