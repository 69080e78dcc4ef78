//! The tables of a report: verdicts on one metric, and the levels of all settings, split where a line would not hold them.
use powerband_record::{Level, Metric, Verdict, unit_of};

use super::cell::{Cell, cell, scale};
use crate::change::{signed_change, signed_interval, unit_of_change};
use crate::distribution::printed;
use crate::layout::{LABELS, columns, fit, frame};
use crate::words::{with_boundary, word};
use crate::{Distribution, Model, requirements};

/// Changes and verdicts of one metric.
pub(super) fn verdicts(model: &Model, metric: usize, width: usize, colour: bool) -> Vec<String> {
    let unit = model.verdicts(metric).next().map_or("%", unit_of_change);
    let mut head = ["setting", &format!("change {unit}"), &format!("interval {unit}"), "verdict", "blocks"]
        .map(|text| text.trim_end().to_owned())
        .to_vec();
    // Requirements are of settings, not of metrics: they stand in the first table.
    let required = |setting: u32| {
        let first = model.judged().next().is_some_and(|(place, _)| place == metric);
        if first { requirements::cell(model, setting) } else { None }
    };
    if required(0).is_some() {
        head.insert(3, "required".to_owned());
    }
    let rows: Vec<Vec<String>> = model
        .verdicts(metric)
        .map(|verdict| {
            let mut row = vec![
                model.label(verdict.setting),
                signed_change(verdict),
                signed_interval(verdict).unwrap_or_else(|| "-".into()),
            ];
            row.extend(required(verdict.setting));
            row.push(word(verdict.verdict).into());
            row.push(match (verdict.verdict, verdict.predicted_blocks) {
                (Verdict::Undecided, Some((low, high))) if low == high => format!("{} of ~{low}", verdict.blocks),
                (Verdict::Undecided, Some((low, high))) => format!("{} of ~{low}..{high}", verdict.blocks),
                _ => verdict.blocks.to_string(),
            });
            row
        })
        .collect();
    let whole: Vec<usize> = (1..head.len()).collect();
    let lines = fit(&head, &rows, width, 1, &whole);
    if colour { lines.into_iter().map(|line| paint(&line)).collect() } else { lines }
}

/// Colours the word in the column of verdicts, the last but one.
fn paint(line: &str) -> String {
    let cells: Vec<&str> = line.split(['│', '┆']).collect();
    let Some(place) = cells.len().checked_sub(3) else { return line.to_owned() };
    let verdicts = [Verdict::Better, Verdict::Worse, Verdict::Same, Verdict::Undecided];
    let Some(verdict) = verdicts.into_iter().find(|verdict| word(*verdict) == cells[place].trim()) else {
        return line.to_owned();
    };
    let ansi = super::plot::ansi(verdict);
    // Where the cell begins and ends in the line; borders take three bytes.
    let begin = cells[..place].iter().map(|cell| cell.len() + '│'.len_utf8()).sum::<usize>();
    let end = begin + cells[place].len();
    format!("{}\x1b[{ansi}m{}\x1b[0m{}", &line[..begin], &line[begin..end], &line[end..])
}

/// A column of levels, printed.
struct Column {
    head: String,
    cells: Vec<Cell>,
}

impl Column {
    fn new(model: &Model, place: usize, metric: &Metric) -> Option<Column> {
        let shown = model.shown();
        let levels: Vec<Option<&Level>> =
            shown.into_iter().map(|setting| model.settings[setting].levels[place].as_ref()).collect();
        let there: Vec<&Level> = levels.iter().copied().flatten().collect();
        if there.is_empty() {
            return None;
        }
        let (power, unit) = scale(unit_of(&metric.name), &there);
        let none = || Cell { value: "-".into(), interval: String::new() };
        let cells = levels.into_iter().map(|level| level.map_or_else(none, |level| cell(level, power))).collect();
        Some(Column { head: head(metric, &unit), cells })
    }

    /// Columns it takes with value and interval in one line, or in two.
    fn width(&self, lines: usize) -> usize {
        let cell = |cell: &Cell| match lines {
            1 => columns(&one_line(cell)),
            _ => columns(&cell.value).max(columns(&cell.interval)),
        };
        let head = self.head.split('\n').map(columns).max().unwrap_or(0);
        self.cells.iter().map(cell).max().unwrap_or(0).max(head)
    }
}

fn one_line(cell: &Cell) -> String {
    if cell.interval.is_empty() { cell.value.clone() } else { format!("{} {}", cell.value, cell.interval) }
}

/// A metric's name without its unit.
pub(crate) fn plain_name(metric: &str) -> &str {
    let unit = unit_of(metric);
    // The unit's suffix may hold more than one `_`: the shortest end of the name that means the same unit.
    let mut ends = metric.rmatch_indices('_').map(|(place, _)| metric.split_at(place));
    match unit {
        "" => metric,
        _ => ends.find(|(_, end)| unit_of(end) == unit).map_or(metric, |(name, _)| name),
    }
}

/// What a column is: its name without the unit, then the unit with its power of ten, the domain of watts and joules.
pub(crate) fn head(metric: &Metric, scaled: &str) -> String {
    let name = plain_name(&metric.name);
    let below = with_boundary(scaled, metric);
    let below = below.trim();
    if below.is_empty() { name.to_owned() } else { format!("{name}\n{below}") }
}

/// Typical values of every metric of every setting, in as many tables as it takes.
pub(super) fn levels(model: &Model, width: usize) -> Vec<String> {
    let metrics = model.started.metrics.iter().enumerate();
    let all: Vec<Column> = metrics.filter_map(|(place, metric)| Column::new(model, place, metric)).collect();
    if all.is_empty() {
        return vec![];
    }
    let number = |setting: usize| u32::try_from(setting).unwrap_or(u32::MAX);
    let labels: Vec<String> = model.shown().into_iter().map(|setting| label(model, number(setting))).collect();
    in_tables(&labels, &all, width)
}

/// Percentiles and largest value of one distribution of each setting.
pub(super) fn percentiles(name: &str, of: &[(String, &Distribution)], width: usize) -> Vec<String> {
    let (divisor, unit) = printed(name);
    let level = |value: f64, interval: Option<(f64, f64)>| {
        let (low, high) = interval.map(|(low, high)| (low / divisor, high / divisor)).unzip();
        Level { setting: 0, metric: String::new(), trials: 0, typical: value / divisor, low, high }
    };
    // The same percentiles of each setting, then the largest value.
    let rows: Vec<Vec<Level>> = of
        .iter()
        .map(|(_, it)| {
            let percentiles = it.percentiles().into_iter().map(|p| level(p.value, p.interval));
            percentiles.chain([level(it.max() as f64, None)]).collect()
        })
        .collect();
    let names = of.first().map(|(_, it)| it.percentiles()).unwrap_or_default();
    let names = names.iter().map(|percentile| percentile.name).chain(["max"]);
    let all: Vec<Column> = names
        .enumerate()
        .map(|(place, name)| {
            let levels: Vec<&Level> = rows.iter().filter_map(|row| row.get(place)).collect();
            let (power, unit) = scale(unit, &levels);
            let cells = levels.into_iter().map(|level| cell(level, power)).collect();
            Column { head: format!("{name}\n{unit}").trim().to_owned(), cells }
        })
        .collect();
    let labels: Vec<String> = of.iter().map(|(label, _)| label.clone()).collect();
    in_tables(&labels, &all, width)
}

/// Columns next to the labels, in as many tables as it takes.
fn in_tables(labels: &[String], all: &[Column], width: usize) -> Vec<String> {
    let widest = labels.iter().map(|label| columns(label)).chain([7]).max().unwrap_or(7).min(LABELS);
    let takes = |of: &[Column], lines| widest + of.iter().map(|c| c.width(lines)).sum::<usize>() + frame(of.len() + 1);
    if takes(all, 1) <= width {
        return table(labels, all, 1, width);
    }
    let mut lines = vec![];
    let mut rest = all;
    while !rest.is_empty() {
        // The most that fit; one that is alone too wide is folded.
        let fitting = (1..=rest.len()).rev().find(|&count| takes(&rest[..count], 2) <= width).unwrap_or(1);
        let (now, later) = rest.split_at(fitting);
        lines.extend(table(labels, now, if takes(now, 1) <= width { 1 } else { 2 }, width));
        rest = later;
    }
    lines
}

fn label(model: &Model, number: u32) -> String {
    let mark = if number == 0 && model.settings.len() > 1 { " (reference)" } else { "" };
    format!("{}{mark}", model.label(number))
}

fn table(labels: &[String], of: &[Column], lines: usize, width: usize) -> Vec<String> {
    let head: Vec<String> = ["setting".to_owned()].into_iter().chain(of.iter().map(|c| c.head.clone())).collect();
    let rows: Vec<Vec<String>> = labels
        .iter()
        .enumerate()
        .map(|(row, label)| {
            let cells = of.iter().map(|column| match (&column.cells[row], lines) {
                (cell, 1) => one_line(cell),
                (cell, _) if cell.interval.is_empty() => cell.value.clone(),
                (cell, _) => format!("{}\n{}", cell.value, cell.interval),
            });
            [label.clone()].into_iter().chain(cells).collect()
        })
        .collect();
    let whole: Vec<usize> = (1..head.len()).collect();
    fit(&head, &rows, width, 1, &whole)
}
