//! Documents against the tree: the crates they list, the commands they promise.
use std::collections::BTreeSet;

use super::source::Source;
use super::{Document, Problem};
use crate::CHORES;
use crate::metadata::Package;

/// Where the command's verbs are declared: the variants of its `enum Verb`.
const VERBS: &str = "crates/powerband/src/cli.rs";

/// ARCHITECTURE.md and crates/README.md name every crate, and no crate that is not there.
pub(super) fn crates_named(packages: &[Package], documents: &[Document]) -> Vec<Problem> {
    let crates: BTreeSet<&str> =
        packages.iter().map(|package| package.folder.as_str()).filter(|folder| folder.starts_with("crates/")).collect();
    let mut problems = Vec::new();
    for path in ["ARCHITECTURE.md", "crates/README.md"] {
        let Some(document) = documents.iter().find(|document| document.path == path) else {
            problems.push(Problem::new(path, 0, "is missing"));
            continue;
        };
        let named: Vec<(usize, String)> = folders_named(&document.text);
        for folder in crates.iter().filter(|folder| named.iter().all(|(_, name)| name != *folder)) {
            problems.push(Problem::new(path, 0, format!("does not name `{folder}`")));
        }
        for (line, folder) in named.iter().filter(|(_, folder)| !crates.contains(folder.as_str())) {
            problems.push(Problem::new(path, *line, format!("names `{folder}`, which is not there")));
        }
    }
    problems
}

/// `crates/NAME` wherever a document names one.
fn folders_named(text: &str) -> Vec<(usize, String)> {
    let mut found = Vec::new();
    for (number, line) in (1..).zip(text.lines()) {
        for (at, _) in line.match_indices("crates/") {
            let name: String =
                line[at + 7..].chars().take_while(|c| c.is_ascii_lowercase() || matches!(c, '-' | '_')).collect();
            let is_folder = !line[..at].ends_with(|c: char| c.is_alphanumeric() || c == '/');
            if is_folder && !name.is_empty() {
                found.push((number, format!("crates/{name}")));
            }
        }
    }
    found
}

/// Every `cargo xtask WORD` of a document is a chore.
pub(super) fn chores_named(documents: &[Document]) -> Vec<Problem> {
    promised(documents, "cargo xtask ", |word| CHORES.contains(&word))
}

/// Every `powerband WORD` in the commands README.md shows is a verb of the command.
pub(super) fn verbs_named(sources: &[Source], documents: &[Document]) -> Vec<Problem> {
    let Some(source) = sources.iter().find(|source| source.path == VERBS) else { return Vec::new() };
    let verbs = verbs(source);
    if verbs.is_empty() {
        return vec![Problem::new(VERBS, 0, "has no `enum Verb`, from which the documents are checked")];
    }
    let readme: Vec<Document> =
        documents.iter().filter(|document| document.path == "README.md").map(commands_of).collect();
    // `help` comes with the parser of the command line.
    promised(&readme, "powerband ", |word| verbs.contains(word) || word == "help")
}

/// Words behind `prefix` that `is` does not know.
fn promised(documents: &[Document], prefix: &str, is: impl Fn(&str) -> bool) -> Vec<Problem> {
    let mut problems = Vec::new();
    for document in documents.iter().filter(|document| document.path.ends_with(".md")) {
        for (number, line) in (1..).zip(document.text.lines()) {
            for (at, _) in line.match_indices(prefix) {
                let rest = &line[at + prefix.len()..];
                let word: String = rest.chars().take_while(|c| c.is_ascii_lowercase() || *c == '-').collect();
                let whole = rest[word.len()..].chars().next().is_none_or(|c| !c.is_alphanumeric() && c != '_');
                if whole && word.starts_with(|c: char| c != '-') && !is(&word) {
                    problems.push(Problem::new(&document.path, number, format!("there is no `{prefix}{word}`")));
                }
            }
        }
    }
    problems
}

/// A document's commands: the lines of its fenced blocks that begin with one, and its `code` in running text. Lines
/// keep their numbers.
fn commands_of(document: &Document) -> Document {
    let mut fenced = false;
    let mut text = String::new();
    for line in document.text.lines() {
        if line.trim_start().starts_with("```") {
            fenced = !fenced;
        } else if fenced {
            let command = line.trim_start().trim_start_matches(['$', '#']).trim_start();
            let command = command.strip_prefix("sudo ").unwrap_or(command);
            if command.starts_with("powerband ") {
                text.push_str(command);
            }
        } else {
            let code = line.split('`').skip(1).step_by(2).filter(|code| code.starts_with("powerband "));
            text.push_str(&code.collect::<Vec<_>>().join(" · "));
        }
        text.push('\n');
    }
    Document { path: document.path.clone(), text }
}

/// The variants of `enum Verb`, in the spelling of the command line.
fn verbs(source: &Source) -> BTreeSet<String> {
    let mut verbs = BTreeSet::from(["help".to_owned()]);
    let mut depth = 0_usize;
    for (_, line) in source.numbered().skip_while(|(_, line)| !line.code.contains("enum Verb")) {
        let code = line.code.trim();
        if depth == 1 && code.starts_with(|c: char| c.is_ascii_uppercase()) {
            let name: String = code.chars().take_while(|c| c.is_alphanumeric()).collect();
            verbs.insert(kebab(&name));
        }
        depth += code.matches('{').count();
        depth = depth.saturating_sub(code.matches('}').count());
        if depth == 0 {
            return verbs;
        }
    }
    BTreeSet::new()
}

/// `DryRun` as `dry-run`.
fn kebab(name: &str) -> String {
    let mut spelled = String::new();
    for c in name.chars() {
        if c.is_ascii_uppercase() && !spelled.is_empty() {
            spelled.push('-');
        }
        spelled.push(c.to_ascii_lowercase());
    }
    spelled
}

#[cfg(test)]
mod tests;
