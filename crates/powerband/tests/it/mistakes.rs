//! Mistakes that a process meets: loads that fail, a machine without cpufreq, a state folder that is none.
use std::fs;

use crate::desk::{Desk, text};

/// Refused with `code` before anything began: no experiment is kept, nothing is changed; the sentence.
#[track_caller]
fn refuses(line: &str, code: i32) -> String {
    let desk = Desk::new();
    let why = desk.run(&line.split(' ').collect::<Vec<_>>()).refused(code);
    assert_eq!((desk.experiments(), desk.turned()), (0, 0));
    why
}

#[test]
fn this_machine_has_no_cpufreq() {
    if std::path::Path::new("/sys/devices/system/cpu/cpufreq/policy0").exists() {
        eprintln!("skipped: this machine has cpufreq");
        return;
    }
    for line in [
        "set governor=performance",
        "get governor",
        "info cpu",
        "with governor=performance -- true",
        "try governor=performance,powersave -- true",
    ] {
        let why = refuses(line, 4);
        assert!(why.contains("cgroup.cpu_quota") && why.contains("sim:"), "{why}");
    }
}

#[test]
fn a_failing_load_is_taken_when_that_is_asked_for() {
    let desk = Desk::new();
    let words = ["try", "-i", "-s", "a:", "-s", "b:", "--settle", "0", "--blocks", "2", "--", "sh", "-c", "exit 3"];
    assert_eq!(desk.report(&words).trials, 4);
}

#[test]
fn a_load_that_fails_under_one_setting_costs_only_that_setting() {
    let desk = Desk::new();
    let path = desk.beside("knob");
    fs::write(&path, "0").unwrap();
    let (bad, good) = (format!("bad:{}=1", desk.knob("knob")), format!("good:{}=2", desk.knob("knob")));
    let script = format!("test $(cat {}) != 1", path.display());
    let line = "try -s a: -s BAD -s GOOD --settle 0 --blocks 2 --warmup 0 -- sh -c SCRIPT";
    let words = line.split(' ').map(|word| match word {
        "BAD" => bad.as_str(),
        "GOOD" => good.as_str(),
        "SCRIPT" => script.as_str(),
        word => word,
    });
    let report = desk.report(&words.collect::<Vec<_>>());
    assert_eq!(report.blocks, 2);
    assert!(report.voids.len() >= 3 && report.voids.iter().all(|void| void.setting == "bad"), "{:?}", report.voids);
    assert!(report.settings.iter().find(|s| s.label == "bad").unwrap().left.is_some());
    assert_eq!(report.settings.iter().find(|s| s.label == "good").unwrap().levels["real_s"].trials, 2);
    assert_eq!(text(&path), "0");
}

#[test]
fn a_state_folder_is_named_by_its_whole_path() {
    let desk = Desk::new();
    let set = format!("set {}=1", desk.knob("knob"));
    let why = desk.run_with("POWERBAND_STATE_DIR", "states/mine", &set).refused(2);
    assert!(why.contains("POWERBAND_STATE_DIR is 'states/mine'"), "{why}");
    assert!(why.contains("write POWERBAND_STATE_DIR=/") && why.ends_with("/states/mine"), "{why}");
    assert!(!desk.beside("knob").exists());
    // So does an agent, through the one that it serves.
    let agent = format!("cmd:env POWERBAND_STATE_DIR=states/mine {} agent", env!("CARGO_BIN_EXE_powerband"));
    let why = desk.run(&["--machine", &agent, "info", "turned"]).refused(2);
    assert!(why.contains("POWERBAND_STATE_DIR is 'states/mine'"), "{why}");
}

#[test]
fn a_file_whose_name_has_a_blank_is_a_knob_and_no_command() {
    let desk = Desk::new();
    fs::write(desk.beside("a b"), "0\n").unwrap();
    let (knob, file) = (desk.knob("a b"), desk.beside("a b").display().to_string());
    let tried = format!("{knob}=1,2");
    desk.run(&["try", &tried, "--runs", "2", "--warmup", "0", "--settle", "0", "--", "cat", &file]).ended(0);
    assert_eq!(text(file.as_ref()), "0\n");
}
