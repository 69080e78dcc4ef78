//! Traces: stretches that take their time whatever the clock, nice ones, and nothing besides them.
use powerband_machine::{Wake, World};
use powerband_record::Side;
use powerband_sim::cpufreq::{Governor, KernelRules};
use powerband_sim::{SimError, Stretch};

use crate::rig::{alone, cpufreq, governor, quiet, read, write};

const MS: u64 = 1_000_000;

fn stretch(from_ms: u64, until_ms: u64, nice: bool) -> Stretch {
    Stretch { from_ns: from_ms * MS, until_ns: until_ms * MS, nice }
}

fn quad() -> powerband_sim::SimWorld {
    let mut profile = quiet("quadcore");
    profile.cpufreq.rules = KernelRules::V6_1;
    profile.cpufreq.default_governor = Governor::Powersave;
    alone(profile)
}

fn wait(world: &mut powerband_sim::SimWorld, until_ms: u64) -> Vec<Wake> {
    let mut wakes = Vec::new();
    while world.now_ns() < until_ms * MS {
        wakes.push(world.wait(Some(until_ms * MS)));
    }
    wakes
}

#[test]
fn stretches_take_their_time_at_any_clock() {
    for name in ["powersave", "performance"] {
        let mut world = quad();
        governor(&mut world, 0, name);
        let id = world.play(Side::Near, vec![stretch(10, 40, false), stretch(60, 70, true)]).unwrap();
        let ended = wait(&mut world, 200);
        assert!(ended.contains(&Wake::Ended(Side::Near, id)), "{name}: {ended:?}");
        let used = world.machine(Side::Near).unwrap().finished(id).unwrap().usage;
        assert_eq!((used.real_ns, used.user_ns), (70 * MS, 40 * MS), "{name}");
    }
}

#[test]
fn nice_stretches_are_no_load_where_nice_is_ignored() {
    for (nice, clock) in [(false, "2400000\n"), (true, "1600000\n")] {
        let mut world = quad();
        governor(&mut world, 0, "ondemand");
        let tunable = "/sys/devices/system/cpu/cpufreq/ondemand/ignore_nice_load";
        write(&mut world, tunable, "1").unwrap();
        world.play(Side::Near, vec![stretch(20, 120, nice)]).unwrap();
        wait(&mut world, 110);
        assert_eq!(read(&mut world, &cpufreq(0, "scaling_cur_freq")), clock, "nice: {nice}");
    }
}

#[test]
fn nothing_stirs_a_machine_on_which_a_trace_is_played() {
    let mut world = quad();
    governor(&mut world, 0, "ondemand");
    world.play(Side::Near, vec![stretch(20, 120, false), stretch(5_000, 5_100, false)]).unwrap();
    wait(&mut world, 4_990);
    assert_eq!(read(&mut world, &cpufreq(0, "scaling_cur_freq")), "2400000\n", "no callback, no sample");
}

#[test]
fn stretches_that_overlap_are_refused() {
    for wrong in [vec![stretch(10, 40, false), stretch(30, 50, false)], vec![stretch(20, 10, false)]] {
        assert_eq!(quad().play(Side::Near, wrong), Err(SimError::Stretches));
    }
    assert_eq!(quad().play(Side::Far, Vec::new()), Err(SimError::NoMachine(Side::Far)));
}
