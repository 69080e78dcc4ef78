//! `try` on this machine: quotas, files, kernel settings. Structure and restoration, never the words of a verdict, for
//! what a busy machine does to a real load is not ours to promise.
use std::fs;
use std::path::{Path, PathBuf};

use powerband_report::json::Report;

use crate::desk::{Desk, level, machine_alone, root, split, text, typical, until};

/// Control groups of ours that are there now.
fn groups() -> Vec<PathBuf> {
    let mut found = Vec::new();
    let mut folders = vec![PathBuf::from("/sys/fs/cgroup")];
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(&folder).into_iter().flatten().flatten() {
            if !entry.file_type().is_ok_and(|kind| kind.is_dir()) {
                continue;
            }
            if entry.file_name().to_string_lossy().starts_with("powerband-load-") {
                found.push(entry.path());
            }
            folders.push(entry.path());
        }
    }
    found
}

/// Groups that are there now and were not before.
fn left_behind(before: &[PathBuf]) -> Vec<PathBuf> {
    groups().into_iter().filter(|group| !before.contains(group)).collect()
}

/// Runs the same comparison until its figures tell the quotas apart, five times at most: what else runs on the machine
/// can take away the CPU that a larger quota leaves, and so pull a round together, but never apart.
fn told_apart(desk: &Desk, words: &[&str], apart: impl Fn(&Report) -> bool) -> Report {
    let mut report = desk.report(words);
    for _ in 1..5 {
        if apart(&report) {
            break;
        }
        report = desk.report(words);
    }
    report
}

#[test]
fn less_quota_counts_less_and_no_group_is_left() {
    let Some(desk) = Desk::as_root() else { return };
    let _alone = machine_alone();
    let before = groups();
    let words = "try cgroup.cpu_quota=4%,12%,100% --load counter --for 300ms --settle 0 --blocks 6";
    let words: Vec<&str> = words.split(' ').collect();
    let rates = |report: &Report| {
        ["4%", "12%", "100%"].map(|quota| typical(report, &format!("cpu_quota={quota}"), "count_per_s"))
    };
    let apart = |report: &Report| {
        // Next to others at work a load without a quota gets a share of a CPU only.
        let [least, less, whole] = rates(report);
        0.0 < least && least < 0.8 * less && less < 0.8 * whole
    };
    let report = told_apart(&desk, &words, apart);
    assert!(apart(&report), "{:?}", rates(&report));
    assert_eq!(report.settings.len(), 4);
    assert_eq!(report.settings[0].label, "baseline");
    assert!(report.blocks >= 1 && report.blocks <= 6);
    assert!(report.restored.as_ref().is_some_and(|restored| restored.failed.is_empty() && restored.entries > 0));
    assert_eq!(left_behind(&before), Vec::<PathBuf>::new());
    assert_eq!(desk.turned(), 0);
}

#[test]
fn a_command_under_a_tenth_of_a_cpu_takes_longer() {
    let Some(desk) = Desk::as_root() else { return };
    let _alone = machine_alone();
    let before = groups();
    let file = desk.beside("ten-megabytes");
    fs::write(&file, vec![7; 10 << 20]).unwrap();
    let path = file.display().to_string();
    let words = format!("try cgroup.cpu_quota=10%,100% --settle 0 --blocks 4 -- sha256sum `{path}`");
    let words = split(&words);
    let seconds =
        |report: &Report| ["10%", "100%"].map(|quota| typical(report, &format!("cpu_quota={quota}"), "real_s"));
    let apart = |report: &Report| {
        let [tenth, whole] = seconds(report);
        tenth > 1.2 * whole
    };
    let report = told_apart(&desk, &words, apart);
    assert!(apart(&report), "{:?} s with a tenth of a CPU and with one", seconds(&report));
    // No process runs longer on a CPU than the clock on the wall goes.
    for setting in &report.settings {
        let cpu = typical(&report, &setting.label, "user_s");
        let real = typical(&report, &setting.label, "real_s");
        assert!(cpu <= 1.1 * real, "{}: {cpu} s of CPU in {real} s", setting.label);
    }
    assert_eq!(left_behind(&before), Vec::<PathBuf>::new());
    assert_eq!(desk.turned(), 0);
}

#[test]
fn a_command_takes_as_long_as_it_sleeps() {
    let desk = Desk::new();
    let words = split("try -s a: -s b: --settle 0 --blocks 4 -- sleep 0.02");
    let report = desk.report(&words);
    let real = typical(&report, "a", "real_s");
    // Its trials fit into the time that the experiment took.
    let most = report.elapsed_s / f64::from(report.trials);
    assert!(0.02 <= real && real <= 2.0 * most, "sleep 0.02 took {real} s, and a trial {most} s");
}

#[test]
fn a_short_command_does_not_work_longer_than_it_takes() {
    let desk = Desk::new();
    let words = split("try -s a: -s b: --settle 0 --blocks 6 -- true");
    let report = desk.report(&words);
    for label in ["a", "b"] {
        let (real, user) = (typical(&report, label, "real_s"), typical(&report, label, "user_s"));
        assert!(real >= 0.8 * user, "{label}: {user} s of CPU inside {real} s");
    }
}

/// A file turned between two settings, its value read by the load; what is there afterwards.
fn file_is_seen(before: Option<&str>) {
    let desk = Desk::new();
    let path = desk.beside("knob");
    if let Some(before) = before {
        fs::write(&path, before).unwrap();
    }
    let (zero, one) = (format!("zero:{}=0", desk.knob("knob")), format!("one:{}=1", desk.knob("knob")));
    let metric = "value_x=regex:([0-9]+):higher";
    let script = format!("cat {}", path.display());
    let report = desk.report(&[
        "try",
        "-s",
        "found:",
        "-s",
        &zero,
        "-s",
        &one,
        "--reference",
        "zero",
        "--settle",
        "0",
        "--blocks",
        "3",
        "--metric",
        metric,
        "-i",
        "--",
        "sh",
        "-c",
        &format!("{script} 2>/dev/null || echo 5"),
    ]);
    assert_eq!(typical(&report, "zero", "value_x"), 0.0);
    assert_eq!(typical(&report, "one", "value_x"), 1.0);
    let found = before.map_or(5.0, |text| text.trim().parse().unwrap());
    assert_eq!(typical(&report, "found", "value_x"), found);
    assert!(report.voids.is_empty());
    assert!(report.settings.iter().all(|setting| level(&report, &setting.label, "value_x").trials >= 2));
    assert_eq!(fs::read_to_string(&path).ok().as_deref(), before, "the file is as it was, to the byte");
    assert_eq!(desk.turned(), 0);
}

#[test]
fn a_file_is_turned_and_comes_back_to_the_byte() {
    file_is_seen(Some("4\n"));
    file_is_seen(Some("4"));
    file_is_seen(Some(" 4 \n\n"));
}

#[test]
fn a_file_that_was_not_there_is_gone_again() {
    file_is_seen(None);
}

#[test]
fn a_kernel_setting_is_turned_and_comes_back() {
    let Some(desk) = Desk::as_root() else { return };
    let path = Path::new("/proc/sys/vm/swappiness");
    let before = text(path);
    let now: u32 = before.trim().parse().unwrap();
    let other = if now >= 100 { now - 1 } else { now + 1 };
    let setting = format!("other:sysctl.vm.swappiness={other}");
    let report = desk.report(&split(&format!("try -s found: -s `{setting}` --settle 0 --blocks 2 --metric seen_x=regex:([0-9]+) -- cat /proc/sys/vm/swappiness")));
    for (label, value) in [("found", now), ("other", other)] {
        // A typical value is a geometric mean, and may be off in its last bits.
        let seen = typical(&report, label, "seen_x");
        assert!((seen - f64::from(value)).abs() < 1e-6, "{label}: {seen} instead of {value}");
    }
    assert_eq!(text(path), before);
    assert_eq!(desk.turned(), 0);
}

#[test]
fn somebody_who_turns_a_knob_meanwhile_voids_the_trial() {
    let desk = Desk::new();
    let path = desk.beside("knob");
    fs::write(&path, "0\n").unwrap();
    let (moved, kept) = (format!("moved:{}=1", desk.knob("knob")), format!("kept:{}=1", desk.knob("other")));
    // The load itself is the somebody.
    let script = format!("echo 9 > {}", path.display());
    let settings = ["try", "-s", "a:", "-s", &moved, "-s", &kept];
    let options = format!("--settle 0 --blocks 2 --warmup 0 -- sh -c `{script}`");
    let options = split(&options);
    let report = desk.report(&[&settings[..], &options[..]].concat());
    assert!(report.voids.len() >= 3, "{:?}", report.voids);
    assert!(report.voids.iter().all(|void| void.setting == "moved" && void.why.contains('9')), "{:?}", report.voids);
    let measured = |label: &str| report.settings.iter().any(|s| s.label == label && s.levels.contains_key("real_s"));
    assert!(measured("a") && measured("kept"));
    assert!(!measured("moved"), "a void trial in a mean");
}

#[test]
fn an_experiment_in_which_no_other_setting_ever_held_does_not_end_well() {
    let desk = Desk::new();
    let path = desk.beside("knob");
    fs::write(&path, "0\n").unwrap();
    let (setting, script) = (format!("b:{}=1", desk.knob("knob")), format!("echo 9 > {}", path.display()));
    let options = format!("--settle 0 --blocks 2 --warmup 0 -- sh -c `{script}`");
    let options = split(&options);
    let ran = desk.run(&[&["try", "-s", "a:", "-s", &setting], &options[..]].concat());
    assert!(matches!(ran.code, Some(7 | 8)), "{:?}: {}", ran.code, ran.err);
    // As root also by whom.
    assert!(ran.err.contains("moved by someone else") || ran.err.contains("was written by pid"), "{}", ran.err);
    assert_eq!(desk.report(&["show"]).state, "ended");
}

#[test]
fn a_budget_ends_it_and_what_was_measured_is_told() {
    let desk = Desk::new();
    // Six settings of one kind: chance calls one of them better now and then, all five never.
    let settings = "try -s a: -s b: -s c: -s d: -s e: -s f: --settle 0 --budget 2s --margin 0.0001% --repeat 1";
    let report = desk.report(&split(&format!("{settings} -- sleep 0.05")));
    assert_eq!(report.reason, Some(powerband_record::CloseReason::Budget));
    assert!(report.trials > 0);
    let begins = desk.journal().into_iter().filter(|line| line.contains("\"trial_started\""));
    let begins: Vec<serde_json::Value> = begins.map(|line| serde_json::from_str(&line).unwrap()).collect();
    assert!(begins.iter().all(|event| event["at_ns"].as_u64().unwrap() < 2_000_000_000), "{begins:?}");
}

#[test]
fn crossed_settings_are_labelled_by_what_they_turn() {
    let desk = Desk::new();
    let (one, two) = (format!("{}=1,2", desk.knob("one")), format!("{}=1,2", desk.knob("two")));
    let dry = desk.json(&["try", &one, &two, "--dry-run", "--", "true"]);
    let labels: Vec<&str> =
        dry["settings"].as_array().unwrap().iter().skip(1).map(|setting| setting["label"].as_str().unwrap()).collect();
    assert_eq!(labels.len(), 4);
    for (index, label) in labels.iter().enumerate() {
        assert!(label.contains("one=") && label.contains("two="), "{label} does not say which file is which");
        assert!(!labels[..index].contains(label), "{labels:?}");
    }
}

#[test]
fn powerbands_with_a_ledger_each_do_not_share_a_group() {
    if !root() {
        return;
    }
    let _alone = machine_alone();
    let (one, two) = (Desk::new(), Desk::new());
    let running = one.start(&split("with cgroup.cpu_quota=50% -- sleep 300"));
    until("the first has its group", || one.turned() == 1);
    let ran = two.run(&["with", "cgroup.cpu_quota=25%", "--", "true"]).ended(0);
    assert!(ran.err.is_empty(), "{}", ran.err);
    running.signal(rustix::process::Signal::INT);
    running.end().ended(130);
}
