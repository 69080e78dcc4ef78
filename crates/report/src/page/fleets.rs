//! The sections of a fleet's page: what holds for all nodes, each setting over the nodes, the nodes themselves.
use super::figure::figures;
use super::frame::Section;
use super::html::{Table, facts, list, paragraph, text, typed};
use super::verdict;
use crate::fleet::text::{RESUMES, caveats, extent, levels, row, star};
use crate::fleet::{FleetAnswer, NodeState};
use crate::picture::Picture;
use crate::words::{capital, percent};

pub(super) fn sections(of: &FleetAnswer, pictures: &[Picture]) -> Vec<Section> {
    let (lead, others) = match pictures {
        [] => (None, &[][..]),
        [first, others @ ..] => (Some(first), others),
    };
    vec![
        Section::new("verdict", "Verdict", verdict::led(&words(of), lead)),
        Section::new("notes", "Caveats", list(&caveats(of))),
        Section::new("settings", "Settings", settings(of)),
        Section::new("unlike", "Odd nodes and kinds of nodes", unlike(of)),
        Section::new("pictures", "Charts", figures(others)),
        Section::new("nodes", "Nodes", nodes(of)),
    ]
}

fn words(of: &FleetAnswer) -> String {
    let sure = [
        ("Nodes", extent(of)),
        ("Reference", of.reference.clone()),
        ("Error rate", format!("{} for all differences claimed together", percent(of.alpha))),
    ];
    let said = of.choice.sentence("").into_iter().map(|it| paragraph(&it));
    let commands = of.choice.commands().into_iter().map(|line| typed(&line));
    let resume = of.resume.iter().map(|line| paragraph(RESUMES) + &typed(line));
    let advice: String = said.chain(commands).chain(resume).collect();
    verdict::finding(&of.finding) + &facts(&sure) + &advice
}

/// A table for each metric, and what holds on most nodes.
fn settings(of: &FleetAnswer) -> String {
    let table = |metric: &crate::fleet::MetricAnswer| {
        let head = ["setting", "change", "interval", "spread", "next node", "verdict", "nodes"];
        let rows = metric.settings.iter().map(|it| row(metric, &it.setting, &it.fleet).split_off(1)).collect();
        let holds =
            metric.settings.iter().filter_map(|it| Some(format!("{}: {}", it.setting, it.fleet.holds.as_ref()?.words)));
        Table::of_words(&metric.metric, &head, rows).render() + &list(&holds.collect::<Vec<_>>())
    };
    let star = star(of).map(paragraph);
    let levels = levels(of).map(|levels| paragraph(&format!("{}.", capital(&levels))));
    of.metrics.iter().map(table).chain(star).chain(levels).collect()
}

fn unlike(of: &FleetAnswer) -> String {
    let kinds = of.kinds.iter().map(|kinds| kinds.words.clone());
    let odd = of.odd.iter().map(|odd| format!("odd node {}", odd.words));
    list(&kinds.chain(odd).collect::<Vec<_>>())
}

/// Each node in the drawn order.
fn nodes(of: &FleetAnswer) -> String {
    let row = |node: &crate::fleet::NodeRow| {
        let state = match node.state {
            NodeState::Finished => "finished",
            NodeState::Partial => "given up in part",
            NodeState::Running => "running",
            NodeState::Waiting => "waiting",
            NodeState::Lost => "lost",
        };
        let facts: Vec<String> = node.facts.iter().map(|(name, value)| format!("{name} {value}")).collect();
        let id = node.experiment.map(|id| id.to_string()).unwrap_or_default();
        vec![node.node.clone(), state.to_owned(), node.blocks.to_string(), id, facts.join(", ")]
    };
    let head = ["node", "state", "blocks", "experiment", "facts"];
    let table = Table::of_words("In the drawn order", &head, of.nodes.iter().map(row).collect()).render();
    format!("<details>\n<summary>{}</summary>\n{table}</details>\n", text(&extent(of)))
}
