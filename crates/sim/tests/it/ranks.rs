//! Ranks: what their real, user and system time come to under governors of one CPU and of all.
use powerband_machine::{Finished, Machine, SpawnError, World};
use powerband_record::{CpuList, Side, Work};
use powerband_sim::{Profile, SimWorld};

use crate::rig::{SECOND, alone, cpufreq, governor, job, quiet, read, run, spawn, until_told};

const CPUS: u32 = 40;
const LIMIT: u64 = 1_000_000_000;

fn primes(ranks: u32) -> Work {
    Work::Primes { ranks: Some(ranks), limit: LIMIT, mpirun: false, among: None }
}

fn server() -> SimWorld {
    alone(quiet("mpi-server"))
}

/// The published job with the governor written on CPU 0 alone.
fn on_cpu0(name: &str) -> Finished {
    let mut world = server();
    governor(&mut world, 0, name);
    world.wait(Some(SECOND));
    run(&mut world, &job(primes(18)))
}

fn real_s(finished: &Finished) -> f64 {
    finished.usage.real_ns as f64 / 1e9
}

fn user_s(finished: &Finished) -> f64 {
    finished.usage.user_ns as f64 / 1e9
}

#[test]
fn the_times_alike_are_the_published_ones() {
    let done = on_cpu0("performance");
    assert!((real_s(&done) / 21.133 - 1.0).abs() < 0.002, "{:?}", done.usage);
    assert!((user_s(&done) / 744.645 - 1.0).abs() < 0.002, "{:?}", done.usage);
    assert!((done.usage.sys_ns as f64 / 1e9 / 0.125 - 1.0).abs() < 0.2, "{:?}", done.usage);
    let report = done.report.unwrap();
    assert_eq!((report["primes"].as_u64(), report["ranks"].as_u64()), (Some(50_847_534), Some(18)));
    let said = report["cpu_seconds"].as_f64().unwrap();
    let booked = (done.usage.user_ns + done.usage.sys_ns) as f64 / 1e9;
    assert!((said / booked - 1.0).abs() < 1e-9, "{said} s of {booked} s");
}

#[test]
fn one_slow_cpu_costs_the_stay_of_one_thread() {
    let (fast, slow) = (on_cpu0("performance"), on_cpu0("powersave"));
    let longer = real_s(&slow) / real_s(&fast) - 1.0;
    // 22.489 s against 21.119 to 21.161 s were published.
    assert!((0.95 * 0.063..1.05 * 0.065).contains(&longer), "{:+.3} %", 100.0 * longer);
    let more = user_s(&slow) - user_s(&fast);
    let lost = real_s(&slow) - real_s(&fast);
    assert!((more - lost).abs() < 0.01, "only the straggler pays: {more} s of user time, {lost} s of real time");
    assert!((slow.usage.sys_ns as f64 / fast.usage.sys_ns as f64) < 1.05);
}

#[test]
fn governors_that_climb_are_alike() {
    let fast = on_cpu0("performance");
    for name in ["ondemand", "conservative", "schedutil"] {
        let other = real_s(&on_cpu0(name)) / real_s(&fast) - 1.0;
        assert!((0.0..=0.002).contains(&other), "{name}: {:+.3} %", 100.0 * other);
    }
}

#[test]
fn all_cpus_slow_take_as_much_longer_as_their_clock_is_slower() {
    let mut world = server();
    (0..CPUS).for_each(|cpu| governor(&mut world, cpu, "powersave"));
    let slow = run(&mut world, &job(primes(18)));
    let fast = on_cpu0("performance");
    let start_s = 0.44;
    let factor = (real_s(&slow) - start_s) / (real_s(&fast) - start_s);
    assert!((factor / 2.0 - 1.0).abs() < 1e-3, "{factor}");
    assert!((user_s(&slow) / user_s(&fast) / 2.0 - 1.0).abs() < 1e-3, "{:?}", slow.usage);
}

#[test]
fn a_thread_that_nothing_moves_doubles_the_time() {
    let mut profile = quiet("mpi-server");
    profile.ranks.as_mut().unwrap().stay_ns = 1_000 * SECOND;
    let mut world = alone(profile);
    governor(&mut world, 0, "powersave");
    let pinned = real_s(&run(&mut world, &job(primes(18))));
    let factor = (pinned - 0.44) / (real_s(&on_cpu0("performance")) - 0.44);
    assert!((factor / 2.0 - 1.0).abs() < 1e-3, "{factor}");
}

#[test]
fn where_no_cpu_is_idle_nobody_is_moved() {
    let real = |name: &str| {
        let mut world = server();
        governor(&mut world, 0, name);
        real_s(&run(&mut world, &job(primes(CPUS / 2)))) - 0.44
    };
    let factor = real("powersave") / real("performance");
    assert!((factor / 2.0 - 1.0).abs() < 1e-3, "{factor}");
}

#[test]
fn ranks_wait_asleep_for_the_last() {
    let mut world = server();
    governor(&mut world, 0, "powersave");
    let id = spawn(&mut world, Side::Near, &job(primes(18)));
    world.wait(Some(22 * SECOND));
    let now = read(&mut world, &cpufreq(1, "scaling_cur_freq"));
    assert_eq!(now.trim(), "3000000");
    let idle = |world: &mut SimWorld| -> u64 {
        let stat = world.machine(Side::Near).unwrap().read("/proc/stat").unwrap();
        stat.lines().find(|line| line.starts_with("cpu1 ")).unwrap().split(' ').nth(4).unwrap().parse().unwrap()
    };
    let before = idle(&mut world);
    let from = world.now_ns();
    let done = until_told(&mut world, id);
    let waited_s = (world.now_ns() - from) as f64 / 1e9;
    let slept_s = (idle(&mut world) - before) as f64 / 100.0;
    assert!(waited_s > 0.2 && (slept_s / waited_s - 1.0).abs() < 0.1, "{slept_s} s of {waited_s} s: {:?}", done.usage);
}

#[test]
fn more_threads_than_cpus_take_turns() {
    let mut world = server();
    let pinned = powerband_machine::Job { cpus: Some(CpuList::new(vec![1, 2, 3])), ..job(primes(3)) };
    let small = Work::Primes { ranks: Some(3), limit: 1_000_000, mpirun: false, among: None };
    let turns = run(&mut world, &powerband_machine::Job { work: small.clone(), ..pinned });
    let apart = run(&mut world, &job(small));
    let factor = (real_s(&turns) - 0.44) / (real_s(&apart) - 0.44);
    assert!((factor / 2.0 - 1.0).abs() < 0.2, "six threads on three CPUs and on six: {factor}");
    assert!((user_s(&turns) / user_s(&apart) - 1.0).abs() < 1e-6);
}

#[test]
fn ending_it_ends_every_thread() {
    let mut world = server();
    let id = spawn(&mut world, Side::Near, &job(primes(18)));
    world.wait(Some(5 * SECOND));
    let machine: &mut dyn Machine = world.machine(Side::Near).unwrap();
    machine.end(id, true);
    let ended = until_told(&mut world, id);
    assert!(!ended.status.success());
    // Whatever comes next finds the CPUs and the threads' places free.
    let after = run(&mut world, &job(primes(18)));
    assert!((real_s(&after) / real_s(&on_cpu0("performance")) - 1.0).abs() < 1e-3);
}

#[test]
fn without_a_count_there_is_a_rank_for_each_cpu() {
    let work = Work::Primes { ranks: None, limit: 1_000_000, mpirun: false, among: None };
    let done = run(&mut server(), &job(work.clone()));
    assert_eq!(done.report.unwrap()["ranks"].as_u64(), Some(u64::from(CPUS)));
    let refused = alone(Profile::builtin("pc").unwrap()).machine(Side::Near).unwrap().spawn(&job(work)).unwrap_err();
    assert!(matches!(refused, SpawnError::NotModelled { .. }));
    assert!(refused.to_string().ends_with("take sim:mpi-server, or write a table [ranks] into its machine file"));
}
