//! `plans/counter.toml` with a guest as its machine, and with its simulated twin: the same settings, the same findings.
use powerband_bench_virtual::Guest;
use serde_json::Value;

use crate::desk::{Desk, on_paced_desk};
use crate::owner::{Owner, typical, verdict};
use crate::twin::twin;

const LABELS: [&str; 7] = ["1600MHz", "1867MHz", "2133MHz", "2400MHz", "powersave", "ondemand", "performance"];

/// How far the guest's watts and speeds may be from the model's. Watts follow what its CPUs really got, which is less for moments
/// in which others have the CPUs of this machine; what they count catches up.
const WATTS_OFF: f64 = 0.1;
const SPEED_OFF: f64 = 0.03;
/// How many runs may be otherwise but for the last.
const RUNS: usize = 3;

/// The guest's machine file with idle CPUs that halt, and a power meter that covers CPUs and package.
fn metered() -> String {
    let text = twin();
    let (before, rest) = text.split_once("[cpuidle]\n").unwrap();
    let (_, after) = rest.split_once("\n\n").unwrap();
    let halts =
        "package_idle_after_us = 1e9\nidle = [{ name = \"C1\", after_us = 0, running_share = 0.4, leakage_share = 1 }]";
    let text = format!("{before}{halts}\n\n{after}").replace("\"cpuidle.driver\"", "\"power.package_idle_after_us\"");
    assert_eq!(text.matches("platform_w = 80.0").count(), 1);
    let text = text.replace("\"cpuidle.states\"", "\"power.idle\"").replace("platform_w = 80.0", "platform_w = 0.0");
    text.lines().filter(|line| !line.starts_with("\"cpuidle.")).map(|line| format!("{line}\n")).collect()
}

/// The plan with shorter trials and fewer blocks.
fn plan() -> String {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../plans/counter.toml");
    let text = std::fs::read_to_string(path).unwrap();
    assert!(text.contains("for = \"5s\"") && text.contains("blocks = 30"));
    text.replace("for = \"5s\"", "for = \"1s\"").replace("blocks = 30", "blocks = 8\nwarmup = 0\nsettle = \"0\"")
}

/// A line a setting: what both found of it.
fn beside(guest: &Value, twin: &Value) -> String {
    let line = |label: &&str| {
        let of = |report: &Value, metric: &str| typical(report, label, metric);
        let top = |report: &Value| typical(report, "performance", "count_per_s");
        let said = |report: &Value| {
            if *label == "performance" {
                "reference".to_owned()
            } else {
                verdict(report, label, "count_per_s").to_owned()
            }
        };
        format!(
            "{label:>12}: {:.3} of the top here, {:.3} modelled; {:.2} W here, {:.2} W modelled; {} here, {} modelled\n",
            of(guest, "count_per_s") / top(guest),
            of(twin, "count_per_s") / top(twin),
            of(guest, "power_w"),
            of(twin, "power_w"),
            said(guest),
            said(twin)
        )
    };
    LABELS.iter().map(line).collect()
}

/// Whether both found the same of every setting.
fn alike(guest: &Value, twin: &Value) -> bool {
    let of_top = |report: &Value, label: &str| {
        typical(report, label, "count_per_s") / typical(report, "performance", "count_per_s")
    };
    let said = |report: &Value, label: &str| verdict(report, label, "count_per_s").to_owned();
    let watts = |report: &Value, label: &str| typical(report, label, "power_w");
    LABELS[..6].iter().all(|label| said(twin, label) == said(guest, label))
        && LABELS[..4].iter().is_sorted_by(|a, b| watts(guest, a) < watts(guest, b))
        && LABELS.iter().all(|label| (watts(guest, label) / watts(twin, label) - 1.0).abs() < WATTS_OFF)
        && LABELS.iter().all(|label| (of_top(guest, label) - of_top(twin, label)).abs() < SPEED_OFF)
}

/// What the plan finds with the guest as its machine. Everything is restored.
fn run(desk: &mut Guest, owner: &Owner, plan: &str, before: &str) -> Value {
    let report = owner.json(&format!("run -q {plan}"));
    assert_eq!(report["restored"]["failed"], serde_json::json!([]));
    assert_eq!(desk.knobs(), before);
    report
}

/// The meter is read ten times a second, and what it showed is kept with each trial of a second.
fn meter_was_kept(owner: &Owner) {
    let timelines = owner.json("show --timelines");
    let timelines = timelines["timelines"].as_array().unwrap();
    assert!(timelines.len() >= LABELS.len(), "{timelines:?}");
    for timeline in timelines {
        let powers: Vec<f64> = timeline["power_w"].as_array().unwrap().iter().filter_map(Value::as_f64).collect();
        assert!(powers.len() >= 3 && powers.iter().all(|power_w| (5.0..20.0).contains(power_w)), "{timeline}");
    }
}

#[test]
fn the_counters_plan_finds_on_a_kernel_what_it_finds_on_its_model() {
    on_paced_desk(compares);
}

fn compares(desk: &mut Guest) {
    let before = desk.knobs();
    let owner = Owner::of(desk, None);
    let plan = owner.file("plan.toml", &plan());
    let model = format!("sim:{}", owner.file("twin.toml", &metered()));
    let twin = owner.json(&format!("run -q {plan} --machine {model}"));
    // One wrong verdict in twenty runs is agreed on, and who else uses this machine may spoil one.
    let mut told = String::new();
    for _ in 0..RUNS {
        let guest = run(desk, &owner, &plan, &before);
        told += &beside(&guest, &twin);
        if alike(&guest, &twin) {
            eprint!("{told}");
            return meter_was_kept(&owner);
        }
    }
    panic!("{RUNS} times otherwise:\n{told}");
}
