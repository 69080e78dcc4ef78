//! A fleet's nodes as points in the drawn order, each with its interval, odd nodes ringed, kinds in looks of their own.
use std::collections::BTreeMap;

use super::mark::{MarkStyle, Orientation};
use super::palette::FAINT;
use super::plane::{Join, Panel, Rule, Series, Spot};
use super::scale::Reach;
use super::{Caption, Picture, told_with};
use crate::fleet::{FleetAnswer, MetricAnswer, NodeEffectRow, OddIn, SettingAnswer};
use powerband_record::{format_number, unit_of};

/// More kinds than this are not said apart.
const KINDS: usize = 6;

/// A picture for each decision metric and setting.
pub(super) fn pictures(of: &FleetAnswer) -> Vec<Picture> {
    let all = of.metrics.iter().flat_map(|metric| metric.settings.iter().map(move |setting| (metric, setting)));
    all.filter_map(|(metric, setting)| picture(of, metric, setting)).collect()
}

fn picture(of: &FleetAnswer, metric: &MetricAnswer, setting: &SettingAnswer) -> Option<Picture> {
    if setting.effects.is_empty() {
        return None;
    }
    let scaled = |value: f64| if metric.absolute { value } else { 100.0 * value };
    let unit = if metric.absolute { unit_of(&metric.metric) } else { "%" };
    let odd = |position: u32| {
        of.odd.iter().any(|node| {
            let effect = node.odd_in != OddIn::Effect || node.setting.as_ref() == Some(&setting.setting);
            node.position == position && node.metric == metric.metric && effect
        })
    };
    let name = |position: u32| {
        let known = of.nodes.get(position as usize).map(|node| node.node.clone()).filter(|name| !name.is_empty());
        known.unwrap_or_else(|| format!("node {}", position + 1))
    };
    let spot = |effect: &NodeEffectRow| {
        let ends = (scaled(effect.low), scaled(effect.high));
        let value = scaled(effect.change);
        Spot {
            x: f64::from(effect.position + 1),
            y: value,
            interval: Some(ends),
            label: Some(name(effect.position)),
            told: format!("{}: {}", name(effect.position), told_with(value, Some(ends), unit)),
            ringed: odd(effect.position),
            ..Spot::default()
        }
    };
    let series = |label: String, look: MarkStyle, spots: Vec<Spot>| Series {
        label,
        setting: None,
        look,
        join: Join::None,
        pointed: true,
        spots,
    };
    let all = match kinds(of) {
        Some((names, of_node)) => {
            let of_kind = |kind: Option<usize>| {
                let those = setting.effects.iter().filter(|it| of_node.get(&it.position).copied() == kind);
                those.map(spot).collect::<Vec<Spot>>()
            };
            let mut all: Vec<Series> = names
                .iter()
                .enumerate()
                .map(|(kind, name)| series(name.clone(), MarkStyle::of(kind), of_kind(Some(kind))))
                .collect();
            let faint = MarkStyle { colour: FAINT, ..MarkStyle::of(names.len()) };
            all.push(series("other nodes".into(), faint, of_kind(None)));
            all.retain(|series| !series.spots.is_empty());
            all
        }
        None => vec![series("nodes".into(), MarkStyle::of(0), setting.effects.iter().map(spot).collect())],
    };
    let x = (Reach::Count, "node, in the drawn order".to_owned());
    let y = (Reach::Values, format!("change of {} against {}, {unit}", metric.metric, of.reference));
    let mut panel = Panel::of(x, y, all, 210.0);
    panel.rules = rules(setting, scaled);
    let title = format!("{}: {} on each node", metric.metric, setting.setting);
    let table = setting.effects.iter().map(|effect| {
        let ends = [effect.change, effect.low, effect.high].map(|value| format_number(scaled(value)));
        let place = [(effect.position + 1).to_string(), name(effect.position)];
        place.into_iter().chain(ends).chain([effect.blocks.to_string()]).collect()
    });
    let change = format!("change, {unit}");
    let columns = ["position", "node", change.as_str(), "low", "high", "blocks"];
    let id = format!("nodes-{}-{}", metric.metric, setting.setting);
    panel.hung(Caption { id, desc: described(of, metric, setting, unit), title }, &columns, table.collect())
}

/// Names of the kinds, and the kind of each node.
fn kinds(of: &FleetAnswer) -> Option<(Vec<String>, BTreeMap<u32, usize>)> {
    let kinds = of.kinds.as_ref().filter(|kinds| kinds.parts.len() <= KINDS)?;
    let numbered = kinds.parts.iter().enumerate();
    let of_node = numbered.flat_map(|(kind, part)| part.positions.iter().map(move |position| (*position, kind)));
    let of_node = of_node.collect();
    Some((kinds.parts.iter().map(|part| part.name.clone()).collect(), of_node))
}

/// No difference, and the mean over nodes with the interval of the next node.
fn rules(setting: &SettingAnswer, scaled: impl Fn(f64) -> f64) -> Vec<Rule> {
    let rule = |value: f64, label: &str| Rule { way: Orientation::Upright, value, label: label.to_owned() };
    let mut rules = vec![rule(0.0, "no difference")];
    rules.extend(setting.fleet.change.map(|mean| rule(scaled(mean), "mean")));
    if let Some((low, high)) = setting.fleet.next_node {
        rules.push(rule(scaled(low), "next node, low"));
        rules.push(rule(scaled(high), "next node, high"));
    }
    rules
}

fn described(of: &FleetAnswer, metric: &MetricAnswer, setting: &SettingAnswer, unit: &str) -> String {
    let scaled = |value: f64| if metric.absolute { value } else { 100.0 * value };
    let group = &setting.fleet;
    let mean = group.change.map(|mean| {
        let ends = group.low.zip(group.high).map(|(low, high)| (scaled(low), scaled(high)));
        format!(" Mean over nodes: {}.", told_with(scaled(mean), ends, unit))
    });
    let odd: Vec<&str> = of.odd.iter().filter(|it| it.metric == metric.metric).map(|it| it.node.as_str()).collect();
    let odd = if odd.is_empty() { String::new() } else { format!(" Odd nodes, ringed: {}.", odd.join(", ")) };
    format!(
        "Change of {} under {} on {} nodes, in the drawn order, each with its 95 % interval.{}{odd}",
        metric.metric,
        setting.setting,
        setting.effects.len(),
        mean.unwrap_or_default()
    )
}
