//! Power zones, batteries and converters: what is found of them, what is left out, what is added up.
use powerband_meter::*;

use crate::fake::Fake;

const S: u64 = 1_000_000_000;
const RANGE: u64 = 262_143_328_850;

fn zone(machine: &mut Fake, zone: &str, name: &str, energy_uj: u64) {
    for (file, text) in
        [("name", name), ("energy_uj", &energy_uj.to_string()), ("max_energy_range_uj", &RANGE.to_string())]
    {
        machine.put(&format!("/sys/class/powercap/{zone}/{file}"), text);
    }
}

/// Two packages with all that can lie in them, psys next to them, and package 0 again through the other driver.
fn server() -> Fake {
    let mut machine = Fake::default();
    machine.put("/sys/class/powercap/intel-rapl/enabled", "1");
    zone(&mut machine, "intel-rapl:0", "package-0", 11_000_000);
    zone(&mut machine, "intel-rapl:0:0", "core", 12_000_000);
    zone(&mut machine, "intel-rapl:0:1", "dram", 13_000_000);
    zone(&mut machine, "intel-rapl:1", "package-1", 14_000_000);
    zone(&mut machine, "intel-rapl:2", "psys", 15_000_000);
    zone(&mut machine, "intel-rapl-mmio:0", "package-0", 16_000_000);
    machine
}

fn found(machine: &mut Fake) -> (Vec<(String, PowerScope)>, Vec<String>) {
    let inventory = find_all(machine);
    let meters = inventory.meters.into_iter().map(|it| (it.boundary, it.scope)).collect();
    (meters, inventory.absent.into_iter().filter(|it| it.meter == "powercap").map(|it| it.why).collect())
}

#[test]
fn zones_go_by_their_names_and_twins_are_left_out() {
    let (meters, absent) = found(&mut server());
    let of = |name: &str, scope: PowerScope| (name.to_owned(), scope);
    assert_eq!(
        meters,
        [
            of("package-0 + package-1", PowerScope::Unknown),
            of("package-0", PowerScope::Package("0".into())),
            of("package-1", PowerScope::Package("1".into())),
            of("psys", PowerScope::Platform),
            of("dram of package-0", PowerScope::Memory("0".into())),
            of("core of package-0", PowerScope::Cores("0".into())),
        ]
    );
    let [why] = absent.as_slice() else { panic!("{absent:?}") };
    let [twin, first] =
        ["intel-rapl-mmio:0", "intel-rapl:0"].map(|zone| format!("/sys/class/powercap/{zone}/energy_uj"));
    assert_eq!(why, &format!("{twin} (package-0) measures the same part as {first} and is left out"));
}

#[test]
fn every_meter_knows_what_it_shares_with_the_others() {
    let meters = find_all(&mut server()).meters;
    let of = |name: &str| meters.iter().find(|meter| meter.boundary == name).unwrap();
    let both = of("package-0 + package-1");
    for (other, relation) in [
        ("package-0", Relation::Contains),
        ("core of package-0", Relation::Contains),
        ("dram of package-0", Relation::Apart),
        ("psys", Relation::Within),
        ("package-0 + package-1", Relation::Same),
    ] {
        assert_eq!(both.relation(of(other)), relation, "{other}");
    }
    let error = sum(&[both, of("psys")]).unwrap_err().to_string();
    assert_eq!(error, "package-0 + package-1 and psys cannot be added up: the second contains the first");
    let all = sum(&[both, of("dram of package-0")]).unwrap();
    assert_eq!((all.boundary.as_str(), all.parts.len()), ("package-0 + package-1 + dram of package-0", 3));
}

#[test]
fn one_counter_under_two_names_is_taken_once() {
    let mut machine = Fake::default();
    zone(&mut machine, "intel-rapl:0", "package-0-die-0", 77_000_000);
    zone(&mut machine, "intel-rapl:1", "package-0-die-1", 77_000_000);
    let (meters, absent) = found(&mut machine);
    assert_eq!(meters, [("package-0-die-0".to_owned(), PowerScope::Package("0-die-0".into()))], "and no sum of one");
    assert!(absent[0].contains("package-0-die-1") && absent[0].contains("shows the same counter as"), "{absent:?}");
    zone(&mut machine, "intel-rapl:1", "package-0-die-1", 78_000_000);
    assert_eq!(found(&mut machine).0[0].0, "package-0-die-0 + package-0-die-1");
}

#[test]
fn counters_for_root_alone_are_one_entry_with_the_rule_that_helps() {
    let mut machine = server();
    let zones =
        ["intel-rapl:0", "intel-rapl:0:0", "intel-rapl:0:1", "intel-rapl:1", "intel-rapl:2", "intel-rapl-mmio:0"];
    machine.denied.extend(zones.map(|zone| format!("/sys/class/powercap/{zone}/energy_uj")));
    let inventory = find_all(&mut machine);
    assert!(inventory.meters.is_empty());
    let [absent] = inventory.absent.iter().filter(|it| it.meter == "powercap").collect::<Vec<_>>()[..] else {
        panic!()
    };
    assert!(absent.why.contains("(and 5 more): permission denied (EACCES)"), "{}", absent.why);
    assert_eq!(
        absent.lines,
        [
            "SUBSYSTEM==\"powercap\", RUN+=\"/bin/chgrp powerband /sys%p/energy_uj\"",
            "SUBSYSTEM==\"powercap\", RUN+=\"/bin/chmod 0440 /sys%p/energy_uj\"",
        ]
    );
}

#[test]
fn a_zone_draws_no_more_than_it_tells_of_itself() {
    for (told, at_most_w) in [(None, 2000), (Some(0), 2000), (Some(15_000_000), 100), (Some(205_000_000), 820)] {
        let mut machine = Fake::default();
        zone(&mut machine, "intel-rapl:0", "package-0", 1);
        if let Some(told) = told {
            machine.put("/sys/class/powercap/intel-rapl:0/constraint_0_max_power_uw", &u64::to_string(&told));
        }
        let meters = Powercap.find(&mut machine).unwrap();
        assert_eq!(meters[0].kind, Kind::Counter { wrap: Some(Wrap { at_uj: RANGE, at_most_w }) });
    }
}

/// Reads packages 0 and 1 around work of `seconds`, as they draw 1000 and 500 W; `skip` leaves out what is due meanwhile.
fn two_packages(seconds: u64, skip: bool) -> Vec<Reading> {
    let mut machine = server();
    let meters = find_all(&mut machine).meters;
    let session = Session::open(&mut machine, &meters[..1]);
    let watches = session.watches();
    let [watch] = watches.as_slice() else { panic!("{watches:?}") };
    let period = watch.period_ns.unwrap() / S;
    let due = |second: &u64| *second == 0 || *second == seconds || !skip && second.is_multiple_of(period);
    let mut moments = Vec::new();
    for second in (0..=seconds).filter(due) {
        let joules = |at: u64, watts: u64| (at * 1_000_000 + second * watts * 1_000_000) % (RANGE + 1);
        zone(&mut machine, "intel-rapl:0", "package-0", joules(11, 1000));
        zone(&mut machine, "intel-rapl:1", "package-1", joules(14, 500));
        moments.push(machine.sample(watch, second * S));
    }
    session.close(&mut machine, &[moments], &[])
}

#[test]
fn a_sum_of_packages_counts_every_wrap_of_each() {
    // 3 and 1 wraps in 1000 s.
    let readings = two_packages(1000, false);
    let [watts, joules] = [0, 1].map(|i| readings[i].value().unwrap());
    assert!((watts / 1500.0 - 1.0).abs() < 1e-9 && (joules / 1_500_000.0 - 1.0).abs() < 1e-9, "{watts} {joules}");
    assert_eq!(readings[1].boundary, "package-0 + package-1");
    assert!(readings[1].notes[0].starts_with("the sum of 2 meters"));
    let short = two_packages(20, true);
    assert_eq!(short[1].value(), Some(30_000.0), "a short load is read at its start and end alone");
}

#[test]
fn a_gap_in_which_a_counter_may_have_come_round_voids_the_number() {
    let readings = two_packages(140, true);
    assert_eq!(
        readings[1].refusal(),
        Some("package-0: 2 min 20 s passed between two readings, in which the counter may have come round unseen")
    );
}

#[test]
fn a_battery_is_a_meter_while_it_feeds_the_machine() {
    let mut machine = Fake::default();
    let mut put = |file: &str, text: &str| machine.put(&format!("/sys/class/power_supply/{file}"), text);
    put("AC/type", "Mains");
    put("AC/online", "1");
    put("BAT0/type", "Battery");
    put("BAT0/status", "Charging");
    put("BAT0/current_now", "-1500000");
    put("BAT0/voltage_now", "12000000");
    put("hidpp_battery_0/type", "Battery");
    put("hidpp_battery_0/scope", "Device");
    put("hidpp_battery_0/power_now", "1");
    assert_eq!(
        PowerSupply.find(&mut machine).unwrap_err().why,
        "AC shows neither power nor a current with its voltage; BAT0 is charging, so it does not feed the machine; \
         unplug the supply to measure by it; hidpp_battery_0 belongs to a device outside the machine"
    );
    machine.put("/sys/class/hwmon/hwmon0/name", "BAT0");
    machine.put("/sys/class/hwmon/hwmon0/power1_input", "5000000");
    assert_eq!(
        Hwmon.find(&mut machine).unwrap_err().why,
        "no sensor measures power here; the chips are: BAT0 (a battery that is charging)"
    );
    machine.put("/sys/class/power_supply/BAT0/status", "Discharging");
    assert_eq!(find_all(&mut machine).meters.len(), 1, "one battery is one meter, whoever shows it");
    let meters = PowerSupply.find(&mut machine).unwrap();
    assert_eq!((meters.len(), meters[0].boundary.as_str()), (1, "BAT0"));
    let watts = read_for(&mut machine, &meters, 20);
    assert_eq!(watts, [Some(18.0)], "a current times its voltage");
    machine.put("/sys/class/power_supply/BAT0/power_now", "17500000");
    let meters = PowerSupply.find(&mut machine).unwrap();
    assert_eq!(read_for(&mut machine, &meters, 20), [Some(17.5)]);
}

#[test]
fn converters_are_scaled_to_watts() {
    let mut machine = Fake::default();
    let mut put = |file: &str, text: &str| machine.put(&format!("/sys/bus/iio/devices/iio:device0/{file}"), text);
    put("name", "ina226");
    put("in_power2_raw", "800");
    put("in_power2_scale", "0.625000");
    put("in_power3_raw", "800");
    put("in_power4_input", "2500");
    put("in_power4_raw", "9");
    put("in_power4_label", "VDD_CPU");
    put("in_voltage0_raw", "9");
    put("in_sampling_frequency", "4");
    let meters = Iio.find(&mut machine).unwrap();
    let boundaries: Vec<&str> = meters.iter().map(|it| it.boundary.as_str()).collect();
    assert_eq!(boundaries, ["ina226 in_power2", "ina226 VDD_CPU"], "a raw number without its scale is not watts");
    assert_eq!(meters[0].kind, Kind::Gauge { interval_ns: S / 4, window: Window::Instant });
    assert_eq!(read_for(&mut machine, &meters, 20), [Some(0.5), Some(2.5)]);
}

/// What the meters show in watts, read once a second.
fn read_for(machine: &mut Fake, meters: &[MeterInstance], seconds: u64) -> Vec<Option<f64>> {
    let session = Session::open(machine, meters);
    let around: Vec<_> = session
        .watches()
        .iter()
        .map(|watch| (0..=seconds).map(|second| machine.sample(watch, second * S)).collect())
        .collect();
    let readings = session.close(machine, &around, &[]);
    assert_eq!(machine.still_open(), 0);
    readings.iter().filter(|it| it.metric == "power_w").map(Reading::value).collect()
}
