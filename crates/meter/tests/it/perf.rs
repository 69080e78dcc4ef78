//! Counters of the kernel's perf: energy next to powercap's zones, and the clock that CPUs count themselves.
use powerband_machine::{Errno, Handle, Look, Sample};
use powerband_meter::state::{AskedFigure, Powers};
use powerband_meter::*;

use crate::fake::Fake;

const S: u64 = 1_000_000_000;
const DEVICES: &str = "/sys/bus/event_source/devices";
const FOLDER: &str = "/sys/bus/event_source/devices/power";

/// The device `power` with some events, read on some CPUs of a package each.
fn power(machine: &mut Fake, events: &[&str], cpus: &[(u32, u32)]) {
    let mask: Vec<String> = cpus.iter().map(|(cpu, _)| cpu.to_string()).collect();
    machine.put(&format!("{FOLDER}/cpumask"), &mask.join(","));
    for (cpu, package) in cpus {
        machine.put(&format!("/sys/devices/system/cpu/cpu{cpu}/topology/physical_package_id"), &package.to_string());
    }
    for (place, event) in (0..).zip(events) {
        let text = |end: &str| format!("{FOLDER}/events/{event}{end}");
        machine.put(&text(""), &format!("event=0x0{place}"));
        machine.put(&text(".scale"), "2.3283064365386962890625e-10");
        machine.put(&text(".unit"), "Joules");
        for (cpu, _) in cpus {
            machine.put(&format!("perf:power/{event}@cpu{cpu}"), "0");
        }
    }
}

fn zone(machine: &mut Fake, zone: &str, name: &str, energy_uj: &str) {
    for (file, text) in [("name", name), ("energy_uj", energy_uj), ("max_energy_range_uj", "262143328850")] {
        machine.put(&format!("/sys/class/powercap/{zone}/{file}"), text);
    }
}

fn boundaries(inventory: &Inventory) -> Vec<(&str, &str)> {
    inventory.meters.iter().map(|it| (it.meter, it.boundary.as_str())).collect()
}

fn absent(inventory: &Inventory) -> &Absent {
    inventory.absent.iter().find(|it| it.meter == "perf").unwrap()
}

#[test]
fn energy_is_counted_on_one_cpu_of_each_package_under_the_names_of_powercap() {
    let mut machine = Fake::default();
    let events = ["energy-cores", "energy-gpu", "energy-pkg", "energy-psys", "energy-ram", "energy-else"];
    power(&mut machine, &events, &[(0, 0), (24, 1)]);
    let found = find_all(&mut machine);
    let expected = [
        "package-0 + package-1",
        "package-0",
        "package-1",
        "psys",
        "dram of package-0",
        "dram of package-1",
        "core of package-0",
        "core of package-1",
        "uncore of package-0",
        "uncore of package-1",
    ];
    assert_eq!(boundaries(&found), expected.map(|name| ("perf", name)));
    let sources: Vec<&str> = found.meters.iter().take(4).map(|it| it.source.as_str()).collect();
    assert_eq!(
        sources[1..],
        ["perf:power/energy-pkg@cpu0", "perf:power/energy-pkg@cpu24", "perf:power/energy-psys@cpu0"]
    );
    assert_eq!(found.meters[1].relation(&found.meters[6]), Relation::Contains);
    assert_eq!(found.meters[1].relation(&found.meters[7]), Relation::Apart);
}

#[test]
fn what_powercap_shows_is_not_taken_again() {
    let mut machine = Fake::default();
    power(&mut machine, &["energy-pkg", "energy-ram"], &[(0, 0)]);
    zone(&mut machine, "intel-rapl:0", "package-0", "5000000");
    let found = find_all(&mut machine);
    assert_eq!(boundaries(&found), [("powercap", "package-0"), ("perf", "dram of package-0")]);
    assert_eq!(
        absent(&found).why,
        "perf:power/energy-pkg@cpu0 (package-0) measures the same part as \
         /sys/class/powercap/intel-rapl:0/energy_uj and is left out"
    );
    zone(&mut machine, "intel-rapl:0:0", "dram", "7000000");
    let both = find_all(&mut machine);
    assert!(boundaries(&both).iter().all(|(meter, _)| *meter == "powercap"));
    assert!(absent(&both).why.ends_with("/sys/class/powercap/intel-rapl:0/energy_uj and is left out (and 1 more)"));
    // Who may not read powercap has perf's.
    machine.denied.push("/sys/class/powercap/intel-rapl:0/energy_uj".into());
    assert!(boundaries(&find_all(&mut machine)).contains(&("perf", "package-0")));
}

#[test]
fn dies_are_parts_of_their_package_however_the_drivers_split_it() {
    let mut machine = Fake::default();
    power(&mut machine, &["energy-pkg"], &[(0, 0), (8, 0)]);
    for (cpu, die) in [(0, "0"), (8, "1")] {
        machine.put(&format!("/sys/devices/system/cpu/cpu{cpu}/topology/die_id"), die);
    }
    assert_eq!(boundaries(&find_all(&mut machine))[0].1, "package-0-die-0 + package-0-die-1");
    machine.put("/proc/cpuinfo", "vendor_id\t: AuthenticAMD");
    assert_eq!(boundaries(&find_all(&mut machine)), [("perf", "package-0")], "these show one counter");
    machine.put("/proc/cpuinfo", "vendor_id\t: GenuineIntel");
    zone(&mut machine, "intel-rapl:0", "package-0", "5000000");
    let found = find_all(&mut machine);
    let names = ["package-0", "package-0-die-0", "package-0-die-1"];
    assert_eq!(found.meters.iter().map(|it| it.boundary.as_str()).collect::<Vec<_>>(), names, "and no sum of them");
    assert_eq!(found.meters[0].relation(&found.meters[1]), Relation::Contains);
    let whole = &found.meters[0];
    assert!(sum(&[whole, &found.meters[1]]).is_err());
}

#[test]
fn joules_are_the_counts_times_the_scale() {
    let mut machine = Fake::default();
    power(&mut machine, &["energy-pkg"], &[(0, 0)]);
    let meters = find_all(&mut machine).meters;
    let session = Session::open(&mut machine, &meters);
    let watches = session.watches();
    assert_eq!(watches[0].period_ns, None, "it never comes round, so nothing is read meanwhile");
    let mut samples = Vec::new();
    // 2^32 counts are a joule.
    for (at_ns, count) in [(7 * S, 1_u64 << 20), (17 * S, (1 << 20) + 50 * (1 << 32))] {
        machine.put("perf:power/energy-pkg@cpu0", &count.to_string());
        samples.push(machine.sample(&watches[0], at_ns));
    }
    let readings = session.close(&mut machine, &[samples], &[]);
    assert_eq!(readings[0].value(), Some(5.0));
    assert_eq!(readings[1].value(), Some(50.0));
    assert_eq!(machine.still_open(), 0);
}

#[test]
fn watts_between_two_looks_are_by_each_meters_scale() {
    let mut machine = Fake::default();
    power(&mut machine, &["energy-pkg"], &[(0, 0)]);
    for (file, text) in [("type", "Battery"), ("current_now", "-1500000"), ("voltage_now", "12000000")] {
        machine.put(&format!("/sys/class/power_supply/BAT0/{file}"), text);
    }
    let meters = find_all(&mut machine).meters;
    let powers = Powers::open(&mut machine, &meters);
    let mut look = |at_ns, counts: u64| {
        machine.put("perf:power/energy-pkg@cpu0", &counts.to_string());
        powers.snapshot(at_ns, &sample(&mut machine, &powers.handles(), at_ns).texts)
    };
    let (first, last) = (look(S, 1 << 32), look(3 * S, 11 << 32));
    assert_eq!(powers.watts(Some(&first), &last), [Some(5.0), Some(18.0)]);
    assert_eq!(powers.watts(None, &last), [None, Some(18.0)]);
}

#[test]
fn what_cannot_be_believed_or_opened_is_absent_with_its_reason() {
    let mut machine = Fake::default();
    assert!(absent(&find_all(&mut machine)).why.starts_with(&format!("{FOLDER}: no such file")));
    power(&mut machine, &["energy-psys"], &[(0, 0)]);
    let found = find_all(&mut machine);
    assert!(found.meters.is_empty());
    let why = &absent(&found).why;
    assert!(why.contains("has no energy-pkg") && why.contains("(energy-psys) is not believed"), "{why}");
    power(&mut machine, &["energy-pkg"], &[(0, 0)]);
    machine.denied.push("perf:power/energy-pkg@cpu0".into());
    machine.denied.push("perf:power/energy-psys@cpu0".into());
    let found = find_all(&mut machine);
    let denied = absent(&found);
    assert!(
        found.meters.is_empty() && denied.why.contains("(and 1 more): permission denied (EACCES)"),
        "{}",
        denied.why
    );
    assert_eq!(denied.lines, ["setcap cap_perfmon+ep \"$(command -v powerband)\""]);
    machine.denied.clear();
    machine.files.remove("perf:power/energy-pkg@cpu0");
    let found = find_all(&mut machine);
    assert!(found.meters.is_empty() && absent(&found).why.contains("for programs on the machine itself"));
    power(&mut machine, &["energy-pkg", "energy-psys"], &[(0, 0)]);
    for event in ["energy-pkg", "energy-psys"] {
        machine.put(&format!("{FOLDER}/events/{event}.unit"), "furlongs");
    }
    assert!(absent(&find_all(&mut machine)).why.contains("has a unit and a scale"));
}

/// Two CPUs that count, and one that is offline.
fn counting() -> Fake {
    let mut machine = Fake::default();
    machine.put("/sys/devices/system/cpu/online", "0-1");
    (0..3).for_each(|cpu| machine.put(&format!("/sys/devices/system/cpu/cpu{cpu}/online"), "1"));
    for event in ["aperf", "mperf", "tsc"] {
        machine.put(&format!("{DEVICES}/msr/events/{event}"), "event=0x00");
    }
    count(&mut machine, [[0; 3]; 2]);
    machine
}

fn count(machine: &mut Fake, counts: [[u64; 3]; 2]) {
    for (cpu, counts) in counts.iter().enumerate() {
        for (event, count) in ["aperf", "mperf", "tsc"].iter().zip(counts) {
            machine.put(&format!("perf:msr/{event}@cpu{cpu}"), &count.to_string());
        }
    }
}

fn sample(machine: &mut Fake, handles: &[Handle], at_ns: u64) -> Sample {
    let mut texts = Vec::new();
    machine.read_many(handles, &mut texts);
    Sample { at_ns, texts }
}

#[test]
fn the_clock_is_cycles_by_ticks_of_the_time_in_which_something_ran() {
    let mut machine = counting();
    let told = |machine: &mut Fake, cpus: &str, counts: [[u64; 3]; 2]| {
        count(machine, [[500, 300, 700]; 2]);
        let cpus = cpus.parse().unwrap();
        let figure = AskedFigure::named("measured_mhz").unwrap().open(machine, Some(&cpus)).unwrap();
        assert_eq!(figure.told_from(), Some("APERF / MPERF × TSC frequency"));
        let first = sample(machine, figure.handles(), S);
        count(machine, counts.map(|own| [own[0] + 500, own[1] + 300, own[2] + 700]));
        let last = sample(machine, figure.handles(), 3 * S);
        let told = figure.tell(&first, &last);
        figure.close(machine);
        told
    };
    // The TSC ticks at 2 GHz. CPU 0 runs half of the 2 s, at 3 GHz; CPU 1 a tenth, at 1 GHz.
    let counts = [[3_000_000_000, 2_000_000_000, 4_000_000_000], [200_000_000, 400_000_000, 4_000_000_000]];
    assert_eq!(told(&mut machine, "0", counts), Ok(3000.0));
    assert_eq!(told(&mut machine, "1", counts), Ok(1000.0));
    let both = told(&mut machine, "0-2", counts).unwrap();
    assert!((both - (3000.0 * 1.0 + 1000.0 * 0.2) / 1.2).abs() < 1e-9, "{both}: the one that runs longer weighs more");
    let idle = [[0, 0, 4_000_000_000]; 2];
    assert!(told(&mut machine, "0-1", idle).is_err(), "nothing ran");
    assert_eq!(machine.still_open(), 0);
}

#[test]
fn a_machine_that_does_not_count_its_cycles_has_no_measured_clock() {
    let figure = AskedFigure::named("measured_mhz").unwrap();
    let mut machine = counting();
    machine.denied.push("perf:msr/mperf@cpu0".into());
    let why = figure.open(&mut machine, None).unwrap_err();
    assert!(
        why.starts_with("perf:msr/mperf@cpu0: permission denied (EACCES); ") && why.contains("cap_perfmon"),
        "{why}"
    );
    assert_eq!(machine.still_open(), 0);
    machine.files.remove(&format!("{DEVICES}/msr/events/aperf"));
    let why = figure.open(&mut machine, None).unwrap_err();
    assert!(why.contains(&format!("counts no aperf here ({DEVICES}/msr/events/aperf: {})", Errno::ENOENT)), "{why}");
    assert!(AskedFigure::named("measured_mhz@eth0").is_none(), "a card has no clock");
}
