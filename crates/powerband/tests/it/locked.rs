//! One powerband turns at a time; looking is free.
use std::fs;

use rustix::process::Signal;

use crate::desk::{Desk, split, text, until};

#[test]
fn a_second_one_that_would_turn_is_refused_and_told_who_does() {
    let desk = Desk::new();
    let path = desk.beside("knob");
    fs::write(&path, "0").unwrap();
    let setting = format!("b:{}=1", desk.knob("knob"));
    let words = format!("try -s a: -s `{setting}` --settle 0 --blocks 1000 --margin 0.0001% -- sleep 0.2");
    let words = split(&words);
    let running = desk.start(&words);
    until("the knob is turned", || text(&path).trim_end() == "1");
    let other = format!("{}=1", desk.knob("other"));
    let refused: [&[&str]; 4] =
        [&["set", &other], &["with", &other, "--", "true"], &["try", "-s", "a:", "-s", "b:", "--", "true"], &["undo"]];
    for words in refused {
        let why = desk.run(words).refused(8);
        assert!(why.contains(&format!("powerband {} (try -s a: ", running.pid())), "{words:?}: {why}");
        assert!(why.contains(") has held this machine since "), "{words:?}: {why}");
        assert!(why.ends_with(&format!("wait for it, or stop it with `kill {}`", running.pid())), "{words:?}: {why}");
    }
    assert!(!desk.beside("other").exists());
    assert_eq!(desk.experiments(), 1, "what was refused began nothing");
    desk.run(&["info"]).ended(0);
    desk.run(&["get", &desk.knob("knob")]).ended(0);
    desk.run(&["show", "last"]).ended(0);
    desk.run(&["run", "plans/router.toml", "--blocks", "2"]).ended(0);
    running.signal(Signal::INT);
    running.end().ended(130);
    desk.run(&["set", &other]).ended(0);
    desk.run(&["undo"]).ended(0);
    assert_eq!(text(&path), "0");
}

#[test]
fn the_lock_goes_with_its_owner_however_it_ends() {
    let desk = Desk::new();
    let knob = format!("{}=1", desk.knob("knob"));
    let running = desk.start(&["with", &knob, "--", "sleep", "300"]);
    until("the knob is turned", || desk.beside("knob").exists());
    running.signal(Signal::KILL);
    running.end();
    desk.run(&["set", &format!("{}=1", desk.knob("other"))]).ended(0);
    assert!(!desk.beside("knob").exists(), "what it left was put back first");
    desk.run(&["undo"]).ended(0);
}

#[test]
fn one_inside_another_is_not_advised_to_wait_for_it() {
    let desk = Desk::new();
    let (knob, other) = (format!("{}=1", desk.knob("knob")), format!("{}=1", desk.knob("other")));
    let shell = format!("{} with '{other}' -- true", env!("CARGO_BIN_EXE_powerband"));
    let inner = desk.run(&["with", &knob, "--", "sh", "-c", &shell]);
    assert!(
        inner.err.contains(
            "; this command runs inside it, so it cannot wait for it: give all settings to the outer command, or run this one outside of it"
        ),
        "{}",
        inner.err
    );
    assert!(!inner.err.contains("kill"), "{}", inner.err);
    assert!(!desk.beside("other").exists());
}
