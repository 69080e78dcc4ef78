//! Kinds of nodes, by what is known of the machines or else by their values, and an answer for each.
use std::collections::BTreeMap;

use powerband_stats::fleet::kinds::{ALPHA, Partition, anova, blind, partitions};

use super::gather::{Gathered, Look};
use super::group::{Judged, group_answer, judge, levels};
use super::words::chance;
use super::{Kinds, NodeKind};
use crate::words::{and, percent};

/// A division of the nodes that was found.
pub(super) struct Found {
    facts: Vec<String>,
    metric: usize,
    /// The setting by its place behind the reference; `None` for the baseline.
    setting: Option<usize>,
    p: Option<f64>,
    /// Name and positions of each part.
    parts: Vec<(String, Vec<usize>)>,
}

/// Values of nodes in which kinds may differ.
struct Values {
    metric: usize,
    setting: Option<usize>,
    positions: Vec<usize>,
    values: Vec<f64>,
}

/// Effects of every setting in every metric, then levels.
fn all_values(gathered: &Gathered, whole: &[Judged]) -> Vec<Values> {
    let effects = whole.iter().flat_map(|judged| {
        judged.settings.iter().enumerate().map(|(place, setting)| Values {
            metric: judged.metric,
            setting: Some(place),
            positions: setting.nodes.clone(),
            values: setting.effects.nodes().iter().map(|node| node.mean).collect(),
        })
    });
    let levels = whole.iter().map(|judged| {
        let (positions, values) = levels(gathered, judged, &judged.positions).into_iter().unzip();
        Values { metric: judged.metric, setting: None, positions, values }
    });
    effects.chain(levels).collect()
}

/// The kinds that are shown most clearly at a look, whose nodes are judged: by facts, else by the values themselves. The values alone
/// have a fixed error rate, which the last look has.
pub(super) fn find(gathered: &Gathered, whole: &[Judged], look: &Look) -> Option<Found> {
    // Where nothing separates noise from differences between nodes, nothing is said of kinds.
    if whole.iter().flat_map(|judged| &judged.settings).all(|setting| setting.effects.df() <= 0.0) {
        return None;
    }
    let all = all_values(gathered, whole);
    let blind = || all.iter().filter(|_| look.is_last).find_map(by_values);
    by_facts(gathered, &all, look).or_else(blind)
}

fn by_facts(gathered: &Gathered, all: &[Values], look: &Look) -> Option<Found> {
    let none = BTreeMap::new();
    // Looks have the first nodes of the order.
    let nodes = gathered.nodes.iter().take(look.positions.len());
    let facts: Vec<&BTreeMap<String, String>> = nodes.map(|node| node.facts().unwrap_or(&none)).collect();
    let partitions = partitions(&facts);
    let effects: Vec<&Values> = all.iter().filter(|values| values.setting.is_some()).collect();
    let level = ALPHA * look.share / (partitions.len() * effects.len()).max(1) as f64;
    let mut best: Option<(f64, &Partition, &Values)> = None;
    for partition in &partitions {
        for values in &effects {
            let parts: Vec<Option<usize>> = values.positions.iter().map(|&at| partition.parts[at]).collect();
            let Some(found) = anova(&values.values, &parts).filter(|found| found.p <= level) else { continue };
            if best.is_none_or(|(p, ..)| found.p < p) {
                best = Some((found.p, partition, values));
            }
        }
    }
    let (p, partition, values) = best?;
    let part = |number: usize, name: &String| {
        let of = |at: &usize| partition.parts[*at] == Some(number);
        (name.clone(), (0..partition.parts.len()).filter(of).collect())
    };
    let parts = partition.values.iter().enumerate().map(|(number, name)| part(number, name)).collect();
    Some(Found { facts: partition.facts.clone(), metric: values.metric, setting: values.setting, p: Some(p), parts })
}

fn by_values(values: &Values) -> Option<Found> {
    let split = blind(&values.values).filter(powerband_stats::fleet::kinds::Split::is_found)?;
    let of = |upper: bool| {
        let places = split.upper.iter().zip(&values.positions).filter(|(is, _)| **is == upper);
        places.map(|(_, position)| *position).collect()
    };
    let parts = vec![("lower".to_owned(), of(false)), ("higher".to_owned(), of(true))];
    Some(Found { facts: Vec::new(), metric: values.metric, setting: values.setting, p: None, parts })
}

/// An answer for each kind, each with its share of the error rate.
pub(super) fn answered(gathered: &Gathered, found: Found, lost_under: &[usize]) -> Kinds {
    let share = 1.0 / found.parts.len().max(1) as f64;
    let metric = gathered.metrics.get(found.metric).map(|it| it.name.clone()).unwrap_or_default();
    let setting = found.setting.and_then(|place| gathered.settings.get(place + 1)).map(|(label, _)| label.clone());
    let parts = found.parts.iter().map(|(name, positions)| {
        let judged = judge(gathered, positions, share);
        let answers = |of: &Judged| {
            let metric = &gathered.metrics[of.metric];
            let settings = of.settings.iter().enumerate();
            let withheld = |place: usize| lost_under.contains(&(place + 1));
            settings.map(|(place, it)| group_answer(it, metric, &of.rules, withheld(place))).collect()
        };
        NodeKind {
            name: name.clone(),
            positions: positions.iter().map(|&at| u32::try_from(at).unwrap_or(u32::MAX)).collect(),
            metrics: judged.iter().map(answers).collect(),
        }
    });
    let parts: Vec<NodeKind> = parts.collect();
    let words = words(gathered, &found, &parts, setting.as_deref(), &metric);
    Kinds { facts: found.facts, metric, setting, p: found.p, parts, words }
}

/// `2 kinds of nodes by microcode (p 0.0004): 0xa: 10 nodes, +3.1 %; 0xb: 6 nodes, -0.7 %`.
fn words(gathered: &Gathered, found: &Found, parts: &[NodeKind], setting: Option<&str>, metric: &str) -> String {
    let part = |kind: &NodeKind| {
        let change = found.setting.and_then(|place| kind.metrics.get(found.metric)?.get(place)?.change);
        let effect = change.map(|change| format!(", {metric} {:+.1} %", 100.0 * change)).unwrap_or_default();
        let most = 3;
        let names: Vec<String> = kind
            .positions
            .iter()
            .take(most)
            .filter_map(|at| Some(gathered.nodes.get(*at as usize)?.called()))
            .collect();
        let more = if kind.positions.len() > most { ", …" } else { "" };
        format!("{} ({} nodes: {}{more}{effect})", kind.name, kind.positions.len(), names.join(", "))
    };
    let list = and(&parts.iter().map(part).collect::<Vec<_>>());
    let under = setting.map_or_else(|| "in the baseline".to_owned(), |setting| format!("in the effect of {setting}"));
    match found.p {
        Some(p) => format!("kinds of nodes by {} {under} (p {}): {list}", and(&found.facts), chance(p)),
        None => format!(
            "nodes fall into two groups {under}, and no fact that was recorded divides them so (error rate {}): {list}; look for what they differ in",
            percent(0.005)
        ),
    }
}
