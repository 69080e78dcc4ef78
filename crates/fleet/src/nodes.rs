//! Names of nodes: `n[01-16,20],login2`, or a file with a name a line.
use std::collections::BTreeSet;
use std::path::Path;

use powerband_record::system_words;

use crate::{FleetError, Node};

/// Characters of a name at most: files have it in theirs.
const MAX_NAME: usize = 200;

/// More nodes than this are a slip of the fingers.
const MAX: usize = 100_000;

/// The nodes of a list, in its order.
///
/// # Errors
/// [`FleetError::Nodes`]: what is wrong with it.
pub fn parse_nodes(text: &str) -> Result<Vec<String>, FleetError> {
    let mut nodes = Vec::new();
    for part in split(text)? {
        expand(part, &mut nodes)?;
    }
    distinct(nodes, text)
}

/// The nodes of a file: a name or a list a line, `#` begins a comment.
///
/// # Errors
/// As [`parse_nodes`], and for a file that cannot be read.
pub fn read_nodes(path: &Path) -> Result<Vec<String>, FleetError> {
    let text = std::fs::read_to_string(path)
        .map_err(|error| wrong(format!("cannot read {}: {}", path.display(), system_words(&error))))?;
    let lines = text.lines().map(|line| line.split('#').next().unwrap_or_default());
    let mut nodes = Vec::new();
    for word in lines.flat_map(str::split_whitespace) {
        for part in split(word)? {
            expand(part, &mut nodes)?;
        }
    }
    distinct(nodes, &path.display().to_string())
}

fn wrong(why: String) -> FleetError {
    FleetError::Nodes(why)
}

fn distinct(nodes: Vec<String>, of: &str) -> Result<Vec<String>, FleetError> {
    if nodes.is_empty() {
        return Err(wrong(format!("'{of}' names no node; write e.g. --nodes n[1-16]")));
    }
    let mut seen = BTreeSet::new();
    match nodes.iter().find(|node| !seen.insert(*node)) {
        Some(twice) => Err(wrong(format!("node {twice} is named twice in '{of}'; a fleet measures each node once"))),
        None => Ok(nodes),
    }
}

/// The parts between commas that are not in brackets.
fn split(text: &str) -> Result<Vec<&str>, FleetError> {
    let (mut parts, mut from, mut inside) = (Vec::new(), 0, false);
    for (at, c) in text.char_indices() {
        match c {
            '[' if !inside => inside = true,
            ']' if inside => inside = false,
            '[' | ']' => return Err(wrong(format!("the brackets of '{text}' do not match"))),
            ',' if !inside => {
                parts.push(&text[from..at]);
                from = at + 1;
            }
            _ => {}
        }
    }
    if inside {
        return Err(wrong(format!("a bracket of '{text}' is not closed")));
    }
    parts.push(&text[from..]);
    Ok(parts.into_iter().map(str::trim).filter(|part| !part.is_empty()).collect())
}

/// Adds what a part means; of several pairs of brackets the last counts fastest, as Slurm has it.
fn expand(part: &str, nodes: &mut Vec<String>) -> Result<(), FleetError> {
    let Some((before, rest)) = part.split_once('[') else { return add(part.to_owned(), nodes) };
    let (inside, after) = rest.split_once(']').unwrap_or((rest, ""));
    for range in inside.split(',') {
        let (low, high) = range.split_once('-').unwrap_or((range, range));
        let number = |text: &str| {
            text.parse::<usize>().map_err(|_| wrong(format!("'{range}' in '{part}' is no range; write e.g. n[1-16]")))
        };
        let (first, last) = (number(low)?, number(high)?);
        if first > last || last - first >= MAX {
            return Err(wrong(format!("'{range}' in '{part}' is no range; write e.g. n[1-16]")));
        }
        // A zero in front says how wide numbers are.
        let width = if low.starts_with('0') { low.len() } else { 0 };
        for number in first..=last {
            expand(&format!("{before}{number:0width$}{after}"), nodes)?;
        }
    }
    Ok(())
}

fn add(name: String, nodes: &mut Vec<String>) -> Result<(), FleetError> {
    // Names are put into commands, jobs and names of files.
    let plain = |c: char| c.is_ascii_alphanumeric() || "._-:@".contains(c);
    if name.len() > MAX_NAME {
        return Err(wrong(format!("a name of a node has at most {MAX_NAME} characters; one begins '{:.40}'", name)));
    }
    if name.is_empty() || !name.chars().all(plain) || name.starts_with(['-', '.']) {
        return Err(wrong(format!("'{name}' is no name of a node; use letters, digits and any of . _ - : @")));
    }
    if nodes.len() >= MAX {
        return Err(wrong(format!("a fleet has at most {MAX} nodes")));
    }
    nodes.push(name);
    Ok(())
}

/// The nodes with their numbers: the digits at the end of their names where those differ, else their places in the list.
#[must_use]
pub fn numbered(names: Vec<String>) -> Vec<Node> {
    let last = |name: &String| {
        let digits = name.len() - name.trim_end_matches(|c: char| c.is_ascii_digit()).len();
        name[name.len() - digits..].parse::<u32>().ok()
    };
    let numbers: Option<BTreeSet<u32>> = names.iter().map(last).collect();
    let named = numbers.is_some_and(|numbers| numbers.len() == names.len());
    let places = names.into_iter().zip(1_u32..);
    places
        .map(|(name, place)| {
            let number = if named { last(&name).unwrap_or(place) } else { place };
            Node { name, number }
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lists_of_nodes_are_read_as_slurm_writes_them() {
        let read = |text| parse_nodes(text).unwrap().join(" ");
        assert_eq!(read("n[1-3,7],login"), "n1 n2 n3 n7 login");
        assert_eq!(read("n[08-11]-ib"), "n08-ib n09-ib n10-ib n11-ib");
        assert_eq!(read("root@10.0.0.2, b"), "root@10.0.0.2 b");
        assert_eq!(read("r[1-2]n[08-09,11],x"), "r1n08 r1n09 r1n11 r2n08 r2n09 r2n11 x");
        for text in [
            "",
            "n[1-",
            "n]1[",
            "n[2-1]",
            "n[a-b]",
            "n1,n1",
            "a b",
            "a;b",
            "../x",
            "-w",
            "n[1-9999999]",
            "n[1-2][3-",
            "n[1-4096]r[1-4096]",
            &"n".repeat(3_000_000),
        ] {
            let why = parse_nodes(text).unwrap_err().to_string();
            assert!(!why.is_empty() && !why.contains('\n') && why.len() < 200, "{text}: {why}");
        }
    }

    #[test]
    fn numbers_come_from_names_where_they_differ() {
        let numbers = |names: &[&str]| {
            let nodes = numbered(names.iter().map(|name| (*name).to_owned()).collect());
            nodes.iter().map(|node| node.number).collect::<Vec<_>>()
        };
        assert_eq!(numbers(&["n7", "n3"]), [7, 3]);
        assert_eq!(numbers(&["a1", "b1"]), [1, 2]);
        assert_eq!(numbers(&["left", "right9"]), [1, 2]);
    }
}
