//! The picture of the race: wrong verdicts against machine time, a panel for each noise and a line for each way to verdicts, as
//! SVG.

use std::fmt::Write as _;

/// What one way to verdicts came to, in means over the experiments.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Point {
    /// Trials over those of ten each.
    pub(crate) ratio: f64,
    /// Wrong verdicts, percent.
    pub(crate) wrong_percent: f64,
    /// Verdicts that were not given, percent.
    pub(crate) undecided_percent: f64,
}

/// One contender, from little patience to much.
pub(crate) struct Line {
    /// What it is called, and what changes along the line.
    pub(crate) name: String,
    /// What it came to.
    pub(crate) points: Vec<Point>,
    /// Which of them is the one in use, drawn large.
    pub(crate) usual: usize,
}

/// One noise.
pub(crate) struct Panel {
    /// What it is called.
    pub(crate) title: String,
    /// The lines, ours first.
    pub(crate) lines: Vec<Line>,
}

/// Colours that are told apart by people who see red and green alike (Okabe and Ito 2008).
const COLOURS: [&str; 6] = ["#0072b2", "#56b4e9", "#e69f00", "#009e73", "#cc79a7", "#d55e00"];

const WIDTH: f64 = 420.0;
const HEIGHT: f64 = 280.0;
const LEFT: f64 = 54.0;
const TOP: f64 = 30.0;
const RIGHT: f64 = 12.0;
const BOTTOM: f64 = 40.0;
const ROW: f64 = 18.0;
const COLUMNS: usize = 2;

/// Both scales are logarithmic; what lies outside is drawn at the edge.
const WRONG_PERCENT: (f64, f64) = (0.1, 100.0);
const RATIO: (f64, f64) = (0.2, 4.0);

/// Draws all panels; the legend stands in the place behind the last, or below.
pub(crate) fn svg(panels: &[Panel]) -> String {
    let rows = (panels.len() + 1).div_ceil(COLUMNS);
    let (width, height) = (WIDTH * COLUMNS as f64, HEIGHT * rows as f64);
    let mut out = format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {width} {height}\" font-family=\"sans-serif\" \
         font-size=\"11\">\n<rect width=\"100%\" height=\"100%\" fill=\"white\"/>\n"
    );
    let place = |index: usize| ((index % COLUMNS) as f64 * WIDTH, (index / COLUMNS) as f64 * HEIGHT);
    for (index, panel) in panels.iter().enumerate() {
        let (x, y) = place(index);
        let _ = writeln!(out, "<g transform=\"translate({x} {y})\">");
        draw(&mut out, panel);
        out.push_str("</g>\n");
    }
    let (x, y) = place(panels.len());
    let _ = writeln!(out, "<g transform=\"translate({x} {y})\">");
    legend(&mut out, panels.first().map_or(&[][..], |panel| &panel.lines));
    out.push_str("</g>\n</svg>\n");
    out
}

fn legend(out: &mut String, lines: &[Line]) {
    let mut y = TOP + ROW;
    for (index, line) in lines.iter().enumerate() {
        let colour = COLOURS[index % COLOURS.len()];
        let _ = writeln!(
            out,
            "<circle cx=\"{LEFT}\" cy=\"{}\" r=\"5\" fill=\"{colour}\"/><text x=\"{}\" y=\"{y}\">{}</text>",
            y - 4.0,
            LEFT + 12.0,
            escaped(&line.name)
        );
        y += ROW;
    }
    for words in ["Large: as it is used. Small: with less patience, or more.", "Up from a dot: what is left undecided."]
    {
        let _ = writeln!(out, "<text x=\"{}\" y=\"{}\">{words}</text>", LEFT - 5.0, y + 6.0);
        y += ROW;
    }
}

fn part(value: f64, (low, high): (f64, f64)) -> f64 {
    (value.clamp(low, high) / low).ln() / (high / low).ln()
}

fn x(ratio: f64) -> f64 {
    LEFT + part(ratio, RATIO) * (WIDTH - LEFT - RIGHT)
}

fn y(percent: f64) -> f64 {
    HEIGHT - BOTTOM - part(percent, WRONG_PERCENT) * (HEIGHT - TOP - BOTTOM)
}

fn draw(out: &mut String, panel: &Panel) {
    let _ = writeln!(out, "<text x=\"{LEFT}\" y=\"20\" font-weight=\"bold\">{}</text>", escaped(&panel.title));
    for percent in [0.1, 1.0, 10.0, 100.0] {
        let at = y(percent);
        let words = if percent <= WRONG_PERCENT.0 { "≤ 0.1 %".to_owned() } else { format!("{percent} %") };
        let _ = writeln!(
            out,
            "<line x1=\"{LEFT}\" y1=\"{at:.1}\" x2=\"{}\" y2=\"{at:.1}\" stroke=\"#dddddd\"/>\
             <text x=\"{}\" y=\"{:.1}\" text-anchor=\"end\">{words}</text>",
            WIDTH - RIGHT,
            LEFT - 4.0,
            at + 4.0
        );
    }
    for ratio in [0.2, 0.3, 0.5, 1.0, 2.0, 3.0] {
        let at = x(ratio);
        let _ = writeln!(
            out,
            "<line x1=\"{at:.1}\" y1=\"{TOP}\" x2=\"{at:.1}\" y2=\"{}\" stroke=\"#eeeeee\"/>\
             <text x=\"{at:.1}\" y=\"{}\" text-anchor=\"middle\">{ratio}</text>",
            HEIGHT - BOTTOM,
            HEIGHT - BOTTOM + 14.0
        );
    }
    let _ = writeln!(
        out,
        "<text x=\"{}\" y=\"{}\" text-anchor=\"middle\">trials, of those of ten runs each; up: wrong verdicts</text>",
        (LEFT + WIDTH - RIGHT) / 2.0,
        HEIGHT - 8.0
    );
    for (index, line) in panel.lines.iter().enumerate() {
        contender(out, line, COLOURS[index % COLOURS.len()]);
    }
}

fn contender(out: &mut String, line: &Line, colour: &str) {
    let at = |point: &Point| (x(point.ratio), y(point.wrong_percent));
    let points: Vec<String> =
        line.points.iter().map(|point| format!("{:.1},{:.1}", at(point).0, at(point).1)).collect();
    let _ = writeln!(out, "<polyline fill=\"none\" stroke=\"{colour}\" points=\"{}\"/>", points.join(" "));
    for (index, point) in line.points.iter().enumerate() {
        let (cx, cy) = at(point);
        let radius = if index == line.usual { 5 } else { 2 };
        let _ = writeln!(out, "<circle cx=\"{cx:.1}\" cy=\"{cy:.1}\" r=\"{radius}\" fill=\"{colour}\"/>");
        if index == line.usual && point.undecided_percent > 0.0 {
            let top = y(point.wrong_percent + point.undecided_percent);
            let _ = writeln!(
                out,
                "<line x1=\"{cx:.1}\" y1=\"{cy:.1}\" x2=\"{cx:.1}\" y2=\"{top:.1}\" stroke=\"{colour}\" \
                 stroke-dasharray=\"2 2\"/>"
            );
        }
    }
}

fn escaped(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fewer_errors_lie_lower_and_less_time_further_left() {
        let point = |ratio, wrong_percent| Point { ratio, wrong_percent, undecided_percent: 0.0 };
        let line = |name: &str, points: Vec<Point>| Line { name: name.to_owned(), points, usual: 0 };
        let lines =
            vec![line("ours < 5 %", vec![point(0.4, 0.5)]), line("ten", vec![point(1.0, 20.0), point(2.0, 0.0)])];
        let drawn = svg(&[Panel { title: "a wave".to_owned(), lines }]);
        assert!(drawn.contains("ours &lt; 5 %") && drawn.ends_with("</svg>\n"), "{drawn}");
        let value = |line: &str, name: &str| -> f64 {
            line.split(&format!("{name}=\"")).nth(1).unwrap().split('"').next().unwrap().parse().unwrap()
        };
        let dots: Vec<(f64, f64)> = drawn
            .lines()
            .filter(|line| line.starts_with("<circle") && !line.contains("<text"))
            .map(|line| (value(line, "cx"), value(line, "cy")))
            .collect();
        let [ours, ten, twenty] = dots[..] else { panic!("{dots:?}") };
        assert!(ours.0 < ten.0 && ten.0 < twenty.0 && ours.1 > ten.1, "{dots:?}");
        // None at all has no logarithm, and lies on the floor.
        assert!((twenty.1 - (HEIGHT - BOTTOM)).abs() < 0.1, "{dots:?}");
        assert!((ten.0 - ours.0) > 0.2 * WIDTH, "{dots:?}");
    }
}
