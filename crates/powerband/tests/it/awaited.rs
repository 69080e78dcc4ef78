//! What is set behind an agent for a trial of its own, and what is told here of a machine where something may be left.
use std::fs;

use rustix::process::Signal;

use crate::desk::{Desk, Started, split, until};
use crate::rigged::Two;

/// A `set` behind an agent that waits to be confirmed here.
fn waiting(two: &Two) -> Started {
    let (name, set) = (two.name(), format!("{}=1", two.far.knob("knob")));
    let running = two.near.start(&split(&format!("--machine `{name}` set `{set}` --confirm-within 60s")));
    until("it waits", || says(&two.near, "\"to_confirm\":"));
    assert_eq!(two.reads(), "1");
    running
}

/// Whether the lock of anyone who turns behind an agent says something.
fn says(desk: &Desk, what: &str) -> bool {
    let Ok(folders) = fs::read_dir(desk.state().join("away")) else { return false };
    folders.flatten().any(|folder| fs::read_to_string(folder.path().join("lock")).is_ok_and(|lock| lock.contains(what)))
}

#[test]
fn confirmed_from_here_it_stays_there() {
    let two = Two::new();
    let name = two.name();
    let running = waiting(&two);
    assert!(two.near.run(&["confirm"]).refused(1).contains("nothing waits"), "another machine's is not meant");
    let kept = two.near.run(&["--machine", &name, "confirm"]).ended(0).out;
    assert!(kept.contains("powerband --machine 'cmd:") && kept.contains(" undo`"), "{kept}");
    let ran = running.end().ended(0);
    assert!(ran.out.contains("--machine 'cmd:") && ran.out.contains("confirmed"), "{}", ran.out);
    assert_eq!(two.reads(), "1");
    assert_eq!(two.far.json(&["undo", "--list"])["open"].as_array().unwrap().len(), 1, "in the ledger there");
    assert_eq!(two.near.run(&["list"]).ended(0).err, "", "and nothing is left");
    two.near.run(&["--machine", &name, "undo"]).ended(0);
    assert!(two.is_clean());
}

#[test]
fn unconfirmed_it_goes_back_there() {
    let two = Two::new();
    let (name, set) = (two.name(), format!("{}=1", two.far.knob("knob")));
    let why = two.near.run(&["--machine", &name, "set", &set, "--confirm-within", "700ms"]).ended(1).err;
    assert!(why.contains("nobody confirmed within 700 ms"), "{why}");
    assert!(two.is_clean());
    assert!(two.near.run(&["--machine", &name, "confirm"]).refused(1).contains("nothing waits"));
}

#[test]
fn whoever_waits_is_told_when_the_machine_is_lost_and_there_it_goes_back() {
    let two = Two::new();
    let running = waiting(&two);
    rustix::process::kill_process(two.agent(), Signal::KILL).unwrap();
    let why = running.end().refused(8);
    assert!(why.contains("lost the near machine") && why.contains("goes back by itself"), "{why}");
    until("it is back there", || two.is_clean());
}

#[test]
fn killed_while_it_waits_it_goes_back_there_and_a_warning_stays_here_until_somebody_looks() {
    let two = Two::new();
    let name = two.name();
    let running = waiting(&two);
    assert_eq!(two.near.run(&["list"]).ended(0).err, "", "who lives is no danger");
    running.signal(Signal::KILL);
    running.end();
    until("it is back there", || two.is_clean());
    for words in [&["list"][..], &["info", "turned"]] {
        let told = two.near.run(words).ended(0).err;
        assert!(
            told.contains(&format!("may have left something changed at {name}")) && told.contains("undo --left"),
            "{told}"
        );
    }
    let told = two.near.run(&["--machine", &name, "info", "turned"]).ended(0);
    assert_eq!(told.err, "", "it has looked");
    assert!(told.out.contains("nothing is changed"), "{}", told.out);
    assert_eq!(two.near.run(&["list"]).ended(0).err, "");
}

#[test]
fn what_is_left_where_an_experiment_lost_its_far_end_is_told_and_put_back() {
    let two = Two::new();
    let far = two.name();
    let b = format!("b:{}", two.turns("7"));
    let words = format!("--far `{far}` try -s a: -s `{b}` --settle 0 --warmup 0");
    let words = split(&words);
    let running = two.near.start(&[&words[..], &["--load", "counter", "--for", "2s"]].concat());
    until("it is turned", || two.reads() == "7");
    rustix::process::kill_process(two.agent(), Signal::KILL).unwrap();
    running.end().ended(8);
    let told = two.near.run(&["show"]).ended(0).err;
    assert!(told.contains("may have left") && told.contains("try -s a:"), "{told}");
    until("its guardian has put it back", || two.is_clean());
    two.near.run(&["--machine", &far, "undo", "--left"]).ended(0);
    assert_eq!(two.near.run(&["show"]).ended(0).err, "");
}
