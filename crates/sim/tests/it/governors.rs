//! Every governor under every kernel's rules, in a closed loop with work: high under load, low when idle.
use powerband_machine::World;
use powerband_record::{Demand, Side, Work};
use powerband_sim::cpufreq::{Governor, KernelRules};
use powerband_sim::{Profile, SimWorld};

use crate::rig::{SECOND, alone, count, counter, cpufreq, governor, job, quiet, read, run};

/// The quad-core under other rules, booted with `governor`.
fn under(rules: KernelRules, name: Governor, nohz: bool) -> Profile {
    let mut profile = quiet("quadcore");
    profile.cpufreq.rules = rules;
    profile.cpufreq.nohz = nohz;
    if rules == KernelRules::V6_1 {
        profile.cpufreq.available_governors.push(Governor::Schedutil);
    }
    profile.cpufreq.default_governor = name;
    profile
}

fn clock(world: &mut SimWorld) -> String {
    read(world, &cpufreq(0, "scaling_cur_freq"))
}

fn wait(world: &mut SimWorld, for_ns: u64) {
    let until = world.now_ns() + for_ns;
    while world.now_ns() < until {
        world.wait(Some(until));
    }
}

#[test]
fn load_raises_the_clock_and_idleness_lowers_it() {
    let all = [
        (KernelRules::V2_6_18, Governor::Ondemand, false),
        (KernelRules::V2_6_18, Governor::Conservative, false),
        (KernelRules::V2_6_32, Governor::Ondemand, true),
        (KernelRules::V2_6_32, Governor::Ondemand, false),
        (KernelRules::V2_6_32, Governor::Conservative, true),
        (KernelRules::V6_1, Governor::Ondemand, true),
        (KernelRules::V6_1, Governor::Conservative, true),
        (KernelRules::V6_1, Governor::Schedutil, true),
    ];
    for (rules, name, nohz) in all {
        let mut world = alone(under(rules, name, nohz));
        wait(&mut world, 9 * SECOND);
        assert_eq!(clock(&mut world), "1600000\n", "{rules:?} {name:?} before");
        let counted = count(&run(&mut world, &counter(5 * SECOND)));
        assert_eq!(clock(&mut world), "2400000\n", "{rules:?} {name:?} under load");
        let whole = 5.0 * 2.4e9 / 469.8;
        assert!(counted > 0.93 * whole && counted < whole, "{rules:?} {name:?}: {counted} of {whole}");
        wait(&mut world, 9 * SECOND);
        assert_eq!(clock(&mut world), "1600000\n", "{rules:?} {name:?} after");
    }
}

#[test]
fn half_a_load_settles_between_the_ends() {
    // 1.2 GHz of demand: 5 ms at 2.4 GHz in each 10 ms.
    let demand = Demand { cycles: 12_000_000, memory_share: 0.0, sleep_ns: 5_000_000, repeat: 400 };
    let mut joules = Vec::new();
    for name in ["performance", "ondemand", "powersave"] {
        let mut world = alone(under(KernelRules::V6_1, Governor::Performance, true));
        governor(&mut world, 0, name);
        wait(&mut world, SECOND);
        let energy = |world: &mut SimWorld| -> f64 {
            read(world, "/sys/kernel/powerband/energy_uj").trim().parse::<f64>().unwrap() / 1e6
        };
        let (before, began) = (energy(&mut world), world.now_ns());
        let work = Work::modelled(vec!["halves".into()], demand.clone());
        let done = run(&mut world, &job(work));
        let seconds = (world.now_ns() - began) as f64 / 1e9;
        joules.push((energy(&mut world) - before) / seconds);
        assert!(done.usage.real_ns >= 4 * SECOND, "{name}");
    }
    assert!(joules[0] > joules[1] && joules[1] > joules[2], "{joules:?}");
}

#[test]
fn limits_hold_while_work_runs() {
    let mut world = alone(quiet("quadcore"));
    crate::rig::write(&mut world, &cpufreq(0, "scaling_max_freq"), "1867000").unwrap();
    let limited = count(&run(&mut world, &counter(2 * SECOND)));
    assert_eq!(clock(&mut world), "1867000\n");
    assert!((limited / (2.0 * 1.867e9 / 469.8) - 1.0).abs() < 0.02);
    assert!(world.machine(Side::Near).is_some());
}
