//! A fleet's answer for a terminal: what fits 24 lines, and all of it.
use powerband_record::{Better, unit_of};
use powerband_stats::fleet::waves::FIRST_LOOK;

use super::words::{between, chance, change, listed, number};
use super::{FleetAnswer, GroupAnswer, MetricAnswer, NodeState, OddNode};
use crate::layout::{aligned, clean, cut, fold};
use crate::words::{counted, percent, word};

/// Lines of a terminal.
const LINES: usize = 24;
/// Odd nodes, caveats and lines of the finding in the default text.
const ODD: usize = 2;
const CAVEATS: usize = 2;
const FINDING: usize = 4;
/// Lines of what holds on most nodes, and of why no setting is recommended.
const HALF: usize = 2;
/// What starting lost nodes again is good for.
pub(crate) const RESUMES: &str = "To start the lost nodes again, which may decide it:";
/// Kinds in the default text.
const KINDS: usize = 2;

/// What it is, how far, and its error rate: `Limits: 16 nodes, 15 finished, 1 lost; error rate 5 %`. Of a title so much as
/// there is room for.
fn header(of: &FleetAnswer, width: usize) -> String {
    let state = format!("{}; error rate {}", extent(of), percent(of.alpha));
    let room = width.saturating_sub(state.chars().count() + 2);
    let title = of.title.as_ref().filter(|_| room > 0).map(|title| format!("{}: ", cut(&clean(title), room)));
    title.unwrap_or_default() + &state
}

/// How far the fleet is: `16 nodes, 15 finished, 1 lost`; `4 nodes of 6 named, 4 finished, 2 not needed`.
pub(crate) fn extent(of: &FleetAnswer) -> String {
    let count = |state: NodeState| of.nodes.iter().filter(|node| node.state == state).count();
    let states = [
        (NodeState::Finished, "finished"),
        (NodeState::Partial, "given up in part"),
        (NodeState::Running, "running"),
        (NodeState::Waiting, "waiting"),
        (NodeState::Lost, "lost"),
    ];
    let counts = states.iter().map(|(state, words)| (count(*state), *words));
    let besides = [(of.not_needed as usize, "not needed"), (of.cancelled as usize, "cancelled")];
    let said = counts.chain(besides).filter(|(count, _)| *count > 0);
    let said: Vec<String> = said.map(|(count, words)| format!("{count} {words}")).collect();
    let measured = u32::try_from(of.nodes.len()).unwrap_or(u32::MAX);
    let nodes = match of.not_needed.saturating_add(of.cancelled) {
        0 => counted(measured, "node"),
        besides => format!("{} of {} named", counted(measured, "node"), measured.saturating_add(besides)),
    };
    let looked = match of.looked_at {
        _ if of.over => String::new(),
        looked if looked < FIRST_LOOK => format!("; the first look is at {FIRST_LOOK} nodes"),
        looked => format!("; looked at the first {looked}"),
    };
    format!("{nodes}, {}{looked}", said.join(", "))
}

/// A row of the table of settings: metric, setting, change, interval, spread, next node, verdict, nodes.
pub(crate) fn row(metric: &MetricAnswer, setting: &str, group: &GroupAnswer) -> Vec<String> {
    let unit = if metric.absolute { unit_of(&metric.metric) } else { "%" };
    let dash = || "-".to_owned();
    let interval = group.low.zip(group.high).map(|(low, high)| between(metric, low, high).replace(" .. ", ".."));
    let next = group.next_node.map(|(low, high)| between(metric, low, high).replace(" .. ", ".."));
    let spread = group.spread.as_ref().map(|spread| {
        let star = if spread.disagree { "*" } else { "" };
        format!("{}{star}", number(metric, spread.sd).trim_start_matches('+'))
    });
    vec![
        metric.metric.clone(),
        setting.to_owned(),
        group.change.map_or_else(dash, |change| format!("{} {unit}", number(metric, change)).trim_end().to_owned()),
        interval.unwrap_or_else(dash),
        spread.unwrap_or_else(dash),
        next.unwrap_or_else(dash),
        word(group.verdict).to_owned(),
        group.nodes.to_string(),
    ]
}

fn table(of: &FleetAnswer, width: usize, most: usize) -> (Vec<String>, usize) {
    let several = of.metrics.len() > 1;
    let head = ["metric", "setting", "change", "interval", "spread", "next node", "verdict", "nodes"];
    let head = head.map(str::to_owned).to_vec();
    let rows: Vec<Vec<String>> = of
        .metrics
        .iter()
        .flat_map(|metric| metric.settings.iter().map(|setting| row(metric, &setting.setting, &setting.fleet)))
        .collect();
    let left_out = rows.len().saturating_sub(most);
    let keep = |row: Vec<String>| -> Vec<String> { row.into_iter().skip(usize::from(!several)).collect() };
    let table: Vec<Vec<String>> = [head].into_iter().chain(rows.into_iter().take(most)).map(keep).collect();
    let words = if several { 2 } else { 1 };
    (aligned(&table, words, width, &(0..words).collect::<Vec<_>>()), left_out)
}

/// What the star of the tables' spreads means, where there is one.
pub(crate) fn star(of: &FleetAnswer) -> Option<&'static str> {
    let all = of.metrics.iter().flat_map(|metric| &metric.settings);
    let any = all.filter_map(|setting| setting.fleet.spread.as_ref()).any(|spread| spread.disagree);
    any.then_some("*: nodes disagree about this effect by more than noise explains")
}

/// At what levels the intervals of the tables are, where one of a node is narrower than that of the mean.
pub(crate) fn levels(of: &FleetAnswer) -> Option<String> {
    let inside = |group: &GroupAnswer| {
        let (Some(next), Some(low), Some(high)) = (group.next_node, group.low, group.high) else { return false };
        next.1 - next.0 < high - low
    };
    let any = of.metrics.iter().flat_map(|metric| &metric.settings).any(|setting| inside(&setting.fleet));
    any.then(|| {
        let rate = percent(of.alpha);
        format!("next node is at 95 %, interval at an error rate of {rate} over all looks")
    })
}

/// What has to be known besides the verdicts.
pub(crate) fn caveats(of: &FleetAnswer) -> Vec<String> {
    let mut all: Vec<String> = Vec::new();
    let slurm = of.choice.recommended.as_ref().and_then(|it| it.slurm.as_ref());
    if slurm.is_some_and(|slurm| slurm.in_part) {
        all.push("Slurm sets only a part of the recommended setting; `powerband keep` sets all of it".into());
    }
    all.extend(of.notes.iter().cloned());
    all
}

/// The kinds of nodes, a line each with what the first metric shows of the setting in which they differ.
fn kinds(of: &FleetAnswer, width: usize) -> Vec<String> {
    let Some(kinds) = &of.kinds else { return Vec::new() };
    let by = if kinds.facts.is_empty() { "no fact that was recorded".to_owned() } else { kinds.facts.join(", ") };
    let mut lines = vec![cut(&clean(&format!("Kinds of nodes by {by}:")), width)];
    let place = of.metrics.iter().position(|metric| metric.metric == kinds.metric).unwrap_or(0);
    for kind in kinds.parts.iter().take(KINDS) {
        let mut words = format!("  {} ({} nodes)", kind.name, kind.positions.len());
        if let Some(metric) = of.metrics.get(place) {
            let settings = kind.metrics.get(place).into_iter().flatten().zip(&metric.settings);
            let named = settings.filter(|(_, it)| kinds.setting.as_ref().is_none_or(|setting| *setting == it.setting));
            let said = named.filter_map(|(found, it)| {
                Some(format!("{} {} {}", it.setting, change(metric, found.change?), word(found.verdict)))
            });
            words = format!("{words}: {}", said.collect::<Vec<_>>().join(", "));
        }
        lines.push(cut(&clean(&words), width));
    }
    if kinds.parts.len() > KINDS {
        lines.push(format!("  {} more kinds with -v", kinds.parts.len() - KINDS));
    }
    lines
}

/// A sentence in at most so many lines; one that is cut says so.
fn folded(text: &str, width: usize, most: usize) -> Vec<String> {
    let mut lines = fold(&clean(text), width, 0);
    if lines.len() > most {
        lines.truncate(most);
        if let Some(last) = lines.last_mut() {
            *last = format!("{}…", cut(last, width.saturating_sub(1)).trim_end_matches('…'));
        }
    }
    lines
}

/// The default text: at most 24 lines, the finding and what to type last.
pub(super) fn brief(of: &FleetAnswer, width: usize) -> String {
    let mut middle: Vec<String> = Vec::new();
    middle.extend(star(of).map(|star| cut(star, width)));
    middle.extend(levels(of).iter().flat_map(|levels| folded(levels, width, HALF)));
    let odd = |node: &OddNode| cut(&format!("Odd node {}", clean(&node.words)), width);
    middle.extend(of.odd.iter().take(ODD).map(odd));
    if of.odd.len() > ODD {
        middle.push(format!("{} more odd nodes with -v", of.odd.len() - ODD));
    }
    middle.extend(kinds(of, width));
    let recommended = of.choice.recommended.as_ref().map(|it| it.setting.as_str());
    let said = of.metrics.iter().find_map(|metric| {
        let named = metric.settings.iter().find(|it| recommended.is_none_or(|label| label == it.setting))?;
        Some(format!("{}: {}.", named.setting, named.fleet.holds.as_ref()?.words))
    });
    middle.extend(said.iter().flat_map(|said| folded(&clean(said), width, HALF)));
    let all = caveats(of);
    middle.extend(all.iter().take(CAVEATS).map(|note| cut(&format!("Caveat: {}", clean(note)), width)));
    if all.len() > CAVEATS {
        middle.push(format!("{} more caveats with -v", all.len() - CAVEATS));
    }
    let mut last = folded(&clean(&format!("{}.", of.finding)), width, FINDING);
    match &of.choice.recommended {
        Some(it) => last.push(cut(&format!("To use {}:", clean(&it.setting)), width)),
        None => last.extend(of.choice.sentence("").iter().flat_map(|why| folded(&clean(why), width, HALF))),
    }
    last.extend(of.choice.commands().iter().map(|command| clean(command)));
    last.extend(of.resume.iter().flat_map(|command| [RESUMES.to_owned(), clean(command)]));
    // What is left of the screen is the table's: a line for the head, one for what is left out.
    let room = LINES.saturating_sub(middle.len() + last.len() + 3);
    let (mut lines, left_out) = table(of, width, room);
    lines.insert(0, cut(&header(of, width), width));
    if left_out > 0 {
        lines.push(format!("{left_out} more settings with -v"));
    }
    lines.extend(middle);
    lines.extend(last);
    lines.join("\n") + "\n"
}

/// All of it.
pub(super) fn render(of: &FleetAnswer, width: usize) -> String {
    let mut lines = fold(&format!("{}.", clean(&of.finding)), width, 0);
    lines.extend(fold(&header(of, usize::MAX), width, 0));
    for metric in &of.metrics {
        lines.push(String::new());
        let wanted = match metric.better {
            Better::Higher => "higher is better",
            Better::Lower => "lower is better",
        };
        let margin = if metric.absolute { change(metric, metric.margin) } else { percent(metric.margin) };
        lines.extend(fold(&format!("{} ({wanted}; margin {margin})", metric.metric), width, 0));
        for setting in &metric.settings {
            lines.extend(said(of, metric, &setting.setting, &setting.fleet, width));
        }
    }
    let before = lines.len();
    lines.push(String::new());
    lines.extend(of.kinds.iter().flat_map(|kinds| fold(&format!("- {}", clean(&kinds.words)), width, 2)));
    lines.extend(
        of.odd
            .iter()
            .flat_map(|odd| fold(&format!("- odd node {} (p {})", clean(&odd.words), chance(odd.p)), width, 2)),
    );
    lines.extend(caveats(of).iter().flat_map(|note| fold(&format!("- {}", clean(note)), width, 2)));
    let waiting: Vec<String> =
        of.nodes.iter().filter(|node| node.state == NodeState::Running).map(|node| node.node.clone()).collect();
    if !waiting.is_empty() {
        lines.extend(fold(&format!("- still running: {}", listed(&waiting)), width, 2));
    }
    if !of.over {
        lines.extend(fold("- odd nodes and kinds are looked for at the first 16, 64, 256 and 1,024 nodes, and once all are finished or given up", width, 2));
    }
    if lines.len() > before + 1 {
        lines.push(String::new());
    }
    lines.extend(of.choice.sentence("").iter().flat_map(|it| fold(&clean(it), width, 0)));
    lines.extend(of.choice.commands().iter().map(|command| clean(command)));
    lines.extend(of.resume.iter().flat_map(|command| [RESUMES.to_owned(), clean(command)]));
    lines.join("\n") + "\n"
}

/// One setting in all detail.
fn said(of: &FleetAnswer, metric: &MetricAnswer, label: &str, group: &GroupAnswer, width: usize) -> Vec<String> {
    let mut parts = vec![format!("{}: {} over {}", clean(label), word(group.verdict), counted(group.nodes, "node"))];
    if let (Some(mean), Some(low), Some(high)) = (group.change, group.low, group.high) {
        parts.push(format!("mean effect {} ({})", change(metric, mean), between(metric, low, high)));
    }
    if let (Some(p), Some(asked)) = (group.p, group.p_asked) {
        parts.push(format!("p {p:.2e}, at most {asked:.4} asked at this look"));
    }
    if let Some(spread) = &group.spread {
        let plain = |value: f64| change(metric, value).trim_start_matches('+').to_owned();
        let differ = if spread.disagree { "nodes disagree" } else { "nodes are not shown to disagree" };
        parts.push(format!(
            "spread between nodes {} ({} .. {}), {differ} (p {})",
            plain(spread.sd),
            plain(spread.low),
            plain(spread.high),
            chance(spread.p)
        ));
    }
    if let Some((low, high)) = group.next_node {
        parts.push(format!("next node {} (95 %)", between(metric, low, high)));
    }
    parts.extend(group.holds.as_ref().map(|holds| holds.words.clone()));
    let mut lines = fold(&format!("- {}", parts.join("; ")), width, 2);
    let place = metric.settings.iter().position(|setting| setting.setting == label);
    let number = of.metrics.iter().position(|it| it.metric == metric.metric);
    for kind in of.kinds.iter().flat_map(|kinds| &kinds.parts) {
        let found = number.zip(place).and_then(|(number, place)| kind.metrics.get(number)?.get(place));
        let Some(found) = found else { continue };
        let mean = found.change.map_or_else(|| "-".to_owned(), |mean| change(metric, mean));
        let kind =
            format!("  {}: {mean}, {} over {}", clean(&kind.name), word(found.verdict), counted(found.nodes, "node"));
        lines.extend(fold(&kind, width, 4));
    }
    lines
}
