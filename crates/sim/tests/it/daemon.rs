//! The daemon cpuspeed on a simulated machine: what it needs, how it walks, what it sees, and that it ends.
use powerband_machine::{Errno, World};
use powerband_record::{CpuList, Demand, Side, Work};
use powerband_sim::{Profile, SimWorld};

use crate::rig::{SECOND, alone, counter, cpufreq, governor, job, quiet, read, spawn, write};

const DAEMON: &str = "/sys/kernel/powerband/cpuspeed";

fn eight() -> Profile {
    Profile::parse(include_str!("eight.toml")).unwrap()
}

fn userspace(world: &mut SimWorld, cpus: u32) {
    (0..cpus).for_each(|cpu| governor(world, cpu, "userspace"));
}

/// The clocks of CPUs, MHz.
fn mhz(world: &mut SimWorld, cpus: &[u32]) -> Vec<u32> {
    let mut one = |cpu: u32| read(world, &cpufreq(cpu, "scaling_cur_freq")).trim().parse::<u32>().unwrap() / 1_000;
    cpus.iter().map(|&cpu| one(cpu)).collect()
}

fn pass(world: &mut SimWorld, ns: u64) {
    let until = world.now_ns() + ns;
    while world.now_ns() < until {
        world.wait(Some(until));
    }
}

#[test]
fn it_needs_userspace_everywhere() {
    let mut world = alone(eight());
    assert_eq!(read(&mut world, DAEMON), "0\n");
    assert_eq!(write(&mut world, DAEMON, "1"), Err(Errno::EINVAL));
    userspace(&mut world, 7);
    assert_eq!(write(&mut world, DAEMON, "1"), Err(Errno::EINVAL), "the last one is under performance");
    userspace(&mut world, 8);
    assert_eq!(write(&mut world, DAEMON, "1"), Ok("1".into()));
    assert_eq!(write(&mut world, DAEMON, "maybe"), Err(Errno::EINVAL));
    let without = alone(quiet("quadcore")).machine(Side::Near).unwrap().read(DAEMON);
    assert_eq!(without, Err(Errno::ENOENT));
}

#[test]
fn idle_cpus_go_a_step_down_at_each_look() {
    let mut world = alone(eight());
    userspace(&mut world, 8);
    write(&mut world, &cpufreq(0, "scaling_setspeed"), "2000000").unwrap();
    pass(&mut world, SECOND / 100);
    write(&mut world, DAEMON, "1").unwrap();
    pass(&mut world, SECOND / 10);
    assert_eq!(mhz(&mut world, &[0, 7]), [3000, 3000], "it begins at the top");
    let mut seen = Vec::new();
    for _ in 0..4 {
        pass(&mut world, 2 * SECOND);
        seen.push(mhz(&mut world, &[0, 7]));
    }
    assert_eq!(seen, [[2667; 2], [2333; 2], [2000; 2], [2000; 2]]);
}

#[test]
fn a_busy_cpu_walks_to_the_top_with_a_pause_at_each_step() {
    let mut world = alone(eight());
    userspace(&mut world, 8);
    write(&mut world, DAEMON, "1").unwrap();
    pass(&mut world, 7 * SECOND);
    assert_eq!(mhz(&mut world, &[0, 1]), [2000, 2000]);
    spawn(&mut world, Side::Near, &counter(20 * SECOND));
    // The clock it is at, each millisecond, while it walks.
    let mut stays: Vec<(u32, u32)> = vec![(2000, 0)];
    while stays.last().unwrap().0 != 3000 {
        pass(&mut world, SECOND / 1_000);
        let now = mhz(&mut world, &[0])[0];
        match stays.last_mut() {
            Some(last) if last.0 == now => last.1 += 1,
            _ => stays.push((now, 1)),
        }
        assert!(stays[0].1 < 5_000, "it never moved");
    }
    let walked: Vec<u32> = stays.iter().map(|stay| stay.0).collect();
    assert_eq!(walked, [2000, 2333, 2667, 3000]);
    assert!(stays[1..3].iter().all(|stay| (9..=11).contains(&stay.1)), "{stays:?}");
    pass(&mut world, 3 * SECOND);
    assert_eq!(mhz(&mut world, &[0, 1]), [3000, 2000], "its neighbour has a clock of its own");
}

#[test]
fn cpus_that_share_a_clock_follow_the_busiest() {
    let text = include_str!("eight.toml")
        .replace(r#"policies = ["0", "1", "2", "3", "4", "5", "6", "7"]"#, r#"policies = ["0-3", "4-7"]"#);
    let mut world = alone(Profile::parse(&text).unwrap());
    [0, 4].iter().for_each(|&cpu| governor(&mut world, cpu, "userspace"));
    write(&mut world, DAEMON, "1").unwrap();
    let mut busy = counter(20 * SECOND);
    busy.cpus = Some(CpuList::new(vec![6]));
    spawn(&mut world, Side::Near, &busy);
    pass(&mut world, 9 * SECOND);
    assert_eq!(mhz(&mut world, &[0, 3, 4, 7]), [2000, 2000, 3000, 3000]);
}

#[test]
fn a_stopped_daemon_puts_the_clocks_back() {
    let mut world = alone(eight());
    userspace(&mut world, 8);
    write(&mut world, &cpufreq(0, "scaling_setspeed"), "2333000").unwrap();
    pass(&mut world, SECOND / 100);
    write(&mut world, DAEMON, "1").unwrap();
    pass(&mut world, 3 * SECOND);
    assert_eq!(mhz(&mut world, &[0, 1]), [2667, 2667]);
    write(&mut world, DAEMON, "0").unwrap();
    pass(&mut world, 5 * SECOND);
    assert_eq!(mhz(&mut world, &[0, 1]), [2333, 3000]);
    write(&mut world, DAEMON, "1").unwrap();
    pass(&mut world, SECOND);
    assert_eq!(mhz(&mut world, &[0]), [3000], "a new one begins at the top");
}

#[test]
fn another_governor_takes_the_clock_from_it() {
    let mut world = alone(eight());
    userspace(&mut world, 8);
    write(&mut world, DAEMON, "1").unwrap();
    governor(&mut world, 0, "performance");
    pass(&mut world, 7 * SECOND);
    assert_eq!(mhz(&mut world, &[0, 1]), [3000, 2000]);
}

/// Forty per cent of a CPU, always between two ticks.
fn between_ticks() -> powerband_machine::Job {
    let demand = Demand { cycles: 1_200_000, memory_share: 0.0, sleep_ns: 600_000, repeat: u32::MAX };
    let mut job = job(Work::modelled(vec!["burst".into()], demand));
    job.cpus = Some(CpuList::new(vec![2]));
    job
}

#[test]
fn work_between_two_ticks_is_idle_time_to_a_kernel_that_counts_ticks() {
    let mut world = alone(eight());
    pass(&mut world, SECOND + SECOND / 10_000);
    spawn(&mut world, Side::Near, &between_ticks());
    pass(&mut world, SECOND);
    let stat = read(&mut world, "/proc/stat");
    let line = stat.lines().find(|line| line.starts_with("cpu2 ")).unwrap().to_owned();
    assert_eq!(line, "cpu2 0 0 0 200 0 0 0 0 0 0", "2 s, in hundredths");
    let mut counted = alone(eight());
    spawn(&mut counted, Side::Near, &counter(SECOND));
    pass(&mut counted, 2 * SECOND);
    let stat = read(&mut counted, "/proc/stat");
    let line = stat.lines().find(|line| line.starts_with("cpu0 ")).unwrap();
    let user: u32 = line.split(' ').nth(1).unwrap().parse().unwrap();
    assert!((99..=101).contains(&user), "{line}");
}

#[test]
fn tables_that_make_no_daemon_are_refused() {
    let with = |lines: &str| Profile::parse(&include_str!("eight.toml").replace("[cpuspeed]", lines));
    let slower = with("[cpuspeed]\ninterval_s = 4.0\nthreshold_percent = 30\nmax_khz = 2400000").unwrap();
    let options = slower.cpuspeed.unwrap();
    assert_eq!((options.interval_tenths, options.threshold_percent, options.fast_up_percent), (40, 30, 10));
}

#[test]
fn speeds_in_the_table_bound_the_walk() {
    let text = include_str!("eight.toml").replace("[cpuspeed]", "[cpuspeed]\nmin_khz = 2300000\nmax_khz = 2700000");
    let mut world = alone(Profile::parse(&text).unwrap());
    userspace(&mut world, 8);
    write(&mut world, DAEMON, "1").unwrap();
    pass(&mut world, SECOND);
    assert_eq!(mhz(&mut world, &[0]), [2667]);
    pass(&mut world, 6 * SECOND);
    assert_eq!(mhz(&mut world, &[0]), [2333]);
}

/// The program `powerband pace cpuspeed`, as `daemon=` starts it.
fn pace(options: &str) -> powerband_machine::Job {
    let line = format!("exec /usr/bin/powerband pace cpuspeed {options}");
    let argv = ["sh", "-c", &line].map(str::to_owned).to_vec();
    job(Work::Command { argv, demand: None, invocation: powerband_record::Invocation::default() })
}

#[test]
fn pace_decides_as_the_daemon_and_restores_governors() {
    let clocks = |paced: bool| {
        let mut world = alone(eight());
        userspace(&mut world, 8);
        if paced {
            (0..8).for_each(|cpu| governor(&mut world, cpu, "performance"));
        }
        let process = if paced {
            Some(spawn(&mut world, Side::Near, &pace("")))
        } else {
            write(&mut world, DAEMON, "1").unwrap();
            None
        };
        pass(&mut world, 5 * SECOND);
        spawn(&mut world, Side::Near, &counter(7 * SECOND));
        let mut seen = Vec::new();
        for _ in 0..200 {
            pass(&mut world, SECOND / 10);
            seen.push(mhz(&mut world, &[0, 1, 4, 7]));
        }
        if let Some(process) = process {
            world.machine(Side::Near).unwrap().end(process, false);
            assert_eq!(read(&mut world, &cpufreq(3, "scaling_governor")), "performance\n");
            assert_eq!(read(&mut world, DAEMON), "0\n");
        }
        seen
    };
    let (daemon, paced) = (clocks(false), clocks(true));
    assert!(daemon.iter().any(|seen| seen[0] == 2000) && daemon.iter().any(|seen| seen.contains(&3000)));
    assert_eq!(daemon, paced);
}

#[test]
fn pace_has_options_and_other_programs_have_no_model() {
    let mut world = alone(eight());
    spawn(&mut world, Side::Near, &pace("-i 10 -p 5 50 -m 2300000 -M 2700000"));
    assert_eq!(mhz(&mut world, &[0, 7]), [2667; 2]);
    pass(&mut world, 3 * SECOND);
    assert_eq!(mhz(&mut world, &[0, 7]), [2333; 2]);
    let near = world.machine(Side::Near).unwrap();
    assert!(near.spawn(&pace("")).is_err(), "one is enough");
    for other in ["-i", "-p 101 0", "--config x"] {
        let refused = near.spawn(&pace(other)).unwrap_err().to_string();
        assert!(refused.contains("'/usr/bin/powerband pace cpuspeed "), "{refused}");
    }
}
