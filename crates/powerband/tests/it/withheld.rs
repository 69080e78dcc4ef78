//! `with`: knobs turned for one command, whose words and code are passed on.
use std::fs;
use std::process::Command;

use rustix::process::Signal;

use crate::desk::{Desk, Ran, machine_alone, root, text, until};

#[test]
fn the_commands_output_and_code_are_passed_on_and_the_file_is_back() {
    let desk = Desk::new();
    let path = desk.beside("knob");
    fs::write(&path, "abc").unwrap();
    let script = format!("cat {}; echo aside >&2; exit 7", path.display());
    let ran = desk.run(&["with", &format!("{}=1", desk.knob("knob")), "--", "sh", "-c", &script]).ended(7);
    assert_eq!((ran.out.trim_end(), ran.err.as_str()), ("1", "aside\n"));
    assert_eq!(text(&path), "abc");
    assert_eq!(desk.turned(), 0);
    assert_eq!(desk.experiments(), 0);
}

#[test]
fn output_comes_through_to_the_byte() {
    let desk = Desk::new();
    for printed in ["one", "one\n", "one\n\n\n", "", "a\tb\r\n"] {
        let ran = desk.run(&["with", &format!("{}=1", desk.knob("knob")), "--", "printf", "%s", printed]).ended(0);
        assert_eq!(ran.out, printed);
    }
}

#[test]
fn a_command_ended_by_a_signal_gives_what_a_shell_gives() {
    let desk = Desk::new();
    let knob = format!("{}=1", desk.knob("knob"));
    desk.run(&["with", &knob, "--", "sh", "-c", "kill -TERM $$"]).ended(143);
    assert!(!desk.beside("knob").exists());
}

#[test]
fn a_caller_who_ignores_how_his_children_end_changes_nothing() {
    let desk = Desk::new();
    let knob = desk.beside("knob");
    fs::write(&knob, "abc").unwrap();
    let mut command = Command::new("sh");
    command.args(["-c", "trap '' CHLD; exec \"$@\"", "sh", env!("CARGO_BIN_EXE_powerband"), "with"]);
    command.args([&format!("{}=1", desk.knob("knob")), "--", "sh", "-c", "cat \"$0\"; exit 7"]).arg(&knob);
    desk.furnish(&mut command);
    let ran = Ran::of(&command.output().unwrap()).ended(7);
    assert_eq!((ran.out.trim_end(), text(&knob).as_str()), ("1", "abc"));
}

#[test]
fn a_quota_holds_for_the_command() {
    if !root() {
        return;
    }
    let _alone = machine_alone();
    let desk = Desk::new();
    let ran = desk.run(&["with", "cgroup.cpu_quota=50%", "--", "cat", "/proc/self/cgroup"]).ended(0);
    assert!(ran.out.lines().any(|line| line.contains("powerband-load-")), "{}", ran.out);
    assert_eq!(desk.turned(), 0);
}

#[test]
fn a_command_that_is_not_there() {
    let desk = Desk::new();
    let path = desk.beside("knob");
    fs::write(&path, "0").unwrap();
    let why = desk.run(&["with", &format!("{}=1", desk.knob("knob")), "--", "no-such-program"]).refused(7);
    assert!(why.contains("no-such-program"), "{why}");
    assert_eq!(text(&path), "0");
    assert_eq!(desk.turned(), 0);
}

#[test]
fn no_command_turns_nothing() {
    let desk = Desk::new();
    desk.run(&["with", &format!("{}=1", desk.knob("knob"))]).refused(2);
    desk.run(&["with", "--", "true"]).refused(2);
    assert!(!desk.beside("knob").exists());
}

#[test]
fn several_knobs_are_all_back_when_one_cannot_be_turned() {
    let desk = Desk::new();
    let path = desk.beside("knob");
    fs::write(&path, "0").unwrap();
    let (good, bad) = (format!("{}=1", desk.knob("knob")), format!("{}=1", desk.knob("none/knob")));
    let why = desk.run(&["with", &good, &bad, "--", "true"]).refused(4);
    assert!(why.contains("none"), "{why}");
    assert_eq!(text(&path), "0");
    assert_eq!(desk.turned(), 0);
}

#[test]
fn ctrl_c_ends_the_command_and_puts_back() {
    let desk = Desk::new();
    let path = desk.beside("knob");
    fs::write(&path, "0").unwrap();
    let running = desk.start(&["with", &format!("{}=1", desk.knob("knob")), "--", "sleep", "300"]);
    until("the knob is turned", || text(&path).trim_end() == "1");
    running.signal(Signal::INT);
    running.end().ended(130);
    assert_eq!(text(&path), "0");
    assert_eq!(desk.turned(), 0);
}
