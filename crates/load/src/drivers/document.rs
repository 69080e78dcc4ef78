//! The table of tools as the documentation has it.
use super::table::{Condition, Figure, Tool, table};

/// The rows of docs/loads/commands.md, from `tools.toml`.
#[must_use]
pub fn tools_page() -> String {
    let mut page = String::from("| tool | `--reads` | to be read it needs | metrics |\n|---|---|---|---|\n");
    for tool in &table().tools {
        let programs: Vec<String> = tool.programs.iter().map(|program| format!("`{program}`")).collect();
        let programs = if programs.is_empty() { tool.title().to_owned() } else { programs.join(", ") };
        let needs: Vec<String> = tool.needs.iter().map(Condition::text).collect();
        let needs = if needs.is_empty() { "nothing".to_owned() } else { needs.join(", ") };
        let needs = tool.documented_needs.clone().unwrap_or(needs);
        let metrics = tool.documented.clone().unwrap_or_else(|| metrics(tool));
        page.push_str(&format!("| {programs} | `{}` | {needs} | {metrics} |\n", tool.name));
    }
    page
}

/// The metrics of a row: those of every call, then by what a call must have for them. Those that decide in some call are bold.
fn metrics(tool: &Tool) -> String {
    let mut groups: Vec<(String, Vec<String>)> = Vec::new();
    for figure in &tool.metrics {
        let same = || tool.metrics.iter().filter(|other| other.name == figure.name);
        let other =
            |condition: &Condition| same().flat_map(|row| &row.when).any(|other| other.is_reverse_of(condition));
        let when = if figure.when.iter().any(other) { &[][..] } else { &figure.when };
        let when = when.iter().map(Condition::text).collect::<Vec<_>>().join(", ");
        let name = named(figure);
        if groups.iter().any(|(_, names)| names.contains(&name)) {
            continue;
        }
        match groups.iter_mut().find(|(group, _)| *group == when) {
            Some((_, names)) => names.push(name),
            None => groups.push((when, vec![name])),
        }
    }
    groups.sort_by_key(|(when, _)| !when.is_empty());
    let group = |(when, names): (String, Vec<String>)| match when.strip_prefix("without ") {
        _ if when.is_empty() => names.join(", "),
        Some(_) => format!("{when}: {}", names.join(", ")),
        None => format!("with {when}: {}", names.join(", ")),
    };
    groups.into_iter().map(group).collect::<Vec<_>>().join("; ")
}

fn named(figure: &Figure) -> String {
    if figure.judged.is_some() { format!("**`{}`**", figure.name) } else { format!("`{}`", figure.name) }
}
