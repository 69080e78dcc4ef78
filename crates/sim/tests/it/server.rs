//! The current server: how its CPUs lie, its driver's two modes, its meters by package, and its card.
use powerband_machine::{Job, World};
use powerband_record::{CpuList, Side, Work};
use powerband_sim::SimWorld;

use crate::rig::{SECOND, alone, cpufreq, governor, job, quiet, read, spawn, write};

const CPU: &str = "/sys/devices/system/cpu";

fn on(cpu: u32) -> Job {
    let work = Work::Counter { for_ns: 10 * SECOND, align_to_second: false };
    Job { cpus: Some(CpuList::new(vec![cpu])), ..job(work) }
}

fn pass(world: &mut SimWorld, ns: u64) {
    let until = world.now_ns() + ns;
    while world.now_ns() < until {
        world.wait(Some(until));
    }
}

#[test]
fn first_threads_of_all_cores_come_before_the_second_ones() {
    let mut world = alone(quiet("server"));
    let mut topology = |cpu: u32, file: &str| read(&mut world, &format!("{CPU}/cpu{cpu}/topology/{file}"));
    for (cpu, package, core, threads) in [(0, 0, 0, "0,16"), (9, 1, 1, "9,25"), (16, 0, 0, "0,16"), (31, 1, 7, "15,31")]
    {
        assert_eq!(topology(cpu, "physical_package_id"), format!("{package}\n"), "cpu{cpu}");
        assert_eq!(topology(cpu, "core_id"), format!("{core}\n"), "cpu{cpu}");
        assert_eq!(topology(cpu, "thread_siblings_list"), format!("{threads}\n"), "cpu{cpu}");
    }
}

#[test]
fn the_hint_and_schedutil_act_each_in_its_mode() {
    let mut world = alone(quiet("server"));
    assert_eq!(read(&mut world, &cpufreq(0, "energy_performance_preference")), "balance_performance\n");
    assert_eq!(write(&mut world, &cpufreq(0, "energy_performance_preference"), "power").unwrap(), "power");
    write(&mut world, &format!("{CPU}/intel_pstate/status"), "passive").unwrap();
    governor(&mut world, 5, "schedutil");
    governor(&mut world, 6, "schedutil");
    spawn(&mut world, Side::Near, &on(5));
    pass(&mut world, SECOND);
    let mut clock = |cpu| read(&mut world, &cpufreq(cpu, "scaling_cur_freq")).trim().parse::<u32>().unwrap();
    assert_eq!(clock(5), 3_000_000);
    assert!(clock(6) < 1_500_000, "{}", clock(6));
}

#[test]
fn each_package_has_meters_of_its_own() {
    let mut world = alone(quiet("server"));
    let zones = |world: &mut SimWorld| {
        ["intel-rapl:0", "intel-rapl:1"]
            .map(|zone| read(world, &format!("/sys/class/powercap/{zone}/energy_uj")).trim().parse::<f64>().unwrap())
    };
    // A second thread's package is that of its core.
    spawn(&mut world, Side::Near, &on(8 + 16));
    let before = zones(&mut world);
    pass(&mut world, 2 * SECOND);
    let after = zones(&mut world);
    let watts = [0, 1].map(|zone| (after[zone] - before[zone]) / 2e6);
    assert!(watts[1] > watts[0] + 8.0, "one core at turbo and a package awake: {watts:?}");
    let mask = read(&mut world, "/sys/bus/event_source/devices/power/cpumask");
    assert_eq!(mask, "0,8\n");
}
