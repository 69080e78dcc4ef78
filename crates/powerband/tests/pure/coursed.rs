//! `--record`: the clock and the use of CPUs over a trial, from the words to the tables and pictures.
use crate::desk::Desk;

const TRY: [&str; 12] = [
    "try",
    "governor=ondemand,powersave",
    "--machine",
    "sim:quadcore",
    "--load",
    "counter",
    "--for",
    "2s",
    "--blocks",
    "2",
    "--warmup",
    "0",
];

#[test]
fn what_is_recorded_is_shown_and_drawn_and_changes_no_result() {
    let (plain, desk) = (Desk::new(), Desk::new());
    let without = plain.report(&TRY);
    let with = desk.report(&[&TRY[..], &["--record", "clock,utilisation"]].concat());
    let results = |report: &powerband_report::json::Report| serde_json::to_value(&report.settings).unwrap();
    assert_eq!(results(&without), results(&with));
    assert!(plain.journal().iter().all(|line| !line.contains("timelines") && !line.contains("\"record\"")));
    let table = desk.run(&["show", "--timelines"]).ended(0).out;
    for words in ["clock: policy0", "mean MHz", "utilisation: cpu3", "mean %"] {
        assert!(table.contains(words), "{words}:\n{table}");
    }
    let csv = desk.run(&["export", "--csv", "--timelines"]).ended(0).out;
    // The counter is on one CPU and keeps it busy; ondemand gives it the highest clock, powersave the lowest.
    let last = |setting: &str, of: &str, column: usize| -> Vec<f64> {
        let lines = csv.lines().filter(|line| line.contains(setting) && line.contains(&format!("\"{of}\"")));
        lines.filter_map(|line| line.split(',').nth(column)?.parse().ok()).collect()
    };
    let busiest = |setting: &str| {
        (0..4)
            .map(|cpu| last(setting, &format!("cpu{cpu}"), 9))
            .map(|it| it.iter().sum::<f64>() / it.len() as f64)
            .fold(0.0, f64::max)
    };
    assert!(busiest("governor=powersave") > 0.95);
    let highest = |setting: &str| (0..4).flat_map(|cpu| last(setting, &format!("policy{cpu}"), 8)).fold(0.0, f64::max);
    assert!((highest("governor=ondemand"), highest("governor=powersave")) == (2400.0, 1600.0));
    let page = desk.run(&["report", "-o", "-"]).ended(0).out;
    for id in ["picture-clock-policy0", "picture-use-means", "picture-use-course"] {
        assert!(page.contains(&format!("<figure id=\"{id}\"")), "{id}");
    }
    // From the page alone it is recorded again.
    let file = desk.beside("page.html");
    std::fs::write(&file, page).unwrap();
    let journal = desk.journal();
    desk.run(&["run", "--again", &file.display().to_string()]).ended(0);
    assert_eq!(desk.journal(), journal);
}

#[test]
fn what_would_be_recorded_is_told_before() {
    let desk = Desk::new();
    let dry = [&TRY[..], &["--record", "clock@1,77,utilisation:1s", "--dry-run"]].concat();
    let told = desk.run(&dry).ended(0).out;
    assert!(told.contains("\nrecorded: clock of CPUs 1 every 100 ms, utilisation of CPUs 0-3 every 1 s\n"), "{told}");
    let record = &desk.json(&dry)["record"];
    assert_eq!((&record[0]["cpus"], &record[0]["period_ns"]), (&"1".into(), &100_000_000.into()));
    assert_eq!((&record[1]["what"], &record[1]["cpus"]), (&"utilisation".into(), &"0-3".into()));
    // Where turning is narrowed, so is recording.
    let narrow = desk.json(&[&dry[..], &["-c", "2-3"]].concat());
    assert_eq!((&narrow["record"][0]["cpus"], &narrow["record"][1]["cpus"]), (&"1".into(), &"2-3".into()));
    assert!(desk.json(&[&TRY[..], &["--dry-run"]].concat()).get("record").is_none());
}

/// The clock of CPU 0 by the time, s: while the load runs, and after it.
fn clock_of(csv: &str, setting: &str) -> Vec<(f64, f64)> {
    let lines = csv.lines().filter(|line| line.contains(setting) && line.contains("\"policy0\""));
    let cell = |line: &str, column: usize| line.split(',').nth(column).and_then(|text| text.parse().ok());
    lines.filter_map(|line| Some((cell(line, 6)?, cell(line, 8)?))).collect()
}

#[test]
fn the_climb_of_conservative_and_its_descent_are_seen() {
    let desk = Desk::new();
    let words = [
        "--machine",
        "sim:quadcore",
        "try",
        "governor=conservative,ondemand",
        "--load",
        "counter",
        "--for",
        "2s",
        "--blocks",
        "1",
        "--warmup",
        "0",
        "--record",
        "clock:10ms,after=3s",
    ];
    desk.run(&words).ended(0);
    let csv = desk.run(&["export", "--csv", "--timelines"]).ended(0).out;
    let steps = |setting: &str| -> Vec<f64> {
        let mut clock: Vec<f64> = clock_of(&csv, setting).into_iter().map(|(_, mhz)| mhz).collect();
        clock.dedup();
        clock
    };
    let up_and_down = |steps: &[f64]| {
        let top = steps.iter().position(|mhz| *mhz == 2400.0).unwrap();
        (steps[..=top].to_vec(), steps[top..].to_vec())
    };
    let (climb, descent) = up_and_down(&steps("governor=conservative"));
    assert!(climb.len() > 3 && climb.is_sorted(), "{climb:?}");
    assert!(descent.len() > 3 && descent.iter().rev().is_sorted() && descent.last() == Some(&1600.0), "{descent:?}");
    let (jump, fall) = up_and_down(&steps("governor=ondemand"));
    assert_eq!((jump, fall), (vec![1600.0, 2400.0], vec![2400.0, 1600.0]));
    let last_s = clock_of(&csv, "governor=conservative").last().unwrap().0;
    assert!((4.9..5.2).contains(&last_s), "{last_s}");
    // A page says how it was recorded, so that it is recorded again.
    let file = desk.beside("page.html");
    desk.run(&["report", "-o", &file.display().to_string()]).ended(0);
    let journal = desk.journal();
    desk.run(&["run", "--again", &file.display().to_string()]).ended(0);
    assert_eq!(desk.journal(), journal);
}

#[test]
fn a_simulated_machine_is_watched_while_it_counts_primes() {
    let desk = Desk::new();
    desk.run(&["--machine", "sim:mpi-server", "set", "governor=conservative"]).ended(0);
    let words =
        ["--machine", "sim:mpi-server", "watch", "--load", "primes", "--interval", "20ms", "--for", "40s", "--json"];
    let out = desk.run(&words).ended(0).out;
    let mut clock: Vec<u64> = Vec::new();
    for line in out.lines() {
        let row: serde_json::Value = serde_json::from_str(line).unwrap();
        let now = row["cpu0_clock_khz"].as_u64().unwrap_or_else(|| panic!("{row}"));
        if clock.last() != Some(&now) {
            clock.push(now);
        }
    }
    let top = clock.iter().max().unwrap();
    let at = clock.iter().position(|khz| khz == top).unwrap();
    assert!(at > 3 && clock[..=at].is_sorted(), "{clock:?}");
    assert!(clock.last() < Some(top), "it goes down again: {clock:?}");
}
