//! The rules of the tree that no compiler holds. Each rule is a function from what it looks at to problems.
mod documents;
mod imports;
mod kernel_files;
mod manifests;
mod meanings;
mod paths;
mod shape;
mod source;
mod system;
mod words;

use std::fmt;
use std::path::Path;

use anyhow::{Context, Result};

use crate::cargo::top;
use crate::metadata::{Package, packages};
use source::{Source, follow_test_modules};

/// Something that is not as it should be.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Problem {
    /// Path from the top.
    pub(crate) file: String,
    /// Line from 1; 0 when it is about the file as a whole.
    pub(crate) line: usize,
    /// What is wrong, and what to do instead.
    pub(crate) what: String,
}

impl Problem {
    fn new(file: &str, line: usize, what: impl Into<String>) -> Self {
        Problem { file: file.into(), line, what: what.into() }
    }
}

impl fmt::Display for Problem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.line {
            0 => write!(f, "{}: {}", self.file, self.what),
            line => write!(f, "{}:{line}: {}", self.file, self.what),
        }
    }
}

/// A text that is not Rust.
#[derive(Clone, Debug)]
struct Document {
    /// Path from the top.
    path: String,
    /// Its text.
    text: String,
}

/// Everything the rules look at.
struct Tree {
    packages: Vec<Package>,
    sources: Vec<Source>,
    documents: Vec<Document>,
}

/// Checks the tree, prints the problems and answers whether there are none.
///
/// # Errors
/// When the tree cannot be read.
pub(crate) fn run() -> Result<bool> {
    let tree = Tree::read()?;
    let problems = check(&tree);
    for problem in &problems {
        eprintln!("{problem}");
    }
    match problems.len() {
        0 => println!("tidy: {} source files, no problems", tree.sources.len()),
        1 => println!("tidy: 1 problem"),
        number => println!("tidy: {number} problems"),
    }
    Ok(problems.is_empty())
}

fn check(tree: &Tree) -> Vec<Problem> {
    let mut problems = [
        imports::imports(&tree.packages),
        imports::edge_only(&tree.packages),
        imports::pure(&tree.packages),
        kernel_files::kernel_files(&tree.sources),
        system::system_calls(&tree.sources),
        system::write_ahead(&tree.sources),
        system::simulated(&tree.sources),
        system::clocks_and_randomness(&tree.sources),
        shape::sizes(&tree.sources),
        shape::opening_lines(&tree.sources),
        shape::names(&tree.sources),
        words::attributes(&tree.sources),
        words::promises(&tree.sources),
        words::private(&tree.sources),
        meanings::one_meaning(&tree.sources),
        meanings::plain_names(&tree.sources),
        manifests::reasons(&tree.documents),
        manifests::lints(&tree.documents),
        manifests::examples(&tree.packages, &tree.sources),
        documents::crates_named(&tree.packages, &tree.documents),
        documents::chores_named(&tree.documents),
        documents::verbs_named(&tree.sources, &tree.documents),
    ]
    .concat();
    problems.sort();
    problems
}

impl Tree {
    fn read() -> Result<Self> {
        let top = top();
        let mut tree = Tree { packages: packages()?, sources: Vec::new(), documents: Vec::new() };
        for folder in ["crates", "xtask", "bench"] {
            tree.walk(&top, folder)?;
        }
        for file in ["Cargo.toml", "clippy.toml", "README.md", "ARCHITECTURE.md", "CONTRIBUTING.md"] {
            if let Ok(text) = std::fs::read_to_string(top.join(file)) {
                tree.documents.push(Document { path: file.into(), text });
            }
        }
        follow_test_modules(&mut tree.sources);
        Ok(tree)
    }

    fn walk(&mut self, top: &Path, folder: &str) -> Result<()> {
        let entries = std::fs::read_dir(top.join(folder)).with_context(|| format!("cannot list {folder}"))?;
        for entry in entries {
            let entry = entry?;
            let name = entry.file_name().to_string_lossy().into_owned();
            let path = format!("{folder}/{name}");
            let kind = entry.file_type()?;
            if kind.is_dir() && !name.starts_with('.') && name != "target" {
                self.walk(top, &path)?;
            } else if kind.is_file() {
                self.file(top, &path)?;
            }
        }
        Ok(())
    }

    fn file(&mut self, top: &Path, path: &str) -> Result<()> {
        let read = || std::fs::read_to_string(top.join(path)).with_context(|| format!("cannot read {path}"));
        match path.rsplit_once('.') {
            Some((_, "rs")) => self.sources.push(Source::new(path, &read()?)),
            Some((_, "toml" | "md")) => self.documents.push(Document { path: path.into(), text: read()? }),
            _ => {}
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_tree_is_tidy() {
        let tree = Tree::read().unwrap();
        assert!(tree.sources.iter().any(|source| source.path == "xtask/src/tidy.rs"));
        let problems: Vec<String> = check(&tree).iter().map(ToString::to_string).collect();
        assert!(problems.is_empty(), "{}", problems.join("\n"));
    }

    /// The lines that a rule complains of.
    fn complaints(rule: &str, path: &str, text: &str) -> Vec<usize> {
        let (source, document) = (Source::new(path, text), Document { path: path.into(), text: text.into() });
        let rule: fn(&[Source]) -> Vec<Problem> = match rule {
            "attributes" => words::attributes,
            "private" => words::private,
            "promises" => words::promises,
            "write_ahead" => system::write_ahead,
            "system_calls" => system::system_calls,
            "simulated" => system::simulated,
            "clocks_and_randomness" => system::clocks_and_randomness,
            "kernel_files" => kernel_files::kernel_files,
            "plain_names" => meanings::plain_names,
            "opening_lines" => shape::opening_lines,
            "names" => shape::names,
            "reasons" => return manifests::reasons(&[document]).iter().map(|problem| problem.line).collect(),
            "lints" => return manifests::lints(&[document]).iter().map(|problem| problem.line).collect(),
            _ => panic!("no rule {rule}"),
        };
        rule(&[source]).iter().map(|problem| problem.line).collect()
    }

    #[test]
    fn each_rule_complains_of_its_cases() {
        let cases = include_str!("tidy/cases.txt").lines().filter(|line| !line.is_empty() && !line.starts_with('#'));
        for case in cases {
            let (head, text) = case.split_once(':').unwrap();
            let [rule, path, lines] = head.split(' ').collect::<Vec<_>>()[..] else { panic!("{case}") };
            let lines: Vec<usize> = lines.split(',').filter_map(|line| line.parse().ok()).collect();
            assert_eq!(complaints(rule, path, &text.trim_start().replace("\\n", "\n")), lines, "{case}");
        }
    }

    #[test]
    fn a_problem_says_where_and_what() {
        assert_eq!(Problem::new("a.rs", 7, "no").to_string(), "a.rs:7: no");
        assert_eq!(Problem::new("a.rs", 0, "no").to_string(), "a.rs: no");
    }
}
