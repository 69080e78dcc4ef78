//! Manifests: every foreign dependency has its reason, every package takes the workspace's versions and lints.
use toml::{Table, Value};

use super::source::Source;
use super::{Document, Problem};
use crate::metadata::Package;

/// Every dependency that is not ours says in a few words why it is here, and only in one place which version.
pub(super) fn reasons(documents: &[Document]) -> Vec<Problem> {
    let mut problems = Vec::new();
    for document in documents.iter().filter(|document| document.path.ends_with("Cargo.toml")) {
        if document.path == "Cargo.toml" {
            problems.extend(unexplained(document));
        } else {
            problems.extend(own_versions(document));
        }
    }
    problems
}

/// Lines of `[workspace.dependencies]` without a comment of two words or more.
fn unexplained(document: &Document) -> Vec<Problem> {
    let mut problems = Vec::new();
    let mut inside = false;
    for (number, line) in (1..).zip(document.text.lines()) {
        if line.starts_with('[') {
            inside = line.starts_with("[workspace.dependencies]");
            continue;
        }
        let Some((name, rest)) = line.split_once('=').filter(|_| inside && !line.trim_start().starts_with('#')) else {
            continue;
        };
        let explained = comment(rest).split_whitespace().count() >= 2;
        if !explained && !rest.contains("path =") {
            let what = format!("say in a comment behind it why {} is here", name.trim());
            problems.push(Problem::new(&document.path, number, what));
        }
    }
    problems
}

/// What stands behind `#`, outside strings.
fn comment(line: &str) -> &str {
    let mut in_text = false;
    for (at, c) in line.char_indices() {
        match c {
            '"' => in_text = !in_text,
            '#' if !in_text => return &line[at + 1..],
            _ => {}
        }
    }
    ""
}

/// Dependencies of a member that are not `NAME.workspace = true`.
fn own_versions(document: &Document) -> Vec<Problem> {
    let Some(manifest) = parsed(document) else {
        return vec![Problem::new(&document.path, 0, "is not TOML")];
    };
    let mut problems = Vec::new();
    for section in ["dependencies", "dev-dependencies", "build-dependencies"] {
        for (name, value) in manifest.get(section).and_then(Value::as_table).into_iter().flatten() {
            if value.get("workspace").and_then(Value::as_bool) != Some(true) {
                let what = format!("{name}: versions and reasons are kept in the workspace's Cargo.toml");
                problems.push(Problem::new(&document.path, 0, what));
            }
        }
    }
    problems
}

/// The lints hold everywhere: nobody opts out, and every clippy.toml keeps functions short.
pub(super) fn lints(documents: &[Document]) -> Vec<Problem> {
    let mut problems = Vec::new();
    for document in documents {
        let what = match document.path.rsplit('/').next() {
            _ if document.path == "Cargo.toml" => (!warns(document)).then_some("clippy's too_many_lines must warn"),
            Some("Cargo.toml") => (!inherits(document)).then_some("has no `[lints] workspace = true`"),
            Some("clippy.toml") => (!limits(document)).then_some("must keep too-many-lines-threshold = 70"),
            _ => None,
        };
        problems.extend(what.map(|what| Problem::new(&document.path, 0, what)));
    }
    problems
}

/// Examples in documentation are tested, and a library without any says so: cargo runs rustdoc over it to find none.
pub(super) fn examples(packages: &[Package], sources: &[Source]) -> Vec<Problem> {
    let mut problems = Vec::new();
    for package in packages.iter().filter(|package| package.library) {
        let has_some = sources.iter().any(|source| source.package() == package.folder && begins_example(source));
        let what = match (has_some, package.examples) {
            (true, false) => "has examples in its documentation: take away `doctest = false`",
            (false, true) => "has no examples in its documentation: say `doctest = false` in [lib]",
            _ => continue,
        };
        problems.push(Problem::new(&format!("{}/Cargo.toml", package.folder), 0, what));
    }
    problems
}

/// Whether a source has a fence in a documentation comment.
fn begins_example(source: &Source) -> bool {
    let comments = source.lines.iter().filter_map(|line| line.comment.strip_prefix(['/', '!']));
    comments.map(str::trim_start).any(|comment| comment.starts_with("```"))
}

fn parsed(document: &Document) -> Option<Table> {
    document.text.parse().ok()
}

fn warns(document: &Document) -> bool {
    let manifest = parsed(document);
    let lint = manifest
        .as_ref()
        .and_then(|manifest| manifest.get("workspace")?.get("lints")?.get("clippy")?.get("too_many_lines")?.as_str());
    matches!(lint, Some("warn" | "deny" | "forbid"))
}

fn inherits(document: &Document) -> bool {
    let manifest = parsed(document);
    let inherited =
        manifest.as_ref().and_then(|manifest| manifest.get("lints")?.get("workspace").and_then(Value::as_bool));
    inherited == Some(true)
}

fn limits(document: &Document) -> bool {
    let settings = parsed(document);
    let limit = settings.as_ref().and_then(|settings| settings.get("too-many-lines-threshold")?.as_integer());
    limit == Some(70)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn examples_are_tested_where_there_are_some() {
        let check = |tested: bool, text: &str, expect: usize| {
            let (name, folder) = ("powerband-a".to_owned(), "crates/a".to_owned());
            let package = Package { name, folder, library: true, examples: tested, ..Package::default() };
            let problems = examples(&[package], &[Source::new("crates/a/src/b.rs", text)]);
            assert_eq!(problems.len(), expect, "{text}");
        };
        for text in ["/// Says.\n    /// ```\nfn a() {}\n", "//! ```should_panic\n"] {
            check(true, text, 0);
            check(false, text, 1);
        }
        for text in ["// ```\n", "const FENCE: &str = \"/// ```\";\n"] {
            check(false, text, 0);
            check(true, text, 1);
        }
    }
}
