//! A fleet's answer in sentences.
use powerband_record::{InOrder, Verdict, format_number, unit_of};
use powerband_stats::fleet::waves::FIRST_LOOK;
use powerband_stats::{Rules, Scale};

use super::gather::Gathered;
use super::{FleetAnswer, GroupAnswer, Holds, Kinds, MetricAnswer, NodeState};
use crate::words::{and, counted, percent, signed, word};

/// More settings than this are counted in the finding.
const NAMED: usize = 3;

/// A change with its unit: `-8.1 %`.
pub(super) fn change(metric: &MetricAnswer, value: f64) -> String {
    if metric.absolute {
        let unit = unit_of(&metric.metric);
        return format!("{}{} {unit}", if value > 0.0 { "+" } else { "" }, format_number(value)).trim_end().to_owned();
    }
    format!("{} %", number(metric, value))
}

/// The same without its unit.
pub(super) fn number(metric: &MetricAnswer, value: f64) -> String {
    if metric.absolute {
        return format!("{}{}", if value > 0.0 { "+" } else { "" }, format_number(value));
    }
    let decimals = if value.abs() >= 0.0995 { 0 } else { 1 };
    let small = value != 0.0 && value.abs() < 0.0005;
    signed(100.0 * value, if small { 2 } else { decimals })
}

/// `-9.0 .. -7.2`.
pub(super) fn between(metric: &MetricAnswer, low: f64, high: f64) -> String {
    format!("{} .. {}", number(metric, low), number(metric, high))
}

/// The finding, without a full stop.
pub(super) fn finding(answer: &FleetAnswer) -> String {
    let several = answer.metrics.len() > 1;
    let mut clauses: Vec<(bool, String)> = Vec::new();
    for metric in &answer.metrics {
        for setting in &metric.settings {
            let place = if several { format!("{}: ", metric.metric) } else { String::new() };
            let name = if several { String::new() } else { format!("{} ", metric.metric) };
            let said = clause(answer, metric, &name, &setting.setting, &setting.fleet);
            let differs = matches!(setting.fleet.verdict, Verdict::Better | Verdict::Worse);
            clauses.push((!differs, format!("{place}{said}")));
        }
    }
    if clauses.is_empty() {
        return "nothing was compared".into();
    }
    clauses.order_by_key(|(rest, _)| *rest);
    let all = clauses.len();
    let mut said: Vec<String> = clauses.into_iter().take(NAMED).map(|(_, clause)| clause).collect();
    if all > said.len() {
        said.push(format!("{} more in the table", all - said.len()));
    }
    said.join("; ")
}

fn clause(answer: &FleetAnswer, metric: &MetricAnswer, name: &str, setting: &str, group: &GroupAnswer) -> String {
    let mixture = if answer.kinds.is_some() { ", depending on the mixture of kinds" } else { "" };
    let size = match (group.change, group.low, group.high) {
        (Some(mean), Some(low), Some(high)) => {
            format!(" ({name}{}, {}{mixture})", change(metric, mean), between(metric, low, high))
        }
        _ => String::new(),
    };
    let over = counted(group.nodes, "node");
    match group.verdict {
        Verdict::Better | Verdict::Worse => {
            format!("{setting} is {} than {} over {over}{size}", word(group.verdict), answer.reference)
        }
        Verdict::Same => {
            let margin = if metric.absolute { change(metric, metric.margin) } else { percent(metric.margin) };
            format!("{setting} is the same as {} within {margin} over {over}", answer.reference)
        }
        Verdict::Undecided => {
            let more = match group.more_nodes {
                Some((low, high)) if low == high => format!("; about {} more would decide", counted(low, "node")),
                Some((low, high)) => format!("; about {low} to {high} nodes more would decide"),
                None => String::new(),
            };
            let new = group.new_fleet.map_or_else(String::new, |plan| {
                format!(
                    ", or in less time a new fleet of {} with {} blocks each",
                    counted(plan.nodes, "node"),
                    plan.blocks
                )
            });
            format!("undecided over {over}: {setting}{size}{more}{new}")
        }
    }
}

/// What holds on most nodes, and what the sample cannot exclude.
pub(super) fn holds(holds: &Holds, nodes: u32, metric: &str, rules: &Rules) -> String {
    let margin = match rules.scale {
        Scale::Log => percent(rules.margin),
        Scale::Linear => format!("{} {}", format_number(rules.margin), unit_of(metric)).trim_end().to_owned(),
    };
    let what = match holds.on_most {
        Some(Verdict::Better) => "better on at least 90 % of nodes".to_owned(),
        Some(Verdict::Worse) => "worse on at least 90 % of nodes".to_owned(),
        Some(_) => format!("not worse by more than {margin} on at least 90 % of nodes"),
        None => return format!("not shown to hold on at least 90 % of nodes with {}", counted(nodes, "node")),
    };
    let bell = if holds.if_bell_shaped { ", if effects of nodes are bell-shaped" } else { "" };
    let digits = if holds.unseen_share < 0.01 { 1e3 } else { 1e2 };
    let share = percent(((holds.unseen_share * digits).round() / digits).max(1e-3));
    format!("{what}{bell}; up to {share} of the nodes may be of a kind that was not measured")
}

/// With kinds it holds only if it holds in each of them.
pub(super) fn only_in_each_kind(holds: &mut Holds, kinds: Option<&Kinds>, metric: usize, setting: usize) {
    let Some(kinds) = kinds else { return };
    let of = |kind: &super::NodeKind| kind.metrics.get(metric)?.get(setting)?.holds.as_ref()?.on_most;
    let all = kinds.parts.iter().all(|kind| of(kind).is_some() && of(kind) == holds.on_most);
    if !all && holds.on_most.is_some() {
        holds.on_most = None;
        holds.if_bell_shaped = false;
        holds.words = "not shown to hold on at least 90 % of the nodes of each kind".into();
    }
}

/// What must be known with an answer.
pub(super) fn notes(gathered: &Gathered, metrics: &[MetricAnswer], kinds: Option<&Kinds>) -> Vec<String> {
    let mut notes = Vec::new();
    let named = |state: NodeState| -> Vec<String> {
        gathered.nodes.iter().filter(|node| node.state == state).map(super::gather::Node::called).collect()
    };
    let measured = named(NodeState::Finished).len() + named(NodeState::Partial).len();
    if gathered.over && measured < FIRST_LOOK as usize {
        notes.push(format!("nothing is decided: a verdict takes at least {FIRST_LOOK} nodes, and {measured} of this fleet can be counted"));
    }
    let lost = named(NodeState::Lost);
    if !lost.is_empty() {
        notes.push(format!("lost, with no block that counts: {}", listed(&lost)));
    }
    let partial = named(NodeState::Partial);
    if !partial.is_empty() {
        notes.push(format!("given up before their end, their complete blocks count: {}", listed(&partial)));
    }
    for setting in metrics.first().iter().flat_map(|metric| &metric.settings).filter(|setting| setting.lost_under) {
        let label = &setting.setting;
        notes.push(format!(
            "nodes were lost under {label} more often than chance allows (1 %), so that neither \"same\" nor \"holds\" is claimed of it"
        ));
    }
    if kinds.is_some() {
        notes.push("the mean over all nodes depends on the mixture of kinds".into());
    }
    let no_noise = |metric: &MetricAnswer| {
        metric.settings.iter().any(|setting| setting.fleet.nodes > 1 && setting.fleet.spread.is_none())
    };
    if metrics.iter().any(no_noise) {
        notes.push("no node has two blocks: how far nodes differ cannot be separated from noise".into());
    }
    notes
}

/// A chance in words: `0.012`, `below 0.0001`.
pub(super) fn chance(p: f64) -> String {
    const MIN: f64 = 1e-4;
    if p < MIN { format!("below {MIN}") } else { format_number((p * 1e4).round() / 1e4) }
}

/// Some of many names.
pub(super) fn listed(names: &[String]) -> String {
    const MAX: usize = 6;
    if names.len() <= MAX {
        return and(names);
    }
    format!("{} and {} more", names[..MAX].join(", "), names.len() - MAX)
}
