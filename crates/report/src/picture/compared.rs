//! Experiments side by side: each metric by setting with a mark for each experiment, and the differences that were asked for.
use std::collections::BTreeMap;

use powerband_record::{Level, Metric, unit_of};

use super::legend::Key;
use super::levels::look;
use super::mark::MarkStyle;
use super::rows::{Row, RowMark, Rows};
use super::scale::Reach;
use super::{Caption, Picture, cells, told, told_with};
use crate::comparison::{self, Comparison};
use crate::level::interval;
use crate::words::{titled, word};
use crate::{Model, comparison::text};

/// More settings than this are told by the page's tables alone.
const SETTINGS: usize = 100;
/// More experiments than this cannot be told apart in one row.
const EXPERIMENTS: usize = 8;

/// Settings that turn the same, by what they turn: the label, and their place in each experiment that has them.
pub(super) struct Shared {
    pub(super) label: String,
    /// By place of the experiment.
    pub(super) places: BTreeMap<usize, usize>,
}

/// The settings of all, in the order in which they first come.
pub(super) fn shared_settings(models: &[Model]) -> Vec<Shared> {
    let mut all: Vec<(String, Shared)> = Vec::new();
    for (at, model) in models.iter().enumerate() {
        for (place, setting) in model.settings.iter().enumerate() {
            let known =
                all.iter_mut().find(|(turns, shared)| *turns == setting.turns && !shared.places.contains_key(&at));
            match known {
                Some((_, shared)) => drop(shared.places.insert(at, place)),
                None => {
                    let shared = Shared { label: setting.label.clone(), places: BTreeMap::from([(at, place)]) };
                    all.push((setting.turns.clone(), shared));
                }
            }
        }
    }
    all.into_iter().map(|(_, shared)| shared).collect()
}

/// The metrics that were compared, or are judged in the first experiment, and that two experiments have at least.
pub(super) fn shared_metrics(of: &Comparison, models: &[Model]) -> Vec<Metric> {
    let first = models.iter().flat_map(|model| &model.started.metrics);
    let mut metrics: Vec<Metric> = Vec::new();
    for metric in first {
        let wanted = metric.judged || of.rows.iter().any(|row| row.metric == metric.name);
        let has = |model: &&Model| place(model, metric).is_some();
        let known = metrics.iter().any(|known| known.name == metric.name);
        if wanted && !known && models.iter().filter(has).count() > 1 {
            metrics.push(metric.clone());
        }
    }
    metrics
}

/// Where an experiment has a metric, of the same meter.
pub(super) fn place(model: &Model, metric: &Metric) -> Option<usize> {
    let same = |own: &Metric| own.name == metric.name && own.boundary == metric.boundary;
    model.started.metrics.iter().position(same)
}

/// A level, where it is a number.
pub(super) fn level<'a>(model: &'a Model, setting: usize, metric: &Metric) -> Option<&'a Level> {
    let level = model.settings.get(setting)?.levels.get(place(model, metric)?)?.as_ref()?;
    level.typical.is_finite().then_some(level)
}

/// What an experiment is called, with what tells it from the others.
fn name(model: &Model, at: usize, models: &[Model]) -> String {
    let id = model.header.as_ref().map_or_else(|| format!("{}", at + 1), |header| header.id.to_string());
    let machine = |model: &Model| model.started.machine_typed.clone().unwrap_or_else(|| model.started.machine.clone());
    let differ = models.iter().any(|other| machine(other) != machine(model));
    if differ { format!("experiment {id}, {}", machine(model)) } else { format!("experiment {id}") }
}

/// A picture for each metric that two experiments have.
pub(super) fn levels(of: &Comparison, models: &[Model]) -> Vec<Picture> {
    if models.len() < 2 {
        return Vec::new();
    }
    let settings = shared_settings(models);
    shared_metrics(of, models).iter().filter_map(|metric| by_setting(metric, &settings, models)).collect()
}

fn by_setting(metric: &Metric, settings: &[Shared], models: &[Model]) -> Option<Picture> {
    let unit = unit_of(&metric.name);
    let names: Vec<String> = models.iter().enumerate().map(|(at, model)| name(model, at, models)).collect();
    let mut table = Vec::new();
    let mut rows = Vec::new();
    for shared in settings {
        let mut marks = Vec::new();
        for (at, setting) in shared.places.iter().filter(|(at, _)| **at < EXPERIMENTS) {
            let Some(level) = level(&models[*at], *setting, metric) else { continue };
            let value = told_with(level.typical, interval(level), unit);
            marks.push(RowMark {
                value: level.typical,
                interval: interval(level),
                look: MarkStyle::of(*at),
                label: shared.label.clone(),
                state: None,
                told: format!("{}, {}: {value}", shared.label, names[*at]),
            });
            let head = [shared.label.clone(), names[*at].clone()];
            table.push(head.into_iter().chain(cells(level.typical, interval(level))).collect());
        }
        if !marks.is_empty() && rows.len() < SETTINGS {
            rows.push(Row { label: shared.label.clone(), setting: None, marks, ribbon: None, behind: String::new() });
        }
    }
    let key = |(at, name): (usize, &String)| Key {
        label: name.clone(),
        look: MarkStyle::of(at),
        joined: false,
        pointed: true,
    };
    let title = format!("{} by setting, side by side", metric.name);
    let desc = described(metric, &names, &rows);
    let drawing = Rows {
        title: title.clone(),
        desc: desc.clone(),
        axis: titled(metric),
        reach: Reach::Values,
        rule: None,
        ribbon: None,
        legend: names.iter().take(EXPERIMENTS).enumerate().map(key).collect(),
        rows,
    };
    let columns = ["setting", "experiment", "typical", "low", "high"];
    let svg = if table.is_empty() { None } else { drawing.draw() };
    Caption { id: format!("compared-{}", metric.name), title, desc }.hang(svg, &columns, table)
}

fn described(metric: &Metric, names: &[String], rows: &[Row]) -> String {
    let unit = unit_of(&metric.name);
    let values = || rows.iter().flat_map(|row| row.marks.iter().map(move |mark| (mark.value, &row.label)));
    let ends = [values().min_by(|a, b| a.0.total_cmp(&b.0)), values().max_by(|a, b| a.0.total_cmp(&b.0))];
    let ends: Vec<String> =
        ends.into_iter().flatten().map(|(value, of)| format!("{} at {of}", told(value, unit))).collect();
    let left = names.len().saturating_sub(EXPERIMENTS);
    let left = if left == 0 { String::new() } else { format!(" {left} experiments more are not drawn.") };
    format!(
        "Typical {} with 95 % intervals in {}, from {}. What lies apart here may be another day, not another setting: the differences say which are shown.{left}",
        metric.name,
        names.join(", "),
        ends.join(" to ")
    )
}

/// The differences of each metric, as they were judged, around none.
pub(super) fn differences(of: &Comparison) -> Vec<Picture> {
    of.rows.chunk_by(|a, b| a.metric == b.metric).filter_map(|rows| differences_of(rows, &of.rate_words())).collect()
}

/// Name of the picture of all differences.
pub(crate) const SUMMARY: &str = "summary";

/// The differences of all metrics in one picture, those in percent.
pub(super) fn summary(of: &Comparison) -> Option<Picture> {
    let shown: Vec<&comparison::ComparisonRow> =
        of.rows.iter().filter(|row| !row.absolute && row.change.is_some_and(f64::is_finite)).collect();
    let against = common_against(&of.rows);
    let several = of.rows.iter().any(|row| Some(&row.metric) != of.rows.first().map(|first| &first.metric));
    let label = |row: &comparison::ComparisonRow| {
        let metric = if several { format!("{}: ", row.metric) } else { String::new() };
        let against = if against.is_some() { String::new() } else { format!(" against {}", row.against) };
        format!("{metric}{}{against}", row.setting)
    };
    let ends = |row: &comparison::ComparisonRow| row.low.zip(row.high).map(|(low, high)| (low * 100.0, high * 100.0));
    let rows = shown.iter().take(SETTINGS).map(|row| {
        let (word, change) = (word(row.verdict), row.change.unwrap_or_default() * 100.0);
        let mark = RowMark {
            value: change,
            interval: ends(row),
            look: look(1, Some(row.verdict)),
            label: String::new(),
            state: Some(word),
            told: format!("{}: {}, {word}", label(row), told_with(change, ends(row), "%")),
        };
        Row { label: label(row), setting: None, marks: vec![mark], ribbon: None, behind: word.to_owned() }
    });
    let rows: Vec<Row> = rows.collect();
    let table = shown.iter().map(|row| {
        let change = cells(row.change.unwrap_or_default() * 100.0, ends(row));
        [label(row)].into_iter().chain(change).chain([word(row.verdict).to_owned()]).collect()
    });
    let margin = shared_margin(&shown).map(|row| row.margin * 100.0);
    let title = match &against {
        Some(against) => format!("All differences from {against}"),
        None => "All differences".to_owned(),
    };
    let counts: Vec<comparison::ComparisonRow> = shown.iter().map(|row| (*row).clone()).collect();
    let band = if margin.is_some() { " The shaded band is the margin." } else { "" };
    let desc = format!("Change in percent with its interval: {}.{band}", text::counts(&counts));
    let drawing = Rows {
        title: title.clone(),
        desc: desc.clone(),
        axis: "change, %".to_owned(),
        reach: Reach::Values,
        rule: Some((0.0, "no difference".to_owned())),
        ribbon: margin.map(|margin| (-margin, margin)),
        legend: Vec::new(),
        rows,
    };
    let svg = if drawing.rows.is_empty() { None } else { drawing.draw() };
    Caption { id: SUMMARY.into(), title, desc }.hang(
        svg,
        &["what", "change, %", "low", "high", "verdict"],
        table.collect(),
    )
}

/// A row with the margin that all rows have. Experiments that ran different loads have a margin each, which one band cannot show.
fn shared_margin<'a>(rows: &[&'a comparison::ComparisonRow]) -> Option<&'a comparison::ComparisonRow> {
    let first = rows.first()?;
    let same = |row: &&comparison::ComparisonRow| (row.margin - first.margin).abs() < 1e-12;
    (first.margin > 0.0 && rows.iter().all(same)).then_some(first)
}

fn differences_of(all: &[comparison::ComparisonRow], error_rate: &str) -> Option<Picture> {
    let first = all.first()?;
    let shown: Vec<&comparison::ComparisonRow> =
        all.iter().filter(|row| row.absolute == first.absolute && row.change.is_some_and(f64::is_finite)).collect();
    let unit = if first.absolute { unit_of(&first.metric) } else { "%" };
    let scaled = |value: f64| if first.absolute { value } else { value * 100.0 };
    let against = common_against(all);
    let label = |row: &comparison::ComparisonRow| match &against {
        Some(_) => row.setting.clone(),
        None => format!("{} against {}", row.setting, row.against),
    };
    let rows = shown.iter().take(SETTINGS).map(|row| {
        let word = word(row.verdict);
        let change = scaled(row.change.unwrap_or_default());
        let ends = row.low.zip(row.high).map(|(low, high)| (scaled(low), scaled(high)));
        let mark = RowMark {
            value: change,
            interval: ends,
            look: look(1, Some(row.verdict)),
            label: row.setting.clone(),
            state: Some(word),
            told: format!("{} against {}: {}, {word}", row.setting, row.against, told_with(change, ends, unit)),
        };
        Row { label: label(row), setting: None, marks: vec![mark], ribbon: None, behind: word.to_owned() }
    });
    let table = shown.iter().map(|row| {
        let ends = row.low.zip(row.high).map(|(low, high)| (scaled(low), scaled(high)));
        let head = [row.setting.clone(), row.against.clone()];
        let tail = [word(row.verdict).to_owned()];
        head.into_iter().chain(cells(scaled(row.change.unwrap_or_default()), ends)).chain(tail).collect()
    });
    let margin = shared_margin(&shown);
    let band = margin.map(|row| format!("; the shaded band is the margin, {}", text::margin(row))).unwrap_or_default();
    let title = format!("{}: differences", first.metric);
    let desc = format!(
        "Change of {} against {}: {}, each with its interval. Error rate: {error_rate}{band}.",
        first.metric,
        against.as_deref().unwrap_or("what each is compared with"),
        text::counts(all),
    );
    let drawing = Rows {
        title: title.clone(),
        desc: desc.clone(),
        axis: format!("change against {}, {unit}", against.as_deref().unwrap_or("the other")),
        reach: Reach::Values,
        rule: Some((0.0, "no difference".to_owned())),
        ribbon: margin.map(|row| (-scaled(row.margin), scaled(row.margin))),
        legend: Vec::new(),
        rows: rows.collect(),
    };
    let svg = if drawing.rows.is_empty() { None } else { drawing.draw() };
    let (change, columns) = (format!("change, {unit}"), ["low", "high", "verdict"]);
    let columns: Vec<&str> = ["setting", "against", change.as_str()].into_iter().chain(columns).collect();
    Caption { id: format!("differences-{}", first.metric), title, desc }.hang(svg, &columns, table.collect())
}

/// What all are compared with: one setting, or each with the same one of another experiment.
fn common_against(all: &[comparison::ComparisonRow]) -> Option<String> {
    let first = all.first()?;
    if all.iter().all(|row| row.against == first.against) {
        return Some(first.against.clone());
    }
    let of = |name: &str| name.rsplit_once(" of ").map(|(setting, of)| (setting.to_owned(), of.to_owned()));
    let (_, from) = of(&first.against)?;
    let same = |row: &comparison::ComparisonRow| {
        of(&row.against)
            .zip(of(&row.setting))
            .is_some_and(|(against, setting)| against.0 == setting.0 && against.1 == from)
    };
    all.iter().all(same).then(|| format!("the same of {from}"))
}
