//! Small plots of a metric between tables: against the numeric knob that settings differ in, or else a line a setting.
use powerband_record::{Level, Metric, Verdict};

use crate::Model;
use crate::knob_axis::{KnobAxis, knob_axis};
use crate::layout::{columns, cut, fold};
use crate::level::{interval, levels};
use crate::picture::scale::{AxisScale, Reach};
use crate::words::titled;

/// Fewer settings are told by the table.
const MIN: usize = 3;
/// More settings than this get no line each.
const MAX: usize = 20;
/// Columns of data: so many at most, and none at all below.
const WIDEST: usize = 60;
const NARROWEST: usize = 20;
/// Columns of labels at most.
const LABELS: usize = 24;
/// Lines of a plot against a knob.
const HIGH: usize = 8;
/// Values that span more than this lie by their logarithm.
const SPAN: f64 = 30.0;
/// What the eye passes over.
const DIM: &str = "2";

/// The plot of a judged metric, its heading first; nothing where the table says as much.
pub(super) fn draw(model: &Model, place: usize, metric: &Metric, width: usize, colour: bool) -> Vec<String> {
    let levels = levels(model, place);
    let reference = levels.iter().find(|(setting, _)| *setting == 0).map(|(_, level)| level.typical);
    let plot = Plot { model, place, levels, reference, width };
    if plot.levels.len() < MIN || model.started.search.is_some() {
        return Vec::new();
    }
    let Some((canvas, against)) = (match one_line(model) {
        Some(axis) => plot.against(&axis, HIGH).map(|canvas| (canvas, format!("against {}; ┄", axis.title))),
        None => plot.by_setting().map(|canvas| (canvas, "by setting; ┆".to_owned())),
    }) else {
        return Vec::new();
    };
    let heading = format!("{} {against} is {}", titled(metric), model.label(0));
    fold(&heading, width, 0).into_iter().chain(canvas.lines(colour)).collect()
}

/// Only the plot along a numeric knob, so many lines high, without a heading; nothing where settings differ in anything else.
pub(super) fn small(model: &Model, place: usize, width: usize, high: usize, colour: bool) -> Vec<String> {
    let levels = levels(model, place);
    let reference = levels.iter().find(|(setting, _)| *setting == 0).map(|(_, level)| level.typical);
    let plot = Plot { model, place, levels, reference, width };
    let axis = one_line(model).filter(|_| plot.levels.len() >= MIN && model.started.search.is_none());
    let Some((canvas, axis)) = axis.and_then(|axis| Some((plot.against(&axis, high)?, axis))) else {
        return Vec::new();
    };
    let mut lines = canvas.lines(colour);
    // The last line is the axis with its numbers: the knob's name and unit follow them.
    if let Some(last) = lines.last_mut() {
        let title = format!("  {}", axis.title);
        if columns(last) + columns(&title) <= width {
            last.push_str(&title);
        }
    }
    lines
}

/// The numeric knob that settings differ in, where they differ in nothing else.
fn one_line(model: &Model) -> Option<KnobAxis> {
    knob_axis(model).filter(|axis| axis.places.iter().all(|(.., line)| line.is_empty()))
}

struct Plot<'m> {
    model: &'m Model,
    place: usize,
    levels: Vec<(u32, &'m Level)>,
    reference: Option<f64>,
    width: usize,
}

impl Plot<'_> {
    /// Everything the plot has to reach.
    fn values(&self) -> Vec<f64> {
        let ends = |level: &Level| interval(level).into_iter().flat_map(|(low, high)| [low, high]);
        self.levels.iter().flat_map(|(_, level)| [level.typical].into_iter().chain(ends(level))).collect()
    }

    fn scale(&self, cells: usize) -> Option<AxisScale> {
        AxisScale::new(reach(&self.values()), self.values(), (0.0, cells.saturating_sub(1) as f64))
    }

    /// The colour of a setting's verdict, as in the table.
    fn ansi(&self, setting: u32) -> &'static str {
        let settings = &self.model.settings;
        let verdict = settings.get(setting as usize).and_then(|it| it.verdicts.get(self.place)?.as_ref());
        verdict.map_or("", |verdict| ansi(verdict.verdict))
    }

    /// A line for each setting, with a dot and whiskers.
    fn by_setting(&self) -> Option<Canvas> {
        let label = |setting: u32| cut(&self.model.label(setting), LABELS);
        let left = self.levels.iter().map(|(setting, _)| columns(&label(*setting))).max()? + 2;
        let wide = self.width.checked_sub(left)?.min(WIDEST);
        let scale = self.scale(wide).filter(|_| self.levels.len() <= MAX && wide >= NARROWEST)?;
        let mut canvas = Canvas::new(left, wide, self.levels.len());
        for (row, (setting, level)) in self.levels.iter().enumerate() {
            canvas.label(row, &label(*setting));
            if let Some(at) = self.reference.and_then(|value| cell(&scale, value)) {
                canvas.put(row, at, '┆', DIM);
            }
            let ansi = self.ansi(*setting);
            if let Some((low, high)) = interval(level).and_then(|(low, high)| cell(&scale, low).zip(cell(&scale, high)))
            {
                (low..=high).for_each(|at| canvas.put(row, at, '─', ansi));
                canvas.put(row, low, '├', ansi);
                canvas.put(row, high, '┤', ansi);
            }
            canvas.put(row, cell(&scale, level.typical)?, '●', ansi);
        }
        canvas.below(&scale);
        Some(canvas)
    }

    /// The typical values over the knob's numbers, with whiskers.
    fn against(&self, axis: &KnobAxis, high: usize) -> Option<Canvas> {
        let y = self.scale(high)?;
        let names: Vec<(usize, String)> = y
            .ticks(high.saturating_sub(2).max(2))
            .into_iter()
            .filter_map(|tick| Some((cell(&y, tick.value)?, tick.label)))
            .collect();
        let left = names.iter().map(|(_, name)| columns(name)).max()? + 2;
        let wide = self.width.checked_sub(left)?.min(WIDEST);
        let numbers: Vec<f64> = axis.places.iter().map(|(_, x, _)| *x).collect();
        let x = AxisScale::new(reach(&numbers), numbers, (0.0, wide.saturating_sub(1) as f64));
        let x = x.filter(|_| wide >= NARROWEST)?;
        let mut canvas = Canvas::new(left, wide, high);
        // The largest value stands in the first line.
        let row = |value: f64| cell(&y, value).map(|at| high - 1 - at);
        for at in 0..high {
            let name = names.iter().find(|(of, _)| high - 1 - of == at).map_or("", |(_, name)| name);
            canvas.label(at, &format!("{name:>wide$} {}", if name.is_empty() { '│' } else { '┤' }, wide = left - 2));
        }
        if let Some(at) = self.reference.and_then(row) {
            (0..wide).for_each(|column| canvas.put(at, column, '┄', DIM));
        }
        let knee = self.model.knee.as_ref().and_then(|knee| knee.knee);
        for (setting, number, _) in &axis.places {
            let level = self.levels.iter().find(|(of, _)| of == setting).map(|(_, level)| *level);
            let Some((level, column)) = level.zip(cell(&x, *number)) else { continue };
            let ansi = self.ansi(*setting);
            if let Some((low, high)) = interval(level).and_then(|(low, high)| row(low).zip(row(high))) {
                (high..=low).for_each(|at| canvas.put(at, column, '│', ansi));
            }
            let at = row(level.typical)?;
            canvas.put(at, column, '●', ansi);
            if knee == Some(*setting) {
                canvas.write(at + 1, column, "knee");
            }
        }
        canvas.corner = '└';
        canvas.below(&x);
        Some(canvas)
    }
}

fn reach(values: &[f64]) -> Reach {
    let (low, high) = values.iter().fold((f64::INFINITY, 0.0_f64), |(low, high), it| (low.min(*it), high.max(*it)));
    if low > 0.0 && high / low > SPAN { Reach::Log } else { Reach::Values }
}

/// The cell a value lies in.
fn cell(scale: &AxisScale, value: f64) -> Option<usize> {
    scale.held(value).map(|at| at.round() as usize)
}

/// The colour of a verdict on a terminal.
pub(super) fn ansi(verdict: Verdict) -> &'static str {
    match verdict {
        Verdict::Better => "32",
        Verdict::Worse => "31",
        Verdict::Same => "36",
        Verdict::Undecided => "33",
    }
}

/// Cells of characters with their colours, labels before them, an axis below.
struct Canvas {
    left: usize,
    labels: Vec<String>,
    cells: Vec<Vec<(char, &'static str)>>,
    /// The last sign of the labels' columns next to the axis, and after it its lines.
    corner: char,
    axis: Vec<String>,
}

impl Canvas {
    fn new(left: usize, wide: usize, high: usize) -> Canvas {
        let cells = vec![vec![(' ', ""); wide]; high];
        Canvas { left, labels: vec![String::new(); high], cells, corner: ' ', axis: Vec::new() }
    }

    fn label(&mut self, row: usize, label: &str) {
        if let Some(of) = self.labels.get_mut(row) {
            label.clone_into(of);
        }
    }

    fn put(&mut self, row: usize, column: usize, sign: char, ansi: &'static str) {
        if let Some(cell) = self.cells.get_mut(row).and_then(|row| row.get_mut(column)) {
            *cell = (sign, ansi);
        }
    }

    /// A word around a column, if there is room and nothing lies there.
    fn write(&mut self, row: usize, column: usize, word: &str) {
        let first = column.saturating_sub(columns(word) / 2);
        let Some(cells) = self.cells.get_mut(row).and_then(|row| row.get_mut(first..first + word.len())) else {
            return;
        };
        if cells.iter().all(|(sign, _)| matches!(sign, ' ' | '┄')) {
            cells.iter_mut().zip(word.chars()).for_each(|(cell, sign)| *cell = (sign, ""));
        }
    }

    /// An axis with round values, those that have room.
    fn below(&mut self, scale: &AxisScale) {
        let wide = self.cells.first().map_or(0, Vec::len);
        let (mut line, mut names) = (vec!['─'; wide], vec![' '; wide]);
        let mut free = 0;
        for tick in scale.ticks((wide / 10).max(2)) {
            let Some(at) = cell(scale, tick.value) else { continue };
            let first = at.saturating_sub(tick.label.len() / 2).min(wide.saturating_sub(tick.label.len()));
            let Some(room) = names.get_mut(first..first + tick.label.len()).filter(|_| first >= free) else { continue };
            room.iter_mut().zip(tick.label.chars()).for_each(|(cell, sign)| *cell = sign);
            free = first + tick.label.len() + 1;
            if let Some(cell) = line.get_mut(at) {
                *cell = '┬';
            }
        }
        self.axis = [line, names].map(|row| row.into_iter().collect()).into();
    }

    fn lines(&self, colour: bool) -> Vec<String> {
        let rows = self.labels.iter().zip(&self.cells).map(|(label, cells)| {
            let mut line = label.clone() + &" ".repeat(self.left.saturating_sub(columns(label)));
            let last = cells.iter().rposition(|(sign, _)| *sign != ' ').map_or(0, |at| at + 1);
            for run in cells[..last].chunk_by(|a, b| a.1 == b.1) {
                let signs: String = run.iter().map(|(sign, _)| *sign).collect();
                match run.first().map_or("", |(_, ansi)| *ansi) {
                    ansi if colour && !ansi.is_empty() => line += &format!("\x1b[{ansi}m{signs}\x1b[0m"),
                    _ => line += &signs,
                }
            }
            line.trim_end().to_owned()
        });
        let blank = " ".repeat(self.left.saturating_sub(1));
        let before = [self.corner, ' '].into_iter();
        let axis =
            self.axis.iter().zip(before).map(|(line, sign)| format!("{blank}{sign}{line}").trim_end().to_owned());
        rows.chain(axis).collect()
    }
}
