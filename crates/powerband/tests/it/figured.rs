//! What an experiment can be judged by next to the load's own numbers: figures of the machine's state, one metric by another,
//! programs that print watts, and the temperature a load begins at.
use std::fs;
use std::path::Path;
use std::process::Command;

use rustix::process::Signal;
use serde_json::Value;

use crate::desk::{Desk, Ran, root, typical, until};

const QUICK: [&str; 6] = ["--settle", "0", "--warmup", "0", "--blocks", "2"];
const SIM: [&str; 6] = ["--machine", "sim:omap3530", "--load", "counter", "--for", "1s"];
const IDLE: [&str; 8] = ["try", "-s", "a:", "-s", "b:", "--load", "idle", "--for"];

/// Outcomes of the trials that counted.
fn outcomes(desk: &Desk) -> Vec<Value> {
    let events = desk.journal().into_iter().map(|line| serde_json::from_str::<Value>(&line).unwrap());
    events.filter(|event| event["event"] == "trial_done").map(|event| event["outcome"].clone()).collect()
}

#[test]
fn a_ratio_is_what_its_metrics_are_in_each_trial_and_says_of_what() {
    let desk = Desk::new();
    let asked = ["--metric", "work_per_joule=count/joules", "--metric", "joules_per_count=energy_j/count"];
    let words = [&["try", "governor=userspace", "freq=250MHz,600MHz"][..], &asked, &SIM, &QUICK].concat();
    let report = desk.report(&words);
    for outcome in outcomes(&desk) {
        let of = |name: &str| outcome["metrics"][name].as_f64().unwrap();
        assert_eq!(of("work_per_joule"), of("count") / of("energy_j"));
        assert_eq!(of("joules_per_count"), of("energy_j") / of("count"));
    }
    let metric = |name: &str| report.metrics.iter().find(|metric| metric.name == name).unwrap();
    assert_eq!(metric("work_per_joule").boundary.as_deref(), Some("count/energy_j, modelled"));
    let better = |name: &str| serde_json::to_value(metric(name)).unwrap()["better"].clone();
    assert_eq!((better("work_per_joule"), better("joules_per_count")), ("higher".into(), "lower".into()));
}

#[test]
fn the_clock_is_a_metric_where_the_kernel_counts_its_states() {
    let desk = Desk::new();
    let asked = ["--metric", "clock_mhz", "--metric", "cpu_busy_share:info", "--metric", "x=clock_mhz/power_w"];
    let words = [&["try", "governor=userspace", "freq=250MHz,600MHz"][..], &asked, &SIM, &QUICK].concat();
    let report = desk.report(&words);
    let clock = report.metrics.iter().find(|metric| metric.name == "clock_mhz").unwrap();
    assert_eq!((clock.boundary.as_deref(), clock.judged), (Some("time in state"), true));
    assert!(!report.metrics.iter().find(|metric| metric.name == "cpu_busy_share").unwrap().judged);
    // Ticks of 10 ms in a second.
    assert!((typical(&report, "freq=600MHz", "clock_mhz") - 600.0).abs() < 10.0);
    assert!((typical(&report, "freq=250MHz", "clock_mhz") - 250.0).abs() < 10.0);
    assert!(typical(&report, "freq=600MHz", "cpu_busy_share") > 0.9);
    // Gone on with, it is the same experiment.
    let narrow =
        [&["try", "governor=userspace", "freq=250MHz,600MHz", "-c", "0", "--metric", "clock_mhz"][..], &SIM, &QUICK];
    assert_eq!(desk.report(&narrow.concat()).metrics[0].boundary.as_deref(), Some("time in state, CPUs 0"));
}

#[test]
fn the_clock_is_measured_where_cpus_count_their_cycles() {
    let desk = Desk::new();
    let asked = ["--metric", "measured_mhz", "--metric", "nic_interrupts_per_s:info"];
    let laptop =
        ["try", "max_freq=1GHz,2GHz", "-c", "0", "--machine", "sim:laptop", "--load", "counter", "--for", "5s"];
    let report = desk.report(&[&laptop[..], &asked, &QUICK].concat());
    let boundaries = ["measured_mhz", "nic_interrupts_per_s"].map(|name| {
        report.metrics.iter().find(|metric| metric.name == name).and_then(|metric| metric.boundary.as_deref())
    });
    let counted = Some("APERF / MPERF × TSC frequency, CPUs 0");
    assert_eq!(boundaries, [counted, Some("eth0 by lines of eth0")], "a card's are not of those CPUs alone");
    // It takes the hardware some tenths of a second to go as fast as it may.
    for (setting, mhz) in [("max_freq=1000MHz", 1000.0), ("max_freq=2000MHz", 2000.0)] {
        let measured = typical(&report, setting, "measured_mhz");
        assert!((0.95..1.0001).contains(&(measured / mhz)), "{setting}: {measured} MHz");
    }
}

#[test]
fn a_card_that_waits_longer_interrupts_for_more_packets() {
    let desk = Desk::new();
    let (interrupts, packets) = ("nic_interrupts_per_s@eth0", "packets_per_interrupt@eth0");
    let asked = ["--metric", interrupts, "--metric", packets, "--metric", "there=far/nic_interrupts_per_s:info"];
    let pair =
        ["try", "rx-usecs@eth0=100,1000", "--machine", "sim:pc", "--far", "sim:pc", "--load", "stream", "--for", "1s"];
    let report = desk.report(&[&pair[..], &asked, &QUICK].concat());
    let boundary = |name: &str| report.metrics.iter().find(|metric| metric.name == name).unwrap().boundary.clone();
    assert_eq!(boundary(packets).as_deref(), Some("eth0 by lines of eth0"));
    assert_eq!(boundary("there").as_deref(), Some("far, eth0 by lines of eth0"));
    let labels: Vec<&str> = report.settings.iter().skip(1).map(|setting| setting.label.as_str()).collect();
    let [often, seldom] = labels[..] else { panic!("{labels:?}") };
    let level = |setting: &str, metric: &str| typical(&report, setting, metric);
    // No more than one in so many microseconds, and the same packets.
    assert!((900.0..1010.0).contains(&level(seldom, interrupts)), "{}", level(seldom, interrupts));
    assert!((5000.0..10_100.0).contains(&level(often, interrupts)), "{}", level(often, interrupts));
    assert!(level(seldom, packets) > 5.0 * level(often, packets), "{}", level(seldom, packets));
}

#[test]
fn the_interrupts_of_this_machines_card_are_counted() {
    let desk = Desk::new();
    let is_card = |name: &str| Path::new("/sys/class/net").join(name).join("device").exists();
    let names = fs::read_dir("/sys/class/net").unwrap().flatten().map(|entry| entry.file_name().into_string().unwrap());
    let Some(card) = names.filter(|name| is_card(name)).min() else {
        eprintln!("skipped: there is no network card");
        return;
    };
    let metric = format!("nic_interrupts_per_s@{card}");
    let ran = desk.run(&[&IDLE[..], &["100ms", "--metric", &metric, "--json"], &QUICK].concat());
    if ran.err.contains("nothing shows which") {
        eprintln!("skipped: {}", ran.err);
        return;
    }
    let report = ran.ended(0).report();
    assert!(report.metrics[0].boundary.as_deref().unwrap().starts_with(&format!("{card} by ")));
    for outcome in outcomes(&desk) {
        assert!(outcome["metrics"][&metric].as_f64().unwrap() >= 0.0, "{outcome}");
    }
    let why = desk.run(&[&IDLE[..], &["100ms", "--metric", "nic_interrupts_per_s@lo"], &QUICK].concat()).refused(4);
    assert!(why.contains("'lo' is not a NIC; there are: "), "{why}");
}

/// The same but for rounding.
fn near(value: f64, expected: f64) -> bool {
    (value - expected).abs() < 1e-9 * expected
}

/// A meter's program that prints `line` again and again; `mark` tells its processes from others.
fn program(mark: &str, line: &str) -> String {
    format!("while : {mark}; do echo '{line}'; sleep 0.05; done")
}

/// Whether a process runs whose words hold `mark`.
fn runs(mark: &str) -> bool {
    let is = |entry: fs::DirEntry| {
        let words = fs::read(entry.path().join("cmdline")).unwrap_or_default();
        let of_ours = words.starts_with(b"sh\0-c\0");
        of_ours && String::from_utf8_lossy(&words).contains(mark)
    };
    fs::read_dir("/proc").unwrap().flatten().any(is)
}

#[test]
fn a_program_that_prints_watts_is_a_meter_and_ends_with_the_experiment() {
    let desk = Desk::new();
    let mark = format!("meter-{}", std::process::id());
    let meter = format!("bmc=wall,W,100ms,cmd:{}", program(&mark, "Power: 42.5 W"));
    let report = desk.report(&[&IDLE[..], &["2s", "--meter", &meter], &QUICK].concat());
    // A process that its shell had just started is killed with it, and may take a moment to be gone.
    until("the meter's program is gone", || !runs(&mark));
    assert!(near(typical(&report, "a", "power_w"), 42.5));
    assert_eq!(report.metrics[0].boundary.as_deref(), Some("wall"));
    for outcome in outcomes(&desk) {
        let (watts, joules) = (&outcome["metrics"]["power_w"], &outcome["metrics"]["energy_j"]);
        assert!(near(watts.as_f64().unwrap(), 42.5), "{watts}");
        assert!(joules.as_f64().unwrap() > 1.99 * 42.5, "{joules}");
    }
}

#[test]
fn a_plan_declares_meters_and_one_is_chosen_by_name() {
    let desk = Desk::new();
    let plan = desk.beside("plan.toml");
    let meters = ["one", "two"].map(|name| {
        let (command, watts) = (program(name, "7"), if name == "one" { "W" } else { "kW" });
        format!("[meters.{name}]\ncommand = \"{command}\"\nunit = \"{watts}\"\nboundary = \"{name}\"\ninterval = \"100ms\"\n")
    });
    fs::write(
        &plan,
        format!("settings = [\"a:\", \"b:\"]\n[load]\nkind = \"idle\"\nfor = \"2s\"\n{}", meters.concat()),
    )
    .unwrap();
    let plan = plan.to_str().unwrap();
    let several = desk.run(&[&["run", plan][..], &QUICK].concat()).refused(2);
    assert!(several.contains("several meters are declared; choose one with --meter: one, two"), "{several}");
    let report = desk.report(&[&["run", plan, "--meter", "two"][..], &QUICK].concat());
    assert_eq!(report.metrics[0].boundary.as_deref(), Some("two"));
    assert!(near(typical(&report, "a", "power_w"), 7000.0));
}

#[test]
fn a_program_that_is_no_meter_is_told_before_the_first_trial() {
    let desk = Desk::new();
    for (command, told) in [
        ("true", "the program `true` ended before it printed a line; try it by hand"),
        ("exec ./no-such-program-here", "ended before it printed a line"),
    ] {
        let meter = format!("bmc=wall,W,100ms,cmd:{command}");
        let sentence = desk.run(&[&IDLE[..], &["2s", "--meter", &meter], &QUICK].concat()).refused(8);
        assert!(sentence.contains(told), "{sentence}");
    }
    // A machine of arithmetic has none at all.
    let on_sim = ["try", "-s", "a:", "-s", "b:", "--meter", "bmc=wall,W,100ms,cmd:echo 5", "--load", "counter"];
    desk.run(&[&on_sim[..], &["--for", "12s", "--machine", "sim:laptop"]].concat()).refused(4);
    assert!(outcomes(&desk).is_empty());
}

#[test]
fn a_meters_program_dies_with_a_killed_experiment() {
    let desk = Desk::new();
    let mark = format!("killed-meter-{}", std::process::id());
    let meter = format!("bmc=wall,W,100ms,cmd:{}", program(&mark, "1 W"));
    let started = desk.start(&[&IDLE[..], &["60s", "--meter", &meter], &QUICK].concat());
    until("the meter's program runs", || runs(&mark));
    started.signal(Signal::KILL);
    until("the meter's program is gone", || !runs(&mark));
}

/// Runs the command where one thermal zone shows so many degrees.
fn at_degrees(desk: &Desk, degrees: u32, words: &[&str]) -> Ran {
    let script = "mount -t tmpfs none /sys/class && mkdir -p /sys/class/thermal/thermal_zone0 && \
                  echo $1 > /sys/class/thermal/thermal_zone0/temp && shift && exec \"$@\"";
    let mut command = Command::new("unshare");
    desk.furnish(&mut command);
    command.args(["-m", "sh", "-c", script, "sh", &(degrees * 1000).to_string(), env!("CARGO_BIN_EXE_powerband")]);
    Ran::of(&command.args(words).output().unwrap())
}

#[test]
fn a_load_waits_for_the_machine_to_cool_down_and_says_when_it_did_not() {
    if !root() {
        return;
    }
    let desk = Desk::new();
    let words = [&IDLE[..], &["100ms", "--metric", "temperature_c", "--cool", "50C:10ms"], &QUICK].concat();
    let words_of = |ran: Ran| ran.out.split_whitespace().collect::<Vec<_>>().join(" ");
    let hot = words_of(at_degrees(&desk, 61, &words).ended(0));
    assert!(
        hot.contains("trials began hotter than 50 °C (up to 61 °C), as 10 ms were not enough to cool down"),
        "{hot}"
    );
    let cool = words_of(at_degrees(&desk, 49, &words).ended(0));
    assert!(!cool.contains("hotter than"), "{cool}");
    for outcome in outcomes(&desk) {
        assert_eq!(outcome["metrics"]["temperature_c"].as_f64(), Some(49.0));
    }
}
