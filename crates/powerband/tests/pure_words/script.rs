//! Scripts of command lines, and what they print under each line.
//!
//! Paragraphs have a desk of their own each. In a paragraph `# TEXT` is a heading, `> FILE TEXT` writes a file of the folder `DIR`
//! (`\n` begins a line), `- LINE` runs a line that has to end well and shows nothing, `$ LINE` shows the exit code and standard
//! error, `: LINE` the exit code alone, as its sentence is shown elsewhere, and `% LINE` standard output, too. But for the last, a
//! line that is refused must leave the state folder as it was: no experiment begun, nothing changed.
use std::fmt::Write as _;
use std::fs;

use crate::desk::Desk;

/// What a script prints.
pub(crate) fn played(script: &str) -> String {
    script.split("\n\n").map(paragraph).collect::<Vec<_>>().join("\n")
}

fn paragraph(lines: &str) -> String {
    let (desk, mut shown) = (Desk::new(), String::new());
    for line in lines.lines().filter(|line| !line.is_empty()) {
        let (sign, words) = line.split_once(' ').unwrap_or_else(|| panic!("no line of a script: {line}"));
        match sign {
            "#" => writeln!(shown, "{line}").unwrap(),
            ">" => {
                let (name, text) = words.split_once(' ').unwrap_or((words, ""));
                fs::write(desk.file(name), desk.placed(text).replace("\\n", "\n")).unwrap();
                writeln!(shown, "{line}").unwrap();
            }
            "-" => drop(desk.run(words).well()),
            "$" | ":" | "%" => {
                let before = desk.kept();
                let ran = desk.run(words);
                let is_as_before = sign == "%" || !matches!(ran.code, 2..=4 | 7) || desk.kept() == before;
                assert!(is_as_before, "{words}: {} {}", ran.code, ran.err);
                let printed = match sign {
                    "$" => ran.err,
                    ":" => String::new(),
                    _ => ran.err + &ran.out,
                };
                writeln!(shown, "$ powerband {words}\n{}", format!("[{}] {printed}", ran.code).trim_end()).unwrap();
            }
            _ => panic!("no line of a script: {line}"),
        }
    }
    shown
}
