//! The router's plan against the published article it repeats: knee, levels, round trips.
use std::sync::LazyLock;

use powerband_record::Verdict;
use powerband_report::json::Report;
use powerband_report::published::Published;

use crate::desk::{Desk, level, published, typical};

const PLAN: &str = "plans/router.toml";

/// The plan under twenty seeds; what one seed shows may be luck.
static RUNS: LazyLock<Vec<Report>> = LazyLock::new(|| {
    let desk = Desk::new();
    (1..=20).map(|seed: u64| desk.report(&["--seed", &seed.to_string(), "run", PLAN])).collect()
});

fn article() -> Published {
    published("router-omap3530.toml")
}

/// The published rows of one clock: label here, mean there (of the rows where they are printed), tolerance.
fn rows() -> Vec<(String, f64, f64)> {
    let row = |result: &powerband_report::published::SettingResult| {
        let label = format!("{}MHz", result.khz.unwrap() / 1000);
        (label, mean(&result.values["rate_mbit_s"]), result.tolerance.unwrap_or(0.05))
    };
    article().results.iter().map(row).collect()
}

fn mean(values: &[f64]) -> f64 {
    values.iter().sum::<f64>() / values.len() as f64
}

/// Mean over the twenty runs.
fn over_runs(label: &str, metric: &str) -> f64 {
    mean(&RUNS.iter().map(|report| typical(report, label, metric)).collect::<Vec<_>>())
}

fn alike(report: &Report) -> Vec<String> {
    let mut alike = report.knee.as_ref().unwrap().alike.clone();
    alike.sort();
    alike
}

#[test]
fn the_plan_finds_the_published_knee() {
    let desk = Desk::new();
    let report = desk.report(&["run", PLAN]);
    assert_eq!((report.version, report.kind.as_str(), report.state.as_str()), (1, "report", "ended"));
    let knee = report.knee.as_ref().unwrap();
    assert_eq!(knee.metric, "rate_mbit_s");
    assert_eq!(knee.knee.as_deref(), Some("500MHz"));
    assert_eq!(alike(&report), ["500MHz", "550MHz", "600MHz"]);
    let mut inferior = knee.inferior.clone();
    inferior.sort();
    assert_eq!(inferior, ["125MHz", "250MHz"]);
    assert_eq!(report.settings[0].label, "600MHz");
    assert!(report.settings.iter().all(|setting| setting.reference == (setting.index == 0)));
    for slow in report.settings.iter().filter(|setting| inferior.contains(&setting.label)) {
        assert_eq!(slow.verdicts["rate_mbit_s"].verdict, Verdict::Worse, "{}", slow.label);
    }
    assert!(report.restored.as_ref().is_some_and(|restored| restored.entries > 0 && restored.failed.is_empty()));
    assert!(report.voids.is_empty());
    assert_eq!(desk.experiments(), 1);
}

#[test]
fn every_setting_has_every_metric_with_its_interval() {
    let report = &RUNS[0];
    let clocks: Vec<String> = rows().into_iter().map(|(label, ..)| label).collect();
    assert_eq!(clocks.len(), 5);
    assert_eq!(report.settings.len(), 5);
    let metrics = ["rate_mbit_s", "tx_percent", "rx_percent", "retransmits", "rtt_ms", "power_w", "energy_j"];
    for label in &clocks {
        for metric in metrics {
            let level = level(report, label, metric);
            let (typical, low, high) = (level.typical.unwrap(), level.low.unwrap(), level.high.unwrap());
            assert!(low <= typical && typical <= high, "{label} {metric}: {low} {typical} {high}");
            assert!(level.trials >= 2, "{label} {metric}");
        }
        assert!(typical(report, label, "rate_mbit_s") > 10.0);
        assert!((0.0..=100.0).contains(&typical(report, label, "rx_percent")));
    }
    let covers = |name: &str| report.metrics.iter().find(|metric| metric.name == name).unwrap().boundary.clone();
    assert_eq!(covers("power_w").as_deref(), Some("modelled"));
    assert_eq!(covers("energy_j").as_deref(), Some("modelled"));
    assert_eq!(covers("rate_mbit_s"), None);
}

#[test]
fn nearly_every_seed_finds_the_knee_and_what_is_alike() {
    let knees = RUNS.iter().filter(|report| report.knee.as_ref().unwrap().knee.as_deref() == Some("500MHz")).count();
    assert!(knees >= 19, "{knees} of 20 found 500MHz");
    let three = RUNS.iter().filter(|report| alike(report) == ["500MHz", "550MHz", "600MHz"]).count();
    assert!(three >= 18, "{three} of 20 found the three upper clocks the same");
}

#[test]
fn rates_come_close_to_the_published_means() {
    for (label, published, tolerance) in rows() {
        let ours = over_runs(&label, "rate_mbit_s");
        let off = ours / published - 1.0;
        assert!(off.abs() <= tolerance, "{label}: {ours:.2} here, {published:.2} published, {:+.1} %", 100.0 * off);
    }
}

#[test]
fn published_ratios_between_clocks_hold() {
    let half = over_runs("250MHz", "rate_mbit_s") / over_runs("500MHz", "rate_mbit_s");
    let quarter = over_runs("125MHz", "rate_mbit_s") / over_runs("500MHz", "rate_mbit_s");
    let article = article();
    for (id, ours) in [("half-at-250", half), ("quarter-at-125", quarter)] {
        let claim = article.claims.iter().find(|claim| claim.id == id).unwrap();
        let (ratio, tolerance) = (claim.ratio.unwrap(), claim.tolerance.unwrap());
        // Next to a ratio the tolerance is absolute.
        assert!((ours - ratio).abs() <= tolerance, "{id}: {ours:.3} here, {ratio} published");
    }
}

#[test]
fn round_trips_never_shorten_as_the_clock_falls() {
    let mut clocks: Vec<u32> = article().results.iter().map(|result| result.khz.unwrap() / 1000).collect();
    clocks.sort_unstable_by(|a, b| b.cmp(a));
    let rtt: Vec<f64> = clocks.iter().map(|mhz| over_runs(&format!("{mhz}MHz"), "rtt_ms")).collect();
    assert!(rtt.windows(2).all(|pair| pair[0] <= pair[1]), "{clocks:?} MHz: {rtt:?} ms");
    assert!(rtt[rtt.len() - 1] > 1.3 * rtt[0], "{rtt:?}");
}
