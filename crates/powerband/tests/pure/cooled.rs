//! `--cool` on a machine whose temperature follows what it draws: whole experiments.
use std::fs;

use crate::desk::{Desk, split, workspace};

/// A laptop with a thermal zone, as `sim:PATH`.
fn machine(desk: &Desk) -> String {
    let built_in = fs::read_to_string(workspace().join("machines/sim/laptop.toml")).unwrap();
    let path = desk.beside("warm.toml");
    let thermal = "zone = \"x86_pkg_temp\"\nambient_c = 25.0\nresistance_k_w = 3.5\ntime_constant_s = 20.0";
    fs::write(&path, format!("{built_in}\n[thermal]\n{thermal}\n")).unwrap();
    format!("sim:{}", path.display())
}

/// What each trial ended at, °C, in the order they ran, and the notes of the report.
fn ran(desk: &Desk, machine: &str, more: &[&str]) -> (Vec<f64>, String) {
    let words = format!("try governor=performance,powersave --machine `{machine}` --load counter --for 20s");
    let words = split(&words);
    let quick = split("--metric temperature_c --blocks 3 --warmup 0 -v");
    let told = desk.run(&[&words[..], &quick, more].concat()).ended(0).out;
    let events = desk.journal().into_iter().map(|line| serde_json::from_str::<serde_json::Value>(&line).unwrap());
    let done = events.filter(|event| event["event"] == "trial_done");
    let ends = done.map(|event| event["outcome"]["metrics"]["temperature_c"].as_f64().unwrap()).collect();
    (ends, told.split_whitespace().collect::<Vec<_>>().join(" "))
}

#[test]
fn trials_that_would_begin_hot_wait_and_all_end_alike() {
    let desk = Desk::new();
    let machine = machine(&desk);
    let (hot, told) = ran(&desk, &machine, &[]);
    assert!(!told.contains("cool down"), "{told}");
    let (cool, told) = ran(&desk, &machine, &["--cool", "35C"]);
    assert!(told.contains("to cool down") && !told.contains("began hotter"), "{told}");
    assert!(hot.len() >= 9 && cool.len() == hot.len());
    let hottest = |all: &[f64]| all.iter().copied().fold(f64::MIN, f64::max);
    // In one time constant what a trial begins above the air fades to 37 %.
    assert!(hottest(&cool) + 2.0 < hottest(&hot), "{cool:?} {hot:?}");
}

#[test]
fn the_report_counts_trials_that_began_hotter_when_the_wait_was_over() {
    let desk = Desk::new();
    let machine = machine(&desk);
    let (ends, told) = ran(&desk, &machine, &["--cool", "26C:1s"]);
    // Only the first trial finds the machine as cool as the air.
    let hotter = format!("{} trials began hotter than 26 °C (up to ", ends.len() - 1);
    assert!(told.contains(&hotter) && told.contains("as 1 s were not enough to cool down"), "{hotter}: {told}");
}
