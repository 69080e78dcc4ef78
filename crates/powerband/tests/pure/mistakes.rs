//! What people get wrong: one sentence, the right exit code, nothing turned, nothing half recorded.
use std::fs;

use crate::desk::{Desk, text};

#[test]
fn what_fail_on_names_ends_with_one() {
    let desk = Desk::new();
    let run = |fail_on: &str| desk.run(&["run", "plans/router.toml", "--json", "--fail-on", fail_on]);
    for (fail_on, code) in [("worse", 1), ("better,same", 1), ("better", 0), ("undecided", 0)] {
        run(fail_on).ended(code);
    }
    desk.run(&["run", "plans/router.toml", "--blocks", "1", "--fail-on", "undecided"]).refused(1);
    assert_eq!(desk.experiments(), 5);
}

#[test]
fn numbers_without_end_are_no_panic() {
    let desk = Desk::new();
    let line = "try -s a: -s b: --load counter --blocks 4000000000 --dry-run";
    let run = |more: [&str; 2]| desk.run(&line.split(' ').chain(more).collect::<Vec<_>>());
    for more in [["--for", "400000h"], ["--for", "5000000h"], ["--settle", "5000000h"]] {
        let ran = run(more).ended(0);
        assert!(ran.err.is_empty(), "{}", ran.err);
    }
    for length in ["99999999999999h", "1e300s", "nans", "infs", "-0s"] {
        run(["--for", length]).refused(2);
    }
}

#[test]
fn a_store_that_was_named_and_is_not_there_is_no_empty_one() {
    let desk = Desk::new();
    let store = desk.beside("typo.sqlite");
    let name = store.display().to_string();
    for words in [&["list"][..], &["show"], &["report"], &["export"], &["compare", "1", "2"]] {
        let why = desk.run(&[&["--store", &name][..], words].concat()).refused(2);
        assert!(why.contains(&name), "{words:?}: {why}");
    }
    assert!(!store.exists());
    desk.run(&["list"]).ended(0);
}

#[test]
fn a_plan_that_is_no_text() {
    let desk = Desk::new();
    let path = desk.beside("plan.toml").display().to_string();
    for bytes in [&b"\0\x01not toml"[..], &[0xff, 0xfe, b'\n']] {
        fs::write(&path, bytes).unwrap();
        assert!(desk.run(&["run", &path]).refused(2).contains(&path));
    }
}

#[test]
fn an_export_is_a_report() {
    let desk = Desk::new();
    desk.run(&["run", "plans/router.toml", "--blocks", "2"]).ended(0);
    let path = desk.beside("report.json");
    desk.run(&["export", "last", "-o", &path.display().to_string()]).ended(0);
    powerband_report::json::Report::parse(&text(&path)).unwrap();
}

#[test]
fn the_corrected_command_is_taken() {
    let line = "try governor=userspace freq=all --load counter --machine sim:omap3530 --dry-run";
    Desk::new().run(&line.split(' ').collect::<Vec<_>>()).ended(0);
}
