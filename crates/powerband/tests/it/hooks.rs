//! Commands around trials: when each runs, as whom, and what becomes of one that fails or is stopped.
use std::fs;

use rustix::process::Signal;

use crate::desk::{Desk, until};

const QUICK: [&str; 4] = ["--warmup", "0", "--runs", "2"];

/// A hook that writes its name and a word into a file.
fn note(desk: &Desk, name: &str, word: &str) -> String {
    format!("echo {name}{word} >> {}", desk.beside("log").display())
}

fn log(desk: &Desk) -> Vec<String> {
    let text = fs::read_to_string(desk.beside("log")).unwrap_or_default();
    text.lines().map(str::to_owned).collect()
}

#[test]
fn hooks_run_around_trials_and_once_around_all_of_them() {
    let desk = Desk::new();
    let command = note(&desk, "run ", "{t}") + "; sleep 0.0{t}";
    let hooks = [
        ["--setup", &note(&desk, "setup", "")],
        ["--prepare", &note(&desk, "prepare", "")],
        ["--conclude", &note(&desk, "conclude", "")],
        ["--cleanup", &note(&desk, "cleanup", "")],
    ];
    let words = [&["try", &command, "-L", "t", "1,2"][..], &QUICK, &hooks.concat()].concat();
    desk.run(&words).ended(0);
    let log = log(&desk);
    assert_eq!((log[0].as_str(), log.last().unwrap().as_str()), ("setup", "cleanup"));
    let trials: Vec<&[String]> = log[1..log.len() - 1].chunks(3).collect();
    assert_eq!(trials.len(), 4, "{log:?}");
    for trial in trials {
        assert_eq!((trial[0].as_str(), trial[2].as_str()), ("prepare", "conclude"), "{log:?}");
        assert!(trial[1].starts_with("run "), "a command with a prepare command runs once a trial: {log:?}");
    }
}

#[test]
fn a_setup_with_a_parameter_runs_once_for_each_value() {
    let desk = Desk::new();
    let (setup, cleanup) = (note(&desk, "setup", "{t}"), note(&desk, "cleanup", "{t}"));
    let words = ["try", "sleep 0.0{t}", "-L", "t", "1,2", "--setup", &setup, "--cleanup", &cleanup];
    desk.run(&[&words[..], &QUICK].concat()).ended(0);
    let mut log = log(&desk);
    log.sort();
    assert_eq!(log, ["cleanup1", "cleanup2", "setup1", "setup2"]);
}

#[test]
fn what_fails_after_the_last_trial_takes_no_results_away() {
    let desk = Desk::new();
    let words = ["try", "sleep 0.01", "sleep 0.02"];
    let ran = desk.run(&[&words[..], &QUICK, &["--cleanup", "exit 4"]].concat()).ended(0);
    let told = ran.out.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(told.contains("the cleanup command 'exit 4' ended with exit status 4"), "{}", ran.out);
}

#[test]
fn a_setup_that_failed_is_cleaned_up_after() {
    let desk = Desk::new();
    let cleanup = note(&desk, "cleanup", "");
    let words = ["try", "sleep 0.01", "sleep 0.02", "--setup", "false", "--cleanup", &cleanup];
    desk.run(&words).refused(7);
    assert_eq!(log(&desk), ["cleanup"]);
}

#[test]
fn ctrl_c_ends_with_the_cleanup() {
    let desk = Desk::new();
    let (prepare, cleanup) = (note(&desk, "prepare", ""), note(&desk, "cleanup", ""));
    let words = ["try", "sleep 30", "sleep 31", "--prepare", &prepare, "--cleanup", &cleanup];
    let stopping = desk.start(&words);
    until("the first trial", || !log(&desk).is_empty());
    stopping.signal(Signal::INT);
    assert_eq!(stopping.end().code, Some(130));
    assert_eq!(log(&desk), ["prepare", "cleanup"]);
}

#[test]
fn hooks_run_in_the_environment_of_their_setting() {
    let desk = Desk::new();
    let prepare = note(&desk, "", "$LEVEL");
    let words = ["try", "env.LEVEL=low,high", "--prepare", &prepare, "--", "true"];
    desk.run(&[&words[..2], &QUICK, &words[2..]].concat()).ended(0);
    let mut log = log(&desk);
    log.sort();
    assert_eq!(log, ["", "", "high", "high", "low", "low"], "the baseline inherits none");
}
