//! AMD's own driver: its files and refusals, its three modes, boost, and the hint that another governor leaves behind.
use powerband_machine::{Errno, World};
use powerband_record::{CpuList, Side};
use powerband_sim::SimWorld;
use powerband_sim::cpufreq::Cppc;

use crate::rig::{SECOND, alone, counter, quiet, read, spawn, write};

const CPU: &str = "/sys/devices/system/cpu";
const STATUS: &str = "/sys/devices/system/cpu/amd_pstate/status";
const BOOST: &str = "/sys/devices/system/cpu/cpufreq/boost";

fn policy(file: &str) -> String {
    format!("{CPU}/cpufreq/policy2/{file}")
}

fn reads(world: &mut SimWorld, file: &str) -> String {
    read(world, &policy(file)).trim().to_owned()
}

fn pass(world: &mut SimWorld, for_ns: u64) {
    let until = world.now_ns() + for_ns;
    while world.now_ns() < until {
        world.wait(Some(until));
    }
}

/// Two seconds of a counter on CPU 2, and the clock in the midst of it, MHz.
fn busy_mhz(world: &mut SimWorld) -> u32 {
    let mut job = counter(2 * SECOND);
    job.cpus = Some(CpuList::new(vec![2]));
    let id = spawn(world, Side::Near, &job);
    pass(world, SECOND);
    let mhz = reads(world, "scaling_cur_freq").parse::<u32>().unwrap() / 1_000;
    world.machine(Side::Near).unwrap().end(id, true);
    pass(world, SECOND);
    mhz
}

#[test]
fn levels_become_the_clocks_that_recorded_machines_show() {
    // Of `cpupower frequency-info` on machines with this driver: highest, nominal and lowest non-linear level, nominal MHz;
    // maximum and lowest non-linear MHz. The first from sysfs as 3501000 and 1701000 kHz, the others rounded by the program.
    for (levels, nominal_mhz, shown_mhz) in [
        ([255, 204, 124], 2_801, [3_501, 1_701]),
        ([166, 119, 41], 3_200, [4_462, 1_100]),
        ([166, 152, 115], 2_000, [2_183, 1_511]),
        ([166, 111, 57], 3_401, [5_084, 1_743]),
    ] {
        let [highest_perf, nominal_perf, lowest_nonlinear_perf] = levels;
        let cppc = Cppc { highest_perf, nominal_perf, lowest_nonlinear_perf };
        let mhz = [highest_perf, lowest_nonlinear_perf].map(|perf| cppc.mhz(perf, nominal_mhz));
        assert_eq!(mhz, shown_mhz, "{levels:?}");
    }
}

#[test]
fn its_files_are_the_drivers_own_in_each_mode() {
    let mut world = alone(quiet("amd-server"));
    let all = "conservative ondemand userspace powersave performance schedutil";
    for (mode, driver, governor, governors, latency) in [
        ("active", "amd-pstate-epp", "performance", "performance powersave", "0"),
        ("passive", "amd-pstate", "schedutil", all, "20000"),
        ("guided", "amd-pstate", "schedutil", all, "20000"),
    ] {
        assert_eq!(write(&mut world, STATUS, mode).unwrap(), mode);
        for (file, text) in [
            ("scaling_driver", driver),
            ("scaling_governor", governor),
            ("scaling_available_governors", governors),
            ("cpuinfo_transition_latency", latency),
            ("cpuinfo_min_freq", "400000"),
            ("cpuinfo_max_freq", "3000000"),
            ("scaling_max_freq", "3000000"),
            ("amd_pstate_highest_perf", "150"),
            ("amd_pstate_max_freq", "3000000"),
            ("amd_pstate_lowest_nonlinear_freq", "1500000"),
            ("amd_pstate_hw_prefcore", "disabled"),
            ("boost", "1"),
        ] {
            assert_eq!(reads(&mut world, file), text, "{mode} {file}");
        }
        let folder = world.machine(Side::Near).unwrap().list(&format!("{CPU}/cpufreq/policy2")).unwrap();
        let has = |name: &str| folder.iter().any(|entry| entry.name == name);
        assert_eq!(has("energy_performance_preference"), mode == "active");
        for absent in ["base_frequency", "scaling_available_frequencies", "stats", "bios_limit", "cpuinfo_cur_freq"] {
            assert!(!has(absent), "{mode} {absent}");
        }
    }
    let folder = world.machine(Side::Near).unwrap().list(&format!("{CPU}/amd_pstate")).unwrap();
    assert_eq!(folder.iter().map(|entry| entry.name.as_str()).collect::<Vec<_>>(), ["prefcore", "status"]);
    assert_eq!(world.machine(Side::Near).unwrap().read(&format!("{CPU}/intel_pstate/status")), Err(Errno::ENOENT));
    let cpuinfo = read(&mut world, "/proc/cpuinfo");
    assert!(cpuinfo.contains("AuthenticAMD") && !cpuinfo.contains("hwp"), "{cpuinfo}");
}

#[test]
fn its_refusals_are_the_drivers_own() {
    let mut world = alone(quiet("amd-server"));
    let hint = policy("energy_performance_preference");
    for (path, text, errno) in [
        (STATUS.to_owned(), "off", Errno::EINVAL),
        (format!("{CPU}/amd_pstate/prefcore"), "disabled", Errno::EACCES),
        (policy("scaling_governor"), "schedutil", Errno::EINVAL),
        (policy("amd_pstate_max_freq"), "1", Errno::EACCES),
        (hint.clone(), "power", Errno::EBUSY),
        (hint.clone(), "128", Errno::EINVAL),
    ] {
        assert_eq!(write(&mut world, &path, text), Err(errno), "{path} {text}");
    }
    write(&mut world, &policy("scaling_governor"), "powersave").unwrap();
    for (text, reads) in [("power", "power"), ("balance_power", "balance_power"), ("default", "balance_performance")] {
        assert_eq!(write(&mut world, &hint, text).unwrap(), reads);
    }
    write(&mut world, BOOST, "0").unwrap();
    assert_eq!(write(&mut world, &policy("boost"), "1"), Err(Errno::EINVAL), "the machine's switch is off");
}

#[test]
fn the_governor_performance_leaves_its_hint_behind() {
    let mut world = alone(quiet("amd-server"));
    write(&mut world, &policy("scaling_governor"), "powersave").unwrap();
    write(&mut world, &policy("energy_performance_preference"), "power").unwrap();
    assert_eq!(busy_mhz(&mut world), 2_280, "the hint leaves a quarter away, up to the next level");
    write(&mut world, &policy("scaling_governor"), "performance").unwrap();
    write(&mut world, &policy("scaling_governor"), "powersave").unwrap();
    assert_eq!(reads(&mut world, "energy_performance_preference"), "performance");
    assert_eq!(busy_mhz(&mut world), 3_000);
}

#[test]
fn boost_moves_the_end_of_the_range_and_the_clock() {
    for mode in ["active", "passive", "guided"] {
        let mut world = alone(quiet("amd-server"));
        write(&mut world, STATUS, mode).unwrap();
        assert_eq!(busy_mhz(&mut world), 3_000, "{mode}");
        write(&mut world, BOOST, "0").unwrap();
        let ends = |world: &mut SimWorld| ["cpuinfo_max_freq", "scaling_max_freq", "boost"].map(|f| reads(world, f));
        assert_eq!(ends(&mut world), ["2400000", "2400000", "0"], "{mode}");
        assert_eq!(
            (busy_mhz(&mut world), reads(&mut world, "amd_pstate_max_freq")),
            (2_400, "3000000".into()),
            "{mode}"
        );
        write(&mut world, BOOST, "1").unwrap();
        assert_eq!(ends(&mut world), ["3000000", "3000000", "1"], "{mode}");
    }
}

#[test]
fn guided_hardware_goes_no_lower_than_the_governor_asks_and_higher_by_itself() {
    let mut world = alone(quiet("amd-server"));
    write(&mut world, STATUS, "passive").unwrap();
    write(&mut world, &policy("scaling_governor"), "conservative").unwrap();
    let step = format!("{CPU}/cpufreq/conservative/freq_step");
    write(&mut world, &step, "0").unwrap();
    write(&mut world, &policy("scaling_max_freq"), "1000000").unwrap();
    write(&mut world, &policy("scaling_max_freq"), "3000000").unwrap();
    assert_eq!(busy_mhz(&mut world), 1_000, "a governor that never steps stays where it is");
    write(&mut world, STATUS, "guided").unwrap();
    assert_eq!(read(&mut world, &step), "0\n", "policies and tunables stay between passive and guided");
    assert_eq!(busy_mhz(&mut world), 3_000, "the hardware goes up by itself");
    write(&mut world, &policy("scaling_min_freq"), "1200000").unwrap();
    pass(&mut world, SECOND);
    assert_eq!(reads(&mut world, "scaling_cur_freq"), "1200000");
    write(&mut world, &policy("scaling_governor"), "userspace").unwrap();
    write(&mut world, &policy("scaling_setspeed"), "1610000").unwrap();
    assert_eq!(busy_mhz(&mut world), 1_620, "what a program sets is no least but the clock, in levels of 20 MHz");
}
