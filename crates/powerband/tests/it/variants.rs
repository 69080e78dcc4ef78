//! What settings change about the load: environment variables, and what runs next to it.
use std::fs;

use rustix::process::Signal;
use serde_json::Value;

use crate::desk::{Desk, typical, until};

const QUICK: [&str; 4] = ["--warmup", "0", "--runs", "2"];

fn labels(report: &powerband_report::json::Report) -> Vec<&str> {
    report.settings.iter().map(|setting| setting.label.as_str()).collect()
}

/// What each trial's command printed, by setting.
fn printed(desk: &Desk) -> Vec<(u64, String)> {
    let events: Vec<Value> = desk.journal().iter().map(|line| serde_json::from_str(line).unwrap()).collect();
    let setting_of = |trial: &Value| {
        let started = events.iter().find(|event| event["event"] == "trial_started" && event["trial"] == *trial);
        started.unwrap()["setting"].as_u64().unwrap()
    };
    let done = events.iter().filter(|event| event["event"] == "trial_done");
    let words = |event: &Value| event["outcome"]["output"]["load"]["stdout"].as_str().unwrap_or("").trim().to_owned();
    done.map(|event| (setting_of(&event["trial"]), words(event))).collect()
}

#[test]
fn an_environment_variable_is_set_for_the_load_alone() {
    let desk = Desk::new();
    for machine in [None, Some(format!("cmd:{} agent", env!("CARGO_BIN_EXE_powerband"))), Some("sh:sh".to_owned())] {
        for repeat in ["1", "2"] {
            let at: Vec<&str> = machine.iter().flat_map(|machine| ["--machine", machine.as_str()]).collect();
            let words = ["try", "env.LEVEL=it's low,high", "--repeat", repeat, "--", "echo \"got $LEVEL\"; sleep 0.01"];
            let report = desk.report(&[&at[..], &words[..2], &QUICK, &words[2..]].concat());
            assert_eq!(labels(&report)[1..], ["env.LEVEL=\"it's low\"", "env.LEVEL=high"]);
            assert_eq!(report.settings[0].turns, "");
            for (setting, words) in printed(&desk) {
                let word = ["got", "got it's low", "got high"][setting as usize];
                let lines: Vec<&str> = words.lines().map(str::trim).collect();
                assert_eq!(lines, vec![word; repeat.parse().unwrap()], "{machine:?}");
            }
        }
    }
    let sim = ["--machine", "sim:quadcore", "try", "env.A=1,2", "--load", "counter"];
    assert!(desk.run(&sim).refused(2).contains("env.A"));
    let plan = desk.beside("plan.toml");
    let demand = "machine = \"sim:quadcore\"\ntry = [\"env.A=1,2\"]\n[load]\nkind = \"command\"\nargv = [\"x\"]\ndemand = { cycles = 1000000 }\n";
    fs::write(&plan, demand).unwrap();
    let ran = desk.run(&["run", plan.to_str().unwrap()]);
    assert!(ran.out.contains("env.A") || ran.err.contains("env.A"), "{} {}", ran.out, ran.err);
}

#[test]
fn a_variable_crosses_with_a_knob() {
    let desk = Desk::new();
    let file = desk.beside("knob");
    fs::write(&file, "0\n").unwrap();
    let axis = format!("{}=1,2", desk.knob("knob"));
    let line = format!("echo $A $(cat {})", file.display());
    let words = ["try", &axis, "env.A=x,y", "--settle", "0", "--repeat", "1"];
    desk.report(&[&words[..], &QUICK, &["--", &line]].concat());
    let mut all = printed(&desk);
    all.sort();
    all.dedup();
    let words: Vec<&str> = all.iter().map(|(_, words)| words.as_str()).collect();
    assert_eq!(words, ["0", "x 1", "y 1", "x 2", "y 2"]);
    assert_eq!(fs::read_to_string(&file).unwrap(), "0\n");
}

/// Processes whose command line holds a word.
fn processes(word: &str) -> usize {
    let all = fs::read_dir("/proc").unwrap().filter_map(|entry| fs::read(entry.ok()?.path().join("cmdline")).ok());
    all.filter(|line| String::from_utf8_lossy(line).split('\0').any(|it| it.contains(word))).count()
}

#[test]
fn a_background_load_runs_while_the_load_does_and_ends_with_it() {
    let desk = Desk::new();
    let log = desk.beside("log");
    let beats = format!("cmd:while :; do echo >> {}; sleep 0.01; done", log.display());
    let axis = format!("background=none,{beats}");
    let report = desk.report(&[&["try", &axis][..], &QUICK, &["--", "sleep 0.3; true"]].concat());
    assert_eq!(labels(&report).len(), 2);
    assert_eq!(report.settings[0].label, "background=none");
    let beaten = fs::read_to_string(&log).unwrap().len();
    assert!(beaten > 4, "{beaten} beats in two trials");
    assert_eq!(processes(log.to_str().unwrap()), 0, "none outlives its trial");
    // One that ends by itself is no background.
    let ran = desk.run(&["try", "background=none,cmd:exit 0", "--warmup", "0", "--runs", "1", "--", "sleep 0.3; true"]);
    let told = ran.out.split_whitespace().collect::<Vec<_>>().join(" ") + &ran.err;
    assert!(told.contains("trial was over"), "{} {}", ran.out, ran.err);
}

#[test]
fn ctrl_c_and_a_kill_end_the_background_load() {
    for signal in [Signal::INT, Signal::KILL] {
        let desk = Desk::new();
        let log = desk.beside("log");
        // A time that no other process sleeps for.
        let time = format!("7{:07}", std::process::id());
        let setting = |name| format!("{name}:background=\"cmd:echo >> {}; exec sleep {time}\"", log.display());
        let (a, b) = (setting("a"), setting("b"));
        let words = ["try", "-s", &a, "-s", &b, "--reference", "a", "--warmup", "0", "--", "sleep", &time];
        let running = desk.start(&words);
        until("the background load", || log.exists() && processes(&time) > 2);
        running.signal(signal);
        running.end();
        until("the end of both", || processes(&time) == 0);
    }
}

#[test]
fn a_busy_cpu_wakes_sooner_than_an_idle_one() {
    let desk = Desk::new();
    let report = desk.report(&["run", "plans/wake-background.toml"]);
    assert_eq!(labels(&report), ["idle", "busy", "idle-awake", "busy-awake"]);
    let [idle, busy] = ["idle", "busy"].map(|it| typical(&report, it, "p50_us"));
    assert!(busy < idle, "{busy} us beside a busy loop, {idle} us on an idle CPU");
    let verdict = serde_json::to_value(&report.settings[1].verdicts["p50_us"]).unwrap()["verdict"].clone();
    assert_eq!(verdict, "better");
    // The same comparison that two experiments with a busy load make.
    let words = ["--machine", "sim:quadcore", "try", "background=spin@0-1,none", "--load", "counter", "--for", "1s"];
    let report = desk.report(&[&words[..], &["--pin", "1", "--warmup", "0", "--blocks", "3"]].concat());
    let [shared, alone] = ["background=spin@0-1", "background=none"].map(|it| typical(&report, it, "count_per_s"));
    assert!((0.4..0.6).contains(&(shared / alone)), "two loops share one CPU: {shared} of {alone}");
}
