//! The state folder, the ledger or the store is deleted, moved or replaced while a command uses it.
use std::fs;
use std::path::Path;

use rustix::process::Signal;

use crate::desk::{Desk, Started, text, until};
use crate::guarded::guardians;

/// What becomes of the folder.
const CHANGES: [(&str, &str); 4] = [
    ("deleted", "rm -rf \"$0\""),
    ("moved", "mv \"$0\" \"$0.elsewhere\""),
    ("replaced", "rm -rf \"$0\"; mkdir -m 700 \"$0\""),
    ("replaced by a copy", "mv \"$0\" \"$0.elsewhere\"; cp -rp \"$0.elsewhere\" \"$0\""),
];

fn desk() -> Desk {
    let desk = Desk::new();
    fs::write(desk.beside("knob"), "before\n").unwrap();
    fs::write(desk.beside("other"), "before\n").unwrap();
    desk
}

/// What becomes of the ledger in its place.
const CUTS: [(&str, &str); 4] = [
    ("emptied", ": > \"$0/ledger\""),
    ("cut off", "truncate -s 40 \"$0/ledger\""),
    ("overwritten", "echo mine > \"$0/ledger\""),
    ("emptied with the lock", ": > \"$0/ledger\"; : > \"$0/lock\""),
];

/// A command that holds a knob, once its load runs.
fn holding(desk: &Desk) -> Started {
    let (set, runs) = (format!("{}=1", desk.knob("knob")), desk.beside("runs"));
    let script = "touch \"$0\"; exec sleep 1000 >/dev/null 2>&1";
    let running = desk.start(&["with", &set, "--", "sh", "-c", script, &runs.display().to_string()]);
    until("the load runs", || runs.exists());
    running
}

fn change(how: &str, state: &Path) {
    let done = std::process::Command::new("sh").args(["-c", how]).arg(state).status().unwrap();
    assert!(done.success());
}

#[test]
fn a_command_whose_state_folder_goes_away_restores_and_says_so() {
    for (what, how) in CHANGES {
        let desk = desk();
        let set = format!("{}=1", desk.knob("knob"));
        let state = desk.state().display().to_string();
        let why = desk.run(&["with", &set, "--", "sh", "-c", how, &state]).refused(8);
        assert!(why.contains(&format!("the state folder {state} was deleted, moved or replaced")), "{what}: {why}");
        assert_eq!(text(&desk.beside("knob")), "before\n", "{what}");
        until("the guardian has ended", || guardians(&desk).is_empty());
    }
}

#[test]
fn a_killed_command_whose_state_folder_went_away_is_still_restored() {
    for (what, how) in CHANGES {
        let desk = desk();
        let running = holding(&desk);
        change(how, &desk.state());
        assert_eq!(text(&desk.beside("knob")), "1\n", "{what}");
        running.signal(Signal::KILL);
        running.end();
        until(&format!("the guardian restored it, {what}"), || text(&desk.beside("knob")) == "before\n");
        until("the guardian has ended", || guardians(&desk).is_empty());
    }
}

#[test]
fn a_killed_command_whose_ledger_was_cut_off_is_restored_and_what_was_set_before_stays_known() {
    for (what, how) in CUTS {
        let desk = desk();
        desk.run(&["set", &format!("{}=1", desk.knob("other"))]).ended(0);
        let running = holding(&desk);
        change(how, &desk.state());
        running.signal(Signal::KILL);
        running.end();
        until(&format!("the guardian restored it, {what}"), || text(&desk.beside("knob")) == "before\n");
        until("the guardian has ended", || guardians(&desk).is_empty());
        assert_eq!(desk.turned(), 1, "{what}");
        desk.run(&["undo"]).ended(0);
        assert_eq!(text(&desk.beside("other")), "before\n", "{what}");
        let aside = desk.state().join("ledger.damaged");
        assert_eq!(
            aside.exists().then(|| text(&aside)),
            (what == "overwritten").then(|| "mine\n".to_owned()),
            "{what}"
        );
    }
}

#[test]
fn a_command_whose_ledger_was_cut_off_leaves_it_whole() {
    for (what, how) in CUTS {
        let desk = desk();
        desk.run(&["set", &format!("{}=1", desk.knob("other"))]).ended(0);
        let set = format!("{}=1", desk.knob("knob"));
        desk.run(&["with", &set, "--", "sh", "-c", how, &desk.state().display().to_string()]);
        assert_eq!((text(&desk.beside("knob")).as_str(), desk.turned()), ("before\n", 1), "{what}");
        desk.run(&["undo"]).ended(0);
        assert_eq!(text(&desk.beside("other")), "before\n", "{what}");
    }
}

#[test]
fn deleting_the_folder_does_not_drop_the_lock() {
    for (what, how) in CHANGES {
        let desk = desk();
        let running = holding(&desk);
        change(how, &desk.state());
        let other = format!("{}=1", desk.knob("other"));
        let why = desk.run(&["set", &other]).refused(8);
        assert!(why.contains(&format!("powerband {} (using ", running.pid())), "{what}: {why}");
        assert_eq!(text(&desk.beside("other")), "before\n", "{what}");
        running.signal(Signal::TERM);
        let ran = running.end();
        assert_eq!(ran.code, Some(8), "{what}: {}", ran.err);
        assert_eq!(text(&desk.beside("knob")), "before\n", "{what}");
        desk.run(&["set", &other]).ended(0);
    }
}

#[test]
fn what_was_set_before_can_still_be_undone() {
    let desk = desk();
    desk.run(&["set", &format!("{}=1", desk.knob("other"))]).ended(0);
    let set = format!("{}=1", desk.knob("knob"));
    desk.run(&["with", &set, "--", "sh", "-c", "rm -rf \"$0\"", &desk.state().display().to_string()]).refused(8);
    assert_eq!((text(&desk.beside("knob")).as_str(), text(&desk.beside("other")).as_str()), ("before\n", "1\n"));
    desk.run(&["undo"]).ended(0);
    assert_eq!(text(&desk.beside("other")), "before\n");
}

/// `try` with a load that does `how` in its third run.
fn tried(desk: &Desk, how: &str) -> String {
    let setting = format!("{}=0,1", desk.knob("knob"));
    let script = format!("echo run >> \"$1\"; [ $(grep -c . \"$1\") = 3 ] || exit 0; {how}");
    let (state, runs) = (desk.state().display().to_string(), desk.beside("runs").display().to_string());
    let words = [
        "try", &setting, "--warmup", "0", "--blocks", "4", "--settle", "0", "--repeat", "1", "--", "sh", "-c", &script,
    ];
    let why = desk.run(&[&words[..], &[&state, &runs]].concat()).refused(8);
    assert_eq!(text(&desk.beside("knob")), "before\n", "{why}");
    assert!(text(Path::new(&runs)).lines().count() <= 4, "nothing is measured any more: {why}");
    until("the guardian has ended", || guardians(desk).is_empty());
    why
}

#[test]
fn an_experiment_whose_store_goes_away_keeps_what_was_measured() {
    let ways =
        [("folder", "rm -rf \"$0\""), ("store", "rm \"$0\"/powerband.sqlite*"), ("move", "mv \"$0\" \"$0.moved\"")];
    for (what, how) in ways {
        let desk = desk();
        let why = tried(&desk, how);
        assert!(why.contains("the store "), "{what}: {why}");
        let store = desk.state().join("powerband.sqlite").display().to_string();
        assert!(why.contains(&format!("what was measured is in {store}: `powerband --store {store} show 1`")), "{why}");
        let shown = desk.json(&["show", "1"]);
        assert!(!shown["settings"].as_array().unwrap().is_empty(), "{what}");
    }
    // What somebody else put there meanwhile stays.
    let desk = desk();
    let why = tried(&desk, "rm \"$0\"/powerband.sqlite*; echo mine > \"$0/powerband.sqlite\"");
    assert_eq!(text(&desk.state().join("powerband.sqlite")), "mine\n");
    let saved = why.rsplit_once("--store ").and_then(|(_, rest)| rest.split_once(" show")).unwrap().0;
    desk.run(&["--store", saved, "show", "1"]).ended(0);
}

#[test]
fn a_state_folder_that_goes_away_in_the_last_trial_is_noticed() {
    // The last thing that runs, after everything was restored.
    let desk = desk();
    let setting = format!("{}=0,1", desk.knob("knob"));
    let (store, state) = (desk.beside("store").display().to_string(), desk.state().display().to_string());
    let cleanup = format!("mv {state} {state}.moved");
    let words =
        ["try", &setting, "--store", &store, "--runs", "2", "--warmup", "0", "--settle", "0", "--cleanup", &cleanup];
    let ran = desk.run(&[&words[..], &["--", "true"]].concat()).ended(8);
    assert!(ran.err.contains(&format!("the state folder {state} was deleted, moved or replaced")), "{}", ran.err);
    assert_eq!(text(&desk.beside("knob")), "before\n");
}

#[test]
fn a_ledger_that_somebody_else_altered_is_noticed_before_the_next_change() {
    for how in
        ["rm \"$0/ledger\"", "mv \"$0/ledger\" \"$0/old\"", "cp \"$0/ledger\" \"$0/new\"; mv \"$0/new\" \"$0/ledger\""]
    {
        let desk = desk();
        let why = tried(&desk, how);
        assert!(why.contains("ledger was deleted"), "{how}: {why}");
    }
}

#[test]
fn what_is_set_does_not_stay_when_its_undo_has_no_place_any_more() {
    let desk = desk();
    let knobs = desk.beside("knobs.toml");
    let (state, value) = (desk.state().display().to_string(), desk.beside("value").display().to_string());
    fs::write(&value, "0\n").unwrap();
    let gone = format!("[knobs.gone]\nget = \"cat {value}\"\nset = \"rm -rf {state}; echo {{value}} > {value}\"\n");
    fs::write(&knobs, gone).unwrap();
    let set = format!("{}=1", desk.knob("knob"));
    for words in [[&*set, "gone=1"], ["gone=1", &*set]] {
        let why = desk.run(&[&["set", "--knobs", &knobs.display().to_string()], &words[..]].concat()).refused(8);
        assert!(why.contains("ledger was deleted"), "{words:?}: {why}");
        assert_eq!(text(&desk.beside("knob")), "before\n", "{words:?}");
        until("the guardian has ended", || guardians(&desk).is_empty());
    }
}
