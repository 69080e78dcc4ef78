//! Cores of two threads: what a thread has left next to the other one, the clock they share, how deep their core sleeps.
use powerband_machine::{Job, World};
use powerband_record::{CpuList, Side, Work};
use powerband_sim::SimWorld;

use crate::rig::{SECOND, alone, count, cpufreq, governor, job, quiet, read, spawn, until_told, write};

const CPU: &str = "/sys/devices/system/cpu";
const ENERGY: &str = "/sys/class/powercap/intel-rapl:0:0/energy_uj";

/// A machine whose CPUs 2 and 10 are the threads of one core, each with a policy, at 0.4 GHz.
fn threads() -> SimWorld {
    let mut world = alone(quiet("amd-server"));
    write(&mut world, &format!("{CPU}/amd_pstate/status"), "passive").unwrap();
    for cpu in 0..16 {
        governor(&mut world, cpu, "userspace");
        write(&mut world, &cpufreq(cpu, "scaling_setspeed"), "400000").unwrap();
    }
    world
}

/// Iterations of a second of counting on each of these CPUs, all at once.
fn counted<const N: usize>(world: &mut SimWorld, cpus: [u32; N]) -> [f64; N] {
    let on = |cpu| Job {
        cpus: Some(CpuList::new(vec![cpu])),
        ..job(Work::Counter { for_ns: SECOND, align_to_second: false })
    };
    let ids = cpus.map(|cpu| spawn(world, Side::Near, &on(cpu)));
    ids.map(|id| count(&until_told(world, id)))
}

fn watts(world: &mut SimWorld, for_ns: u64) -> f64 {
    let energy = |world: &mut SimWorld| read(world, ENERGY).trim().parse::<f64>().unwrap();
    let before = energy(world);
    let until = world.now_ns() + for_ns;
    while world.now_ns() < until {
        world.wait(Some(until));
    }
    (energy(world) - before) * 1e3 / for_ns as f64
}

#[test]
fn two_threads_of_a_core_get_a_quarter_more_done_than_one() {
    let mut world = threads();
    let [alone] = counted(&mut world, [2]);
    let [apart, _] = counted(&mut world, [2, 3]);
    let both = counted(&mut world, [2, 10]);
    assert!((apart / alone - 1.0).abs() < 1e-4, "{apart} of {alone}");
    both.iter().for_each(|one| assert!((one / alone - 0.62).abs() < 0.01, "{one} of {alone}"));
}

#[test]
fn a_core_runs_at_the_highest_frequency_that_one_of_its_threads_asks_for() {
    let mut world = threads();
    let [slow] = counted(&mut world, [2]);
    write(&mut world, &cpufreq(10, "scaling_setspeed"), "2000000").unwrap();
    let [fast] = counted(&mut world, [2]);
    assert!((fast / slow - 5.0).abs() < 0.01, "{fast} of {slow}");
    assert_eq!(read(&mut world, &cpufreq(2, "scaling_setspeed")), "400000\n");
    assert_eq!(read(&mut world, &cpufreq(2, "scaling_cur_freq")), "2000000\n");
    // What is out of service holds on to what it asked for last, and is no thread of the core as the kernel shows it.
    write(&mut world, &format!("{CPU}/cpu10/online"), "0").unwrap();
    for list in ["thread_siblings_list", "core_cpus_list"] {
        assert_eq!(read(&mut world, &format!("{CPU}/cpu2/topology/{list}")), "2\n");
    }
    assert!(world.machine(Side::Near).unwrap().read(&format!("{CPU}/cpu10/topology/core_cpus_list")).is_err());
    let [held] = counted(&mut world, [2]);
    assert!((held / fast - 1.0).abs() < 1e-3, "{held} of {fast}");
    write(&mut world, &format!("{CPU}/cpu10/online"), "1").unwrap();
    assert_eq!(read(&mut world, &format!("{CPU}/cpu2/topology/core_cpus_list")), "2,10\n");
    write(&mut world, &cpufreq(10, "scaling_setspeed"), "400000").unwrap();
    let [again] = counted(&mut world, [2]);
    assert!((again / slow - 1.0).abs() < 1e-3, "{again} of {slow}");
}

#[test]
fn a_core_sleeps_no_deeper_than_the_thread_that_sleeps_less() {
    let mut world = threads();
    watts(&mut world, 3 * SECOND);
    let deep = watts(&mut world, SECOND);
    let stays_awake = |world: &mut SimWorld, cpu: u32, word: &str| {
        for state in 1..3 {
            write(world, &format!("{CPU}/cpu{cpu}/cpuidle/state{state}/disable"), word).unwrap();
        }
        watts(world, 3 * SECOND)
    };
    stays_awake(&mut world, 10, "1");
    let one = watts(&mut world, SECOND);
    stays_awake(&mut world, 2, "1");
    let both = watts(&mut world, SECOND);
    assert!(one > deep + 0.2, "{one} W and {deep} W");
    assert!((both - one).abs() < 0.01, "the second thread of a core that is awake costs nothing: {both} W and {one} W");
    stays_awake(&mut world, 2, "0");
    stays_awake(&mut world, 10, "0");
    write(&mut world, &format!("{CPU}/cpu10/online"), "0").unwrap();
    let again = watts(&mut world, 2 * SECOND);
    assert!((again - deep).abs() < 0.02, "{again} W and {deep} W");
}
