//! The counter's plan against the published article it repeats: counts follow the clock, ondemand costs nothing.
use std::sync::LazyLock;

use powerband_record::Verdict;
use powerband_report::json::Report;
use powerband_report::published::SettingResult;

use crate::desk::{Desk, published, typical};

static RUNS: LazyLock<Vec<Report>> = LazyLock::new(|| {
    let desk = Desk::new();
    (1..=20).map(|seed: u64| desk.report(&["--seed", &seed.to_string(), "run", "plans/counter.toml"])).collect()
});

fn mean(values: impl IntoIterator<Item = f64>) -> f64 {
    let values: Vec<f64> = values.into_iter().collect();
    values.iter().sum::<f64>() / values.len() as f64
}

fn count(label: &str) -> f64 {
    mean(RUNS.iter().map(|report| typical(report, label, "count")))
}

/// The label the plan gives to a published setting.
fn label(result: &SettingResult) -> String {
    match result.governor.as_deref() {
        Some("userspace") => format!("{}MHz", result.khz.unwrap() / 1000),
        Some(governor) => governor.into(),
        None => panic!("{} names no governor", result.setting),
    }
}

#[test]
fn counts_are_in_proportion_to_the_clock() {
    let article = published("counter-quadcore.toml");
    let per_khz: Vec<(u32, f64)> = article
        .results
        .iter()
        .filter_map(|result| result.khz.map(|khz| (khz, count(&label(result)) / f64::from(khz))))
        .collect();
    assert_eq!(per_khz.len(), 4);
    let (_, slowest) = per_khz[0];
    for (khz, rate) in &per_khz {
        assert!((rate / slowest - 1.0).abs() <= 0.03, "{khz} kHz: {rate} a kHz, {slowest} at the lowest clock");
    }
}

#[test]
fn ondemand_counts_as_performance_does() {
    let verdict = |report: &Report, label: &str| {
        let setting = report.settings.iter().find(|setting| setting.label == label).unwrap();
        setting.verdicts["count_per_s"].verdict
    };
    assert!(RUNS.iter().all(|report| report.settings[0].label == "performance"));
    let same = RUNS.iter().filter(|report| verdict(report, "ondemand") == Verdict::Same).count();
    assert!(same >= 18, "{same} of 20");
    for slow in ["1600MHz", "powersave", "1867MHz"] {
        let worse = RUNS.iter().filter(|report| verdict(report, slow) == Verdict::Worse).count();
        assert_eq!(worse, 20, "{slow}");
    }
}

#[test]
fn settings_held_out_of_the_model_come_close_to_the_published_means() {
    let article = published("counter-quadcore.toml");
    let held_out: Vec<&SettingResult> = article.results.iter().filter(|result| result.held_out).collect();
    assert_eq!(held_out.len(), 5);
    for result in held_out {
        let (ours, theirs) = (count(&label(result)), mean(result.values["count"].iter().copied()));
        let off = ours / theirs - 1.0;
        assert!(off.abs() <= 0.03, "{}: {ours:.0} here, {theirs:.0} published, {:+.2} %", result.setting, 100.0 * off);
    }
}

#[test]
fn only_the_chosen_cpu_is_turned() {
    let desk = Desk::new();
    desk.report(&["run", "plans/counter.toml", "--blocks", "2"]);
    let events: Vec<serde_json::Value> =
        desk.journal().iter().map(|line| serde_json::from_str(line).unwrap()).collect();
    let sites: Vec<&str> = events
        .iter()
        .filter(|event| event["event"] == "landed")
        .filter_map(|event| event["site"]["site"].as_str())
        .collect();
    assert!(!sites.is_empty());
    assert!(sites.iter().all(|site| *site == "policy1"), "{sites:?}");
}
