//! The scheduler: sharing, placing, sleeping, memory-bound work; what has no model is refused by name.
use powerband_machine::{Errno, SpawnError, World};
use powerband_record::{CpuList, Demand, Side, Work};

use crate::rig::{
    SECOND, alone, count, counter, cpufreq, fix, governor, job, quiet, read, run, spawn, until_ended, until_told,
};

fn command(demand: Option<Demand>) -> Work {
    Work::Command {
        argv: vec!["make".into(), "-j8".into()],
        demand,
        invocation: powerband_record::Invocation::default(),
    }
}

fn demand(cycles: u64, sleep_ns: u64, repeat: u32) -> Demand {
    Demand { cycles, memory_share: 0.0, sleep_ns, repeat }
}

#[test]
fn two_on_one_cpu_get_half_each() {
    let mut world = alone(quiet("quadcore"));
    fix(&mut world, 0, 2_400_000);
    let whole = count(&run(&mut world, &counter(2 * SECOND)));
    let ids = [(); 2].map(|()| spawn(&mut world, Side::Near, &counter(2 * SECOND)));
    let first = until_ended(&mut world, Side::Near, ids[0]);
    let second = until_ended(&mut world, Side::Near, ids[1]);
    for done in [first, second] {
        assert!((count(&done) / whole - 0.5).abs() < 0.01, "{} of {whole}", count(&done));
    }
}

#[test]
fn four_unpinned_get_a_cpu_each() {
    let mut world = alone(quiet("quadcore"));
    let work = job(Work::Counter { for_ns: SECOND, align_to_second: false });
    let ids = [(); 4].map(|()| spawn(&mut world, Side::Near, &work));
    for id in ids {
        let done = until_ended(&mut world, Side::Near, id);
        assert_eq!(done.usage.user_ns, SECOND);
    }
}

#[test]
fn a_cpu_that_falls_idle_takes_over_what_waits() {
    let mut world = alone(quiet("quadcore"));
    for cpu in 0..4 {
        fix(&mut world, cpu, 2_400_000);
    }
    let began = world.now_ns();
    // Eight pieces of a second each on four CPUs, two of them short: nobody waits while a CPU is idle.
    let pieces = [2_400_000_000_u64; 6].into_iter().chain([240_000_000; 2]);
    let ids: Vec<_> =
        pieces.map(|cycles| spawn(&mut world, Side::Near, &job(command(Some(demand(cycles, 0, 1)))))).collect();
    for id in ids {
        until_told(&mut world, id);
    }
    let seconds = (world.now_ns() - began) as f64 / 1e9;
    assert!((1.55..1.8).contains(&seconds), "{seconds}");
}

#[test]
fn memory_bound_work_gains_less_from_the_clock() {
    let seconds = |khz, memory_share| {
        let mut world = alone(quiet("quadcore"));
        fix(&mut world, 0, khz);
        let demand = Demand { memory_share, ..demand(2_400_000_000, 0, 1) };
        let mut job = job(command(Some(demand)));
        job.cpus = Some(CpuList::new(vec![0]));
        run(&mut world, &job).usage.real_ns as f64 / 1e9
    };
    assert!((seconds(2_400_000, 0.5) - 1.0).abs() < 1e-3);
    assert!((seconds(1_600_000, 0.0) - 1.5).abs() < 1e-3);
    assert!((seconds(1_600_000, 0.5) - 1.25).abs() < 1e-3);
    assert!((seconds(1_600_000, 1.0) - 1.0).abs() < 1e-3);
}

#[test]
fn sleepers_let_ondemand_go_down() {
    let mut world = alone(quiet("quadcore"));
    governor(&mut world, 0, "ondemand");
    run(&mut world, &counter(SECOND));
    assert_eq!(read(&mut world, &cpufreq(0, "scaling_cur_freq")), "2400000\n");
    let mut sleeper = job(command(Some(demand(1_000_000, 9_000_000, 200))));
    sleeper.cpus = Some(CpuList::new(vec![0]));
    let done = run(&mut world, &sleeper);
    assert_eq!(read(&mut world, &cpufreq(0, "scaling_cur_freq")), "1600000\n");
    assert!(done.usage.real_ns > 200 * 9_000_000);
    assert!(done.usage.user_ns < done.usage.real_ns / 10);
}

#[test]
fn what_has_no_model_is_refused_by_name() {
    let mut world = alone(quiet("quadcore"));
    let machine = world.machine(Side::Near).unwrap();
    let refused = machine.spawn(&job(command(None))).unwrap_err();
    assert!(matches!(refused, SpawnError::NotModelled { .. }));
    let words = refused.to_string();
    assert!(words.contains("sim:quadcore") && words.contains("'make'") && words.contains("demand"), "{words}");
    let on_cpu = |cpu| powerband_machine::Job { cpus: Some(CpuList::new(vec![cpu])), ..counter(SECOND) };
    assert!(matches!(machine.spawn(&on_cpu(5)), Err(SpawnError::Refused { errno: Errno::EINVAL, .. })));
    let listen = |address: &str| job(Work::StreamReceive { address: address.into(), port: 80 });
    assert!(machine.spawn(&listen("far")).is_err());
    assert!(machine.spawn(&listen("near")).is_ok());
    assert!(machine.spawn(&listen("near")).is_err());
    let too_much = Demand { memory_share: 1.5, ..demand(1, 0, 1) };
    assert!(machine.spawn(&job(command(Some(too_much)))).is_err());
}

#[test]
fn odd_demands_end() {
    let mut world = alone(quiet("quadcore"));
    for (demand, real_ns) in [
        (demand(0, 0, u32::MAX), 0),
        (demand(5, 0, 0), 0),
        (demand(0, 1_000, 3), 3_000),
        (demand(0, SECOND, 1), SECOND),
    ] {
        assert_eq!(run(&mut world, &job(command(Some(demand)))).usage.real_ns, real_ns);
    }
    let huge = spawn(&mut world, Side::Near, &job(command(Some(demand(u64::MAX, 0, 2)))));
    let until = world.now_ns() + 100 * SECOND;
    world.wait(Some(until));
    world.machine(Side::Near).unwrap().end(huge, false);
    assert!(!until_ended(&mut world, Side::Near, huge).status.success());
}

#[test]
fn a_change_of_clock_takes_its_latency_and_its_standstill() {
    let mut world = alone(quiet("omap3530"));
    fix(&mut world, 0, 600_000);
    let began = world.now_ns();
    let id = spawn(&mut world, Side::Near, &counter(SECOND));
    for step in 1..=50_u64 {
        world.wait(Some(began + step * SECOND / 100));
        let khz = if step % 2 == 1 { "250000" } else { "600000" };
        crate::rig::write(&mut world, &cpufreq(0, "scaling_setspeed"), khz).unwrap();
    }
    let counted = count(&until_ended(&mut world, Side::Near, id));
    // Each of 25 stays of 10 ms at 250 MHz begins 300 us late, as does its end, and each change costs 300 us.
    let cycles = 600e6 * (0.75 - 25.0 * 300e-6) + 250e6 * (0.25 - 25.0 * 300e-6);
    assert!((counted / (cycles / 600.0) - 1.0).abs() < 1e-5, "{counted} against {}", cycles / 600.0);
}

#[test]
fn each_run_has_one_factor_which_depends_on_its_number_alone() {
    let counts = |pause: u64, runs: usize| -> Vec<f64> {
        let mut world = alone(powerband_sim::Profile::builtin("quadcore").unwrap());
        fix(&mut world, 0, 2_400_000);
        let mut found = Vec::new();
        for _ in 0..runs {
            found.push(count(&run(&mut world, &counter(SECOND / 10))));
            let until = world.now_ns() + pause;
            world.wait(Some(until));
        }
        found
    };
    let all = counts(0, 400);
    let mean = all.iter().sum::<f64>() / 400.0;
    let sd = (all.iter().map(|c| (c / mean - 1.0).powi(2)).sum::<f64>() / 399.0).sqrt();
    assert!((0.0068..0.0092).contains(&sd), "{sd}");
    assert!(all[..20].iter().zip(counts(SECOND, 20)).all(|(a, b)| (a - b).abs() <= 1.0));
}
