//! Meters of known truth: simulated machines whose files declare meters, and experiments that read them. What each trial came
//! to is held against the model's own counter, which the same trials of the same seed are read by.
use std::fs;

use crate::desk::{Desk, Ran, split, workspace};

/// What the meters here cover: all but the board, which draws the same at all times; so a load makes much of it.
const COVERS: &str = "covers = { cpus = 1.0, packages = 1.0 }";

/// What the board draws, W.
const BOARD_W: f64 = 30.0;

/// Trials of one setting after the other, each of so many seconds.
fn trials(desk: &Desk, machine: &str, seconds: u32, more: &str) -> Ran {
    let words = format!("try governor=performance,powersave --machine {machine} --load counter --for {seconds}s");
    desk.run(&split(&format!("{words} --metric energy_j --blocks 2 --warmup 0 --settle 0 {more}")))
}

/// A desktop with meters, as `sim:PATH`.
fn machine(desk: &Desk, name: &str, meters: &str) -> String {
    let built_in = fs::read_to_string(workspace().join("machines/sim/pc.toml")).unwrap();
    let path = desk.beside(&format!("{name}.toml"));
    fs::write(&path, format!("{built_in}\n[meters]\n{meters}\n")).unwrap();
    format!("sim:{}", path.display())
}

fn zone(more: &str) -> String {
    format!("powercap = [{{ zone = \"intel-rapl:0\", name = \"psys\", {COVERS}{more} }}]")
}

fn sensor(name: &str, channel: &str, update_ms: f64, more: &str) -> String {
    format!(
        "hwmon = [{{ chip = \"hwmon0\", name = \"{name}\", channel = \"{channel}\", update_ms = {update_ms:?}, {COVERS}{more} }}]"
    )
}

/// What the trials of the last experiment came to, J.
fn joules(desk: &Desk) -> Vec<f64> {
    let events = desk.journal().into_iter().map(|line| serde_json::from_str::<serde_json::Value>(&line).unwrap());
    let done = events.filter(|event| event["event"] == "trial_done");
    done.map(|event| event["outcome"]["metrics"]["energy_j"].as_f64().unwrap()).collect()
}

/// What trials of so many seconds come to by a meter and in truth, J.
fn against_the_truth(desk: &Desk, machine: &str, seconds: u32, more: &str) -> Vec<(f64, f64)> {
    trials(desk, machine, seconds, "--meter modelled").ended(0);
    let truth: Vec<f64> = joules(desk).into_iter().map(|all| all - BOARD_W * f64::from(seconds)).collect();
    trials(desk, machine, seconds, more).ended(0);
    let read = joules(desk);
    assert_eq!(truth.len(), read.len());
    // Fast and slow trials draw different power, or nothing would be shown.
    let (least, most) = truth.iter().fold((f64::MAX, 0.0_f64), |(a, b), &j| (a.min(j), b.max(j)));
    assert!(most > 1.3 * least, "{truth:?}");
    read.into_iter().zip(truth).collect()
}

#[track_caller]
fn within(share: f64, pairs: &[(f64, f64)]) {
    for (read, truth) in pairs {
        assert!((read / truth - 1.0).abs() <= share, "{read} J by the meter, {truth} J in truth: {pairs:?}");
    }
}

#[test]
fn a_counter_that_comes_round_many_times_is_right() {
    let desk = Desk::new();
    // At 100 W, which is assumed of it, it comes round in 1 s; at what it draws in ten.
    let machine = machine(&desk, "wraps", &zone(", range_uj = 99999999, limit_w = 25.0"));
    let pairs = against_the_truth(&desk, &machine, 60, "--meter psys");
    assert!(pairs.iter().all(|(_, truth)| *truth > 5.0 * 100.0), "several rounds: {pairs:?}");
    within(0.005, &pairs);
}

#[test]
fn meters_of_hwmon_and_acpi_and_counters_of_perf_are_right() {
    let desk = Desk::new();
    let energy = machine(&desk, "energy", &sensor("amd_energy", "energy1_input", 1.0, ""));
    within(0.005, &against_the_truth(&desk, &energy, 10, "--meter hwmon"));
    let perf = machine(&desk, "perf", &format!("perf = [{{ event = \"energy-pkg\", {COVERS} }}]"));
    within(0.005, &against_the_truth(&desk, &perf, 10, "--meter perf:package-0"));
    let power = machine(&desk, "power", &sensor("ina226", "power1_input", 100.0, ""));
    within(0.005, &against_the_truth(&desk, &power, 60, "--meter hwmon"));
    let acpi = machine(&desk, "acpi", &sensor("power_meter", "power1_average", 1000.0, ""));
    within(0.005, &against_the_truth(&desk, &acpi, 120, "--meter hwmon --meter-lag 0s"));
}

#[test]
fn a_source_three_seconds_late_is_aligned() {
    let desk = Desk::new();
    let late = ", wrong = { late_s = 3.0 }";
    let acpi = machine(&desk, "acpi", &sensor("power_meter", "power1_average", 1000.0, late));
    let unaligned = against_the_truth(&desk, &acpi, 120, "--meter `power_meter power1`");
    let worst = unaligned.iter().map(|(read, truth)| (read / truth - 1.0).abs()).fold(0.0, f64::max);
    assert!(worst > 0.005, "as they come its numbers are wrong: {unaligned:?}");
    let auto = "--meter `power_meter power1` --meter-lag auto";
    within(0.005, &against_the_truth(&desk, &acpi, 120, auto));
    let told = desk.run(&["show", "last", "-v"]).ended(0).out;
    let one_line = told.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(one_line.contains("readings are shifted"), "{told}");
    let counter = machine(&desk, "counter", &zone(late));
    within(0.005, &against_the_truth(&desk, &counter, 30, "--meter psys --meter-lag auto"));
    let told = desk.run(&["info", "meters", "--lag", "--machine", &acpi]).ended(0).out;
    assert!(told.contains("no later than"), "the model's: {told}");
    assert!(told.contains(" late; --meter-lag "), "{told}");
    let value = desk.json(&["info", "meters", "--lag", "--machine", &acpi]);
    let lag_ns = value["meters"]["lags"][1]["lag_ns"].as_f64().unwrap();
    assert!((lag_ns / 3e9 - 1.0).abs() < 0.05, "{lag_ns}");
}

#[test]
fn a_round_that_was_missed_voids_the_trial() {
    let desk = Desk::new();
    // It comes round in 50 ms, and nobody reads it more than ten times a second.
    let machine = machine(&desk, "missed", &zone(", range_uj = 4999999, limit_w = 25.0"));
    let ran = trials(&desk, &machine, 10, "--meter psys");
    let why = ran.refused(7);
    assert!(why.contains("come round unseen"), "{why}");
    assert_eq!(desk.experiments(), 0, "no number came of it");
}

#[test]
fn mirrored_zones_are_found_and_psys_is_never_added_to_a_package() {
    let desk = Desk::new();
    let inventory = desk.json(&["info", "meters", "--machine", "sim:laptop"])["meters"].clone();
    let of = |key: &str| -> Vec<String> {
        let meters = inventory["meters"].as_array().unwrap().iter();
        meters.map(|meter| meter[key].as_str().unwrap().to_owned()).collect()
    };
    let boundaries = of("boundary");
    let zones = ["package-0", "psys", "dram of package-0", "core of package-0", "uncore of package-0"];
    assert_eq!(boundaries[0], "modelled");
    assert_eq!(boundaries[1..], zones);
    assert!(boundaries.iter().all(|boundary| !boundary.contains('+')), "no sum: {boundaries:?}");
    let absent: Vec<_> = inventory["absent"].as_array().unwrap().iter().map(|it| it["why"].as_str().unwrap()).collect();
    let mirror = "/sys/class/powercap/intel-rapl-mmio:0/energy_uj (package-0) measures the same part as \
                  /sys/class/powercap/intel-rapl:0/energy_uj and is left out";
    assert!(absent.contains(&mirror), "{absent:?}");
    let told = desk.run(&["info", "meters", "--machine", "sim:laptop"]).ended(0).out;
    let one_line = told.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(one_line.contains("contains core of package-0, uncore of package-0; lies within psys"), "{told}");
    let why = desk.run(&split("try governor=powersave --machine sim:laptop --meter gpu --load idle"));
    let why = why.refused(2);
    assert!(
        why.contains("there is no meter 'gpu' on the near machine; there are: 'modelled', 'package-0', 'psys'"),
        "{why}"
    );
}

#[test]
fn a_source_that_dies_is_reported_and_gives_no_number() {
    for (name, wrong, words) in [
        ("dead", "dead_at_s = 12.0", "the meter is dead"),
        ("gone", "gone_at_s = 12.0", "no such device (ENODEV)"),
        ("broken", "gone_at_s = 12.0, gone_with = \"EIO\"", "input/output error (EIO)"),
    ] {
        let desk = Desk::new();
        let wrong = format!(", wrong = {{ {wrong} }}");
        let machine = machine(&desk, name, &sensor("ina226", "power1_input", 100.0, &wrong));
        let why = trials(&desk, &machine, 10, "--meter hwmon").refused(7);
        assert!(why.contains(words), "{why}");
        assert_eq!(joules(&desk).len(), 1, "the one before it died");
    }
    let desk = Desk::new();
    let machine =
        machine(&desk, "frozen", &zone(", wrong = { frozen_at_s = 14.0 }, range_uj = 999999999, limit_w = 25.0"));
    let why = trials(&desk, &machine, 10, "--meter psys").refused(7);
    assert!(why.contains("stood still for 5 s in the midst: the meter died") || why.contains("did not move"), "{why}");
}

#[test]
fn spikes_are_left_out_and_counted() {
    let desk = Desk::new();
    let spiky = ", wrong = { spike_share = 0.02 }";
    let power = machine(&desk, "spiky", &sensor("ina226", "power1_input", 100.0, spiky));
    within(0.005, &against_the_truth(&desk, &power, 60, "--meter hwmon"));
    let told = desk.run(&["show", "last", "-v"]).ended(0).out;
    let one_line = told.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(one_line.contains("were left out, in "), "{told}");
}
