//! What README.md and the documents show is what is printed: every block that begins with a command is run.
//!
//! A line `[…]` means lines left out; `$ cat FILE` shows a file, which then exists. A block under a line that mentions a real
//! machine was measured on one, and is not run. With POWERBAND_WRITE_DOCS set, blocks that differ are written again.
use std::fs;
use std::os::unix::fs::symlink;
use std::path::Path;
use std::process::Command;

use crate::desk::{Desk, Ran, text, workspace};

const DOCUMENTS: [&str; 6] =
    ["README.md", "docs/guide.md", "docs/tune.md", "docs/calibrate.md", "docs/compare.md", "docs/require.md"];

const LEFT_OUT: &str = "[…]";

/// Writes the blocks again instead of comparing them.
const WRITE: &str = "POWERBAND_WRITE_DOCS";

/// So many lines of output are shown whole when they are written again.
const WHOLE: usize = 26;

/// A block of a document that begins with a command.
struct Block {
    command: String,
    shown: Vec<String>,
    real: bool,
}

fn blocks(document: &str) -> Vec<Block> {
    let (mut blocks, mut above) = (Vec::new(), "");
    let mut lines = document.lines();
    while let Some(line) = lines.next() {
        if !line.starts_with("```") {
            above = if line.trim().is_empty() { above } else { line };
            continue;
        }
        let mut inside = lines.by_ref().take_while(|line| !line.starts_with("```"));
        let Some(first) = inside.next() else { continue };
        let shown: Vec<String> = inside.map(str::to_owned).collect();
        let Some(command) = first.strip_prefix("$ ") else { continue };
        let mut block = Block { command: command.to_owned(), shown, real: above.contains("real machine") };
        while let Some(begun) = block.command.strip_suffix('\\') {
            block.command = begun.to_owned() + block.shown.remove(0).trim_start();
        }
        blocks.push(block);
    }
    blocks
}

/// Runs a block's command where the documents are written: next to the machines, in a folder of its own.
fn ran(desk: &Desk, folder: &Path, command: &str) -> Ran {
    let words = command.strip_prefix("powerband ").unwrap_or_else(|| panic!("no command of ours: {command}"));
    let mut shell = Command::new("sh");
    desk.furnish(&mut shell);
    shell.arg("-c").arg(format!("exec \"$0\" {words}")).arg(env!("CARGO_BIN_EXE_powerband")).current_dir(folder);
    Ran::of(&shell.output().unwrap())
}

/// Whether a text is what is shown, where something may be left out.
fn is_shown(shown: &[String], printed: &str) -> bool {
    let whole = shown.join("\n") + "\n";
    let gap = format!("{LEFT_OUT}\n");
    let mut parts = whole.split(&gap).peekable();
    let Some(mut rest) = parts.next().and_then(|first| printed.strip_prefix(first)) else { return false };
    while let Some(part) = parts.next() {
        if parts.peek().is_none() && !part.is_empty() {
            return rest.ends_with(part);
        }
        let Some(place) = rest.find(part) else { return false };
        rest = &rest[place + part.len()..];
        if parts.peek().is_none() {
            return true;
        }
    }
    rest.is_empty()
}

/// What a block shows of a new output: all of it, or as many first and last lines as before.
fn shown_again(shown: &[String], printed: &str) -> String {
    let lines: Vec<&str> = printed.lines().collect();
    let first = shown.iter().position(|line| line == LEFT_OUT).unwrap_or(lines.len());
    let last = shown.iter().rev().position(|line| line == LEFT_OUT).unwrap_or(0);
    if lines.len() <= WHOLE || first + last >= lines.len() {
        return lines.join("\n");
    }
    [&lines[..first], &[LEFT_OUT], &lines[lines.len() - last..]].concat().join("\n")
}

#[test]
fn what_the_documents_show_is_what_is_printed() {
    let mut held = 0;
    for name in DOCUMENTS {
        let document = text(&workspace().join(name));
        let desk = Desk::new();
        let folder = desk.beside("");
        for inputs in ["machines", "plans"] {
            symlink(workspace().join(inputs), folder.join(inputs)).unwrap();
        }
        let mut written = document.clone();
        for block in blocks(&document) {
            if let Some(file) = block.command.strip_prefix("cat ") {
                fs::write(folder.join(file), block.shown.join("\n") + "\n").unwrap();
            } else if !block.real {
                let out = ran(&desk, &folder, &block.command).ended(0).out;
                if std::env::var_os(WRITE).is_some() && !is_shown(&block.shown, &out) {
                    written = written.replacen(&block.shown.join("\n"), &shown_again(&block.shown, &out), 1);
                    continue;
                }
                assert!(is_shown(&block.shown, &out), "{name}: {} prints\n{out}", block.command);
                held += 1;
            }
        }
        if written != document {
            fs::write(workspace().join(name), written).unwrap();
            panic!("{name} was written again: look at it, and run this once more");
        }
    }
    assert!(held >= 6, "{held} blocks were run");
}

#[test]
fn the_readme_begins_with_a_result() {
    let readme = text(&workspace().join("README.md"));
    assert!(readme.lines().count() < 150);
    let first = readme.lines().take(40).collect::<Vec<_>>().join("\n");
    assert!(first.contains("$ powerband run plans/router.toml\n"), "{first}");
    let shown = blocks(&readme).into_iter().find(|block| block.command == "powerband run plans/router.toml").unwrap();
    assert!((5..=WHOLE).contains(&shown.shown.len()), "{:?}", shown.shown);
}

#[test]
fn a_block_that_shows_something_else_is_noticed() {
    let shown = |lines: &[&str]| lines.iter().map(|line| (*line).to_owned()).collect::<Vec<_>>();
    let printed = "one\ntwo\nthree\nfour\n";
    for good in [&["one", "two", "three", "four"][..], &["one", "[…]", "three", "[…]"], &["one", "[…]", "four"]] {
        assert!(is_shown(&shown(good), printed), "{good:?}");
    }
    for bad in [&["one", "two", "three"][..], &["two", "[…]"], &["one", "[…]", "three"], &["one", "[…]", "five", "[…]"]]
    {
        assert!(!is_shown(&shown(bad), printed), "{bad:?}");
    }
    let found = blocks("text\n```\nplain\n```\nOn a real machine:\n\n```\n$ powerband a \\\n    b\nout\n```\n");
    assert_eq!((found.len(), found[0].command.as_str(), found[0].real), (1, "powerband a b", true));
    assert_eq!(found[0].shown, ["out"]);
}
