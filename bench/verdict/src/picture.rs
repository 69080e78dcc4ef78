//! The picture of the race: wrong verdicts against machine time, a panel for each noise and a line for each way to verdicts.
use powerband_report::picture::chart::{self, Chart, Dot, Line};
use powerband_report::picture::scale::Reach;

/// None at all has no logarithm, and is drawn here.
const FLOOR_PERCENT: f64 = 0.1;

/// What one way to verdicts came to, in means over the experiments.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Point {
    /// Trials over those of ten each.
    pub(crate) ratio: f64,
    /// Wrong verdicts, percent.
    pub(crate) wrong_percent: f64,
    /// Verdicts that were not given, percent.
    pub(crate) undecided_percent: f64,
    /// Whether it is as it is used; else with less patience, or more.
    pub(crate) usual: bool,
}

/// One contender, from little patience to much.
pub(crate) fn line(name: String, points: &[Point]) -> Line {
    let dot = |point: &Point| Dot {
        x: point.ratio,
        y: point.wrong_percent.max(FLOOR_PERCENT),
        up_to: Some(point.wrong_percent + point.undecided_percent)
            .filter(|_| point.usual && point.undecided_percent > 0.0),
        ringed: point.usual,
    };
    Line { name, dots: points.iter().map(dot).collect(), pointed: true }
}

/// One noise.
pub(crate) fn panel(title: &str, lines: Vec<Line>) -> Chart {
    let x = (Reach::Log, "trials, of those of ten runs each".to_owned());
    Chart { x, y: (Reach::Log, format!("{title}: wrong verdicts, % (least shown: {FLOOR_PERCENT})")), lines }
}

/// All panels as a file; nothing where nothing was raced.
pub(crate) fn svg(panels: &[Chart]) -> Option<String> {
    let desc = "Wrong verdicts against trials, a line for each way to verdicts. A ring is round what is used; the others \
                have less patience, or more. Up from a ring: what is left undecided.";
    chart::draw("The race of verdicts", desc, panels)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fewer_errors_lie_lower_and_less_time_further_left() {
        let point = |ratio, wrong_percent| Point { ratio, wrong_percent, undecided_percent: 0.0, usual: false };
        let ours = line("ours < 5 %".to_owned(), &[point(0.4, 0.5)]);
        let ten = line("ten".to_owned(), &[point(1.0, 20.0), point(2.0, 0.0)]);
        let drawn = svg(&[panel("a wave", vec![ours, ten])]).unwrap();
        assert!(drawn.contains("ours &lt; 5 %"), "{drawn}");
        let value = |mark: &str, name: &str| -> f64 {
            mark.split(&format!(" {name}=\"")).nth(1).unwrap().split('"').next().unwrap().parse().unwrap()
        };
        let marks: Vec<&str> = drawn.split('<').filter(|tag| tag.contains("pb-mark pb-point")).collect();
        let place = |mark: &&str| {
            let prefix = if mark.starts_with("circle") { "" } else { "data-" };
            (value(mark, &format!("{prefix}cx")), value(mark, &format!("{prefix}cy")))
        };
        let [ours, ten, twenty] = marks.iter().map(place).collect::<Vec<_>>()[..] else { panic!("{marks:?}") };
        assert!(ours.0 + 50.0 < ten.0 && ten.0 < twenty.0, "less time lies left: {marks:?}");
        assert!(twenty.1 > ours.1 && ours.1 > ten.1 + 50.0, "fewer errors lie lower: {marks:?}");
    }
}
