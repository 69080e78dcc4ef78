//! The shape of files: how long, how they open, what they are called.
use super::Problem;
use super::source::Source;

/// No file is longer, lines.
const MAX_LINES: usize = 600;

/// Most files are shorter, lines.
const USUAL_LINES: usize = 400;

/// At least this share of the files is shorter than [`USUAL_LINES`], percent.
const USUAL_PERCENT: usize = 90;

/// Words that say nothing about what a file holds, alone or as part of a name.
const NOTHING_SAID: [&str; 6] = ["util", "utils", "helpers", "misc", "manager", "common"];

/// Names that say nothing when they stand alone.
const NOTHING_SAID_ALONE: [&str; 4] = ["base", "core", "types", "imp"];

/// Files are short: a hard cap, and most of them well below it.
pub(super) fn sizes(sources: &[Source]) -> Vec<Problem> {
    let mut problems: Vec<Problem> = sources
        .iter()
        .filter(|source| source.lines.len() > MAX_LINES)
        .map(|source| {
            let what = format!("{} lines; {MAX_LINES} is the most: split it by noun", source.lines.len());
            Problem::new(&source.path, 0, what)
        })
        .collect();
    let mut long: Vec<&Source> = sources.iter().filter(|source| source.lines.len() >= USUAL_LINES).collect();
    if long.len() * 100 > sources.len() * (100 - USUAL_PERCENT) {
        long.sort_by_key(|source| source.lines.len());
        let worst = long.last().map_or("", |source| source.path.as_str());
        let what = format!(
            "{} of {} files have {USUAL_LINES} lines or more; at most {} % may, and this one is the longest",
            long.len(),
            sources.len(),
            100 - USUAL_PERCENT
        );
        problems.push(Problem::new(worst, 0, what));
    }
    problems
}

/// Every source file says in its first line what may go in it.
pub(super) fn opening_lines(sources: &[Source]) -> Vec<Problem> {
    let silent = sources.iter().filter(|source| {
        let opening = source.first_line.strip_prefix("//!").map(str::trim);
        source.path.contains("/src/") && opening.is_none_or(str::is_empty)
    });
    silent.map(|source| Problem::new(&source.path, 1, "opens without a `//!` line that says what goes in it")).collect()
}

/// Files, folders and modules are called after what they hold.
pub(super) fn names(sources: &[Source]) -> Vec<Problem> {
    let mut problems = Vec::new();
    for source in sources {
        for part in source.path.trim_end_matches(".rs").split('/') {
            if says_nothing(part) {
                problems.push(Problem::new(&source.path, 0, format!("'{part}' says nothing about what is in it")));
            }
        }
        if source.path.ends_with("/mod.rs") {
            problems.push(Problem::new(&source.path, 0, "a module with a folder is NAME.rs beside NAME/, not mod.rs"));
        }
        for (line, text) in source.numbered() {
            let mut words = text.code.split_whitespace().skip_while(|word| *word != "mod").skip(1);
            let name = words.next().map(|word| word.trim_end_matches([';', '{']));
            if let Some(name) = name.filter(|name| says_nothing(name)) {
                problems.push(Problem::new(&source.path, line, format!("'{name}' says nothing about what is in it")));
            }
        }
    }
    problems
}

fn says_nothing(name: &str) -> bool {
    NOTHING_SAID_ALONE.contains(&name) || name.split(['_', '-']).any(|word| NOTHING_SAID.contains(&word))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn long(path: &str, lines: usize) -> Source {
        Source::new(path, &"//! X.\n".repeat(lines))
    }

    #[test]
    fn long_files_are_found() {
        let mut sources: Vec<Source> = (0..9).map(|n| long(&format!("crates/a/src/f{n}.rs"), 399)).collect();
        sources.push(long("crates/a/src/long.rs", 600));
        assert_eq!(sizes(&sources), []);
        sources[9] = long("crates/a/src/long.rs", 601);
        assert_eq!(sizes(&sources).len(), 1);
        sources[9] = long("crates/a/src/long.rs", 600);
        sources[8] = long("crates/a/src/f8.rs", 400);
        let problems = sizes(&sources);
        assert!(problems[0].what.starts_with("2 of 10 files have 400 lines or more"), "{problems:?}");
    }
}
