//! `tune` and tables of measurements when powerband is killed, and on this machine.
use std::fs;

use powerband_record::SearchEnd;
use powerband_report::json::{Report, SearchRow};
use rustix::process::Signal;

use crate::desk::{Desk, KEEPER, machine_alone, root, typical, until, workspace};

fn search(report: &Report) -> &SearchRow {
    report.search.as_ref().unwrap()
}

#[test]
fn killed_and_gone_on_with_it_gives_the_same_bytes() {
    let whole = Desk::new();
    whole.run(&KEEPER).ended(0);
    let lines = whole.journal();
    let desk = Desk::new();
    desk.run(&KEEPER).ended(0);
    assert_eq!(desk.journal(), lines);
    // On a simulated machine, in the middle.
    let words =
        ["--machine", "sim:quadcore", "tune", "max_freq=all", "governor=all", "--load", "counter", "--for", "5s"];
    let words = [&words[..], &["--minimize", "power_w", "--require", "count_per_s>=1", "--quiet"]].concat();
    whole.run(&words).ended(0);
    let running = desk.start(&words);
    let finished = || desk.run(&["export", "last", "--journal"]).out.matches("\"trial_done\"").count();
    until("a few trials are finished", || desk.experiments() == 2 && finished() >= 3);
    running.signal(Signal::KILL);
    let ended = running.end();
    if ended.code != Some(0) {
        desk.run(&["resume", "--quiet"]).ended(0);
    }
    assert_eq!(desk.journal(), whole.journal());
}

#[test]
fn a_table_is_compared_by_try_too_and_another_table_is_known_for_one() {
    let desk = Desk::new();
    let folder = desk.beside("");
    for file in ["keeper.csv", "keeper.toml"] {
        fs::copy(workspace().join("machines/tables").join(file), folder.join(file)).unwrap();
    }
    let machine = format!("table:{}", folder.join("keeper.csv").display());
    let words =
        ["--machine", &machine, "try", "freq=1.4GHz,2.8GHz", "rx-usecs=60", "--metric", "watts", "--blocks", "40"];
    let report = desk.report(&words);
    assert_eq!(report.settings[1].label, "freq=1400MHz");
    assert_eq!(report.settings[1].verdicts["power_w"].verdict, powerband_record::Verdict::Better);
    assert_eq!(report.settings[2].verdicts["power_w"].verdict, powerband_record::Verdict::Worse);
    // Twice the same: that is never decided, so that it runs until it is killed.
    let same = ["-s", "a:freq=1.4GHz rx-usecs=60", "-s", "b:freq=1.4GHz rx-usecs=60", "--reference", "a"];
    let ends = ["--metric", "watts", "--blocks", "100000", "--margin", "0.0001%", "--quiet"];
    let long = [&words[..3], &same, &ends].concat();
    let running = desk.start(&long);
    until("it runs", || desk.experiments() == 2);
    running.signal(Signal::KILL);
    assert_eq!(running.end().code, None, "it was killed");
    let rows = fs::read_to_string(folder.join("keeper.csv")).unwrap();
    fs::write(folder.join("keeper.csv"), rows + "set,2,1400000,60,45.7,184.0\n").unwrap();
    let why = desk.run(&["resume"]).refused(2);
    assert!(why.contains("its table was a table of 184 rows"), "{why}");
}

/// Counts to a fixed number; at 100 % of a CPU that takes a moment, at less longer.
const WORK: [&str; 4] = ["--", "sh", "-c", "i=0; while [ $i -lt 60000 ]; do i=$((i+1)); done"];

#[test]
fn the_least_of_a_cpu_that_a_command_bears_is_found_on_this_machine() {
    if !root() {
        return;
    }
    let (_one, desk) = (machine_alone(), Desk::new());
    let first = [
        "try",
        "-s",
        "whole:cgroup.cpu_quota=100%",
        "-s",
        "same:cgroup.cpu_quota=100%",
        "--blocks",
        "3",
        "--settle",
        "0",
    ];
    let whole_s = typical(&desk.report(&[&first[..], &WORK].concat()), "whole", "real_s");
    let limit = format!("real_s<={}", 2.5 * whole_s);
    let tune = ["tune", "cgroup.cpu_quota=10%..100%:10", "--minimize", "cgroup.cpu_quota", "--require", &limit];
    let report = desk.report(&[&tune[..], &["--settle", "0", "--budget", "60s"], &WORK].concat());
    let found = search(&report);
    assert_eq!(found.settings, 10);
    if found.end == Some(SearchEnd::Confirmed) {
        let label = found.label.as_ref().unwrap();
        assert!(typical(&report, label, "real_s") <= 2.5 * whole_s, "{}", report.finding);
        let share: u32 = found
            .turns
            .as_ref()
            .unwrap()
            .trim_start_matches("cgroup.cpu_quota=")
            .trim_end_matches('%')
            .parse()
            .unwrap();
        // A share that is more than what is needed twice over is no least. A tenth of a CPU takes ten times as long, but is enough where
        // others had the CPUs while the whole was measured, and have left.
        assert!((10..=90).contains(&share), "{}", report.finding);
        assert!(found.typed.as_ref().unwrap().ends_with(" -- COMMAND"), "{:?}", found.typed);
    } else {
        assert!(found.why.is_some() || found.end == Some(SearchEnd::NoneKeeps), "{}", report.finding);
    }
    assert_eq!(desk.turned(), 0);
}
