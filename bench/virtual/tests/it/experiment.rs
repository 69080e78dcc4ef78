//! A small form of `plans/counter.toml` on real P-states.
use serde_json::Value;

use crate::desk::desk;

const PLAN: &str = r#"
title = "Loop iterations at four clocks"
machine = "local"
cpus = "1"
settings = [
  "1600MHz: governor=userspace freq=1600MHz",
  "1867MHz: governor=userspace freq=1867MHz",
  "2133MHz: governor=userspace freq=2133MHz",
  "2400MHz: governor=userspace freq=2400MHz",
]
reference = "2400MHz"
# Nothing is decided so early that a setting leaves before it has run in every block.
margin = "0.01%"
alpha = "0.001%"
metrics = ["count_per_s:higher"]
blocks = 4
warmup = 0
settle = "0"
[load]
kind = "counter"
for = "2s"
pin = "1"
"#;

/// The typical value of each setting, in the order of their clocks.
fn typical(report: &Value, metric: &str) -> Vec<f64> {
    let settings = report["settings"].as_array().unwrap();
    ["1600MHz", "1867MHz", "2133MHz", "2400MHz"]
        .iter()
        .map(|label| {
            let setting = settings.iter().find(|setting| setting["label"] == *label).unwrap();
            setting["levels"][metric]["typical"].as_f64().unwrap_or_else(|| panic!("no {metric} of {label}: {setting}"))
        })
        .collect()
}

#[test]
fn work_and_watts_follow_the_clock() {
    let Some(mut desk) = desk() else { return };
    let before = desk.knobs();
    desk.put("/root/plan.toml", PLAN.as_bytes()).unwrap();
    let report = desk.json(&["run", "-q", "/root/plan.toml"]);
    assert_eq!(report["restored"]["failed"], serde_json::json!([]));
    assert_eq!(desk.knobs(), before);
    let (speeds, watts) = (typical(&report, "count_per_s"), typical(&report, "power_w"));
    eprintln!("iterations a second {speeds:?}, watts {watts:?}");
    assert!(watts.is_sorted_by(|a, b| a < b), "{watts:?}");
    // Neighbours on this machine disturb single clocks; halves of the table stay apart.
    assert!(speeds[0] + speeds[1] < speeds[2] + speeds[3] && speeds[0] < speeds[3], "{speeds:?}");
}
