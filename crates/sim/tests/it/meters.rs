//! Meters of a machine file: what they show against the energy the machine drew, and what is wrong with them on request.
use powerband_machine::{Errno, Machine, World};
use powerband_record::Side;
use powerband_sim::{Profile, SimWorld};

use crate::rig::{SECOND, alone, counter, read, run};

const ALL: &str = "covers = { cpus = 1.0, packages = 1.0, platform = 1.0 }";

/// The router with meters: lines of `powercap`, and of `hwmon`.
fn with_meters(powercap: &str, hwmon: &str) -> Profile {
    let text = Profile::builtin_text("omap3530").unwrap();
    Profile::parse(&format!("{text}\n[meters]\npowercap = [{powercap}]\nhwmon = [{hwmon}]\n")).unwrap()
}

fn psys(more: &str) -> SimWorld {
    alone(with_meters(&format!("{{ zone = \"intel-rapl:0\", name = \"psys\", {ALL}{more} }}"), ""))
}

fn sensor(more: &str) -> SimWorld {
    let sensor = "chip = \"hwmon0\", name = \"ina\", channel = \"power1_input\", update_ms = 100.0, unit = 1.0";
    alone(with_meters("", &format!("{{ {sensor}, {ALL}{more} }}")))
}

fn uj(world: &mut SimWorld) -> u64 {
    number(world, "/sys/class/powercap/intel-rapl:0/energy_uj")
}

fn uw(world: &mut SimWorld) -> u64 {
    number(world, "/sys/class/hwmon/hwmon0/power1_input")
}

fn truth_uj(world: &mut SimWorld) -> u64 {
    number(world, "/sys/kernel/powerband/energy_uj")
}

fn number(world: &mut SimWorld, path: &str) -> u64 {
    read(world, path).trim().parse().unwrap()
}

fn wait_until(world: &mut SimWorld, at_ns: u64) {
    while world.now_ns() < at_ns {
        world.wait(Some(at_ns));
    }
}

#[test]
fn zones_count_what_they_cover_in_steps_at_every_update() {
    let mut world = alone(Profile::builtin("laptop").unwrap());
    run(&mut world, &counter(SECOND));
    let whole_ms = (world.now_ns() / 1_000_000 + 5) * 1_000_000;
    wait_until(&mut world, whole_ms);
    let zone = |world: &mut SimWorld, zone: &str| number(world, &format!("/sys/class/powercap/{zone}/energy_uj"));
    let all = ["intel-rapl:0", "intel-rapl:0:0", "intel-rapl:0:1", "intel-rapl:0:2", "intel-rapl:1"];
    let [package, core, uncore, dram, psys] = all.map(|name| zone(&mut world, name));
    assert!(truth_uj(&mut world).abs_diff(psys) <= 62, "no further off than one step");
    assert!((psys - package).abs_diff(3 * whole_ms / 1_000) <= 123, "the platform's 3 W lie between them");
    assert!(dram.abs_diff(3 * whole_ms / 5_000) <= 62, "a fifth of these is memory");
    assert!((package - core) * 3 / 10 - 62 <= uncore && uncore <= (package - core) * 3 / 10 + 62);
    assert_eq!(zone(&mut world, "intel-rapl-mmio:0"), package, "the same once more");
    wait_until(&mut world, whole_ms + 900_000);
    assert_eq!(zone(&mut world, "intel-rapl:1"), psys, "nothing new before the next update");
    wait_until(&mut world, whole_ms + 1_000_000);
    assert!(zone(&mut world, "intel-rapl:1") > psys);
}

#[test]
fn the_files_are_those_of_the_kernel() {
    let mut world = alone(Profile::builtin("laptop").unwrap());
    let machine = world.machine(Side::Near).unwrap();
    let names = |machine: &mut dyn Machine, folder: &str| -> Vec<String> {
        machine.list(folder).unwrap().into_iter().map(|entry| entry.name).collect()
    };
    let zones = names(machine, "/sys/class/powercap");
    let known = ["", "-mmio", "-mmio:0", ":0", ":0:0", ":0:1", ":0:2", ":1"];
    assert_eq!(zones, known.map(|rest| format!("intel-rapl{rest}")));
    let limit = ["max_power_uw", "name", "power_limit_uw", "time_window_us"].map(|it| format!("constraint_0_{it}"));
    let files = names(machine, "/sys/class/powercap/intel-rapl:0");
    assert_eq!(files[..4], limit);
    assert_eq!(files[4..], ["enabled", "energy_uj", "max_energy_range_uj", "name"]);
    assert_eq!(machine.read("/sys/class/powercap/intel-rapl:0/max_energy_range_uj").unwrap(), "262143328850\n");
    let acpi = "{ chip = \"hwmon3\", name = \"power_meter\", channel = \"power1_average\", update_ms = 1000.0, ";
    let mut world = alone(with_meters("", &format!("{acpi}{ALL} }}")));
    assert_eq!(read(&mut world, "/sys/class/hwmon/hwmon3/device/power1_average_interval"), "1000\n");
    assert_eq!(read(&mut world, "/sys/class/hwmon/hwmon3/device/name"), "power_meter\n");
    let machine = world.machine(Side::Near).unwrap();
    assert!(machine.read("/sys/class/powercap").is_err_and(|errno| errno == Errno::ENOENT));
}

#[test]
fn a_counter_comes_round_where_it_says() {
    let mut world = psys(", range_uj = 1999999, update_ms = 1.0, unit_uj = 1.0");
    let mut rounds = 0;
    let mut last = 0;
    for second in 1..=20 {
        wait_until(&mut world, second * SECOND);
        let now = uj(&mut world);
        rounds += u64::from(now < last);
        last = now;
        assert_eq!(rounds * 2_000_000 + now, truth_uj(&mut world));
    }
    assert!(rounds > 5, "{rounds}");
}

#[test]
fn a_gauge_shows_the_mean_of_its_window_as_it_was_then() {
    for (more, late_ns) in [("", 0), (", wrong = { late_s = 3.0 }", 3 * SECOND)] {
        let mut world = sensor(more);
        let (mut shown, mut truth) = (Vec::new(), vec![0]);
        for tenth in 1..=80_u64 {
            if tenth == 30 {
                run(&mut world, &counter(SECOND / 10));
            }
            wait_until(&mut world, tenth * SECOND / 10);
            truth.push(truth_uj(&mut world));
            shown.push((world.now_ns(), uw(&mut world)));
        }
        let late = usize::try_from(late_ns / (SECOND / 10)).unwrap();
        for (place, (_, uw)) in shown.iter().enumerate().skip(late + 1) {
            let mean_uw = (truth[place + 1 - late] - truth[place - late]) * 10;
            assert!(uw.abs_diff(mean_uw) <= 10, "{uw} {mean_uw} at {place}");
        }
        assert!(shown.iter().any(|(_, uw)| *uw > 2_000_000), "the load is among them");
    }
}

#[test]
fn meters_freeze_die_go_and_spike_when_they_are_told_to() {
    let at = |world: &mut SimWorld, seconds: u64| {
        wait_until(world, seconds * SECOND);
        uj(world)
    };
    let mut frozen = psys(", wrong = { frozen_at_s = 2.0 }");
    assert!(at(&mut frozen, 1) < at(&mut frozen, 2));
    assert_eq!(at(&mut frozen, 2), at(&mut frozen, 9));
    let mut dead = psys(", wrong = { dead_at_s = 2.0 }");
    assert!(at(&mut dead, 1) > 0);
    assert_eq!(at(&mut dead, 2), 0);
    for (with, errno) in [("", Errno::ENODEV), (", gone_with = \"EIO\"", Errno::EIO)] {
        let mut gone = psys(&format!(", wrong = {{ gone_at_s = 2.0{with} }}"));
        assert!(at(&mut gone, 1) > 0);
        wait_until(&mut gone, 2 * SECOND);
        let machine = gone.machine(Side::Near).unwrap();
        assert_eq!(machine.read("/sys/class/powercap/intel-rapl:0/energy_uj"), Err(errno));
    }
    let mut spiky = sensor(", wrong = { spike_share = 0.1 }");
    let mut spikes = 0;
    for tenth in 1..=1_000 {
        wait_until(&mut spiky, tenth * SECOND / 10);
        spikes += u32::from(uw(&mut spiky) > 1_000_000_000);
    }
    assert!((60..160).contains(&spikes), "one in ten: {spikes}");
}
