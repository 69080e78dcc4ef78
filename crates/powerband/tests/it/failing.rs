//! Commands that fail under some settings, and metrics shown before anything is measured.
use powerband_record::{Better, DirectionSource, ExitStatus};
use serde_json::json;

use crate::desk::Desk;

/// Three settings of a variable, one of which the command cannot run with.
const SIZES: &str = "test ${k:-1} != 2 || exit 3; sleep 0.01";
const QUICK: [&str; 6] = ["--warmup", "0", "--runs", "5", "--settle", "0"];

fn sizes<'a>(more: &[&'a str], script: &'a str) -> Vec<&'a str> {
    [&["try", "env.k=1,2"], &QUICK[..], more, &["--", "sh", "-c", script]].concat()
}

#[test]
fn a_setting_whose_command_fails_is_neither_compared_nor_recommended() {
    let desk = Desk::new();
    let report = desk.report(&sizes(&["-i"], SIZES));
    let setting = |label: &str| report.settings.iter().find(|it| it.label == label).unwrap();
    let failed = setting("env.k=2");
    let trials = failed.failed.as_ref().unwrap();
    assert_eq!((trials.failed, trials.trials, trials.statuses.as_slice()), (5, 5, &[ExitStatus::Code(3)][..]));
    assert!(failed.verdicts.is_empty() && !failed.levels.is_empty());
    assert!(failed.measured.iter().all(|trial| trial.ended.is_some_and(|end| !end.accepted)));
    assert!(setting("env.k=1").failed.is_none() && setting("baseline").failed.is_none());
    assert!(report.recommended.is_none_or(|it| it.setting != "env.k=2"));
    assert!(report.finding.contains("env.k=2 failed in 5 of 5 trials (exit status 3)"), "{}", report.finding);
    for words in [&["show", "last"][..], &["show", "last", "-v"], &["export", "last", "--format", "md"]] {
        let text = desk.run(words).ended(0).out.split_whitespace().collect::<Vec<_>>().join(" ");
        assert!(text.contains("failed in 5 of 5 trials (exit status 3)"), "{words:?}: {text}");
    }
    let csv = desk.run(&["export", "last", "--format", "csv"]).ended(0).out;
    assert!(csv.lines().filter(|line| line.contains(",trial ") && line.ends_with(",3")).count() >= 5, "{csv}");
    let sentence = desk.run(&["compare", "1:env.k=1", "1:env.k=2"]).refused(2);
    assert!(sentence.contains("failed in 5 of 5 trials"), "{sentence}");
}

#[test]
fn a_status_that_is_named_counts_as_success_and_any_other_makes_the_trial_void() {
    let desk = Desk::new();
    let report = desk.report(&sizes(&["-i", "3,4"], SIZES));
    assert!(report.settings.iter().all(|it| it.failed.is_none()));
    let setting = report.settings.iter().find(|it| it.label == "env.k=2").unwrap();
    assert!(setting.measured.iter().all(|trial| trial.ended.is_some_and(|end| end.accepted)));
    assert!(!setting.verdicts.is_empty());
    let report = desk.report(&sizes(&["-i=4"], SIZES));
    assert!(report.voids.iter().all(|void| void.setting == "env.k=2" && void.why.contains("exit status 3")));
    assert_eq!(report.voids.len(), 3);
    assert!(desk.run(&sizes(&["-i=300"], SIZES)).refused(2).contains("'300' is not an exit status from 1 to 255"));
    let killed = "test ${k:-1} != 2 || kill -9 $$; sleep 0.01";
    let report = desk.report(&sizes(&["-i"], killed));
    let setting = report.settings.iter().find(|it| it.label == "env.k=2").unwrap();
    // Of several runs within a trial a signal is known by its code.
    let codes = setting.failed.as_ref().unwrap().statuses.iter().map(|status| status.code());
    assert_eq!(codes.collect::<Vec<_>>(), [137]);
    assert!(desk.report(&sizes(&["-i=137"], killed)).settings.iter().all(|it| it.failed.is_none()));
}

#[test]
fn metrics_are_shown_after_one_run_and_nothing_is_kept() {
    let desk = Desk::new();
    let log = desk.beside("log");
    let script = format!("echo run >> {}; echo '[1 s] 5 ops'; echo '[2 s] 6 ops'; echo 'all: 7 ops'", log.display());
    let metrics = ["--metric", "ops_per_s=regex:(\\d+) ops", "--metric", "x=regex-first:(\\d+) ops", "--show-metrics"];
    let words = [&["try", "env.k=1,2"], &metrics[..], &["--", "sh", "-c", &script]].concat();
    let shown = desk.json(&words);
    assert_eq!(std::fs::read_to_string(&log).unwrap().lines().count(), 3, "the baseline and two values");
    assert_eq!(shown["kind"], "metrics");
    let metric = |run: usize, name: &str| {
        let metrics = shown["runs"][run]["metrics"].as_array().unwrap();
        metrics.iter().find(|metric| metric["name"] == name).unwrap().clone()
    };
    let ops = metric(0, "ops_per_s");
    assert_eq!(
        (ops["value"].as_f64(), ops["unit"].as_str(), ops["line"].as_str()),
        (Some(7.0), Some("1/s"), Some("all: 7 ops"))
    );
    assert_eq!((&ops["better"], &ops["direction"]), (&json!(Better::Higher), &json!(DirectionSource::Name)));
    assert_eq!(ops["matches"], json!({"count": 3, "first": "5", "last": "7", "taken": "last"}));
    let x = metric(2, "x");
    assert_eq!((x["value"].as_f64(), &x["direction"]), (Some(5.0), &json!(DirectionSource::Guessed)));
    assert_eq!((desk.experiments(), desk.turned()), (0, 0));
    let unread = desk.run(&["try", "env.k=1,2", "--metric", "x=regex:nothing (\\d+)", "--show-metrics", "--", "true"]);
    assert!(unread.out.contains("x: not read: the load printed nothing that matches"), "{}", unread.out);
    assert_eq!(unread.code, Some(7));
}

#[test]
fn reports_have_which_match_was_taken_and_that_a_direction_was_guessed() {
    let desk = Desk::new();
    let script = "echo '[1 s] 5 ops'; echo '[2 s] 6 ops'; echo \"all: $((7 + ${k:-0})) ops\"";
    let report = desk.report(&sizes(&["--metric", "x=regex:(\\d+) ops"], script));
    let found = report.metrics.iter().find(|metric| metric.name == "x").unwrap().matches.clone().unwrap();
    assert_eq!((found.min_count, found.max_count, found.example.first.as_str()), (3, 3, "5"));
    assert!(report.notes.iter().any(|note| note.contains("use x=…:higher")), "{:?}", report.notes);
    let taken = desk.journal().iter().filter(|line| line.contains("\"taken\":\"last\"")).count();
    assert_eq!(u32::try_from(taken).unwrap(), found.trials);
    let stated = desk.report(&sizes(&["--metric", "x=regex:(\\d+) ops:lower"], script));
    assert!(stated.notes.iter().all(|note| !note.contains(":higher")), "{:?}", stated.notes);
}
