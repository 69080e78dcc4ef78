//! The one table of the default report: every setting's decision metrics with their verdicts, then what else differs. It gives
//! way: first details, then columns, then rows.
use powerband_record::{InOrder, Level, Metric, SettingVerdict, Verdict, unit_of};

use super::super::cell::{cell, scale};
use super::super::names::{Labels, labels};
use super::super::plot::ansi;
use super::super::tables::plain_name;
use super::caveats::ADJUSTED;
use crate::change::{signed_change, signed_interval, unit_of_change};
use crate::layout::{columns, cut};
use crate::words::word;
use crate::{Model, requirements};

/// Between columns.
const GAP: usize = 2;
/// Columns of a setting's name at least, where others have to give way.
const LABEL: usize = 14;
/// Metrics that decide nothing, most important first, as their names begin or end.
const IMPORTANT: [&str; 15] = [
    "power_w",
    "energy_j",
    "per_j",
    "per_w",
    // Measured only where somebody asks for it.
    "_mhz",
    "p99_us",
    "rtt",
    "p50_us",
    "mean_us",
    "rate_mbit_s",
    "per_s",
    "count",
    "max_us",
    "real_s",
    "_c",
];
/// Columns of other metrics at most.
const OTHERS: usize = 4;

/// A column: its two heads, and a cell for each row.
struct Column {
    heads: [String; 2],
    cells: Vec<String>,
    left: bool,
}

impl Column {
    fn width(&self) -> usize {
        self.heads.iter().chain(&self.cells).map(|text| columns(text)).max().unwrap_or(0)
    }
}

/// How much is said of each decision metric.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Detail {
    /// Value with its interval, verdict with its interval.
    Full,
    /// Value, verdict with the interval.
    Plain,
    /// Value, verdict with the estimate.
    Short,
    /// Verdict with the estimate.
    Verdict,
}

/// A table, and how many settings it leaves out.
pub(super) struct Drawn {
    pub(super) lines: Vec<String>,
    pub(super) left_out: usize,
}

/// The table in at most `room` lines, four at least; the last says what was left out.
pub(super) fn draw(model: &Model, width: usize, room: usize, colour: bool) -> Drawn {
    let all: Vec<u32> = (0_u32..)
        .zip(&model.settings)
        .filter(|(setting, report)| model.is_compared(*setting) && (*setting == 0 || is_known(report)))
        .map(|(setting, _)| setting)
        .collect();
    if all.is_empty() || model.started.metrics.is_empty() {
        return Drawn { lines: Vec::new(), left_out: 0 };
    }
    let heads = 2;
    let left_out = all.len() + heads > room.max(heads + 1);
    let most = if left_out { room.max(heads + 2) - heads - 1 } else { all.len() };
    let mut rows = if left_out { ranked(model, &all) } else { all.clone() };
    rows.truncate(most);
    let mut named = labels(model, &rows);
    for (cell, setting) in named.cells.iter_mut().zip(&rows) {
        if model.settings.get(*setting as usize).is_some_and(|report| !report.landings.is_empty()) {
            cell.push_str(ADJUSTED);
        }
    }
    let (fitting, missing) = chosen(model, &rows, &named, width);
    let mut lines = printed(model, &rows, &named, &fitting, width, colour);
    let rest = left_out.then(|| format!("{} more settings", all.len() - rows.len()));
    let missing = (!missing.is_empty() && lines.len() < room).then(|| format!("also judged: {}", missing.join(", ")));
    let more: Vec<String> = rest.into_iter().chain(missing).collect();
    if !more.is_empty() {
        let id = model.header.as_ref().map(|header| format!(": powerband show {} -v", header.id)).unwrap_or_default();
        lines.push(cut(&format!("  {}{id}", more.join("; ")), width));
    }
    Drawn { lines, left_out: all.len() - rows.len() }
}

fn is_known(report: &crate::SettingReport) -> bool {
    report.levels.iter().any(Option::is_some) || report.left.is_some()
}

/// The settings as rows, the most important first: the reference, the setting that is advised, then those that did best in the
/// first decision metric.
pub(super) fn ranked(model: &Model, all: &[u32]) -> Vec<u32> {
    let advised = crate::advice(model).map(|advice| advice.setting);
    let first = model.judged().next();
    let rank = |setting: &u32| {
        let report = model.settings.get(*setting as usize);
        let verdict = first.and_then(|(place, _)| report?.verdicts.get(place)?.as_ref());
        let better = first.is_none_or(|(_, metric)| metric.better == powerband_record::Better::Lower);
        let change = verdict.map_or(f64::INFINITY, |it| if better { it.change } else { -it.change });
        let order = match (*setting, verdict.map(|it| it.verdict)) {
            (0, _) => 0,
            (it, _) if Some(it) == advised => 1,
            (_, Some(Verdict::Better)) => 2,
            (_, Some(Verdict::Same)) => 3,
            (_, Some(Verdict::Undecided)) => 4,
            (_, Some(Verdict::Worse)) => 5,
            (_, None) => 6,
        };
        (order, change)
    };
    let mut ranked: Vec<u32> = all.to_vec();
    ranked.order_by(|a, b| {
        let (a, b) = (rank(a), rank(b));
        a.0.cmp(&b.0).then(a.1.total_cmp(&b.1))
    });
    ranked
}

/// The columns that fit: decision metrics in as much detail as there is room for, then other metrics; and the decision metrics
/// that do not fit.
fn chosen<'m>(model: &'m Model, rows: &[u32], named: &Labels, width: usize) -> (Vec<Column>, Vec<&'m str>) {
    let label = named.cells.iter().map(|cell| columns(cell)).chain([columns(&named.head)]).max().unwrap_or(0);
    let takes = |of: &[Column], label: usize| 2 + label + of.iter().map(|it| GAP + it.width()).sum::<usize>();
    let decisive: Vec<(usize, &Metric)> = model.judged().collect();
    let required = required(model, rows);
    let mut chosen = Vec::new();
    let mut missing = Vec::new();
    'search: for count in (1..=decisive.len()).rev() {
        let details = [Detail::Full, Detail::Plain, Detail::Short, Detail::Verdict];
        for (label, detail) in details.iter().map(|it| (label, it)).chain([(label.min(LABEL), &Detail::Verdict)]) {
            chosen =
                decisive[..count].iter().flat_map(|(place, it)| judged(model, rows, *place, it, *detail)).collect();
            chosen.extend(required.iter().map(|cells| column(["required", ""], cells.clone(), true)));
            missing = decisive[count..].iter().map(|(_, metric)| metric.name.as_str()).collect();
            if takes(&chosen, label) <= width {
                break 'search;
            }
        }
    }
    let label = if takes(&chosen, label) <= width { label } else { label.min(LABEL) };
    let mut added = 0;
    for place in others(model) {
        let Some(metric) = model.started.metrics.get(place) else { continue };
        let Some(more) = levels(model, rows, place, metric, false).filter(|it| differs(&it.cells)) else { continue };
        if added < OTHERS && takes(&chosen, label) + GAP + more.width() <= width {
            chosen.push(more);
            added += 1;
        }
    }
    (chosen, missing)
}

/// The metrics that decide nothing, the most important first.
pub(super) fn others(model: &Model) -> Vec<usize> {
    let metrics = &model.started.metrics;
    // Over trials of one length energy says what power says, and a count what its rate says.
    let there = |name: &str| metrics.iter().any(|it| it.name == name);
    let repeats = |name: &str| match name {
        "count" => there("count_per_s"),
        name => name.ends_with("energy_j") && there(&name.replace("energy_j", "power_w")),
    };
    let mut others: Vec<(usize, &Metric)> =
        metrics.iter().enumerate().filter(|(_, metric)| !metric.judged && !repeats(&metric.name)).collect();
    others.order_by_key(|(_, metric)| importance(&metric.name));
    others.into_iter().map(|(place, _)| place).collect()
}

fn importance(name: &str) -> usize {
    IMPORTANT.iter().position(|it| name.ends_with(it) || name.starts_with(it)).unwrap_or(IMPORTANT.len())
}

fn differs(cells: &[String]) -> bool {
    cells.len() < 2 || cells.windows(2).any(|pair| pair[0] != pair[1])
}

fn column(heads: [&str; 2], cells: Vec<String>, left: bool) -> Column {
    Column { heads: heads.map(str::to_owned), cells, left }
}

/// Value and verdict of a decision metric.
fn judged(model: &Model, rows: &[u32], place: usize, metric: &Metric, detail: Detail) -> Vec<Column> {
    let verdicts: Vec<Option<&SettingVerdict>> =
        rows.iter().map(|setting| model.settings.get(*setting as usize)?.verdicts.get(place)?.as_ref()).collect();
    let any = verdicts.iter().any(Option::is_some) || rows.iter().any(|setting| model.failed(*setting).is_some());
    let mut of = Vec::new();
    if detail != Detail::Verdict || !any {
        of.extend(levels(model, rows, place, metric, detail == Detail::Full));
    }
    if !any {
        return of;
    }
    let words = rows.iter().map(|setting| match model.verdict_word(*setting as usize, place) {
        "" => "-".to_owned(),
        word => word.to_owned(),
    });
    let first = if detail == Detail::Verdict { plain_name(&metric.name) } else { "verdict" };
    of.push(column([&cut(first, LABEL), ""], words.collect(), true));
    let unit = verdicts.iter().flatten().next().map_or("%", |it| unit_of_change(it));
    let size = |verdict: &Option<&SettingVerdict>| match (verdict, detail) {
        (None, _) => String::new(),
        (Some(it), Detail::Full | Detail::Plain) => signed_interval(it).unwrap_or_default().replace(" .. ", ".."),
        (Some(it), _) => signed_change(it),
    };
    of.push(column(["change", unit], verdicts.iter().map(size).collect(), false));
    of
}

/// A column of values; nothing where there is none.
fn levels(model: &Model, rows: &[u32], place: usize, metric: &Metric, with_interval: bool) -> Option<Column> {
    let of: Vec<Option<&Level>> =
        rows.iter().map(|setting| model.settings.get(*setting as usize)?.levels.get(place)?.as_ref()).collect();
    let there: Vec<&Level> = of.iter().copied().flatten().collect();
    if there.is_empty() {
        return None;
    }
    let (power, scaled) = scale(unit_of(&metric.name), &there);
    let printed = |level: Option<&Level>| {
        let Some(level) = level else { return "-".to_owned() };
        let cell = cell(level, power);
        match with_interval && !cell.interval.is_empty() {
            true => format!("{} {}", cell.value, cell.interval),
            false => cell.value,
        }
    };
    let covers = metric.boundary.as_deref().filter(|_| matches!(unit_of(&metric.name), "W" | "J"));
    let unit = [scaled, covers.unwrap_or_default().to_owned()];
    let unit = unit.join(" ").trim().to_owned();
    Some(Column {
        heads: [plain_name(&metric.name).to_owned(), unit],
        cells: of.into_iter().map(printed).collect(),
        left: false,
    })
}

/// Whether each row keeps what is required; nothing where nothing is.
fn required(model: &Model, rows: &[u32]) -> Option<Vec<String>> {
    (!model.started.requirements.is_empty()).then_some(())?;
    rows.iter().map(|setting| requirements::cell(model, *setting)).collect()
}

fn printed(model: &Model, rows: &[u32], named: &Labels, all: &[Column], width: usize, colour: bool) -> Vec<String> {
    let takes: usize = all.iter().map(|it| GAP + it.width()).sum();
    let longest = named.cells.iter().map(|cell| columns(cell)).chain([columns(&named.head)]).max().unwrap_or(0);
    let label = longest.min(width.saturating_sub(2 + takes).max(LABEL.min(longest)));
    let advised = crate::advice(model).map(|advice| advice.setting);
    let line = |mark: &str, name: &str, cell: &dyn Fn(&Column) -> String, paint: &dyn Fn(&str) -> String| {
        let mut line = format!("{mark} {}", padded(&cut(name, label), label, true));
        for column in all {
            let text = cell(column);
            let shown = padded(&text, column.width(), column.left);
            line += &" ".repeat(GAP);
            line += &paint(&shown);
        }
        line.trim_end().to_owned()
    };
    let plain = |text: &str| text.to_owned();
    let mut lines: Vec<String> = (0..2)
        .map(|place| {
            let name = if place == 0 { named.head.as_str() } else { "" };
            line(" ", name, &|column| column.heads[place].clone(), &plain)
        })
        .filter(|line| !line.trim().is_empty())
        .collect();
    for (place, (setting, name)) in rows.iter().zip(&named.cells).enumerate() {
        let mark = if advised == Some(*setting) { ">" } else { " " };
        let cells = |column: &Column| column.cells[place].clone();
        let uncoloured = line(mark, name, &cells, &plain);
        let fits = columns(&uncoloured) <= width;
        lines.push(if colour && fits { line(mark, name, &cells, &paint) } else { uncoloured });
    }
    lines.into_iter().map(|line| if line.contains('\x1b') { line } else { cut(&line, width) }).collect()
}

fn padded(text: &str, width: usize, left: bool) -> String {
    let fill = " ".repeat(width.saturating_sub(columns(text)));
    if left { format!("{text}{fill}") } else { format!("{fill}{text}") }
}

/// A verdict's word in its colour.
fn paint(text: &str) -> String {
    let all = [Verdict::Better, Verdict::Worse, Verdict::Same, Verdict::Undecided];
    match all.into_iter().find(|verdict| word(*verdict) == text.trim()) {
        Some(verdict) => text.replace(text.trim(), &format!("\x1b[{}m{}\x1b[0m", ansi(verdict), text.trim())),
        None => text.to_owned(),
    }
}
