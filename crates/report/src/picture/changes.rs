//! Several metrics of each setting at once, as their change against the reference: what one gains another may cost.
use powerband_record::{Metric, format_number};

use super::legend::Key;
use super::mark::MarkStyle;
use super::rows::{Row, RowMark, Rows};
use super::scale::Reach;
use super::{Caption, Picture};
use crate::Model;
use crate::words::percent;

/// More metrics make rows that nobody reads.
const MAX: usize = 5;
/// More settings than this have a picture for each metric only.
const SETTINGS: usize = 40;

/// The changes of all judged metrics in one picture, where there are two or more; under a shop's load its latencies as well.
pub(super) fn picture(model: &Model) -> Option<Picture> {
    let judged: Vec<(usize, &Metric)> = model.judged().collect();
    if judged.len() < 2 || model.settings.len() < 2 || model.settings.len() > SETTINGS || model.started.search.is_some()
    {
        return None;
    }
    let shop = model.started.load.get("kind").and_then(|kind| kind.as_str()) == Some("shop");
    let tail = model
        .started
        .metrics
        .iter()
        .enumerate()
        .filter(|(_, metric)| shop && !metric.judged && metric.name == "p99_us");
    let metrics: Vec<(usize, &Metric)> = judged.into_iter().chain(tail).take(MAX).collect();
    let mut table = Vec::new();
    let mut rows = Vec::new();
    for setting in 1..u32::try_from(model.settings.len()).ok()? {
        let label = model.label(setting);
        let mark = |(number, (place, metric)): (usize, &(usize, &Metric))| {
            let (change, interval) = change(model, setting, *place)?;
            let between = interval.map(|(low, high)| format!(" ({} .. {})", percent(low), percent(high)));
            let told = format!("{label}, {}: {}{}", metric.name, percent(change), between.unwrap_or_default());
            let hundred = |share: f64| share * 100.0;
            let ends = interval.map(|(low, high)| (hundred(low), hundred(high)));
            let cells =
                [label.clone(), metric.name.clone()].into_iter().chain(super::cells(hundred(change), ends)).collect();
            let mark = RowMark {
                value: hundred(change),
                interval: ends,
                look: MarkStyle::of(number),
                label: label.clone(),
                state: None,
                told,
            };
            Some((mark, cells))
        };
        let (marks, cells): (Vec<RowMark>, Vec<Vec<String>>) = metrics.iter().enumerate().filter_map(mark).unzip();
        table.extend(cells);
        if !marks.is_empty() {
            rows.push(Row { label, setting: Some(setting), marks, ribbon: None, behind: String::new() });
        }
    }
    let customers = model.started.load.get("customers").and_then(serde_json::Value::as_u64).filter(|_| shop);
    let under = customers.map(|count| format!(" under {count} customers")).unwrap_or_default();
    let drawn = |name: &str| table.iter().any(|row| row[1] == name);
    let missing = model.judged().filter(|(_, metric)| !drawn(&metric.name)).map(|(_, metric)| metric.name.as_str());
    let missing = Some(missing.collect::<Vec<_>>().join(", ")).filter(|names| !names.is_empty());
    let without = missing.map(|names| format!(" (not drawn: {names})")).unwrap_or_default();
    let title = format!("Change of each metric against {}{under}{without}", model.label(0));
    let desc = described(model, &metrics, &table, &under);
    let margin = model.started.margin * 100.0;
    let key = |(number, (_, metric)): (usize, &(usize, &Metric))| Key {
        label: metric.name.clone(),
        look: MarkStyle::of(number),
        joined: false,
        pointed: true,
    };
    let drawing = Rows {
        title: title.clone(),
        desc: desc.clone(),
        axis: "change against the reference, %".to_owned(),
        reach: Reach::Values,
        rule: Some((0.0, model.label(0))),
        ribbon: (margin > 0.0).then_some((-margin, margin)),
        legend: metrics.iter().enumerate().map(key).collect(),
        rows,
    };
    let columns = ["setting", "metric", "change, %", "low", "high"];
    let svg = if table.is_empty() { None } else { drawing.draw() };
    Caption { id: "changes".into(), title, desc }.hang(svg, &columns, table)
}

/// The change of a metric as a share: as judged, inside blocks; of what is only shown, that of the typical values.
fn change(model: &Model, setting: u32, place: usize) -> Option<(f64, Option<(f64, f64)>)> {
    let report = model.settings.get(setting as usize)?;
    if let Some(verdict) = report.verdicts.get(place).and_then(Option::as_ref) {
        let interval = verdict.low.zip(verdict.high).filter(|(low, high)| low.is_finite() && high.is_finite());
        return (!verdict.absolute && verdict.change.is_finite()).then_some((verdict.change, interval));
    }
    let typical = |report: &crate::SettingReport| Some(report.levels.get(place)?.as_ref()?.typical);
    let ratio = typical(report)? / typical(model.settings.first()?)?;
    ratio.is_finite().then_some((ratio - 1.0, None))
}

fn described(model: &Model, metrics: &[(usize, &Metric)], table: &[Vec<String>], under: &str) -> String {
    let spans = metrics.iter().filter_map(|(_, metric)| {
        let values = || table.iter().filter(|row| row[1] == metric.name).filter_map(|row| row[2].parse::<f64>().ok());
        let (low, high) = (values().reduce(f64::min)?, values().reduce(f64::max)?);
        let (low, high) = (format_number(low), format_number(high));
        let span = if low == high { high } else { format!("from {low} to {high}") };
        Some(format!("{} {span} %", metric.name))
    });
    let spans: Vec<String> = spans.collect();
    format!("Changes against {}{under}: {}.", model.label(0), spans.join("; "))
}
