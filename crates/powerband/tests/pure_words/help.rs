//! The help of the command and of every verb, and what is shown without one.
use std::collections::BTreeSet;
use std::fmt::Write as _;

use crate::desk::Desk;

/// Every verb with the verbs that it has.
const VERBS: &str = "try tune calibrate run resume fleet replicate list show compare report export store set undo with pace confirm \
    keep unkeep check guard info get why knobs doctor watch capture sim service agent completions man";

/// The verbs of a verb's help: the first words of the lines under `Commands:`.
fn below(help: &str) -> Vec<String> {
    let listed = help.lines().skip_while(|line| *line != "Commands:").skip(1);
    let names = listed.take_while(|line| !line.is_empty()).filter(|line| !line.starts_with("   "));
    names.filter_map(|line| line.split_whitespace().next().map(str::to_owned)).collect()
}

/// A help in which an earlier one's paragraphs are left out but for their first lines.
fn new_paragraphs(help: &str, shown: &mut BTreeSet<String>) -> String {
    let new = help.trim_end().split("\n\n").map(|part| match shown.insert(part.to_owned()) {
        true => part,
        false => part.lines().next().unwrap_or_default(),
    });
    new.collect::<Vec<_>>().join("\n\n")
}

/// The lines of a help that no earlier one has, without the blanks between their columns.
fn new_lines(help: &str, shown: &mut BTreeSet<String>) -> String {
    let lines = help.lines().map(|line| line.split_whitespace().collect::<Vec<_>>().join(" "));
    lines.filter(|line| shown.insert(line.clone())).map(|line| line + "\n").collect()
}

#[test]
fn every_verb_has_help() {
    let desk = Desk::new();
    let (mut short, mut long) = (String::new(), String::new());
    let (mut shown_short, mut shown_long) = (BTreeSet::new(), BTreeSet::new());
    let mut verbs: Vec<String> = VERBS.split_whitespace().rev().map(str::to_owned).collect();
    while let Some(verb) = verbs.pop() {
        let help = desk.run(&format!("{verb} --help")).well();
        assert_eq!(help.lines().find(|line| line.chars().count() > 120), None, "{verb}");
        assert!(help.contains("--json"), "{verb}");
        verbs.extend(below(&help).into_iter().rev().filter(|name| name != "help").map(|name| format!("{verb} {name}")));
        writeln!(long, "$ powerband {verb} --help\n{}\n", new_paragraphs(&help, &mut shown_long)).unwrap();
        let help = desk.run(&format!("{verb} -h")).well();
        writeln!(short, "$ powerband {verb} -h\n{}", new_lines(&help, &mut shown_short)).unwrap();
    }
    insta::assert_snapshot!("help_long", long);
    insta::assert_snapshot!("help_short", short);
}

#[test]
fn without_a_verb_the_verbs_are_shown() {
    let desk = Desk::new();
    let mut shown = String::new();
    let alone = desk.run("").err;
    assert!(alone.lines().count() <= 24, "{alone}");
    for line in ["--machine sim:pc", "--json", "-v"] {
        assert_eq!(desk.run(line).err, alone, "{line}");
    }
    for (line, as_line) in [("help", "--help"), ("help try", "try --help"), ("fleet", "--machine sim:pc fleet")] {
        let [first, second] = [line, as_line].map(|line| desk.run(line));
        assert_eq!((first.out, first.err), (second.out, second.err), "{line}");
    }
    for line in ["", "help", "-h", "--version"] {
        let ran = desk.run(line);
        writeln!(shown, "$ powerband {line}\n[{}] {}{}", ran.code, ran.err, ran.out).unwrap();
    }
    insta::assert_snapshot!("help", shown);
}
