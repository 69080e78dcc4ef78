//! Ctrl-C and SIGTERM: it ends with 130, everything is restored, what was measured is kept.
use std::fs;
use std::os::unix::process::CommandExt;
use std::process::Stdio;

use powerband_record::CloseReason;
use rustix::process::{Pid, Signal, kill_process_group};

use crate::desk::{Desk, Started, split, text, until};

/// The words of a long `try` that turns the file `knob` in half of its trials.
fn long_try(setting: &str, seconds: &str) -> Vec<String> {
    let words = format!("try -s a: -s `{setting}` --settle 0 --blocks 1000 --margin 0.0001% -- sleep `{seconds}`");
    let words = split(&words);
    words.iter().map(|word| (*word).to_owned()).collect()
}

/// How many trials are finished in the experiment that runs.
fn trials(desk: &Desk) -> u64 {
    desk.json(&["list"])["experiments"][0]["trials"].as_u64().unwrap_or(0)
}

fn stopped_by(signal: Signal) {
    let desk = Desk::new();
    let path = desk.beside("knob");
    fs::write(&path, "0").unwrap();
    let words = long_try(&format!("b:{}=1", desk.knob("knob")), "0.1");
    let running = desk.start(&words.iter().map(String::as_str).collect::<Vec<_>>());
    until("two trials are done", || trials(&desk) >= 2);
    until("the knob is turned", || text(&path).trim_end() == "1");
    assert_eq!(desk.turned(), 1, "the ledger says so");
    running.signal(signal);
    let ran = running.end().ended(130);
    assert!(!ran.err.contains("panicked"), "{}", ran.err);
    assert_eq!(text(&path), "0");
    assert_eq!(desk.turned(), 0);
    let report = desk.report(&["show", "last"]);
    assert_eq!((report.state.as_str(), report.reason), ("stopped", Some(CloseReason::Stopped)));
    assert!(report.trials + report.warmups >= 2, "what was measured is kept");
    assert!(report.settings[0].levels.contains_key("real_s"));
}

#[test]
fn ctrl_c_puts_everything_back_and_keeps_what_was_measured() {
    stopped_by(Signal::INT);
}

#[test]
fn sigterm_does_as_ctrl_c_does() {
    stopped_by(Signal::TERM);
}

#[test]
fn a_load_is_ended_with_the_experiment() {
    let desk = Desk::new();
    let path = desk.beside("knob");
    fs::write(&path, "0").unwrap();
    // The load says who it is, and outlives everybody's patience.
    let pid = desk.beside("pid");
    let script = format!("echo $$ > {}; exec sleep 300", pid.display());
    let setting = format!("b:{}=1", desk.knob("knob"));
    let words = format!("try -s `{setting}` -s a: --reference b --settle 0 -- sh -c `{script}`");
    let words = split(&words);
    // As a terminal does it: the whole foreground process group gets the signal.
    let mut command = desk.command(&words);
    let mut child = command.process_group(0).stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
    until("the load runs", || fs::read_to_string(&pid).is_ok_and(|text| text.ends_with('\n')));
    assert_eq!(text(&path).trim_end(), "1");
    kill_process_group(Pid::from_raw(i32::try_from(child.id()).unwrap()).unwrap(), Signal::INT).unwrap();
    let mut code = None;
    until("it ends", || {
        code = child.try_wait().unwrap();
        code.is_some()
    });
    assert_eq!(code.and_then(|status| status.code()), Some(130));
    assert_eq!(text(&path), "0");
    until("the load is gone", || !fs::exists(format!("/proc/{}", text(&pid).trim())).unwrap());
}

/// Starts it in a process group of its own, sends that Ctrl-C as a terminal does once `ready`, and waits for its end.
fn interrupted_as_by_a_terminal(desk: &Desk, words: &[&str], ready: impl FnMut() -> bool) {
    let mut command = desk.command(words);
    let running = Started::of(command.process_group(0));
    until("it is amid its trials", ready);
    kill_process_group(Pid::from_raw(i32::try_from(running.pid()).unwrap()).unwrap(), Signal::INT).unwrap();
    let ran = running.end().ended(130);
    assert!(!ran.err.contains("panicked"), "{}", ran.err);
}

#[test]
fn ctrl_c_amid_a_search_puts_everything_back_and_the_search_goes_on() {
    let desk = Desk::new();
    let path = desk.beside("knob");
    fs::write(&path, "0").unwrap();
    let knob = format!("{}=1,2,3", desk.knob("knob"));
    let words = format!("tune `{knob}` --minimize real_s --settle 0 -- sleep 0.15");
    let words = split(&words);
    let ready = || desk.experiments() == 1 && trials(&desk) >= 3 && text(&path).trim_end() != "0";
    interrupted_as_by_a_terminal(&desk, &words, ready);
    assert_eq!((text(&path).as_str(), desk.turned()), ("0", 0));
    let stopped = desk.report(&["show", "last"]);
    assert_eq!((stopped.state.as_str(), stopped.reason), ("stopped", Some(CloseReason::Stopped)));
    let ended = desk.report(&["resume"]);
    assert!(ended.trials > stopped.trials && ended.search.unwrap().end.is_some());
    assert_eq!((text(&path).as_str(), desk.turned(), desk.experiments()), ("0", 0, 1));
}

#[test]
fn ctrl_c_amid_a_calibration_is_an_end_that_is_gone_on_from() {
    let desk = Desk::new();
    let words = split("calibrate --trials 12 --settle 0 -- sleep 0.1");
    interrupted_as_by_a_terminal(&desk, &words, || desk.experiments() == 1 && trials(&desk) >= 3);
    let stopped = desk.json(&["show", "last"]);
    assert_eq!((stopped["state"].as_str(), stopped["reason"].as_str()), (Some("stopped"), Some("stopped")));
    assert!((3..12).contains(&stopped["trials"].as_u64().unwrap()), "{stopped}");
    let ended = desk.json(&["resume"]);
    assert_eq!((ended["trials"].as_u64(), ended["state"].as_str()), (Some(12), Some("ended")));
    assert_eq!(desk.turned(), 0);
}

#[test]
fn a_simulated_experiment_stops_too() {
    let desk = Desk::new();
    // One setting against itself, with a margin nothing fits into: it goes on until somebody stops it.
    let words = split(
        "--machine sim:quadcore try -s a: -s b: --load counter --blocks 4000000 --margin 0.0001% --alpha 0.0001%",
    );
    let running = desk.start(&words);
    until("a few trials are done", || trials(&desk) >= 4);
    running.signal(Signal::INT);
    running.end().ended(130);
    let report = desk.report(&["show", "last"]);
    assert_eq!(report.reason, Some(CloseReason::Stopped));
    assert!(report.trials >= 4);
}

#[test]
fn a_stop_while_it_settles_is_a_stop() {
    let desk = Desk::new();
    let path = desk.beside("knob");
    fs::write(&path, "0").unwrap();
    let setting = format!("b:{}=1", desk.knob("knob"));
    let words = format!("try -s `{setting}` -s a: --reference b --settle 300s -- true");
    let words = split(&words);
    let running = desk.start(&words);
    until("the knob is turned", || text(&path).trim_end() == "1");
    running.signal(Signal::TERM);
    running.end().ended(130);
    assert_eq!(text(&path), "0");
    assert_eq!(desk.report(&["show", "last"]).trials, 0);
}

#[test]
fn a_killed_powerband_is_cleaned_up_after() {
    let Some(desk) = Desk::as_root() else { return };
    let path = desk.beside("knob");
    fs::write(&path, "0").unwrap();
    let words = long_try(&format!("b:{}=1", desk.knob("knob")), "0.3");
    let running = desk.start(&words.iter().map(String::as_str).collect::<Vec<_>>());
    until("the knob is turned", || text(&path).trim_end() == "1");
    running.signal(Signal::KILL);
    assert_eq!(running.end().code, None);
    // Anyone who turns next puts it back first; looking does not.
    desk.run(&["with", &format!("{}=2", desk.knob("other")), "--", "true"]).ended(0);
    assert_eq!(text(&path), "0");
    assert_eq!(desk.turned(), 0);
    let kept = desk.json(&["list"]);
    assert_eq!(kept["experiments"][0]["state"], "interrupted", "nobody closed its journal");
    desk.run(&["show", "last"]).ended(0);
}
