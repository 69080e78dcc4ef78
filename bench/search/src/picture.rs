//! The picture of the race: regret against settings tried, a line for each searcher and a panel for each surface, as SVG.

use std::fmt::Write as _;

/// One searcher's line.
pub(crate) struct Line {
    /// What it is called.
    pub(crate) name: String,
    /// Mean regret of the answer after each tried setting, percent.
    pub(crate) regret_percent: Vec<f64>,
}

/// One surface.
pub(crate) struct Panel {
    /// What it is called.
    pub(crate) title: String,
    /// The lines.
    pub(crate) lines: Vec<Line>,
}

/// Colours that are told apart by people who see red and green alike (Okabe and Ito 2008).
const COLOURS: [&str; 7] = ["#0072b2", "#999999", "#e69f00", "#009e73", "#cc79a7", "#d55e00", "#56b4e9"];

const WIDTH: f64 = 420.0;
const HEIGHT: f64 = 260.0;
const LEFT: f64 = 54.0;
const TOP: f64 = 30.0;
const RIGHT: f64 = 10.0;
const BOTTOM: f64 = 34.0;
const LEGEND: f64 = 26.0;
const COLUMNS: usize = 2;

/// Regrets below this are drawn at it, percent: the scale is logarithmic.
const FLOOR_PERCENT: f64 = 0.1;

/// Draws all panels.
pub(crate) fn svg(panels: &[Panel]) -> String {
    let columns = COLUMNS.min(panels.len().max(1));
    let rows = panels.len().div_ceil(columns);
    let (width, height) = (WIDTH * columns as f64, HEIGHT * rows as f64 + LEGEND);
    let mut out = format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {width} {height}\" font-family=\"sans-serif\" \
         font-size=\"11\">\n<rect width=\"100%\" height=\"100%\" fill=\"white\"/>\n"
    );
    for (index, line) in panels.first().map_or(&[][..], |panel| &panel.lines).iter().enumerate() {
        let x = 12.0 + index as f64 * (width - 20.0) / panels[0].lines.len() as f64;
        let colour = COLOURS[index % COLOURS.len()];
        let _ = writeln!(
            out,
            "<line x1=\"{x}\" y1=\"14\" x2=\"{}\" y2=\"14\" stroke=\"{colour}\" stroke-width=\"3\"/>\
             <text x=\"{}\" y=\"18\">{}</text>",
            x + 18.0,
            x + 22.0,
            escaped(&line.name)
        );
    }
    for (index, panel) in panels.iter().enumerate() {
        let (x, y) = ((index % columns) as f64 * WIDTH, LEGEND + (index / columns) as f64 * HEIGHT);
        let _ = writeln!(out, "<g transform=\"translate({x} {y})\">");
        draw(&mut out, panel);
        out.push_str("</g>\n");
    }
    out.push_str("</svg>\n");
    out
}

fn draw(out: &mut String, panel: &Panel) {
    let most = panel.lines.iter().map(|line| line.regret_percent.len()).max().unwrap_or(1).max(2);
    let highest = panel.lines.iter().flat_map(|line| line.regret_percent.iter().copied()).fold(1.0, f64::max);
    let (floor, top) = (FLOOR_PERCENT.log10(), highest.log10());
    let x = |tried: usize| LEFT + (tried as f64 - 1.0) / (most as f64 - 1.0) * (WIDTH - LEFT - RIGHT);
    let y = |percent: f64| TOP + (top - percent.max(FLOOR_PERCENT).log10()) / (top - floor) * (HEIGHT - TOP - BOTTOM);
    let _ = writeln!(out, "<text x=\"{LEFT}\" y=\"20\" font-weight=\"bold\">{}</text>", escaped(&panel.title));
    for percent in [0.1, 1.0, 10.0, 100.0].into_iter().filter(|percent| *percent <= highest) {
        let at = y(percent);
        let words = if percent <= FLOOR_PERCENT { "≤ 0.1 %".to_owned() } else { format!("{percent} %") };
        let _ = writeln!(
            out,
            "<line x1=\"{LEFT}\" y1=\"{at:.1}\" x2=\"{}\" y2=\"{at:.1}\" stroke=\"#dddddd\"/>\
             <text x=\"{}\" y=\"{:.1}\" text-anchor=\"end\">{words}</text>",
            WIDTH - RIGHT,
            LEFT - 4.0,
            at + 4.0
        );
    }
    for tried in (0..=most).step_by(10).skip(1).chain([1]) {
        let _ = writeln!(
            out,
            "<text x=\"{:.1}\" y=\"{}\" text-anchor=\"middle\">{tried}</text>",
            x(tried),
            HEIGHT - BOTTOM + 15.0
        );
    }
    let _ = writeln!(
        out,
        "<text x=\"{}\" y=\"{}\" text-anchor=\"middle\">settings tried</text>",
        (LEFT + WIDTH - RIGHT) / 2.0,
        HEIGHT - 5.0
    );
    for (index, line) in panel.lines.iter().enumerate() {
        let points: Vec<String> = (1..)
            .zip(&line.regret_percent)
            .map(|(tried, regret)| format!("{:.1},{:.1}", x(tried), y(*regret)))
            .collect();
        let colour = COLOURS[index % COLOURS.len()];
        let _ = writeln!(
            out,
            "<polyline fill=\"none\" stroke=\"{colour}\" stroke-width=\"{}\" points=\"{}\"/>",
            if index == 0 { 3 } else { 1 },
            points.join(" ")
        );
    }
}

fn escaped(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_better_searcher_lies_lower() {
        let line = |name: &str, regret: f64| Line { name: name.to_owned(), regret_percent: vec![50.0, regret, regret] };
        let panel = Panel { title: "a < b".to_owned(), lines: vec![line("ours", 0.0), line("random", 20.0)] };
        let drawn = svg(&[panel]);
        assert!(drawn.contains("a &lt; b") && drawn.ends_with("</svg>\n"), "{drawn}");
        let last_y = |line: &str| -> f64 {
            let points = line.split("points=\"").nth(1).unwrap().split('"').next().unwrap();
            points.split(',').next_back().unwrap().parse().unwrap()
        };
        let lines: Vec<&str> = drawn.lines().filter(|line| line.starts_with("<polyline")).collect();
        assert!(last_y(lines[0]) > last_y(lines[1]) + 50.0, "down is less: {lines:?}");
    }
}
