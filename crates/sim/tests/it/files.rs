//! The tree: what is there, what it reads, what it refuses; random writes never break it.
use powerband_machine::{Errno, Hold, Machine, World};
use powerband_record::Side;
use powerband_sim::{Profile, SimWorld};
use proptest::prelude::*;

use crate::rig::{SECOND, alone, counter, cpufreq, fix, quiet, read, run, spawn, turn, until_told, write};

fn near(world: &mut SimWorld) -> &mut dyn Machine {
    world.machine(Side::Near).unwrap()
}

#[test]
fn everything_listed_can_be_read_or_says_why_not() {
    for name in Profile::names() {
        let mut world = alone(quiet(name));
        let (mut folders, mut files) = (vec![String::from("/")], 0);
        while let Some(folder) = folders.pop() {
            for entry in near(&mut world).list(&folder).unwrap() {
                let path = format!("{}/{}", folder.trim_end_matches('/'), entry.name);
                // A link leads to what is listed elsewhere, or back.
                if entry.link.is_some() {
                    continue;
                }
                if entry.folder {
                    assert_eq!(near(&mut world).read(&path), Err(Errno::EISDIR), "{path}");
                    folders.push(path);
                } else {
                    files += 1;
                    let text = near(&mut world).read(&path);
                    assert_eq!(text.is_err(), entry.mode & 0o444 == 0, "{path}: {text:?}");
                    assert_eq!(near(&mut world).list(&path), Err(Errno::ENOTDIR), "{path}");
                }
            }
        }
        assert!(files > 30, "{name}: {files}");
    }
}

#[test]
fn proc_follows_the_machine() {
    let mut world = alone(quiet("omap3530"));
    for (khz, bogomips) in [(600_000, "581.89"), (500_000, "484.90"), (250_000, "242.45"), (125_000, "121.22")] {
        fix(&mut world, 0, khz);
        let text = read(&mut world, "/proc/cpuinfo");
        assert!(text.contains(&format!("BogoMIPS\t: {bogomips}\n")), "{text}");
    }
    let busy = |world: &mut SimWorld| {
        let text = read(world, "/proc/stat");
        let fields: Vec<u64> = text.lines().next().unwrap()[5..].split(' ').map(|n| n.parse().unwrap()).collect();
        (fields[0], fields[3])
    };
    let before = busy(&mut world);
    run(&mut world, &counter(3 * SECOND));
    let idle = world.now_ns() + 2 * SECOND;
    world.wait(Some(idle));
    let after = busy(&mut world);
    assert_eq!((after.0 - before.0, after.1 - before.1), (300, 200));
    assert!(read(&mut world, "/proc/uptime").starts_with(&format!("{}.", world.now_ns() / SECOND)));
    assert_eq!(read(&mut world, "/proc/sys/kernel/random/boot_id").len(), 37);
}

#[test]
fn cpus_go_offline_and_come_back() {
    let mut world = alone(quiet("quadcore"));
    let cpus: Vec<_> = (0..4).map(|_| spawn(&mut world, Side::Near, &unpinned())).collect();
    world.wait(Some(SECOND / 4));
    let online = |cpu| format!("/sys/devices/system/cpu/cpu{cpu}/online");
    assert_eq!(write(&mut world, &online(3), "0").unwrap(), "0");
    assert_eq!(write(&mut world, &online(2), "0").unwrap(), "0");
    assert_eq!(read(&mut world, "/sys/devices/system/cpu/online"), "0-1\n");
    assert!(near(&mut world).read(&cpufreq(3, "scaling_governor")).is_err());
    world.wait(Some(SECOND / 2));
    write(&mut world, &online(3), "1").unwrap();
    assert_eq!(near(&mut world).read(&cpufreq(3, "scaling_governor")).unwrap(), "ondemand\n");
    for id in cpus {
        until_told(&mut world, id);
    }
    assert!(world.now_ns() < 2 * SECOND);
}

#[test]
fn old_kernels_gather_tasks_where_there_is_something_to_gather() {
    let text = Profile::builtin_text("quadcore").unwrap();
    let machine = |rules: &str, possible: &str, packages: &str, threads: &str| {
        let counts = format!("packages = {packages}\nthreads = {threads}\npresent = \"0-3\"");
        let mut text =
            text.replace("rules = \"2.6.32\"", &format!("rules = \"{rules}\"")).replace("present = \"0-3\"", &counts);
        text = text.replace("possible = \"0-7\"", &format!("possible = \"{possible}\""));
        if rules == "2.6.18" {
            let (before, after) = text.split_once("[cpuidle]").unwrap();
            let after = &after[after.find("[network]").unwrap()..];
            let steps = "idle = [{ name = \"C1\", after_us = 0.0, running_share = 0.4, leakage_share = 1.0 }]";
            text = format!("{before}{steps}\n{after}");
        }
        alone(Profile::parse(&text).unwrap())
    };
    let file = |kind: &str| format!("/sys/devices/system/cpu/sched_{kind}_power_savings");
    for (rules, possible, packages, threads, mc, smt) in [
        ("2.6.18", "0-3", "1", "1", true, false),
        ("2.6.18", "0-3", "4", "1", false, false),
        ("2.6.32", "0-3", "1", "1", false, false),
        ("2.6.32", "0-7", "1", "1", true, false),
        ("2.6.32", "0-3", "2", "1", true, false),
        ("2.6.32", "0-3", "1", "2", false, true),
        ("6.1", "0-3", "2", "1", false, false),
    ] {
        let mut world = machine(rules, possible, packages, threads);
        let there = |world: &mut SimWorld, kind| near(world).read(&file(kind)) == Ok("0\n".into());
        assert_eq!((there(&mut world, "mc"), there(&mut world, "smt")), (mc, smt), "{rules} {packages} {threads}");
    }
    let mut old = machine("2.6.18", "0-7", "2", "1");
    for (text, reads) in [("1x", Ok("1".to_owned())), ("2", Err(Errno::EINVAL)), ("0", Ok("0".into()))] {
        assert_eq!(write(&mut old, &file("mc"), text), reads, "{text}");
    }
    let mut newer = machine("2.6.32", "0-7", "2", "1");
    for (text, reads) in [("2", Ok("2".to_owned())), ("3", Err(Errno::EINVAL)), ("x", Err(Errno::EINVAL))] {
        assert_eq!(write(&mut newer, &file("mc"), text), reads, "{text}");
    }
}

fn unpinned() -> powerband_machine::Job {
    crate::rig::job(powerband_record::Work::Counter { for_ns: SECOND, align_to_second: false })
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 1000, ..ProptestConfig::default() })]

    #[test]
    fn no_sequence_of_writes_panics(
        machine in prop::sample::select(Profile::names()),
        writes in prop::collection::vec((0_u32..5, 0_usize..12, 0_usize..12, 0_u64..50_000_000), 1..12),
    ) {
        let files = [
            "cpufreq/scaling_governor", "cpufreq/scaling_governor", "cpufreq/scaling_setspeed", "cpufreq/scaling_min_freq",
            "cpufreq/scaling_max_freq", "online", "cpufreq/stats/reset", "cpufreq", "../cpufreq/ondemand/up_threshold",
            "../../../../../tmp/x", "cpufreq/ondemand/sampling_rate", "topology/core_id",
        ];
        let texts = ["0", "1", "ondemand", "userspace\n", "conservative", "schedutil", "600000", "4294967295", "-5", "", "performance", "20000"];
        let mut world = alone(quiet(machine));
        for (cpu, file, text, wait) in writes {
            let path = format!("/sys/devices/system/cpu/cpu{cpu}/{}", files[file]);
            near(&mut world).act(&turn(&path, texts[text], Hold::Held)).unwrap();
            let _ = near(&mut world).spawn(&counter(wait / 2));
            let until = world.now_ns() + wait;
            while world.now_ns() < until {
                world.wait(Some(until));
            }
        }
    }
}
