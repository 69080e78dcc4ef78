//! The paths that code names (`std::fs::read`), with grouped imports written out.
use super::source::{Line, is_word};

/// One path and the line it begins on. `*` at its end for a glob import.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Named {
    /// Line from 1.
    pub(super) line: usize,
    /// Its parts.
    pub(super) parts: Vec<String>,
}

impl Named {
    /// Whether it is `path`, lies below it, or is a glob that brings it in.
    pub(super) fn reaches(&self, path: &str) -> bool {
        let path: Vec<&str> = path.split("::").collect();
        let mine: Vec<&str> = self.parts.iter().map(String::as_str).collect();
        match mine.split_last() {
            Some((&"*", above)) if above.len() < path.len() => path.starts_with(above),
            _ => mine.starts_with(&path),
        }
    }
}

/// All paths of the lines given, single names of groups included.
pub(super) fn named<'a>(lines: impl Iterator<Item = (usize, &'a Line)>) -> Vec<Named> {
    let tokens: Vec<Token> = lines.flat_map(|(line, text)| tokens(line, &text.code)).collect();
    let mut found = Vec::new();
    let mut i = 0;
    while i < tokens.len() {
        let importing = tokens[i].text == "use";
        if importing {
            i += 1;
        }
        i = tree(&tokens, i, &mut Vec::new(), importing, &mut found).max(i + 1);
    }
    found
}

struct Token {
    line: usize,
    text: String,
}

/// Names, `::`, and single other characters.
fn tokens(line: usize, code: &str) -> Vec<Token> {
    let mut tokens: Vec<Token> = Vec::new();
    let mut rest = code;
    while let Some(first) = rest.chars().next() {
        let length = if is_word(first) {
            rest.find(|c| !is_word(c)).unwrap_or(rest.len())
        } else if rest.starts_with("::") {
            2
        } else {
            first.len_utf8()
        };
        let (token, after) = rest.split_at(length);
        if !first.is_whitespace() {
            tokens.push(Token { line, text: token.to_owned() });
        }
        rest = after;
    }
    tokens
}

/// Reads one path (or, importing, a tree of them) at `i`; answers where it ends.
fn tree(tokens: &[Token], mut i: usize, above: &mut Vec<String>, importing: bool, found: &mut Vec<Named>) -> usize {
    let depth = above.len();
    let line = tokens.get(i).map_or(0, |token| token.line);
    while let Some(token) = tokens.get(i) {
        match token.text.as_str() {
            "::" => i += 1,
            "{" if importing => {
                i = group(tokens, i + 1, above, found);
                above.truncate(depth);
                return i;
            }
            "*" if importing => {
                above.push("*".into());
                i += 1;
                break;
            }
            text if text.starts_with(is_word) => {
                above.push(text.to_owned());
                i += 1;
                if tokens.get(i).is_none_or(|next| next.text != "::") {
                    break;
                }
            }
            _ => break,
        }
    }
    if above.len() > depth {
        let parts = above.iter().filter(|part| *part != "self" || above.len() == 1).cloned().collect();
        found.push(Named { line, parts });
    }
    above.truncate(depth);
    i
}

/// Reads the members of a group up to its closing brace.
fn group(tokens: &[Token], mut i: usize, above: &mut Vec<String>, found: &mut Vec<Named>) -> usize {
    while let Some(token) = tokens.get(i) {
        match token.text.as_str() {
            "}" => return i + 1,
            "," => i += 1,
            "as" => i += 2,
            _ => i = tree(tokens, i, above, true, found).max(i + 1),
        }
    }
    i
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tidy::source::Source;

    fn check(text: &str, expect: &[&str]) {
        let source = Source::new("crates/a/src/lib.rs", text);
        let found: Vec<String> = named(source.product()).iter().map(|named| named.parts.join("::")).collect();
        let found: Vec<&str> = found.iter().map(String::as_str).filter(|path| path.contains("::")).collect();
        assert_eq!(found, expect, "{text}");
    }

    #[test]
    fn groups_are_written_out() {
        check(
            "use std::{fs, io::{self, Read as _}, time::*};",
            &["std::fs", "std::io", "std::io::Read", "std::time::*"],
        );
        check("use std::fs;\nlet a = std::net::TcpStream::connect(b);", &["std::fs", "std::net::TcpStream::connect"]);
        check("use ::std::process::Command as C;", &["std::process::Command"]);
        check("let a = Vec::<std::fs::File>::new();", &["std::fs::File"]);
        check("// std::fs\nlet a = \"std::fs\";", &[]);
    }

    #[test]
    fn a_path_reaches_what_it_is_below_and_what_its_glob_brings_in() {
        let named = |path: &str| Named { line: 1, parts: path.split("::").map(str::to_owned).collect() };
        assert!(named("std::fs::read").reaches("std::fs"));
        assert!(named("std::time::*").reaches("std::time::Instant"));
        assert!(!named("std::time::Duration").reaches("std::time::Instant"));
        assert!(!named("std::fsx").reaches("std::fs"));
        assert!(!named("std::time::*").reaches("std::fs"));
    }
}
