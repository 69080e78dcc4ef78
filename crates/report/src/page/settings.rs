//! The tables of settings: decision metrics with their verdicts, other metrics, requirements, noise.
use powerband_record::{BASELINE, Level, Verdict, unit_of};

use super::html::{Cell, Row, Table, list, paragraph, text};
use crate::change::{self, signed_change, signed_interval};
use crate::text::cell::{cell, scale};
use crate::text::head;
use crate::words::word;
use crate::{Model, calibration, requirements};

/// The section's body.
pub(super) fn section(model: &Model) -> String {
    let mut body = judged(model).render();
    body += &besides(model).render();
    body += &required(model);
    body += &noise(model);
    body
}

/// A row for each setting that is shown, its cells still to come.
fn rows(model: &Model) -> Vec<(usize, Row)> {
    let row = |at: usize| {
        let beside = if at == 0 && model.settings.len() > 1 { "(reference)" } else { "" };
        (at, Row { name: model.settings[at].label.clone(), beside, setting: Some(at), cells: Vec::new() })
    };
    model.shown().into_iter().map(row).collect()
}

/// Levels of a metric as cells, one a row, and the unit they are in.
fn levels(model: &Model, place: usize, rows: &[(usize, Row)]) -> Option<(String, Vec<Cell>)> {
    let levels: Vec<Option<&Level>> =
        rows.iter().map(|(at, _)| model.settings[*at].levels.get(place)?.as_ref()).collect();
    let there: Vec<&Level> = levels.iter().copied().flatten().collect();
    if there.is_empty() {
        return None;
    }
    let (power, unit) = scale(unit_of(&model.started.metrics[place].name), &there);
    let one = |level: Option<&Level>| match level {
        None => Cell::number("-", None),
        Some(level) => {
            let printed = cell(level, power);
            Cell::number(format!("{} {}", printed.value, printed.interval).trim(), Some(level.typical))
        }
    };
    Some((unit, levels.into_iter().map(one).collect()))
}

fn judged(model: &Model) -> Table {
    let mut rows = rows(model);
    let mut columns = vec!["setting".to_owned()];
    let mut compared = false;
    // Verdicts first, of every metric: a narrow screen shows the first columns.
    let several = model.judged().filter(|(place, _)| model.has_verdicts(*place)).count() > 1;
    for (place, metric) in model.judged().filter(|(place, _)| model.has_verdicts(*place)) {
        compared = true;
        columns.push(if several { metric.name.clone() } else { "verdict".into() });
        for (at, row) in &mut rows {
            let verdict = model.settings[*at].verdicts.get(place).and_then(Option::as_ref);
            row.cells.push(match verdict.map(|it| it.verdict) {
                Some(verdict) => Cell::marked(word(verdict), class(verdict)),
                None if model.settings[*at].failed.is_some() => Cell::marked(model.verdict_word(*at, place), "worse"),
                None => Cell::words(""),
            });
        }
    }
    for (place, metric) in model.judged() {
        if let Some(first) = model.verdicts(place).next() {
            let of = if several { format!("{}: ", metric.name) } else { String::new() };
            columns.push(format!("{of}{}", change::head(first)));
            for (at, row) in &mut rows {
                let verdict = model.settings[*at].verdicts.get(place).and_then(Option::as_ref);
                let change = verdict.map(|it| match signed_interval(it) {
                    Some(interval) => format!("{} ({interval})", signed_change(it)),
                    None => signed_change(it),
                });
                row.cells.push(Cell::number(&change.unwrap_or_default(), verdict.map(|it| it.change)));
            }
        }
        if let Some((unit, cells)) = levels(model, place, &rows) {
            columns.push(head(metric, &unit).replace('\n', ", "));
            rows.iter_mut().zip(cells).for_each(|((_, row), cell)| row.cells.push(cell));
        }
    }
    if !model.started.requirements.is_empty() {
        columns.push("required".into());
        for (at, row) in &mut rows {
            let stands = requirements::cell(model, u32::try_from(*at).unwrap_or(u32::MAX));
            row.cells.push(Cell::words(&stands.unwrap_or_default()));
        }
    }
    if model.settings.iter().any(|setting| setting.turns != setting.label && !setting.turns.is_empty()) {
        columns.push("turns".into());
        for (at, row) in &mut rows {
            let turns = &model.settings[*at].turns;
            row.cells.push(Cell::words(if turns.is_empty() { BASELINE } else { turns }));
        }
    }
    let against = if model.settings.len() > 1 { format!(", compared with {}", model.label(0)) } else { String::new() };
    let changes = if compared { "changes within blocks and " } else { "" };
    let caption = format!("Decision metrics{against}: {changes}typical values with 95 % intervals");
    Table {
        caption,
        head: columns,
        rows: rows.into_iter().map(|(_, row)| row).collect(),
        picks: model.settings.len() > 1,
    }
}

fn class(verdict: Verdict) -> &'static str {
    match verdict {
        Verdict::Better => "better",
        Verdict::Worse => "worse",
        Verdict::Same => "same",
        Verdict::Undecided => "undecided",
    }
}

/// Metrics that are only shown.
fn besides(model: &Model) -> Table {
    let mut rows = rows(model);
    let mut columns = vec!["setting".to_owned()];
    for (place, metric) in model.started.metrics.iter().enumerate().filter(|(_, metric)| !metric.judged) {
        if let Some((unit, cells)) = levels(model, place, &rows) {
            columns.push(head(metric, &unit).replace('\n', ", "));
            rows.iter_mut().zip(cells).for_each(|((_, row), cell)| row.cells.push(cell));
        }
    }
    if columns.len() == 1 {
        rows.clear();
    }
    let caption = "Other metrics".into();
    Table { caption, head: columns, rows: rows.into_iter().map(|(_, row)| row).collect(), picks: false }
}

fn required(model: &Model) -> String {
    let (head, rows) = requirements::rows(model);
    let table = Table::of_words("Requirements", &head, rows).render();
    table + &requirements::note(model).map(paragraph).unwrap_or_default()
}

/// What a calibration found of each metric.
fn noise(model: &Model) -> String {
    let all = &model.calibrations;
    if all.is_empty() {
        return String::new();
    }
    let cells = all.iter().map(calibration::noise_cells).collect();
    let mut body = Table::of_words("The noise of a trial", &calibration::NOISE, cells).render();
    let (head, cells) = calibration::reach(all);
    let head: Vec<&str> = head.iter().map(String::as_str).collect();
    body += &Table::of_words(calibration::REACH, &head, cells).render();
    for found in all {
        body += &format!("<h3>{}</h3>\n", text(&found.metric));
        body += &list(&calibration::told(found));
    }
    body
}
