//! What is printed fits a terminal of 24 lines of 80 columns, and its last line can be typed.
use std::fs;

use crate::desk::{Desk, KEEPER, workspace};

/// Plans whose simulated hours take longer than the others' together: one block of them is enough here.
const LONG: [&str; 3] = ["governors-ladder", "governors-gathered", "governors-shop-2000"];

/// It fits, and its last command is one of ours.
#[track_caller]
fn fits(desk: &Desk, out: &str) {
    let lines: Vec<&str> = out.lines().collect();
    assert!(lines.len() <= 24, "{} lines:\n{out}", lines.len());
    for line in &lines {
        assert!(line.chars().count() <= 80, "{} columns: {line}\n{out}", line.chars().count());
    }
    assert!(!out.contains("as found") && !out.contains("put back") && !out.contains("p 0.000"), "{out}");
    // The last line alone is the whole of it.
    let command = *lines.last().unwrap();
    let typed = |command: &str| {
        let words = command.strip_prefix("powerband ");
        desk.run(words.unwrap_or_else(|| panic!("no command of ours: {command}\n{out}")))
    };
    let begins = |verb: &str| command.contains(&format!(" {verb} "));
    if begins("with") {
        // The load is the reader's to name.
        // A simulated machine runs no program, and says so.
        let simulated = command.contains("--machine sim:");
        let ran = typed(&command.replace("-- COMMAND", "-- true")).ended(if simulated { 4 } else { 0 });
        assert!(!simulated || ran.err.contains("is simulated and cannot run 'true'"), "{}", ran.err);
    } else if begins("set") {
        typed(&format!("{command} --dry-run")).ended(0);
    } else {
        typed(command).ended(0);
    }
}

#[test]
fn every_plan_fits_a_terminal_and_ends_with_a_command() {
    let mut plans: Vec<String> = fs::read_dir(workspace().join("plans"))
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .filter(|path| path.extension().is_some_and(|it| it == "toml"))
        .map(|path| path.file_stem().unwrap().to_str().unwrap().to_owned())
        .collect();
    plans.sort();
    assert!(plans.len() > 20, "{plans:?}");
    for plan in plans {
        let desk = Desk::new();
        let path = format!("plans/{plan}.toml");
        // With `--json` nothing else may be said; the report is asked for afterwards, as it was printed.
        let mut words = vec!["run", path.as_str()];
        if LONG.contains(&plan.as_str()) {
            words.extend(["--blocks", "1"]);
        }
        desk.run(&words);
        let shown = desk.run(&["show"]).ended(0).out;
        if shown.contains("\ndecide it") {
            // To decide it takes as long again.
            assert!(shown.lines().count() <= 24 && shown.lines().all(|line| line.chars().count() <= 80), "{shown}");
            assert!(shown.lines().last().unwrap().starts_with("powerband "), "{shown}");
        } else {
            fits(&desk, &shown);
        }
    }
}

#[test]
fn typical_runs_fit_a_terminal() {
    let desk = Desk::new();
    let runs: [&[&str]; 4] = [
        &[
            "--machine",
            "sim:x3650",
            "try",
            "--load",
            "shop",
            "governor=ondemand",
            "up_threshold=20..95:5",
            "--blocks",
            "3",
        ],
        &["--machine", "sim:omap3530", "calibrate", "--load", "counter", "--for", "2s"],
        &KEEPER,
        &["--machine", "sim:quadcore", "try", "--load", "counter", "--for", "1s", "governor=powersave,performance"],
    ];
    for words in runs {
        let printed = desk.run(words).ended(0).out;
        if !printed.contains("\ndecide it") {
            fits(&desk, &printed);
        }
        let full = desk.run(&["show", "-v"]).ended(0).out;
        assert!(full.lines().count() > printed.lines().count(), "-v says more:\n{full}");
        let last = |text: &str| text.lines().last().map(str::to_owned);
        assert_eq!(last(&full), last(&printed), "both end with the same command");
    }
    let compared = desk.run(&["compare", "1", "2"]).out;
    // One reference needs no column of its own.
    assert!(compared.contains("\neach compared with 1:") && !compared.contains("against  "), "{compared}");
    fits(&desk, &compared.replace("powerband compare 1 2 -v", "powerband show"));
}

#[test]
fn a_decision_metric_for_which_there_is_no_room_is_named() {
    let desk = Desk::new();
    let metrics = ["power_w", "count_per_s", "clock_mhz", "energy_j"].map(|metric| ["--metric", metric]).concat();
    let words = ["--machine", "sim:quadcore", "--seed", "3", "try", "governor=performance,powersave"];
    let limit = ["--require", "power_w<=30", "--load", "counter", "--for", "2s", "--blocks", "4"];
    let ran = desk.run(&[&words[..], &metrics, &limit].concat()).ended(0);
    assert!(ran.out.contains("  also judged: clock_mhz, energy_j: powerband show 1 -v\n"), "{}", ran.out);
    fits(&desk, &ran.out);
}

#[test]
fn a_list_has_a_line_for_each_experiment() {
    let desk = Desk::new();
    for _ in 0..2 {
        desk.run(&["run", "plans/router-idle.toml"]).ended(0);
    }
    let list = desk.run(&["list"]).ended(0).out;
    assert_eq!(list.lines().count(), 3, "{list}");
}

#[test]
fn what_the_answer_names_first_is_in_the_table_and_not_cut_on_a_narrow_terminal() {
    let desk = Desk::new();
    desk.run(&["run", "plans/governors-ladder.toml", "--seed", "1", "-q"]).ended(0);
    let shown = |columns: &str| desk.run_with("COLUMNS", columns, "show").ended(0).out;
    let wide = shown("80");
    let (head, answer) = wide.split_once("\n\n").and_then(|(_, rest)| rest.split_once("\n\n")).unwrap();
    let named = answer.split_once(':').unwrap().0.split(" and ").next().unwrap();
    for name in named.split(", ") {
        assert!(head.lines().any(|line| line.trim_start().starts_with(&format!("{name} "))), "{name}: {wide}");
    }
    assert!(answer.starts_with("conservative-98-95, "), "the best is named first: {wide}");
    let words = |text: &str| text.split_whitespace().map(str::to_owned).collect::<Vec<_>>().join(" ");
    let first = words(answer.split_once(".\n").unwrap().0);
    assert!(words(&shown("40")).contains(&first), "{first}: {}", shown("40"));
}
