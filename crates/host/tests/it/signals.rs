//! Being asked to stop, in a process of its own.
use std::io::{BufRead, BufReader};

use rustix::process::{Pid, Signal};

#[test]
fn each_signal_is_told_and_the_second_again() {
    for (first, second, told) in
        [(Signal::INT, Signal::INT, ["Interrupt", "Interrupt"]), (Signal::TERM, Signal::HUP, ["Terminate", "HangUp"])]
    {
        let place = tempfile::tempdir().unwrap();
        let mut child = crate::scene(&["wait-for-stops", place.path().to_str().unwrap()]).spawn().unwrap();
        let pid = Pid::from_child(&child);
        let mut lines = BufReader::new(child.stdout.take().unwrap()).lines();
        let mut next = || lines.next().unwrap().unwrap();
        assert_eq!(next(), "ready");
        rustix::process::kill_process(pid, first).unwrap();
        assert_eq!(next(), told[0]);
        rustix::process::kill_process(pid, second).unwrap();
        assert_eq!(next(), told[1]);
        assert!(child.wait().unwrap().success());
    }
}

#[test]
fn the_terminals_interrupt_does_not_reach_the_load() {
    use std::os::unix::process::CommandExt;
    let place = tempfile::tempdir().unwrap();
    let mut child = crate::scene(&["wait-for-stops", place.path().to_str().unwrap()]).process_group(0).spawn().unwrap();
    let group = Pid::from_child(&child);
    let mut lines = BufReader::new(child.stdout.take().unwrap()).lines();
    let mut next = || lines.next().unwrap().unwrap();
    assert_eq!(next(), "ready");
    for _ in 0..2 {
        // As Ctrl-C does: the whole foreground group. Had the load died of it, that would be told and be a panic.
        rustix::process::kill_process_group(group, Signal::INT).unwrap();
        assert_eq!(next(), "Interrupt");
    }
    assert!(child.wait().unwrap().success());
}
