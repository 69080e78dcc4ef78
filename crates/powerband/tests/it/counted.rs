//! Counters of the real kernel's perf through the command: on a machine behind an agent whose device for energy, and whose
//! cycles, are the time stamp counter of this one.
use std::fs;

use powerband_host::{FileLedger, LocalMachine};
use powerband_machine::Look as _;

use crate::desk::{Desk, root, split};

const QUICK: [&str; 6] = ["--settle", "0", "--warmup", "0", "--blocks", "2"];

/// So much of a joule is one tick: 20 W at 2 GHz.
const SCALE: f64 = 1e-8;

/// What leads to a machine whose perf has such devices, through what `program` begins; nothing where this one cannot count.
fn leads_to(desk: &Desk, program: &str) -> Option<String> {
    let devices = "/sys/bus/event_source/devices";
    if !root() {
        return None;
    }
    let mut here = LocalMachine::new(FileLedger::new(&desk.beside("here"))).unwrap();
    if let Err(errno) = here.read("perf:msr/tsc@cpu0") {
        eprintln!("skipped: this kernel's perf does not count the time stamp counter for us: {errno}");
        return None;
    }
    let script = format!(
        "cd {devices} && type=$(cat msr/type) event=$(cat msr/events/tsc) format=$(cat msr/format/event) &&
         mount -t tmpfs none {devices} && cd {devices} && mkdir -p msr/events msr/format power/events power/format &&
         for device in msr power; do echo $type >$device/type; echo $format >$device/format/event; done &&
         for name in tsc aperf mperf; do echo $event >msr/events/$name; done &&
         echo $event >power/events/energy-pkg && echo {SCALE:e} >power/events/energy-pkg.scale &&
         echo Joules >power/events/energy-pkg.unit && echo 0 >power/cpumask && cd / && exec {program}"
    );
    let path = desk.beside("machine.sh");
    fs::write(&path, script).unwrap();
    Some(format!("env POWERBAND_STATE_DIR={} unshare -m sh {}", desk.state().display(), path.display()))
}

#[test]
fn an_agent_counts_energy_and_cycles_by_the_kernels_perf() {
    let (desk, far) = (Desk::new(), Desk::new());
    let Some(way) = leads_to(&far, &format!("{} agent", env!("CARGO_BIN_EXE_powerband"))) else { return };
    let machine = format!("cmd:{way}");
    let asks = split("--metric power_w --metric measured_mhz --meter perf");
    let words = format!("try -s a: -s b: --load idle --for 1s -c 0 --machine `{machine}`");
    let words = split(&words);
    let report = desk.report(&[&words[..], &asks, &QUICK].concat());
    let boundary = |name: &str| report.metrics.iter().find(|metric| metric.name == name).unwrap().boundary.clone();
    assert_eq!(boundary("power_w").as_deref(), Some("package-0"));
    let events = desk.journal().into_iter().map(|line| serde_json::from_str::<serde_json::Value>(&line).unwrap());
    let trials: Vec<_> = events.filter(|event| event["event"] == "trial_done").collect();
    assert!(trials.len() >= 4, "{trials:?}");
    for trial in trials {
        let of = |name: &str| trial["outcome"]["metrics"][name].as_f64().unwrap();
        let mhz_by_watts = of("power_w") / SCALE / 1e6;
        // The counters are not read at one instant: anyone who takes the CPU between two of them for 50 ms shifts one by 5 %.
        assert!((mhz_by_watts / of("measured_mhz") - 1.0).abs() < 0.1, "{trial}");
        assert!((100.0..20_000.0).contains(&mhz_by_watts), "{trial}");
    }
}

#[test]
fn a_bare_shell_counts_nothing_and_says_who_does() {
    let (desk, far) = (Desk::new(), Desk::new());
    let Some(way) = leads_to(&far, "sh") else { return };
    let machine = format!("sh:{way}");
    let told = desk.run(&["info", "meters", "--machine", &machine]).ended(0).out;
    let told = told.split_whitespace().collect::<Vec<_>>().join(" ");
    let why = "no perf meter: perf:power/energy-pkg@cpu0: operation not supported (EOPNOTSUPP); perf counts for programs on \
               the machine itself, powerband's agent among them";
    assert!(told.contains(why), "{told}");
    let words = format!("try -s a: -s b: --load idle --for 1s --machine `{machine}`");
    let words = split(&words);
    let why = desk.run(&[&words[..], &["--metric", "measured_mhz"]].concat()).refused(4);
    assert!(why.contains("perf:msr/aperf@cpu0: operation not supported (EOPNOTSUPP); perf counts"), "{why}");
}
