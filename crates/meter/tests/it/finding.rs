//! What is found, with its boundary, and why the rest is absent.
use powerband_meter::*;

use crate::fake::Fake;

#[test]
fn absent_meters_say_why() {
    let inventory = find_all(&mut Fake::default());
    assert!(inventory.meters.is_empty());
    assert_eq!(inventory.absent.len(), ALL.len());
    assert_eq!(
        inventory.absent[0].why,
        "only simulated machines have it (/sys/kernel/powerband/energy_uj: no such file or directory (ENOENT))"
    );
    let mut machine = Fake::default();
    machine.put("/sys/class/hwmon/hwmon0/name", "coretemp");
    machine.put("/sys/class/hwmon/hwmon0/temp1_input", "45000");
    let absent = Hwmon.find(&mut machine).unwrap_err();
    assert_eq!(absent.why, "no sensor measures power here; the chips are: coretemp");
}

#[test]
fn sensors_are_found_with_their_boundaries() {
    let mut machine = Fake::default();
    for (file, text) in [
        ("hwmon0/name", "power_meter"),
        ("hwmon0/power1_average", "120000000"),
        ("hwmon0/power1_input", "119000000"),
        ("hwmon0/power1_average_interval", "500"),
        ("hwmon0/power1_average_min", "1"),
        ("hwmon1/device/name", "corsairpsu"),
        ("hwmon1/device/power12_input", "90000000"),
        ("hwmon1/device/power12_label", "power total"),
        ("hwmon1/device/energy1_input", "1"),
    ] {
        machine.put(&format!("/sys/class/hwmon/{file}"), text);
    }
    machine.put("/sys/kernel/powerband/energy_uj", "0");
    machine.put("/sys/kernel/powerband/boundary", "modelled");
    let inventory = find_all(&mut machine);
    let found: Vec<(&str, &str, Kind)> =
        inventory.meters.iter().map(|it| (it.boundary.as_str(), it.source.as_str(), it.kind)).collect();
    let gauge = |interval_ns, window| Kind::Gauge { interval_ns, window };
    assert_eq!(
        found,
        [
            ("modelled", "/sys/kernel/powerband/energy_uj", Kind::Counter { wrap: None }),
            ("power_meter power1", "/sys/class/hwmon/hwmon0/power1_average", gauge(500_000_000, Window::Before)),
            ("corsairpsu energy1", "/sys/class/hwmon/hwmon1/device/energy1_input", Kind::Counter { wrap: None }),
            (
                "corsairpsu power total",
                "/sys/class/hwmon/hwmon1/device/power12_input",
                gauge(1_000_000_000, Window::Instant)
            ),
        ]
    );
    assert_eq!(inventory.meters[1].notes, ["the chip does not say what power1 of power_meter measures"]);
    let absent: Vec<&str> = inventory.absent.iter().map(|absent| absent.meter).collect();
    assert_eq!(absent, ["powercap", "perf", "iio", "power_supply"]);
}

#[test]
fn every_meter_describes_itself() {
    for meter in ALL {
        let about = meter.about();
        for text in [about.name, about.summary, about.unit, about.boundary, about.kind, about.cost, about.source] {
            assert!(!text.is_empty(), "{}", about.name);
        }
    }
}

#[test]
fn what_cannot_be_read_beside_a_meter_is_told_and_the_meter_is_there() {
    let mut machine = Fake::default();
    let name = "/sys/class/hwmon/hwmon0/name";
    machine.put(name, "psu");
    machine.put("/sys/class/hwmon/hwmon0/power1_input", "1000");
    machine.denied.push(name.into());
    let inventory = find_all(&mut machine);
    assert_eq!((inventory.meters.len(), inventory.unread.len()), (1, 1));
    assert_eq!((inventory.unread[0].path.as_str(), inventory.unread[0].why.contains("EACCES")), (name, true));
}

#[test]
fn a_meter_that_may_not_be_read_says_what_would_help() {
    let mut machine = Fake::default();
    for (chip, file) in [("hwmon0", "power1_input"), ("hwmon1", "energy1_input")] {
        machine.put(&format!("/sys/class/hwmon/{chip}/name"), "psu");
        machine.put(&format!("/sys/class/hwmon/{chip}/{file}"), "1000");
    }
    let source = "/sys/class/hwmon/hwmon1/energy1_input";
    machine.denied.push(source.into());
    let inventory = find_all(&mut machine);
    assert_eq!(
        inventory.meters.iter().map(|meter| meter.source.as_str()).collect::<Vec<_>>(),
        ["/sys/class/hwmon/hwmon0/power1_input"]
    );
    let absent = inventory.absent.iter().find(|absent| absent.meter == "hwmon").unwrap();
    assert!(absent.why.starts_with(source) && absent.why.contains("/etc/tmpfiles.d/powerband.conf"), "{}", absent.why);
    assert_eq!((&absent.lines, &inventory.unread), (&vec![format!("z {source} 0440 root powerband")], &vec![]));
}
