//! Counters of perf: the cycles of CPUs against their clock and their idle time, and energy against the power zones.
use powerband_machine::{Errno, PerfPlace, World};
use powerband_record::Side;
use powerband_sim::{Profile, SimWorld};

use crate::rig::{SECOND, alone, counter, cpufreq, job, quiet, read, run, write};

fn count(world: &mut SimWorld, event: &str, cpu: u32) -> u64 {
    let device = if event.starts_with("energy") { "power" } else { "msr" };
    read(world, &PerfPlace { device, event, cpu }.to_string()).trim().parse().unwrap()
}

fn counts(world: &mut SimWorld, cpu: u32) -> [u64; 3] {
    ["aperf", "mperf", "tsc"].map(|event| count(world, event, cpu))
}

#[test]
fn cycles_come_with_the_clock_while_something_runs() {
    let mut world = alone(quiet("laptop"));
    for cpu in 0..8 {
        for file in ["scaling_min_freq", "scaling_max_freq"] {
            write(&mut world, &cpufreq(cpu, file), "1000000").unwrap();
        }
    }
    let first: Vec<[u64; 3]> = (0..8).map(|cpu| counts(&mut world, cpu)).collect();
    let from_ns = world.now_ns();
    let on_two = powerband_machine::Job { cpus: Some("2".parse().unwrap()), ..counter(SECOND) };
    run(&mut world, &on_two);
    let passed_ns = world.now_ns() - from_ns;
    for (cpu, first) in (0..8).zip(first) {
        let last = counts(&mut world, cpu);
        let [aperf, mperf, tsc] = [0, 1, 2].map(|place: usize| last[place] - first[place]);
        assert!(tsc.abs_diff(passed_ns * 18 / 10) <= 1, "CPU {cpu}: {tsc} ticks of 1.8 GHz in {passed_ns} ns");
        // It made cycles of 1.0 GHz in the same time in which the counter next to it ticked at 1.8.
        assert!((aperf * 18).abs_diff(mperf * 10) < 100, "CPU {cpu}: {aperf} cycles, {mperf} ticks");
        let busy = mperf as f64 / tsc as f64;
        assert!(if cpu == 2 { busy > 0.99 } else { busy < 0.3 }, "CPU {cpu}: {busy}");
    }
}

#[test]
fn energy_is_that_of_the_zones_in_the_fractions_of_perf() {
    let mut world = alone(Profile::builtin("laptop").unwrap());
    run(&mut world, &job(counter(SECOND).work));
    for (event, zone) in [("pkg", "0"), ("cores", "0:0"), ("gpu", "0:1"), ("ram", "0:2"), ("psys", "1")] {
        let counts = count(&mut world, &format!("energy-{event}"), 0);
        let uj: f64 =
            read(&mut world, &format!("/sys/class/powercap/intel-rapl:{zone}/energy_uj")).trim().parse().unwrap();
        let perf_uj = counts as f64 / 2_f64.powi(32) * 1e6;
        assert!((perf_uj - uj).abs() < uj * 1e-5 + 62.0, "{event}: {perf_uj} and {uj} uJ");
        assert_eq!(counts % (1 << 18), 0, "steps of 2^-14 J");
    }
}

#[test]
fn what_is_not_counted_is_not_there() {
    let mut laptop = alone(Profile::builtin("laptop").unwrap());
    write(&mut laptop, "/sys/devices/system/cpu/cpu7/online", "0").unwrap();
    let mut pc = alone(Profile::builtin("pc").unwrap());
    let machine = laptop.machine(Side::Near).unwrap();
    for (place, errno) in [
        ("perf:msr/aperf@cpu7", Errno::ENODEV),
        ("perf:msr/aperf@cpu8", Errno::ENOENT),
        ("perf:msr/smi@cpu0", Errno::ENOENT),
        ("perf:power/energy-pkg@cpu1", Errno::ENOENT),
    ] {
        assert_eq!(machine.read(place), Err(errno), "{place}");
    }
    assert_eq!(pc.machine(Side::Near).unwrap().open("perf:msr/tsc@cpu0"), Err(Errno::ENOENT));
}

#[test]
fn a_machine_file_says_which_events_there_are() {
    let text = Profile::builtin_text("omap3530").unwrap();
    let with = |event: &str| Profile::parse(&format!("{text}\n[meters]\nperf = [{{ {event} }}]\n"));
    assert!(with("event = \"energy-pkg\", covers = { cpus = 1.0 }").is_ok());
}
