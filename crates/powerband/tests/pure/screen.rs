//! What is printed fits a terminal of 24 lines of 80 columns, and its last line can be typed.
use crate::desk::{Desk, KEEPER};
use crate::terminal;

/// It fits, and its last command is one of ours.
#[track_caller]
fn fits(desk: &Desk, out: &str) {
    terminal::fits(out, |line| {
        let ran = desk.run(line);
        (ran.code.unwrap(), ran.err)
    });
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
        fits(&desk, &printed);
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
    // Three blocks decide what eight do, in less time.
    desk.run("run plans/governors-ladder.toml --blocks 3 -q").ended(0);
    let shown = |columns: &str| desk.run_with("COLUMNS", columns, "show").ended(0).out;
    let wide = shown("80");
    let (head, answer) = wide.split_once("\n\n").and_then(|(_, rest)| rest.split_once("\n\n")).unwrap();
    let named = answer.split_once(':').unwrap().0.split(" and ").next().unwrap();
    for name in named.split(", ") {
        assert!(
            head.lines().any(|line| line.trim_start_matches(['>', ' ']).starts_with(&format!("{name} "))),
            "{name}: {wide}"
        );
    }
    assert!(answer.starts_with("conservative-98-95"), "the best is named first: {wide}");
    let words = |text: &str| text.split_whitespace().map(str::to_owned).collect::<Vec<_>>().join(" ");
    let first = words(answer.split_once(".\n").unwrap().0);
    assert!(words(&shown("40")).contains(&first), "{first}: {}", shown("40"));
}
