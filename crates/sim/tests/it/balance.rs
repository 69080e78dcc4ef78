//! Balancing of old kernels: who is moved where, with work gathered and without, and that nothing is lost on the way.
use powerband_machine::{Job, World};
use powerband_record::{CpuList, Demand, Side, Work};
use powerband_sim::{Profile, SimWorld, Stretch};

use crate::rig::{SECOND, alone, counter, governor, job, read, spawn, until_told, write};

const MC: &str = "/sys/devices/system/cpu/sched_mc_power_savings";
const MS: u64 = 1_000_000;

/// Eight CPUs in two packages of four, pairs of which share a cache.
fn eight() -> Profile {
    let text = include_str!("eight.toml").replace("[cpuspeed]", "[balance]\ncores_per_cache = 2\n\n[cpuspeed]");
    Profile::parse(&text).unwrap()
}

fn pass(world: &mut SimWorld, ns: u64) {
    let until = world.now_ns() + ns;
    while world.now_ns() < until {
        world.wait(Some(until));
    }
}

/// Hundredths of a second that each CPU was idle.
fn idle(world: &mut SimWorld) -> Vec<u64> {
    let stat = read(world, "/proc/stat");
    let of_cpus = stat.lines().filter(|line| line.starts_with("cpu") && !line.starts_with("cpu "));
    of_cpus.map(|line| line.split(' ').nth(4).unwrap().parse().unwrap()).collect()
}

/// How busy each CPU is over a time, %.
fn busy(world: &mut SimWorld, ns: u64) -> Vec<f64> {
    let before = idle(world);
    pass(world, ns);
    let after = idle(world);
    let whole = ns as f64 / 1e7;
    before.iter().zip(after).map(|(before, after)| 100.0 - 100.0 * (after - before) as f64 / whole).collect()
}

/// Draws that are the same everywhere: multiply and add, the upper bits.
struct Draws(u64);

impl Draws {
    /// Exponential around a mean.
    fn exponential(&mut self, mean: f64) -> f64 {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        let unit = ((self.0 >> 11) as f64 + 1.0) / (1_u64 << 53) as f64;
        -mean * unit.ln()
    }
}

/// Eight workers, each with work of 40 ms at an average of 10 % of a CPU, for as long as `seconds`.
fn workers(world: &mut SimWorld, seconds: f64, seed: u64) {
    for worker in 0..8 {
        let mut draws = Draws(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) + worker);
        let (mut at, mut stretches) = (0.0, Vec::new());
        while at < seconds {
            let from = at + draws.exponential(0.36);
            at = from + 0.04;
            stretches.push(Stretch { from_ns: (from * 1e9) as u64, until_ns: (at * 1e9) as u64, nice: false });
        }
        world.play(Side::Near, stretches).unwrap();
    }
}

fn spinner() -> Job {
    job(Work::Counter { for_ns: 20 * SECOND, align_to_second: false })
}

/// How many of the packages, caches and cores have a busy CPU.
fn places(busy: &[f64], of: impl Fn(usize) -> usize) -> usize {
    let mut seen: Vec<usize> = busy.iter().enumerate().filter(|(_, busy)| **busy > 50.0).map(|(cpu, _)| of(cpu)).collect();
    seen.sort_unstable();
    seen.dedup();
    seen.len()
}

#[test]
fn long_work_is_spread_over_caches_or_gathered_in_a_package() {
    for (savings, packages, caches) in [("0", 2, 4), ("1", 1, 2)] {
        let mut world = alone(eight());
        write(&mut world, MC, savings).unwrap();
        for _ in 0..4 {
            spawn(&mut world, Side::Near, &spinner());
        }
        pass(&mut world, SECOND);
        let busy = busy(&mut world, SECOND);
        let found = (places(&busy, |cpu| cpu / 4), places(&busy, |cpu| cpu / 2));
        assert_eq!(found, (packages, caches), "{savings}: {busy:?}");
        assert_eq!(places(&busy, |cpu| cpu), 4, "each has a CPU of its own: {busy:?}");
    }
}

#[test]
fn a_write_while_work_runs_gathers_it_and_spreads_it_again() {
    let mut world = alone(eight());
    for _ in 0..2 {
        spawn(&mut world, Side::Near, &spinner());
    }
    let mut seen = Vec::new();
    for savings in ["0", "1", "0"] {
        write(&mut world, MC, savings).unwrap();
        pass(&mut world, SECOND);
        let busy = busy(&mut world, SECOND);
        seen.push((places(&busy, |cpu| cpu / 4), places(&busy, |cpu| cpu / 2)));
    }
    assert_eq!(seen[1].0, 1, "gathered in one package: {seen:?}");
    assert!(seen[0].1 == 2 && seen[2].1 == 2, "spread over caches: {seen:?}");
}

#[test]
fn five_tasks_do_not_stay_in_a_package_of_four() {
    let mut world = alone(eight());
    write(&mut world, MC, "1").unwrap();
    for _ in 0..5 {
        spawn(&mut world, Side::Near, &spinner());
    }
    pass(&mut world, SECOND);
    let busy = busy(&mut world, SECOND);
    assert_eq!((places(&busy, |cpu| cpu), places(&busy, |cpu| cpu / 4)), (5, 2), "{busy:?}");
}

#[test]
fn what_is_pinned_stays_and_what_waits_behind_it_goes() {
    let mut world = alone(eight());
    spawn(&mut world, Side::Near, &counter(20 * SECOND));
    for _ in 0..2 {
        let pair = Job { cpus: Some(CpuList::new(vec![0, 1])), ..spinner() };
        spawn(&mut world, Side::Near, &pair);
    }
    pass(&mut world, SECOND);
    let busy = busy(&mut world, SECOND);
    assert_eq!(places(&busy, |cpu| cpu), 2, "{busy:?}");
}

#[test]
fn work_that_is_moved_about_takes_no_longer_than_its_cycles() {
    for savings in ["0", "1"] {
        let mut world = alone(eight());
        write(&mut world, MC, savings).unwrap();
        let demand = Demand { cycles: 90_000_000, memory_share: 0.0, sleep_ns: 10 * MS, repeat: 40 };
        let work = Work::Command { argv: vec!["batch".into()], demand: Some(demand) };
        let ids: Vec<_> = (0..6).map(|_| spawn(&mut world, Side::Near, &job(work.clone()))).collect();
        for id in ids {
            let usage = until_told(&mut world, id).usage;
            assert_eq!(usage.user_ns, 40 * 30 * MS, "at 3 GHz");
            assert!(usage.real_ns < 40 * (30 + 10) * MS * 11 / 10, "{savings}: {usage:?}");
        }
    }
}

#[test]
fn the_published_split() {
    for savings in ["0", "1"] {
        for seed in 1..=4 {
            let mut world = alone(eight());
            write(&mut world, MC, savings).unwrap();
            workers(&mut world, 60.0, seed);
            let shares = busy(&mut world, 60 * SECOND);
            println!("{savings} {seed}: {:?}", shares.iter().map(|b| b.round()).collect::<Vec<_>>());
        }
    }
    let _ = governor;
}
