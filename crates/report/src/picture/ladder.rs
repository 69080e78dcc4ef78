//! Load levels: what each setting reaches and draws at every level, and at none.
use std::collections::BTreeMap;

use powerband_record::{InOrder, format_number, unit_of};

use super::mark::MarkStyle;
use super::plane::{Join, Panel, Series, Spot};
use super::scale::Reach;
use super::{Caption, LINES, Picture, told, told_with};
use crate::Model;
use crate::level::interval;

/// Metrics of the idle machine begin so.
const IDLE: &str = "idle_";

/// A picture for each metric that was measured at two levels of load or more.
pub(super) fn pictures(model: &Model) -> Vec<Picture> {
    let mut kinds: BTreeMap<&str, Vec<(u32, usize)>> = BTreeMap::new();
    for (place, metric) in model.started.metrics.iter().enumerate() {
        let level = metric.name.strip_prefix("at_").and_then(|rest| rest.split_once('_'));
        let level = level.and_then(|(level, kind)| Some((level.parse::<u32>().ok()?, kind)));
        let idle = || metric.name.strip_prefix(IDLE).map(|kind| (0, kind));
        if let Some((level, kind)) = level.or_else(idle) {
            kinds.entry(kind).or_default().push((level, place));
        }
    }
    let rank = |kind: &&str| match *kind {
        "score_per_s" => 0,
        "power_w" => 1,
        "score_per_w" => 2,
        _ => 3,
    };
    let mut order: Vec<&str> = kinds.keys().copied().collect();
    order.order_by_key(rank);
    order.into_iter().filter_map(|kind| picture(model, kind, &kinds[kind])).collect()
}

fn picture(model: &Model, kind: &str, levels: &[(u32, usize)]) -> Option<Picture> {
    let mut levels = levels.to_vec();
    levels.sort_unstable();
    if levels.iter().filter(|(level, _)| *level > 0).count() < 2 {
        return None;
    }
    let unit = unit_of(kind);
    let mut table = Vec::new();
    let mut series = Vec::new();
    for (setting, report) in (0_u32..).zip(&model.settings).take(LINES) {
        let mut spots = Vec::new();
        for (load, place) in &levels {
            let Some(level) = report.levels.get(*place).and_then(Option::as_ref) else { continue };
            let value = told_with(level.typical, interval(level), unit);
            let at = if *load == 0 { "idle".to_owned() } else { format!("{load} %") };
            table.push(
                vec![at.clone(), report.label.clone()]
                    .into_iter()
                    .chain(super::cells(level.typical, interval(level)))
                    .collect(),
            );
            spots.push(Spot {
                x: f64::from(*load),
                y: level.typical,
                interval: interval(level),
                told: format!("{}, {at}: {value}", report.label),
                ..Spot::default()
            });
        }
        let look = MarkStyle::of_setting(setting);
        let label = report.label.clone();
        series.push(Series { label, setting: Some(setting), look, join: Join::Line, pointed: true, spots });
    }
    series.retain(|series| !series.spots.is_empty());
    let title = format!("{kind} by level of load");
    let desc = described(model, kind, &series);
    let x = (Reach::Zero, "load, % of the most it can do (0: idle)".to_owned());
    let axis = if unit.is_empty() { kind.to_owned() } else { format!("{kind}, {unit}") };
    let y = (Reach::Zero, axis);
    let panel = Panel::of(x, y, series, 220.0);
    let columns = ["load", "setting", "typical", "low", "high"];
    panel.hung(Caption { id: format!("ladder-{kind}"), title, desc }, &columns, table)
}

fn described(model: &Model, kind: &str, series: &[Series]) -> String {
    let unit = unit_of(kind);
    let loads = series.first().map_or(&[][..], |series| &series.spots).iter().map(|spot| spot.x);
    let ends = [loads.clone().reduce(f64::max), loads.reduce(f64::min)];
    let at = |load: f64| {
        let values = series
            .iter()
            .filter_map(|series| Some((&series.label, series.spots.iter().find(|spot| spot.x == load)?.y)));
        let low = values.clone().min_by(|a, b| a.1.total_cmp(&b.1))?;
        let high = values.max_by(|a, b| a.1.total_cmp(&b.1))?;
        let load = if load == 0.0 { "idle".to_owned() } else { format!("at {} %", format_number(load)) };
        Some(format!("{load} from {} ({}) to {} ({})", told(low.1, unit), low.0, told(high.1, unit), high.0))
    };
    let ends: Vec<String> = ends.into_iter().flatten().filter_map(at).collect();
    let left = model.settings.len().saturating_sub(LINES);
    let left = if left == 0 { String::new() } else { format!(" {left} settings more are not drawn.") };
    format!("{kind} by level of load, each setting a line: {}.{left}", ends.join("; "))
}
