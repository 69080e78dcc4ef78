//! The noise of a machine as it is: measured, told, kept, and used for margins; the figures are those of the journal.
use serde_json::Value;

use crate::desk::Desk;

/// Values of a metric in blocks, in the order of time, with their block, as the journal has them.
fn values(journal: &[String], metric: &str) -> Vec<(u64, f64)> {
    let events: Vec<Value> = journal.iter().map(|line| serde_json::from_str(line).unwrap()).collect();
    let block = |trial: &Value| {
        let started = events.iter().find(|it| it["event"] == "trial_started" && it["trial"] == *trial).unwrap();
        started["block"].as_u64().unwrap()
    };
    let done = events.iter().filter(|it| it["event"] == "trial_done");
    let all = done.map(|it| (block(&it["trial"]), it["outcome"]["metrics"][metric].as_f64().unwrap()));
    all.filter(|(block, _)| *block > 0).collect()
}

/// What a metric's row says, after it was held against arithmetic of our own.
#[track_caller]
fn agrees(desk: &Desk, report: &Value, metric: &str) -> Value {
    let rows = report["calibration"].as_array().unwrap();
    let row = rows.iter().find(|row| row["metric"] == metric).unwrap().clone();
    let values = values(&desk.journal(), metric);
    let logs: Vec<f64> = values.iter().map(|(_, value)| value.ln()).collect();
    let n = logs.len() as f64;
    assert_eq!(row["trials"].as_u64(), Some(logs.len() as u64));
    assert_eq!(row["blocks"].as_u64(), Some(logs.len() as u64 / 2));
    let near = |key: &str, want: f64| {
        let have = row[key].as_f64().unwrap();
        assert!((have - want).abs() <= 1e-9 * want.abs().max(1e-6), "{metric} {key}: {have}, not {want}");
    };
    // Two trials a block: half the squared difference is what each of them strays.
    assert!(values.chunks(2).all(|pair| pair[0].0 == pair[1].0), "blocks hold two trials each");
    let squares: f64 = logs.chunks(2).map(|pair| (pair[0] - pair[1]).powi(2) / 2.0).sum();
    let sigma = (squares / (n / 2.0)).sqrt();
    near("sigma", sigma);
    near("default_margin", (2.0 * sigma).max(0.01));
    let mut apart: Vec<f64> = logs.chunks(2).map(|pair| (pair[0] - pair[1]).abs()).collect();
    apart.sort_by(f64::total_cmp);
    let middle = (apart[(apart.len() - 1) / 2] + apart[apart.len() / 2]) / 2.0;
    near("sigma_robust", 1.4826 * middle / 2.0_f64.sqrt());
    let mean = logs.iter().sum::<f64>() / n;
    near("level", mean.exp());
    let all: f64 = logs.iter().map(|x| (x - mean).powi(2)).sum();
    let product: f64 = logs.windows(2).map(|pair| (pair[0] - mean) * (pair[1] - mean)).sum();
    let first = product / all;
    near("rho", (first + (1.0 + 3.0 * first) / (n - 1.0)).clamp(-1.0, 1.0));
    let means: Vec<f64> = logs.chunks(2).map(|pair| (pair[0] + pair[1]) / 2.0).collect();
    let middle = (means.len() as f64 - 1.0) / 2.0;
    let spread: f64 = (0..means.len()).map(|i| (i as f64 - middle).powi(2)).sum();
    let slope: f64 = means.iter().enumerate().map(|(i, mean)| (i as f64 - middle) * mean).sum();
    near("drift_per_block", slope / spread);
    row
}

fn names(values: &Value) -> Vec<&str> {
    values.as_array().unwrap().iter().filter_map(|value| value["metric"].as_str()).collect()
}

#[test]
fn a_simulated_machine_is_calibrated() {
    let desk = Desk::new();
    let words = ["--machine", "sim:quadcore", "calibrate", "--load", "counter", "--for", "2s"];
    let report = desk.json(&words);
    assert_eq!((report["kind"].as_str(), report["version"].as_u64()), (Some("report"), Some(1)));
    assert_eq!((report["blocks"].as_u64(), report["trials"].as_u64()), (Some(12), Some(24)));
    let judged: Vec<&str> = report["metrics"]
        .as_array()
        .unwrap()
        .iter()
        .filter(|metric| metric["judged"] == true)
        .map(|metric| metric["name"].as_str().unwrap())
        .collect();
    for metric in &judged {
        let row = agrees(&desk, &report, metric);
        let alarms = &row["false_alarm"];
        assert_eq!(alarms["runs"], 500);
        let [rate, low, high] = ["rate", "low", "high"].map(|key| alarms[key].as_f64().unwrap());
        assert!(low <= rate && rate <= high && low <= 0.2, "{alarms}");
        let minutes: Vec<f64> = row["mde"].as_array().unwrap().iter().filter_map(|it| it["minutes"].as_f64()).collect();
        assert!(minutes.ends_with(&[15.0, 60.0]), "{minutes:?}");
        let effects: Vec<f64> = row["mde"].as_array().unwrap().iter().filter_map(|it| it["effect"].as_f64()).collect();
        assert!(effects.windows(2).all(|pair| pair[1] < pair[0]), "more time shows smaller effects: {effects:?}");
        let advice = row["advice"].as_array().unwrap().len();
        assert_eq!(row["advised"].as_array().unwrap().len(), advice);
    }
    assert!(names(&report["calibration"]).len() > judged.len(), "what is only shown is calibrated as well");
    assert!(report["settings"].as_array().unwrap().iter().all(|setting| setting["verdicts"] == serde_json::json!({})));
    assert_eq!(desk.json(&["show", "last"])["calibration"], report["calibration"]);
    let text = desk.run(&["show", "-v"]).ended(0).out;
    assert!(
        text.contains("varies by") && text.contains("false alarms:") && text.contains("margin from now on"),
        "{text}"
    );
    assert!(text.lines().all(|line| line.chars().count() <= 80), "{text}");
}

#[test]
fn the_margin_that_is_promised_is_that_of_the_noisiest_metric() {
    let desk = Desk::new();
    let load = ["--load", "counter", "--for", "10s"];
    let said = desk.run(&[&["--machine", "sim:quadcore", "calibrate"][..], &load].concat()).ended(0).out;
    let said = said.split_whitespace().collect::<Vec<_>>().join(" ");
    let promised = "Differences within ±1.235 % are called the same from now on, as count_per_s varies most.";
    assert_eq!((said.contains(promised), said.matches("called the same").count()), (true, 1), "{said}");
    // What is found in a time is no smaller than that.
    assert!(said.contains("power_w varies by 0.001 % from trial to trial: a difference of 3 % is found"), "{said}");
    let tried = desk
        .json(&[&["--machine", "sim:quadcore", "try", "-s", "a:", "-s", "b:", "--blocks", "3"][..], &load].concat());
    assert_eq!(format!("{:.5}", tried["margin"].as_f64().unwrap()), "0.01235");
}

#[test]
fn a_table_is_calibrated_by_its_rows_as_found() {
    let (desk, again) = (Desk::new(), Desk::new());
    let words = ["--machine", "table:machines/tables/keeper.csv", "calibrate"];
    let report = desk.json(&words);
    assert_eq!((report["blocks"].as_u64(), report["trials"].as_u64()), (Some(12), Some(24)));
    // The formulas next to it have noise of 0.6 % and 1.5 %; there are but a few rows as found to draw from.
    let row = agrees(&desk, &report, "power_w");
    let sigma = row["sigma"].as_f64().unwrap();
    assert!((0.001..0.012).contains(&sigma) && row["default_margin"].as_f64().unwrap() >= 0.01, "{row}");
    agrees(&desk, &report, "p99_us");
    again.json(&words);
    assert_eq!(again.journal(), desk.journal(), "one seed, one calibration");
}

#[test]
fn margins_come_from_the_calibration_of_this_machine_and_load() {
    let desk = Desk::new();
    let machine = ["--machine", "sim:quadcore"];
    let on = |words: &[&str]| desk.json(&[&machine[..], words].concat());
    let load = ["--load", "counter", "--for", "1s"];
    let settings = ["try", "-s", "a:", "-s", "b:", "--blocks", "3"];
    let before = on(&[&settings[..], &load].concat());
    assert_eq!(
        (before["margin"].as_f64(), before["margin_source"].as_str().unwrap().starts_with("default")),
        (Some(0.01), true)
    );
    let calibrated = on(&[&["calibrate"][..], &load].concat());
    let judged = before["metrics"].as_array().unwrap().iter().filter(|metric| metric["judged"] == true);
    let judged: Vec<&Value> = judged.map(|metric| &metric["name"]).collect();
    let margins = calibrated["calibration"].as_array().unwrap().iter().filter(|row| judged.contains(&&row["metric"]));
    let largest = margins.filter_map(|row| row["default_margin"].as_f64()).fold(0.0, f64::max);
    let after = desk.run(&[&machine[..], &settings, &load, &["--json"]].concat()).ended(0);
    let report = after.value();
    assert_eq!((report["margin"].as_f64(), report["margin_source"].as_str()), (Some(largest), Some("calibration")));
    assert!(after.err.contains("from calibration 2"), "{}", after.err);
    // Not with a margin of one's own, another load, another machine.
    let given = on(&[&settings[..], &load, &["--margin", "5%"]].concat());
    assert_eq!((given["margin"].as_f64(), given["margin_source"].as_str()), (Some(0.05), Some("given")));
    let other = on(&[&settings[..], &["--load", "counter", "--for", "3s"]].concat());
    assert_eq!(other["margin"].as_f64(), Some(0.01));
    let elsewhere = desk.json(&[&["--machine", "sim:omap3530"], &settings[..], &load].concat());
    assert_eq!(elsewhere["margin"].as_f64(), Some(0.01));
}

#[test]
fn as_many_trials_as_the_time_allows_and_twelve_at_least() {
    let desk = Desk::new();
    let trials = |budget: &str| {
        let words = ["--machine", "sim:quadcore", "calibrate", "--load", "counter", "--for", "1s", "--budget", budget];
        desk.json(&words)["trials"].as_u64().unwrap()
    };
    assert_eq!(trials("2s"), 12);
    assert!(trials("1m") > 24);
}
