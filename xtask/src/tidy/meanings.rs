//! What names mean: one public type a name, the field's words in names, and limits called `MAX_` and `MIN_`.
use std::collections::BTreeMap;

use super::Problem;
use super::source::Source;

/// Names that several public types still have, and how many. The list only gets shorter.
const SHARED: [(&str, usize); 9] = [
    ("Fleet", 2),
    ("FleetError", 2),
    ("Listener", 2),
    ("Look", 2),
    ("Names", 2),
    ("Policy", 2),
    ("Purpose", 3),
    ("Restored", 2),
    ("State", 2),
];

/// Words of ours that no name of a module, type, function or constant may hold, and the field's word for each.
const PRIVATE: [(&str, &str); 13] = [
    ("bearable", "measurable"),
    ("folk", "users"),
    ("keepsake", "saved state"),
    ("mute", "unavailable"),
    ("noting", "recorder"),
    ("quest", "search"),
    ("reckon", "integrate"),
    ("reckoned", "energy"),
    ("stranger", "foreign writer"),
    ("strangers", "foreign writers"),
    ("teller", "reporter"),
    ("ward", "guardian process"),
    ("whoever", "anyone"),
];

/// Words for limits that names of constants may not begin or end with, and the usual ones.
const LIMITS: [(&str, &str); 6] = [
    ("LARGEST", "MAX"),
    ("LEAST", "MIN"),
    ("LONGEST", "MAX"),
    ("MOST", "MAX"),
    ("SHORTEST", "MIN"),
    ("SMALLEST", "MIN"),
];

/// A name that is declared, with what it names: `("struct", "Source")`.
fn declared(code: &str) -> Option<(&str, &str)> {
    let mut words = code.split(|c: char| !(c.is_alphanumeric() || c == '_')).filter(|word| !word.is_empty());
    loop {
        match words.next()? {
            "pub" | "crate" | "super" | "in" | "async" | "unsafe" | "extern" => {}
            kind @ ("struct" | "enum" | "union" | "trait" | "type" | "fn" | "mod" | "static") => {
                return Some((kind, words.next()?));
            }
            "const" => {
                let name = words.next()?;
                return if name == "fn" { Some(("fn", words.next()?)) } else { Some(("const", name)) };
            }
            _ => return None,
        }
    }
}

/// A public type's name is one thing all over the workspace.
pub(super) fn one_meaning(sources: &[Source]) -> Vec<Problem> {
    let mut types: BTreeMap<&str, Vec<(&Source, usize)>> = BTreeMap::new();
    for source in sources.iter().filter(|source| source.path.contains("/src/")) {
        for (line, text) in source.product().filter(|(_, text)| text.code.trim_start().starts_with("pub ")) {
            if let Some(("struct" | "enum" | "union" | "trait" | "type", name)) = declared(&text.code) {
                types.entry(name).or_default().push((source, line));
            }
        }
    }
    let shared = |name: &str| SHARED.iter().find(|(known, _)| *known == name).map_or(1, |(_, count)| *count);
    let mut problems = Vec::new();
    for (name, places) in &types {
        let (known, found) = (shared(name), places.len());
        let (source, line) = places[found - 1];
        if found > known {
            let first = &places[0].0.path;
            problems.push(Problem::new(
                &source.path,
                line,
                format!("'{name}' is the name of a type in {first} already"),
            ));
        } else if found < known {
            problems.push(Problem::new(&source.path, line, format!("{found} types are '{name}': say so in SHARED")));
        }
    }
    problems
}

/// Names hold no word that only this project uses for what it names, and limits are called as everywhere.
pub(super) fn plain_names(sources: &[Source]) -> Vec<Problem> {
    let mut problems = Vec::new();
    for source in sources {
        for (line, text) in source.product() {
            let Some((kind, name)) = declared(&text.code) else { continue };
            let words = words(name);
            if let Some((word, plain)) = PRIVATE.iter().find(|(word, _)| words.iter().any(|it| it == word)) {
                problems.push(Problem::new(&source.path, line, format!("'{word}' in '{name}': the word is {plain}")));
            }
            let limit = |word: &str| word == name || name.starts_with(&format!("{word}_")) || ends(name, word);
            let odd = LIMITS.iter().find(|(word, _)| matches!(kind, "const" | "static") && limit(word));
            if let Some((word, plain)) = odd {
                problems.push(Problem::new(&source.path, line, format!("'{word}' in '{name}': limits are {plain}_…")));
            }
        }
    }
    problems
}

/// `FRAMES_MOST`, but not `AT_MOST`.
fn ends(name: &str, word: &str) -> bool {
    name.strip_suffix(word).and_then(|rest| rest.strip_suffix('_')).is_some_and(|rest| !rest.ends_with("AT"))
}

/// The words of a name, in small letters: of `CpuList`, `cpu_list` and `CPU_LIST` they are `cpu` and `list`.
fn words(name: &str) -> Vec<String> {
    let mut words: Vec<String> = Vec::new();
    let mut before = '_';
    for c in name.chars() {
        let begins = before == '_' || (c.is_uppercase() && before.is_lowercase());
        match words.last_mut() {
            Some(word) if !begins && c != '_' => word.extend(c.to_lowercase()),
            _ if c == '_' => {}
            _ => words.push(c.to_lowercase().collect()),
        }
        before = c;
    }
    words
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lines(rule: fn(&[Source]) -> Vec<Problem>, sources: &[(&str, &str)]) -> Vec<(String, usize)> {
        let sources: Vec<Source> = sources.iter().map(|(path, text)| Source::new(path, text)).collect();
        rule(&sources).into_iter().map(|problem| (problem.file, problem.line)).collect()
    }

    #[test]
    fn a_public_type_has_a_name_of_its_own() {
        let (a, b) = ("crates/a/src/x.rs", "crates/b/src/y.rs");
        let found = lines(one_meaning, &[(a, "pub struct Thing;\n"), (b, "\npub enum Thing {}\n")]);
        assert_eq!(found, [(b.to_owned(), 2)]);
        for other in ["struct Thing;\n", "pub(crate) struct Thing;\n", "pub fn thing() {}\n", "// pub struct Thing;\n"]
        {
            assert_eq!(lines(one_meaning, &[(a, "pub struct Thing;\n"), (b, other)]), [], "{other}");
        }
        assert_eq!(
            lines(one_meaning, &[(a, "pub struct Thing;\n"), ("crates/b/tests/it/y.rs", "pub struct Thing;\n")]),
            []
        );
    }
}
