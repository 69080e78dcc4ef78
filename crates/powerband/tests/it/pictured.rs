//! `watch`: rows for programs, and a picture on a terminal that is as before when it ends.
use std::fs::{self, File};
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

use rustix::process::{Pid, Signal, kill_process};
use serde_json::Value;

use crate::desk::{Desk, until};

fn csv(text: &str) -> Vec<Vec<&str>> {
    text.lines().map(|line| line.split(',').collect()).collect()
}

#[test]
fn rows_of_a_simulated_machine_are_the_same_each_time() {
    let desk = Desk::new();
    let words =
        ["--machine", "sim:quadcore", "watch", "--log", "-", "--load", "counter", "--interval", "500ms", "--for", "3s"];
    let ran = desk.run(&words).ended(0);
    let rows = csv(&ran.out);
    assert_eq!(rows.len(), 1 + 6, "a header, and a row each half second:\n{}", ran.out);
    let column = |name: &str| rows[0].iter().position(|column| *column == name).unwrap();
    assert_eq!((rows[1][column("time_s")], rows[6][column("time_s")]), ("0.5", "3.0"));
    assert_eq!(rows[6][column("cpu0_clock_khz")], "2400000");
    assert!(rows[6][column("modelled_w")].parse::<f64>().unwrap() > 10.0);
    assert_eq!(desk.run(&words).ended(0).out, ran.out);
    let json = desk.run(&["--machine", "sim:quadcore", "watch", "--json", "--count", "2"]).ended(0);
    let lines: Vec<Value> = json.out.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    assert_eq!((lines.len(), &lines[1]["version"], &lines[1]["time_s"]), (2, &1.into(), &2.0.into()));
    let none = desk.run(&["--machine", "sim:quadcore", "-c", "1", "watch", "--log", "-", "--count", "1"]).ended(0);
    assert!(none.out.contains(",cpu1_clock_khz,") && !none.out.contains("cpu0"), "{}", none.out);
}

#[test]
fn this_machine_is_logged_and_its_cost_told() {
    let desk = Desk::new();
    let (log, metrics) = (desk.beside("log.jsonl"), desk.beside("powerband.prom"));
    let (log_word, metrics_word) = (log.display().to_string(), metrics.display().to_string());
    let words =
        ["watch", "--log", &log_word, "--openmetrics", &metrics_word, "--interval", "100ms", "--count", "5", "--cost"];
    let ran = desk.run(&words).ended(0);
    assert!(ran.err.contains("note: watching took 0."), "{}", ran.err);
    // What is there is kept, unless that is asked for.
    let why = desk.run(&words).refused(2);
    assert!(why.contains("log.jsonl is there already; --force writes over it"), "{why}");
    desk.run(&[&words[..], &["--force"]].concat()).ended(0);
    let text = fs::read_to_string(&log).unwrap();
    let lines: Vec<Value> = text.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    assert_eq!(lines.len(), 5);
    let last = &lines[4];
    assert!(last["at_unix_ms"].as_u64().unwrap() > 1_700_000_000_000);
    assert!((0.0..=100.0).contains(&last["cpu0_busy_percent"].as_f64().unwrap_or(0.0)));
    assert!(last["own_cpu_s"].as_f64().unwrap() > 0.0 && last["own_wakeups"].as_u64().unwrap() >= 4, "{last}");
    let told = fs::read_to_string(&metrics).unwrap();
    assert!(told.ends_with("# EOF\n") && told.contains("\npowerband_observer_cpu_seconds "), "{told}");
    let mut names: Vec<_> = fs::read_dir(desk.beside("")).unwrap().map(|entry| entry.unwrap().file_name()).collect();
    names.sort();
    assert!(names.iter().all(|name| !name.to_string_lossy().ends_with(".new")), "{names:?}");
}

#[test]
fn a_machine_behind_an_agent_and_a_recorded_one_have_rows_too() {
    let desk = Desk::new();
    let agent = format!("cmd:{} agent", env!("CARGO_BIN_EXE_powerband"));
    let words = ["--machine", &agent, "watch", "--log", "-", "--interval", "100ms", "--count", "2"];
    assert_eq!(csv(&desk.run(&words).ended(0).out).len(), 3);
    let ran = desk.run(&["--machine", "recorded:machines/recorded/laptop", "watch", "--log", "-"]).ended(0);
    let rows = csv(&ran.out);
    assert!(rows.len() == 2 && ran.err.contains("nothing moves"), "{}{}", ran.out, ran.err);
    assert_eq!((rows[0][1], rows[1][1], rows[0][2], rows[1][2]), ("cpu0_clock_khz", "800012", "cpu0_busy_percent", ""));
}

/// The picture in a terminal by script(1), once it is there: the terminal, where its text goes, and the command's process.
fn drawn(desk: &Desk) -> (Child, PathBuf, Pid) {
    let out = desk.beside("out");
    let body = "stty rows 24 cols 80; echo before $(stty -g); \
                sh -c 'echo pid $$ here; exec \"$P\" --machine sim:quadcore watch --interval 100ms'; \
                echo code $?; echo after $(stty -g)";
    let mut command = Command::new("script");
    desk.furnish(&mut command);
    command.args(["-qefc", body, "/dev/null"]).env("P", env!("CARGO_BIN_EXE_powerband")).env("TERM", "xterm");
    command.stdin(Stdio::piped()).stdout(File::create(&out).unwrap());
    let child = command.spawn().unwrap();
    until("it draws", || text_of(&out).contains("q quit") && text_of(&out).contains("2.40"));
    let text = text_of(&out);
    let pid = text.split("pid ").nth(1).and_then(|rest| rest.split(" here").next()).unwrap();
    let pid = Pid::from_raw(pid.parse().unwrap()).unwrap();
    (child, out, pid)
}

fn text_of(path: &Path) -> String {
    String::from_utf8_lossy(&fs::read(path).unwrap()).into_owned()
}

/// What is on such a terminal before and behind the command's code; what ends it: a key, or a signal.
fn pictured(key: Option<&[u8]>) -> (String, String) {
    let desk = Desk::new();
    let (mut child, out, pid) = drawn(&desk);
    match key {
        Some(key) => child.stdin.as_mut().unwrap().write_all(key).unwrap(),
        None => kill_process(pid, Signal::TERM).unwrap(),
    }
    until("it ends", || text_of(&out).contains("after "));
    child.wait().unwrap();
    let text = text_of(&out);
    let (drawn, after) = text.rsplit_once("code ").unwrap();
    (drawn.to_owned(), after.to_owned())
}

#[test]
fn the_terminal_is_as_before_however_it_ends() {
    for (key, code) in [(Some(&b"q"[..]), "0"), (Some(&b"\x03"[..]), "130"), (None, "130")] {
        let (drawn, after) = pictured(key);
        assert!(drawn.contains("\x1b[?1049h"), "it has a screen of its own");
        let left = drawn.rfind("\x1b[?1049l").unwrap();
        assert!(left > drawn.rfind("\x1b[?1049h").unwrap() && drawn[left..].contains("\x1b[?25h"), "and gives it back");
        let modes = |text: &str, word: &str| text.split(word).nth(1).unwrap().lines().next().unwrap().trim().to_owned();
        assert_eq!(modes(&after, "after "), modes(&drawn, "before "), "{key:?}");
        assert_eq!(after.lines().next().unwrap().trim(), code, "{key:?}");
    }
}

#[test]
fn it_ends_with_its_terminal() {
    let desk = Desk::new();
    let (mut child, _, pid) = drawn(&desk);
    child.kill().unwrap();
    child.wait().unwrap();
    let place = format!("/proc/{}", pid.as_raw_pid());
    until("it is gone, too", || !Path::new(&place).exists());
}
