//! What is set for a trial of its own: kept when somebody confirms it from another shell, else restored, whatever happens.
use std::fs;
use std::path::PathBuf;
use std::time::Duration;

use rustix::process::Signal;

use crate::desk::{Desk, Started, text, until};

/// A desk with a file, and a `set` that waits on it.
fn waiting(within: &str) -> (Desk, PathBuf, Started) {
    let desk = Desk::new();
    let path = desk.beside("knob");
    fs::write(&path, "0").unwrap();
    let running = desk.start(&["set", &format!("{}=1", desk.knob("knob")), "--confirm-within", within]);
    until("it waits", || fs::read_to_string(desk.state().join("lock")).is_ok_and(|lock| lock.contains("to_confirm")));
    assert_eq!(text(&path), "1");
    (desk, path, running)
}

#[test]
fn confirmed_in_time_it_stays_until_undo() {
    let (desk, path, running) = waiting("60s");
    assert!(
        desk.run(&["set", &format!("{}=2", desk.knob("other"))]).refused(8).contains("waiting for `powerband confirm`")
    );
    let kept = desk.run(&["confirm"]).ended(0).out;
    assert!(kept.contains("powerband undo"), "{kept}");
    let ran = running.end().ended(0);
    assert!(ran.out.contains("within 1 min") && ran.out.contains("confirmed"), "{}", ran.out);
    assert_eq!(text(&path), "1");
    assert_eq!(desk.json(&["undo", "--list"])["open"].as_array().unwrap().len(), 1);
    desk.run(&["undo"]).ended(0);
    assert_eq!(text(&path), "0");
}

#[test]
fn unconfirmed_it_goes_back() {
    let (desk, path, running) = waiting("700ms");
    let why = running.end().ended(1).err;
    assert!(why.contains("nobody confirmed within 700 ms"), "{why}");
    assert_eq!(text(&path), "0");
    assert!(desk.run(&["confirm"]).refused(1).contains("nothing waits"));
    assert_eq!(desk.turned(), 0);
}

#[test]
fn killed_while_it_waits_it_goes_back() {
    let (desk, path, running) = waiting("60s");
    running.signal(Signal::KILL);
    until("the file is back", || text(&path) == "0");
    until("nothing is written down", || desk.turned() == 0);
    desk.run(&["confirm"]).refused(1);
    running.end();
}

#[test]
fn stopped_by_a_signal_it_goes_back_at_once() {
    for signal in [Signal::INT, Signal::TERM] {
        let (_desk, path, running) = waiting("60s");
        running.signal(signal);
        let said = running.end().ended(130).err;
        let sentence = format!("stopped before anybody confirmed; everything was restored: file:{}", path.display());
        assert!(said.contains(&sentence), "{said}");
        assert_eq!(text(&path), "0");
    }
}

#[test]
fn a_terminal_that_goes_away_ends_nothing_before_the_time() {
    let (desk, path, running) = waiting("60s");
    running.signal(Signal::HUP);
    std::thread::sleep(Duration::from_millis(300));
    assert_eq!(text(&path), "1", "it goes on waiting: what was set may have cut the line");
    desk.run(&["confirm"]).ended(0);
    running.end().ended(0);
    assert_eq!(text(&path), "1");
}

#[test]
fn several_knobs_are_kept_or_put_back_together() {
    for (confirm, value) in [(true, "1"), (false, "0")] {
        let desk = Desk::new();
        let paths = ["a", "b", "c"].map(|name| desk.beside(name));
        paths.iter().for_each(|path| fs::write(path, "0").unwrap());
        let knobs = ["a", "b", "c"].map(|name| format!("{}=1", desk.knob(name)));
        let running = desk.start(&["set", &knobs[0], &knobs[1], &knobs[2], "--confirm-within", "2s", "--json"]);
        until("it waits", || {
            fs::read_to_string(desk.state().join("lock")).is_ok_and(|lock| lock.contains("to_confirm"))
        });
        if confirm {
            desk.run(&["confirm"]).ended(0);
        }
        let ran = running.end();
        assert_eq!(ran.value()["confirmed"], confirm, "{}", ran.out);
        for path in &paths {
            assert_eq!(text(path), value);
        }
    }
}

#[test]
fn a_simulated_machine_is_confirmed_in_real_time() {
    let desk = Desk::new();
    let words = ["--machine", "sim:pc", "set", "governor=powersave", "--confirm-within"];
    let governor = || desk.run(&["--machine", "sim:pc", "get", "governor@policy0"]).ended(0).out;
    let before = governor();
    desk.run(&[&words[..], &["300ms"]].concat()).ended(1);
    assert_eq!(governor(), before);
    let running = desk.start(&[&words[..], &["60s"]].concat());
    let lock = desk.state().join("sim/pc/lock");
    until("it waits", || fs::read_to_string(&lock).is_ok_and(|lock| lock.contains("to_confirm")));
    desk.run(&["--machine", "sim:pc", "confirm"]).ended(0);
    running.end().ended(0);
    assert!(governor().contains("powersave"));
    desk.run(&["--machine", "sim:pc", "undo"]).ended(0);
    assert_eq!(governor(), before);
}
