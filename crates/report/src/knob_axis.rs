//! The knob that the settings of an experiment differ in, where its values are numbers: what pictures have along their axis.
use std::collections::BTreeMap;

use powerband_record::{InOrder, Setting, parse_duration_ns, parse_frequency_khz};

use crate::Model;

/// Settings along a numeric knob.
pub(crate) struct KnobAxis {
    /// The knob with its unit, as an axis names it.
    pub(crate) title: String,
    /// The knob.
    pub(crate) knob: String,
    /// Unit of its numbers; may be empty.
    pub(crate) unit: &'static str,
    /// Settings that have a number, ascending by it: setting, number, and what else they differ in.
    pub(crate) places: Vec<(u32, f64, String)>,
}

/// Fewer different numbers make no line.
const MIN: usize = 3;
/// More lines than this cannot be told apart.
const MAX_LINES: usize = 8;

/// The one numeric knob that settings differ in, next to at most one other.
pub(crate) fn knob_axis(model: &Model) -> Option<KnobAxis> {
    let turned: Vec<(u32, BTreeMap<String, String>)> =
        (0..).zip(&model.settings).filter_map(|(number, setting)| Some((number, assigned(&setting.turns)?))).collect();
    let mut groups: Vec<(Vec<String>, Vec<&str>)> = Vec::new();
    let knobs: std::collections::BTreeSet<&String> = turned.iter().flat_map(|(_, knobs)| knobs.keys()).collect();
    for knob in knobs {
        let values: Vec<&str> = turned.iter().map(|(_, knobs)| knobs.get(knob).map_or("", String::as_str)).collect();
        if values.windows(2).all(|pair| pair[0] == pair[1]) {
            continue;
        }
        // Knobs that always have the same value are one (both ends of a cable, lowest and highest clock).
        match groups.iter_mut().find(|(_, known)| *known == values) {
            Some((knobs, _)) => knobs.push(knob.clone()),
            None => groups.push((vec![knob.clone()], values)),
        }
    }
    if groups.len() > 2 {
        return None;
    }
    let numeric = |(knobs, values): &(Vec<String>, Vec<&str>)| {
        let knob = knobs.first()?;
        let read: Vec<(f64, &'static str)> = values.iter().map(|value| number(knob, value)).collect::<Option<_>>()?;
        let unit = read.first()?.1;
        read.iter().all(|(_, other)| *other == unit).then(|| read.iter().map(|(value, _)| *value).collect::<Vec<f64>>())
    };
    let along = groups.iter().enumerate().filter_map(|(place, group)| Some((place, distinct(&numeric(group)?))));
    let (along, count) = along.rev().max_by_key(|(_, count)| *count)?;
    if count < MIN {
        return None;
    }
    let (knobs, values) = groups.get(along)?;
    let other = groups.iter().enumerate().find(|(place, _)| *place != along).map(|(_, group)| group);
    let unit = number(knobs.first()?, values.first()?)?.1;
    let mut places = Vec::new();
    for (at, (setting, _)) in turned.iter().enumerate() {
        let line = other.map(|(knobs, values)| match values[at] {
            "" => format!("no {}", knobs[0]),
            value => format!("{}={value}", knobs[0]),
        });
        places.push((*setting, number(&knobs[0], values[at])?.0, line.unwrap_or_default()));
    }
    let lines: std::collections::BTreeSet<&String> = places.iter().map(|(.., line)| line).collect();
    if lines.len() > MAX_LINES {
        return None;
    }
    places.order_by(|a, b| a.1.total_cmp(&b.1));
    let knob = knobs.join(" and ");
    let title = if unit.is_empty() { knob.clone() } else { format!("{knob}, {unit}") };
    Some(KnobAxis { title, knob, unit, places })
}

fn assigned(turns: &str) -> Option<BTreeMap<String, String>> {
    let setting = Setting::parse(turns).ok().filter(|setting| !setting.assignments.is_empty())?;
    Some(setting.assignments.into_iter().map(|it| (it.knob.to_string(), it.value)).collect())
}

fn distinct(values: &[f64]) -> usize {
    let mut values = values.to_vec();
    values.sort_by(f64::total_cmp);
    values.dedup();
    values.len()
}

/// A value of a knob as a number, and the unit it then has: clocks in MHz, lengths of time in us, shares in %.
fn number(knob: &str, value: &str) -> Option<(f64, &'static str)> {
    let name = knob.split('@').next().unwrap_or(knob);
    if name.ends_with("freq") {
        return parse_frequency_khz(value).ok().map(|khz| (f64::from(khz) / 1e3, "MHz"));
    }
    let share = value.strip_suffix('%').and_then(|number| number.parse::<f64>().ok()).filter(|share| share.is_finite());
    if let Some(share) = share {
        return Some((share, "%"));
    }
    let plain = value.parse::<f64>().ok().filter(|value| value.is_finite()).map(|value| (value, ""));
    plain.or_else(|| parse_duration_ns(value).ok().map(|ns| (ns as f64 / 1e3, "us")))
}
