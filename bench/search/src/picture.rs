//! The picture of the race: regret against settings tried, a line for each searcher and a panel for each surface.
use powerband_report::picture::chart::{self, Chart, Dot, Line};
use powerband_report::picture::scale::Reach;

/// Regrets below this are drawn at it, percent: the scale is logarithmic.
const FLOOR_PERCENT: f64 = 0.1;

/// One searcher's line: its mean regret after each tried setting, percent.
pub(crate) fn line(name: &str, regret_percent: &[f64]) -> Line {
    let dot =
        |(tried, regret): (u32, &f64)| Dot { x: f64::from(tried), y: regret.max(FLOOR_PERCENT), ..Dot::default() };
    Line { name: name.to_owned(), dots: (1..).zip(regret_percent).map(dot).collect(), pointed: false }
}

/// One surface.
pub(crate) fn panel(title: &str, lines: Vec<Line>) -> Chart {
    let y = format!("{title}: regret of the answer, % (least shown: {FLOOR_PERCENT})");
    Chart { x: (Reach::Values, "settings tried".to_owned()), y: (Reach::Log, y), lines }
}

/// All panels as a file; nothing where nothing was raced.
pub(crate) fn svg(panels: &[Chart]) -> Option<String> {
    let desc = "Mean regret of the answer after each setting tried, a line for each searcher; lower is better.";
    chart::draw("The race of searchers", desc, panels)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_better_searcher_lies_lower() {
        let lines = vec![line("ours", &[50.0, 0.0, 0.0]), line("random", &[50.0, 20.0, 20.0])];
        let drawn = svg(&[panel("a < b", lines)]).unwrap();
        assert!(drawn.contains("a &lt; b"), "{drawn}");
        let last_y = |path: &str| -> f64 {
            let path = path.split(" d=\"").nth(1).unwrap().split('"').next().unwrap();
            path.split(' ').next_back().unwrap().parse().unwrap()
        };
        let series = drawn.split("pb-series").skip(1);
        let paths: Vec<&str> = series.map(|series| series.split("<path").nth(1).unwrap()).collect();
        assert!(last_y(paths[0]) > last_y(paths[1]) + 50.0, "down is less: {paths:?}");
    }
}
