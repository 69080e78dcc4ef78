//! Words that may not stand in the tree: silenced lints, tests left out without a reason, promises instead of code.
use super::Problem;
use super::source::Source;

/// Lints are expected with a reason, never allowed; the length of functions is not open to discussion; a test is not
/// left out without saying why.
pub(super) fn attributes(sources: &[Source]) -> Vec<Problem> {
    let mut problems = Vec::new();
    for source in sources {
        for (line, text) in source.numbered() {
            let code: String = text.code.split_whitespace().collect();
            let in_attribute = code.contains("#[") || code.contains("#![");
            if code.contains("#[allow(") || code.contains("#![allow(") || in_attribute && code.contains(",allow(") {
                problems.push(Problem::new(&source.path, line, "say `#[expect(LINT, reason = \"…\")]`, not allow"));
            }
            if text.code.contains("too_many_lines") {
                problems.push(Problem::new(&source.path, line, "70 lines of a function hold everywhere: split it"));
            }
            if code.contains("#[ignore]") {
                problems.push(Problem::new(&source.path, line, "say why: `#[ignore = \"…\"]`"));
            }
        }
    }
    problems
}

/// What is not done is not in the tree.
pub(super) fn promises(sources: &[Source]) -> Vec<Problem> {
    let mut problems = Vec::new();
    for source in sources {
        for (line, text) in source.numbered() {
            let code: String = text.code.split_whitespace().collect();
            let macros = ["todo!", "unimplemented!"].into_iter().find(|name| code.contains(name));
            let notes = ["FIXME", "TODO", "XXX"].into_iter().find(|word| has_word(&text.comment, word));
            if let Some(word) = macros.or(notes) {
                problems.push(Problem::new(&source.path, line, format!("{word}: do it, or leave it out")));
            }
        }
    }
    problems
}

/// Phrases that users would have to learn, as they begin: docs/glossary.md has the usual words.
const PRIVATE: [&str; 16] = [
    "put back",
    "puts back",
    "puts it back",
    "puts them back",
    "putting back",
    "take it back",
    "takes it back",
    "take them back",
    "takes them back",
    "taken back",
    "as found",
    "whoever",
    "beside",
    "far end",
    "may turn",
    "be turned",
];

/// What is printed is plain English: no private phrase in a string of a crate.
pub(super) fn private(sources: &[Source]) -> Vec<Problem> {
    let mut problems = Vec::new();
    for source in sources.iter().filter(|source| source.path.starts_with("crates/")) {
        for (line, text) in source.product() {
            let printed = text.strings.to_lowercase();
            // A name in braces is not printed.
            let letter = |c: Option<char>| c.is_some_and(|c| c.is_alphanumeric() || c == '{');
            let holds = |phrase: &str| {
                printed.match_indices(phrase).any(|(at, _)| {
                    !letter(printed[..at].chars().next_back()) && !letter(printed[at + phrase.len()..].chars().next())
                })
            };
            if let Some(phrase) = PRIVATE.into_iter().find(|phrase| holds(phrase)) {
                problems.push(Problem::new(&source.path, line, format!("a user reads \"{phrase}\": say it plainly")));
            }
        }
    }
    problems
}

fn has_word(text: &str, word: &str) -> bool {
    text.split(|c: char| !c.is_alphanumeric()).any(|found| found == word)
}
