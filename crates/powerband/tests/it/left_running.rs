//! What a load leaves running at the end of a trial: ended before the next one starts, counted, and reported.
use std::fs;
use std::process::Command;

use rustix::process::{Pid, Signal, kill_process};

use crate::desk::{Desk, Ran, split, text};

/// Ten shells that spin, however they leave their parent; a number of each in the file `$0`.
const SPINNERS: [(&str, &str); 3] = [
    ("children", "for i in 1 2 3 4 5 6 7 8 9 10; do sh -c 'while :; do :; done' & echo $! >> $0; done; sleep 0.02"),
    (
        "sessions",
        "for i in 1 2 3 4 5 6 7 8 9 10; do setsid sh -c 'while :; do :; done' & echo $! >> $0; done; sleep 0.02",
    ),
    (
        "double forks that ignore a polite request",
        "all=$(($(grep -c . $0) + 10)); \
         for i in 1 2 3 4 5 6 7 8 9 10; do (setsid sh -c 'trap \"\" TERM; echo $$ >> '$0'; while :; do :; done' &) & done; \
         until [ \"$(grep -c . $0)\" -ge $all ]; do sleep 0.01; done",
    ),
];

fn lives(pid: &str) -> bool {
    fs::read_to_string(format!("/proc/{pid}/stat")).is_ok_and(|stat| !stat.contains(") Z ") && !stat.contains(") X "))
}

#[test]
fn what_a_load_leaves_running_is_ended_before_the_next_trial_and_reported() {
    for (manner, spin) in SPINNERS {
        let desk = Desk::new();
        let pids = desk.beside("pids");
        // A trial that finds one of an earlier trial alive fails.
        let script = format!(
            "echo trial >> $0.trials; touch $0; while read pid; do \
             case \"$(sed -n 's/^State:.//p' /proc/$pid/status 2>/dev/null)\" in Z*|X*|'') ;; \
             *) echo \"$pid runs on\" >&2; exit 1 ;; esac; done < $0; {spin}"
        );
        let knob = format!("{}=0,1", desk.knob("knob"));
        let words = format!("try `{knob}` --warmup 0 --blocks 2 --settle 0 -- sh -c `{script}`");
        let words = split(&words);
        let ran = desk.run(&[&["--json"], &words[..], &[&pids.display().to_string()]].concat());
        let survivors: Vec<String> = text(&pids).lines().filter(|pid| lives(pid)).map(str::to_owned).collect();
        for pid in &survivors {
            let _ = kill_process(Pid::from_raw(pid.parse().unwrap()).unwrap(), Signal::KILL);
        }
        assert_eq!(survivors, Vec::<String>::new(), "{manner}");
        let report = ran.ended(0).value();
        let trials = text(&desk.beside("pids.trials")).lines().count();
        assert!(trials >= 4, "{trials}");
        let notes = report["notes"].as_array().unwrap();
        let note = "the load left 10 processes behind after each of ";
        assert!(notes.iter().any(|it| it.as_str().unwrap().starts_with(note)), "{manner}, {trials} runs: {notes:?}");
        let journal = desk.journal();
        let repeated = journal.iter().filter(|event| event.contains("\"event\":\"repeats\""));
        assert!(
            repeated.clone().all(|event| event.contains("\"runs\":1,")),
            "{manner}: {:?}",
            repeated.collect::<Vec<_>>()
        );
        assert!(desk.run(&["show", "last"]).ended(0).out.contains("10 processes behind"), "{manner}");
    }
}

#[test]
fn a_command_that_begins_to_leave_processes_later_is_not_repeated_from_then_on() {
    let desk = Desk::new();
    // The runs that decide how often it is repeated leave nothing, every later one does.
    let script = "echo run >> \"$0\"; [ $(grep -c . \"$0\") -gt 2 ] || exit 0; \
                  sleep 98764 >/dev/null 2>&1 & echo $! >> \"$0.pids\"";
    let runs = desk.beside("runs").display().to_string();
    let words = format!("try env.A=1 --runs 2 --warmup 0 --settle 0 -- sh -c `{script}` `{runs}`");
    let words = split(&words);
    let report = desk.json(&words);
    let notes: Vec<&str> = report["notes"].as_array().unwrap().iter().filter_map(|note| note.as_str()).collect();
    let pids = text(&desk.beside("runs.pids"));
    assert!(pids.lines().count() > 2 && !pids.lines().any(lives), "{pids}");
    let journal = desk.journal();
    let repeats: Vec<&String> = journal.iter().filter(|event| event.contains("\"event\":\"repeats\"")).collect();
    // On a machine so busy that the command is not short it is not repeated in the first place.
    if let Some(last) = repeats.last() {
        assert!(last.contains("\"runs\":1,"), "{repeats:?}");
        assert!(notes.iter().any(|note| note.starts_with("the command runs once in each trial")), "{notes:?}");
    }
}

#[test]
fn what_a_hook_leaves_running_is_reported() {
    let desk = Desk::new();
    let setup = "sleep 98765 >/dev/null 2>&1 &";
    let words = format!("try env.A=1 --runs 2 --warmup 0 --settle 0 --setup `{setup}` -- true");
    let words = split(&words);
    let notes = desk.json(&words)["notes"].to_string();
    assert!(notes.contains("the setup command 'sleep 98765") && notes.contains("left processes behind"), "{notes}");
}

#[test]
fn with_leaves_what_its_command_starts_and_says_so() {
    let desk = Desk::new();
    let knob = format!("{}=1", desk.knob("knob"));
    let script = "sleep 300 >/dev/null 2>&1 & echo $!; setsid sleep 300 >/dev/null 2>&1 & echo $!";
    let ran = desk.run(&["with", &knob, "--", "sh", "-c", script]).ended(0);
    let alive: Vec<bool> = ran.out.lines().map(lives).collect();
    for pid in ran.out.lines() {
        let _ = kill_process(Pid::from_raw(pid.parse().unwrap()).unwrap(), Signal::KILL);
    }
    assert_eq!(alive, [true, true], "{}", ran.err);
    assert!(ran.err.contains("left 2 processes running"), "{}", ran.err);
    let quiet = desk.run(&split(&format!("with `{knob}` -- sh -c `sleep 0.01 & wait`"))).ended(0);
    assert_eq!(quiet.err, "");
}

#[test]
fn a_load_may_make_any_number_of_orphans() {
    // Each orphan that ends is reaped at once, as init would: they must not add up to a limit of processes.
    let desk = Desk::new();
    let knob = format!("{}=1", desk.knob("knob"));
    let zombies = "for i in $(seq 200); do (setsid true &); done; sleep 0.3; \
                   cat /proc/[0-9]*/stat 2>/dev/null | grep -c ') Z '$PPID' ' | grep -qx '[0-9]'";
    let ran = desk.run(&["with", &knob, "--", "sh", "-c", zombies]);
    assert_eq!(ran.code, Some(0), "fewer than ten wait to be reaped: {}{}", ran.out, ran.err);
}

#[test]
fn a_process_whose_session_is_outside_its_pid_namespace_changes_and_measures() {
    let Some(desk) = Desk::as_root() else { return };
    fs::write(desk.beside("knob"), "0\n").unwrap();
    let set = format!("{}=1", desk.knob("knob"));
    // As in a container that was entered: the session has number 0 there.
    let mut command = Command::new("unshare");
    desk.furnish(&mut command);
    command.args(["--pid", "--fork", "--mount-proc", env!("CARGO_BIN_EXE_powerband"), "with", &set, "--", "true"]);
    Ran::of(&command.output().unwrap()).ended(0);
    assert_eq!(text(&desk.beside("knob")), "0\n");
}
