//! `plans/counter.toml` with a guest as its machine, and with its simulated twin: the same settings, the same findings.
use powerband_sim::Profile;
use serde_json::Value;

use crate::desk::{Desk, desk};
use crate::owner::{Owner, typical, verdict};

const LABELS: [&str; 7] = ["1600MHz", "1867MHz", "2133MHz", "2400MHz", "powersave", "ondemand", "performance"];

/// How far the guest's watts and speeds may be from the model's. Watts follow what its CPUs really got, which is less for moments
/// in which others have the CPUs of this machine; what they count catches up.
const WATTS_OFF: f64 = 0.1;
const SPEED_OFF: f64 = 0.03;

/// A machine file for the guest that is booted as `quadcore`: two CPUs, its kernel's rules and governors, and a power meter
/// that covers CPUs and package.
fn twin() -> String {
    let mut text = Profile::builtin_text("quadcore").unwrap().to_owned();
    for (whole, cut) in [
        ("possible = \"0-7\"", "possible = \"0-1\""),
        ("present = \"0-3\"", "present = \"0-1\""),
        ("policies = [\"0\", \"1\", \"2\", \"3\"]", "policies = [\"0\", \"1\"]"),
        ("rules = \"2.6.32\"", "rules = \"6.1\""),
        ("\"performance\"]", "\"performance\", \"schedutil\"]"),
        ("default_governor = \"ondemand\"", "default_governor = \"schedutil\""),
        ("platform_w = 80.0", "platform_w = 0.0"),
    ] {
        assert_eq!(text.matches(whole).count(), 1, "{whole}");
        text = text.replace(whole, cut);
    }
    text
}

/// The plan with shorter trials and fewer blocks.
fn plan() -> String {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../plans/counter.toml");
    let text = std::fs::read_to_string(path).unwrap();
    assert!(text.contains("for = \"5s\"") && text.contains("blocks = 30"));
    text.replace("for = \"5s\"", "for = \"1s\"").replace("blocks = 30", "blocks = 4\nwarmup = 0\nsettle = \"0\"")
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

/// What was said of a setting's speed.
fn said(report: &Value, label: &str) -> String {
    verdict(report, label, "count_per_s").to_owned()
}

/// What the plan finds with the guest as its machine. Everything is put back.
fn run(desk: &mut Desk, owner: &Owner, plan: &str, before: &str) -> Value {
    let report = owner.json(&["run", "-q", plan]);
    assert_eq!(report["restored"]["failed"], serde_json::json!([]));
    assert_eq!(desk.knobs(), before);
    report
}

#[test]
fn the_counters_plan_finds_on_a_kernel_what_it_finds_on_its_model() {
    let Some(mut desk) = desk() else { return };
    let before = desk.knobs();
    let owner = Owner::of(&desk, None);
    let plan = owner.file("plan.toml", &plan());
    let model = format!("sim:{}", owner.file("twin.toml", &twin()));
    let twin = owner.json(&["run", "-q", &plan, "--machine", &model]);
    let guest = run(&mut desk, &owner, &plan, &before);
    let both = beside(&guest, &twin);
    eprint!("{both}");
    let of_top = |report: &Value, label: &str| {
        typical(report, label, "count_per_s") / typical(report, "performance", "count_per_s")
    };
    let watts = |report, label| typical(report, label, "power_w");
    assert!(LABELS[..4].iter().is_sorted_by(|a, b| watts(&guest, a) < watts(&guest, b)), "{both}");
    for label in LABELS {
        assert!((watts(&guest, label) / watts(&twin, label) - 1.0).abs() < WATTS_OFF, "{both}");
        assert!((of_top(&guest, label) - of_top(&twin, label)).abs() < SPEED_OFF, "{both}");
    }
    // One wrong verdict in twenty runs is agreed on.
    let alike = |report: &Value| LABELS[..6].iter().all(|label| said(&twin, label) == said(report, label));
    assert!(alike(&guest) || alike(&run(&mut desk, &owner, &plan, &before)), "twice otherwise: {both}");
}
