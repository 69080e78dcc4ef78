//! Nodes that do not belong to the others, named by baseline first, then by effect, then by noise.
use powerband_record::format_number;
use powerband_stats::Scale;
use powerband_stats::fleet::odd::{
    ALPHA, Deviations, MIN_NODES, MIN_NOISE_DF, Odd, Suspect, effects, find as esd, noise_levels, residuals,
};

use super::gather::{Gathered, Look};
use super::group::{Judged, cell, judge, levels};
use super::{Kinds, OddIn, OddNode};

/// Odd nodes at a look, inside each kind where there are kinds.
pub(super) fn find(gathered: &Gathered, kinds: Option<&Kinds>, look: &Look) -> Vec<OddNode> {
    let groups: Vec<Vec<usize>> = match kinds {
        Some(kinds) => kinds.parts.iter().map(|kind| kind.positions.iter().map(|at| *at as usize).collect()).collect(),
        None => vec![look.positions.clone()],
    };
    let share = look.share / groups.len().max(1) as f64;
    let mut found: Vec<OddNode> = Vec::new();
    for positions in groups.iter().filter(|positions| positions.len() >= MIN_NODES) {
        for judged in judge(gathered, positions, 1.0) {
            let alpha = ALPHA * share / gathered.metrics.len().max(1) as f64;
            found.extend(by_level(gathered, &judged, alpha));
            found.extend(by_effect(gathered, &judged, alpha));
            found.extend(by_noise(gathered, &judged, alpha));
        }
    }
    found
}

fn named(gathered: &Gathered, judged: &Judged, position: usize, odd_in: OddIn, suspect: &Suspect) -> OddNode {
    let node = gathered.nodes.get(position).map(super::gather::Node::called).unwrap_or_default();
    let metric = gathered.metrics.get(judged.metric).map(|it| it.name.clone()).unwrap_or_default();
    let at = u32::try_from(position).unwrap_or(u32::MAX);
    let p = suspect.p.min(1.0);
    OddNode { node, position: at, odd_in, metric, setting: None, value: 0.0, others: None, p, words: String::new() }
}

fn odd_nodes<'a>(odd: &'a Odd, positions: &'a [usize]) -> impl Iterator<Item = (usize, &'a Suspect)> {
    odd.nodes().iter().filter_map(|suspect| Some((*positions.get(suspect.node)?, suspect)))
}

fn change(judged: &Judged, value: f64) -> String {
    let shown = judged.rules.shown(value);
    if judged.rules.scale == Scale::Log { format!("{:+.1} %", 100.0 * shown) } else { format_number(shown) }
}

fn by_level(gathered: &Gathered, judged: &Judged, alpha: f64) -> Vec<OddNode> {
    let (positions, values): (Vec<usize>, Vec<f64>) = levels(gathered, judged, &judged.positions).into_iter().unzip();
    let odd = esd(&values, &vec![0.0; values.len()], Deviations::Both, alpha);
    let tell = |(position, suspect): (usize, &Suspect)| {
        let off = values[suspect.node] - suspect.mean;
        let named = named(gathered, judged, position, OddIn::Baseline, suspect);
        let words =
            format!("{}: baseline {} {} against the other nodes", named.node, named.metric, change(judged, off));
        OddNode { value: judged.rules.shown(off), words, ..named }
    };
    odd_nodes(&odd, &positions).map(tell).collect()
}

fn by_effect(gathered: &Gathered, judged: &Judged, alpha: f64) -> Vec<OddNode> {
    let settings = judged.settings.len().max(1) as f64;
    let mut found = Vec::new();
    for (place, setting) in judged.settings.iter().enumerate() {
        let Some(mean) = powerband_stats::fleet::mean(&setting.effects) else { continue };
        let odd = effects(&setting.effects, &mean, alpha / settings);
        let label = gathered.settings.get(place + 1).map(|(label, _)| label.clone()).unwrap_or_default();
        for (position, suspect) in odd_nodes(&odd, &setting.nodes) {
            let value = setting.effects.nodes()[suspect.node].mean;
            let others = others(setting.effects.nodes(), &odd);
            let named = named(gathered, judged, position, OddIn::Effect, suspect);
            let words = format!(
                "{}: {} {label} {}, the other nodes {}",
                named.node,
                named.metric,
                change(judged, value),
                change(judged, others)
            );
            let (value, others) = (judged.rules.shown(value), Some(judged.rules.shown(others)));
            found.push(OddNode { setting: Some(label.clone()), value, others, words, ..named });
        }
    }
    found
}

/// Mean effect of the nodes that are not odd.
fn others(nodes: &[powerband_stats::fleet::NodeEffect], odd: &Odd) -> f64 {
    let good = || nodes.iter().enumerate().filter(|(at, _)| odd.nodes().iter().all(|it| it.node != *at));
    good().map(|(_, node)| node.mean).sum::<f64>() / good().count().max(1) as f64
}

fn by_noise(gathered: &Gathered, judged: &Judged, alpha: f64) -> Vec<OddNode> {
    let mut positions = Vec::new();
    let mut all = Vec::new();
    for &position in &judged.positions {
        let rows = complete_rows(gathered, judged, position);
        let columns = rows.first().map_or(0, Vec::len);
        let df = rows.len().saturating_sub(1) * columns.saturating_sub(1);
        if df as f64 >= MIN_NOISE_DF {
            positions.push(position);
            all.push(residuals(&rows));
        }
    }
    let noises = noise_levels(&all);
    let odd = esd(&noises, &vec![0.0; noises.len()], Deviations::Upper, alpha);
    let tell = |(position, suspect): (usize, &Suspect)| {
        let named = named(gathered, judged, position, OddIn::Noise, suspect);
        let times = if suspect.mean > 0.0 { noises[suspect.node] / suspect.mean } else { 1.0 };
        let words = format!("{}: {} scatters {times:.1} times as much as on the other nodes", named.node, named.metric);
        OddNode { value: times, words, ..named }
    };
    odd_nodes(&odd, &positions).map(tell).collect()
}

/// Blocks of a node that hold all settings the node ever measured, on the scale of the differences.
fn complete_rows(gathered: &Gathered, judged: &Judged, position: usize) -> Vec<Vec<f64>> {
    let Some(measured) = gathered.nodes.get(position).and_then(|node| node.measured.as_ref()) else {
        return Vec::new();
    };
    let mut settings: Vec<usize> = measured.rows.iter().flat_map(|row| row.keys().copied()).collect();
    settings.sort_unstable();
    settings.dedup();
    let value = |row: &_, setting: &usize| cell(row, *setting, judged.metric, judged.rules.scale);
    measured.rows.iter().filter_map(|row| settings.iter().map(|setting| value(row, setting)).collect()).collect()
}
