//! Intel's own driver: its files and refusals, what its switches mean for limits and clocks, and the change of its mode.
use powerband_machine::{Errno, World};
use powerband_record::{CpuList, Side};
use powerband_sim::SimWorld;

use crate::rig::{SECOND, alone, counter, quiet, read, spawn, write};

const CPU: &str = "/sys/devices/system/cpu";

fn pstate(file: &str) -> String {
    format!("{CPU}/intel_pstate/{file}")
}

fn policy(file: &str) -> String {
    format!("{CPU}/cpufreq/policy2/{file}")
}

fn names(world: &mut SimWorld, folder: &str) -> Vec<String> {
    let entries = world.machine(Side::Near).unwrap().list(folder).unwrap();
    entries.into_iter().map(|entry| entry.name).collect()
}

fn pass(world: &mut SimWorld, for_ns: u64) {
    let until = world.now_ns() + for_ns;
    while world.now_ns() < until {
        world.wait(Some(until));
    }
}

/// Three seconds of a counter on CPU 2, and the clock in the midst of it, MHz.
fn busy_mhz(world: &mut SimWorld) -> u32 {
    let mut job = counter(3 * SECOND);
    job.cpus = Some(CpuList::new(vec![2]));
    let id = spawn(world, Side::Near, &job);
    pass(world, 2 * SECOND);
    let mhz = read(world, &policy("scaling_cur_freq")).trim().parse::<u32>().unwrap() / 1_000;
    world.machine(Side::Near).unwrap().end(id, true);
    mhz
}

#[test]
fn its_files_are_the_drivers_own() {
    let mut world = alone(quiet("laptop"));
    for (file, text) in [
        ("status", "active\n"),
        ("no_turbo", "0\n"),
        ("max_perf_pct", "100\n"),
        ("min_perf_pct", "10\n"),
        ("num_pstates", "36\n"),
        ("turbo_pct", "65\n"),
        ("hwp_dynamic_boost", "0\n"),
    ] {
        assert_eq!(read(&mut world, &pstate(file)), text, "{file}");
    }
    for (file, text) in [
        ("scaling_driver", "intel_pstate\n"),
        ("scaling_governor", "powersave\n"),
        ("scaling_available_governors", "performance powersave\n"),
        ("base_frequency", "1600000\n"),
        ("cpuinfo_max_freq", "3900000\n"),
        ("cpuinfo_transition_latency", "0\n"),
        ("energy_performance_preference", "balance_performance\n"),
        ("energy_performance_available_preferences", "default performance balance_performance balance_power power \n"),
        ("scaling_setspeed", "<unsupported>\n"),
    ] {
        assert_eq!(read(&mut world, &policy(file)), text, "{file}");
    }
    let there = names(&mut world, &format!("{CPU}/cpufreq/policy2"));
    for absent in ["stats", "scaling_available_frequencies", "cpuinfo_cur_freq", "bios_limit", "boost"] {
        assert!(!there.contains(&absent.to_owned()), "{absent}");
    }
    assert!(names(&mut world, CPU).contains(&"intel_pstate".to_owned()));
    assert!(!names(&mut world, &format!("{CPU}/cpufreq")).contains(&"boost".to_owned()));
}

#[test]
fn its_refusals_are_the_drivers_own() {
    let mut world = alone(quiet("laptop"));
    let hint = policy("energy_performance_preference");
    for (path, text, errno) in [
        (pstate("status"), "off", Errno::EBUSY),
        (pstate("status"), "guided", Errno::EINVAL),
        (pstate("no_turbo"), "x", Errno::EINVAL),
        (pstate("num_pstates"), "1", Errno::EACCES),
        (policy("scaling_governor"), "schedutil", Errno::EINVAL),
        (policy("scaling_setspeed"), "800000", Errno::EINVAL),
        (hint.clone(), "fast", Errno::EINVAL),
        (hint.clone(), "256", Errno::EINVAL),
    ] {
        assert_eq!(write(&mut world, &path, text), Err(errno), "{path} {text}");
    }
    for (text, reads) in [("255", "power"), ("77", "77"), ("default", "balance_performance"), ("power", "power")] {
        assert_eq!(write(&mut world, &hint, text).unwrap(), reads);
    }
    write(&mut world, &policy("scaling_governor"), "performance").unwrap();
    assert_eq!(read(&mut world, &hint), "performance\n");
    assert_eq!(write(&mut world, &hint, "power"), Err(Errno::EBUSY));
    assert_eq!(write(&mut world, &hint, "performance").unwrap(), "performance");
    write(&mut world, &policy("scaling_governor"), "powersave").unwrap();
    assert_eq!(read(&mut world, &hint), "power\n");
}

#[test]
fn switches_bound_limits_and_clocks() {
    let mut world = alone(quiet("laptop"));
    assert_eq!(busy_mhz(&mut world), 3_900);
    write(&mut world, &pstate("no_turbo"), "5").unwrap();
    let limits = |world: &mut SimWorld| ["scaling_max_freq", "cpuinfo_max_freq"].map(|file| read(world, &policy(file)));
    assert_eq!(limits(&mut world), ["1600000\n", "3900000\n"]);
    assert_eq!((read(&mut world, &pstate("no_turbo")).as_str(), busy_mhz(&mut world)), ("1\n", 1_600));
    write(&mut world, &pstate("no_turbo"), "0").unwrap();
    assert_eq!(limits(&mut world), ["3900000\n", "3900000\n"]);
    for (file, text, reads) in [
        ("min_perf_pct", "3", "10"),
        ("max_perf_pct", "50", "50"),
        ("min_perf_pct", "80", "50"),
        ("max_perf_pct", "5", "50"),
    ] {
        assert_eq!(write(&mut world, &pstate(file), text).unwrap(), reads, "{file}");
    }
    assert_eq!(limits(&mut world), ["3900000\n", "3900000\n"], "percentages show in active mode nowhere else");
    assert_eq!(busy_mhz(&mut world), 2_000, "half of 39 steps, rounded up");
    write(&mut world, &pstate("max_perf_pct"), "100").unwrap();
    pass(&mut world, SECOND);
    assert_eq!(
        read(&mut world, &policy("scaling_cur_freq")),
        "2000000\n",
        "the least there is now, although nothing runs"
    );
    write(&mut world, &pstate("min_perf_pct"), "0").unwrap();
    write(&mut world, &policy("scaling_max_freq"), "1000000").unwrap();
    assert_eq!(busy_mhz(&mut world), 1_000);
}

#[test]
fn a_hint_towards_saving_costs_clock_under_the_same_load() {
    let mut world = alone(quiet("laptop"));
    let mut at = |hint: &str| {
        write(&mut world, &policy("energy_performance_preference"), hint).unwrap();
        busy_mhz(&mut world)
    };
    assert_eq!(["performance", "balance_performance", "balance_power"].map(&mut at), [3_900; 3]);
    assert_eq!(at("power"), 3_000, "the hint leaves a quarter away");
}

#[test]
fn another_mode_begins_with_nothing_that_was_set() {
    let mut world = alone(quiet("laptop"));
    write(&mut world, &policy("scaling_max_freq"), "1000000").unwrap();
    write(&mut world, &policy("energy_performance_preference"), "power").unwrap();
    write(&mut world, &pstate("no_turbo"), "1").unwrap();
    write(&mut world, &pstate("status"), "passive").unwrap();
    for (file, text) in [
        ("scaling_driver", "intel_cpufreq\n"),
        ("scaling_governor", "powersave\n"),
        ("scaling_available_governors", "conservative ondemand userspace powersave performance schedutil \n"),
        ("scaling_max_freq", "3900000\n"),
        ("energy_performance_preference", "balance_performance\n"),
        ("cpuinfo_transition_latency", "20000\n"),
    ] {
        assert_eq!(read(&mut world, &policy(file)), text, "{file}");
    }
    assert_eq!(read(&mut world, &pstate("no_turbo")), "0\n");
    assert!(!names(&mut world, &format!("{CPU}/intel_pstate")).contains(&"hwp_dynamic_boost".to_owned()));
    write(&mut world, &policy("scaling_governor"), "userspace").unwrap();
    write(&mut world, &policy("scaling_setspeed"), "1234567").unwrap();
    assert_eq!(read(&mut world, &policy("scaling_cur_freq")), "1300000\n", "the next step up");
    write(&mut world, &pstate("max_perf_pct"), "50").unwrap();
    assert_eq!(read(&mut world, &policy("scaling_max_freq")), "2000000\n", "a limit in this mode");
    write(&mut world, &policy("scaling_governor"), "schedutil").unwrap();
    let limit = read(&mut world, &format!("{CPU}/cpufreq/schedutil/rate_limit_us"));
    assert_eq!(limit, "5000\n", "what the driver asks for, not what follows from its latency");
    assert_eq!(busy_mhz(&mut world), 2_000);
    write(&mut world, &pstate("status"), "active").unwrap();
    assert_eq!(read(&mut world, &policy("scaling_governor")), "powersave\n");
    assert_eq!(busy_mhz(&mut world), 3_900);
}

#[test]
fn a_cpu_that_was_away_keeps_its_hint_and_limits() {
    let mut world = alone(quiet("laptop"));
    write(&mut world, &policy("energy_performance_preference"), "power").unwrap();
    write(&mut world, &policy("scaling_max_freq"), "1000000").unwrap();
    let online = format!("{CPU}/cpu2/online");
    write(&mut world, &online, "0").unwrap();
    assert_eq!(world.machine(Side::Near).unwrap().read(&policy("scaling_max_freq")), Err(Errno::EBUSY));
    write(&mut world, &online, "1").unwrap();
    assert_eq!(read(&mut world, &policy("energy_performance_preference")), "power\n");
    assert_eq!(read(&mut world, &policy("scaling_max_freq")), "1000000\n");
}

#[test]
fn second_threads_go_and_come_together() {
    let mut world = alone(quiet("laptop"));
    let smt = |file: &str| format!("{CPU}/smt/{file}");
    assert_eq!((read(&mut world, &smt("control")), read(&mut world, &smt("active"))), ("on\n".into(), "1\n".into()));
    assert_eq!(read(&mut world, &format!("{CPU}/cpu5/topology/thread_siblings_list")), "1,5\n");
    assert_eq!(read(&mut world, &format!("{CPU}/cpu5/topology/core_id")), "1\n");
    assert_eq!(write(&mut world, &smt("control"), "maybe"), Err(Errno::EINVAL));
    write(&mut world, &format!("{CPU}/cpu6/online"), "0").unwrap();
    write(&mut world, &smt("control"), "on").unwrap();
    assert_eq!(read(&mut world, &format!("{CPU}/online")), "0-5,7\n", "it was on");
    write(&mut world, &smt("control"), "off").unwrap();
    assert_eq!(read(&mut world, &format!("{CPU}/online")), "0-3\n");
    assert_eq!(read(&mut world, &smt("active")), "0\n");
    assert_eq!(write(&mut world, &format!("{CPU}/cpu5/online"), "1"), Err(Errno::EPERM));
    write(&mut world, &format!("{CPU}/cpu3/online"), "0").unwrap();
    write(&mut world, &smt("control"), "on").unwrap();
    assert_eq!(read(&mut world, &format!("{CPU}/online")), "0-7\n", "the first thread that was off comes too");
    write(&mut world, &smt("control"), "forceoff").unwrap();
    assert_eq!(write(&mut world, &smt("control"), "on"), Err(Errno::EPERM));
    let mut other = alone(quiet("pc"));
    assert_eq!(read(&mut other, &smt("control")), "notsupported\n");
    assert_eq!(write(&mut other, &smt("control"), "off"), Err(Errno::ENODEV));
}
