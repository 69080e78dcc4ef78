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
fn the_cpu_folder_is_the_kernels() {
    let mut world = alone(quiet("quadcore"));
    let cpu = "/sys/devices/system/cpu";
    for (file, text) in [
        ("possible", "0-7\n"),
        ("present", "0-3\n"),
        ("online", "0-3\n"),
        ("offline", "4-7\n"),
        ("kernel_max", "511\n"),
        ("cpu2/topology/core_id", "2\n"),
        ("cpu2/topology/physical_package_id", "0\n"),
        ("cpu1/cpufreq/scaling_available_frequencies", "2400000 2133000 1867000 1600000 \n"),
        ("cpu1/cpufreq/scaling_available_governors", "conservative ondemand userspace powersave performance \n"),
        ("cpu1/cpufreq/scaling_governor", "ondemand\n"),
        ("cpu1/cpufreq/scaling_cur_freq", "1600000\n"),
    ] {
        assert_eq!(read(&mut world, &format!("{cpu}/{file}")), text, "{file}");
    }
    let names = |world: &mut SimWorld, folder: &str| -> Vec<String> {
        near(world).list(folder).unwrap().into_iter().map(|entry| entry.name).collect()
    };
    let listed = names(&mut world, cpu);
    let expected = [
        "cpu0",
        "cpu1",
        "cpu2",
        "cpu3",
        "cpufreq",
        "cpuidle",
        "kernel_max",
        "offline",
        "online",
        "possible",
        "present",
        "probe",
        "release",
    ];
    assert_eq!(listed, expected);
    let all = ["cache", "cpufreq", "cpuidle", "online", "thermal_throttle", "topology"];
    assert_eq!(names(&mut world, &format!("{cpu}/cpu1")), all);
    assert_eq!(
        names(&mut world, &format!("{cpu}/cpu0")),
        ["cache", "cpufreq", "cpuidle", "thermal_throttle", "topology"]
    );
    assert!(names(&mut world, &format!("{cpu}/cpu3/cpufreq")).contains(&"scaling_governor".to_owned()));
    assert_eq!(names(&mut world, "/"), ["dev", "etc", "proc", "sys", "tmp", "var"]);
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
fn refusals_are_the_kernels() {
    let mut world = alone(quiet("quadcore"));
    for (path, text, errno) in [
        ("/sys/devices/system/cpu/possible", "1", Errno::EACCES),
        ("/sys/devices/system/cpu/nothing", "1", Errno::ENOENT),
        ("/sys/devices/system/cpu", "1", Errno::EISDIR),
        ("/sys/devices/system/cpu/cpu1/cpufreq/scaling_governor", "schnell", Errno::EINVAL),
        ("/sys/devices/system/cpu/cpu1/cpufreq/scaling_cur_freq", "1", Errno::EACCES),
        ("/sys/devices/system/cpu/cpu1/cpufreq/scaling_setspeed", "1600000", Errno::EINVAL),
        ("/sys/devices/system/cpu/cpu4/cpufreq/scaling_governor", "performance", Errno::ENOENT),
        ("/sys/devices/system/cpu/possible/x", "1", Errno::ENOTDIR),
        ("/proc/sys/vm/swappiness", "201", Errno::EINVAL),
        ("/nowhere/file", "1", Errno::ENOENT),
        ("relative", "1", Errno::ENOENT),
    ] {
        assert_eq!(write(&mut world, path, text), Err(errno), "{path}");
    }
    assert_eq!(write(&mut world, "/proc/sys/vm/swappiness", "10\n").unwrap(), "10");
    assert_eq!(write(&mut world, "/etc/powerband.conf", "a\n").unwrap(), "a");
    assert_eq!(read(&mut world, "/etc//./powerband.conf"), "a\n");
}

#[test]
fn a_written_clock_reads_back_at_once() {
    let mut world = alone(quiet("omap3530"));
    write(&mut world, &cpufreq(0, "scaling_governor"), "userspace").unwrap();
    write(&mut world, &cpufreq(0, "scaling_setspeed"), "250000").unwrap();
    assert_eq!(read(&mut world, &cpufreq(0, "scaling_setspeed")), "250000\n");
    assert_eq!(read(&mut world, &cpufreq(0, "scaling_cur_freq")), "250000\n");
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
    let machine = |rules: &str, packages: &str, threads: &str| {
        let counts = format!("packages = {packages}\nthreads = {threads}\npresent = \"0-3\"");
        let mut text =
            text.replace("rules = \"2.6.32\"", &format!("rules = \"{rules}\"")).replace("present = \"0-3\"", &counts);
        if rules == "2.6.18" {
            let (before, after) = text.split_once("[cpuidle]").unwrap();
            let after = &after[after.find("[network]").unwrap()..];
            let steps = "idle = [{ name = \"C1\", after_us = 0.0, running_share = 0.4, leakage_share = 1.0 }]";
            text = format!("{before}{steps}\n{after}");
        }
        alone(Profile::parse(&text).unwrap())
    };
    let file = |kind: &str| format!("/sys/devices/system/cpu/sched_{kind}_power_savings");
    for (rules, packages, threads, mc, smt) in [
        ("2.6.18", "1", "1", true, false),
        ("2.6.18", "4", "1", false, false),
        ("2.6.32", "1", "1", false, false),
        ("2.6.32", "2", "1", true, false),
        ("2.6.32", "1", "2", false, true),
        ("6.1", "2", "1", false, false),
    ] {
        let mut world = machine(rules, packages, threads);
        let there = |world: &mut SimWorld, kind| near(world).read(&file(kind)) == Ok("0\n".into());
        assert_eq!((there(&mut world, "mc"), there(&mut world, "smt")), (mc, smt), "{rules} {packages} {threads}");
    }
    let mut old = machine("2.6.18", "2", "1");
    for (text, reads) in [("1x", Ok("1".to_owned())), ("2", Err(Errno::EINVAL)), ("0", Ok("0".into()))] {
        assert_eq!(write(&mut old, &file("mc"), text), reads, "{text}");
    }
    let mut newer = machine("2.6.32", "2", "1");
    for (text, reads) in [("2", Ok("2".to_owned())), ("3", Err(Errno::EINVAL)), ("x", Err(Errno::EINVAL))] {
        assert_eq!(write(&mut newer, &file("mc"), text), reads, "{text}");
    }
}

#[test]
fn acpi_cpufreq_shows_what_the_firmware_allows_where_its_kernel_does() {
    for (machine, shown) in [
        ("pc", Ok("3000000\n")),
        ("quadcore", Ok("2400000\n")),
        ("x3650", Err(Errno::ENOENT)),
        ("laptop", Err(Errno::ENOENT)),
    ] {
        let mut world = alone(Profile::builtin(machine).unwrap());
        let read = near(&mut world).read("/sys/devices/system/cpu/cpu0/cpufreq/bios_limit");
        assert_eq!(read.as_deref().map_err(|errno| *errno), shown, "{machine}");
    }
}

#[test]
fn caches_are_shared_by_the_cores_that_the_machine_file_says_and_go_with_their_cpu() {
    let shown = |world: &mut SimWorld, cpu: u32, index: u32, file: &str| {
        near(world)
            .read(&format!("/sys/devices/system/cpu/cpu{cpu}/cache/index{index}/{file}"))
            .map(|it| it.trim().to_owned())
    };
    let mut server = alone(Profile::builtin("server").unwrap());
    // Two packages of eight cores with two threads: the second threads follow the cores of both.
    for (index, file, text) in [
        (0, "type", "Data"),
        (0, "size", "32K"),
        (0, "number_of_sets", "64"),
        (0, "shared_cpu_list", "9,25"),
        (2, "size", "1024K"),
        (3, "shared_cpu_list", "8-15,24-31"),
        (3, "shared_cpu_map", "ff00ff00"),
        (3, "id", "1"),
    ] {
        assert_eq!(shown(&mut server, 9, index, file).as_deref(), Ok(text), "{index} {file}");
    }
    write(&mut server, "/sys/devices/system/cpu/cpu25/online", "0").unwrap();
    assert_eq!(shown(&mut server, 9, 3, "shared_cpu_list").as_deref(), Ok("8-15,24,26-31"));
    assert_eq!(shown(&mut server, 25, 0, "size"), Err(Errno::ENOENT));
    let throttled = "/sys/devices/system/cpu/cpu1/thermal_throttle/core_throttle_count";
    for (machine, counts) in [("laptop", Ok("0\n")), ("amd-server", Err(Errno::ENOENT)), ("board", Err(Errno::ENOENT))]
    {
        let mut world = alone(Profile::builtin(machine).unwrap());
        let read = near(&mut world).read(throttled);
        assert_eq!(read.as_deref().map_err(|errno| *errno), counts, "{machine}");
    }
}

#[test]
fn a_machine_of_four_cpus_shows_the_names_that_were_published() {
    let mut world = alone(quiet("quadcore"));
    let cpu = "/sys/devices/system/cpu";
    let names = |world: &mut SimWorld, folder: &str| -> Vec<String> {
        near(world).list(folder).unwrap().into_iter().map(|entry| entry.name).collect()
    };
    let all = names(&mut world, cpu);
    for name in "cpu0 cpu3 cpufreq cpuidle kernel_max offline online possible present probe release".split_whitespace()
    {
        assert!(all.iter().any(|it| it == name), "{name}: {all:?}");
    }
    let all = names(&mut world, &format!("{cpu}/cpu1"));
    for name in ["cache", "cpufreq", "online", "thermal_throttle", "topology"] {
        assert!(all.iter().any(|it| it == name), "{name}: {all:?}");
    }
    assert_eq!(read(&mut world, &cpufreq(1, "bios_limit")), "2400000\n");
    assert_eq!(read(&mut world, &format!("{cpu}/cpu1/cache/index2/shared_cpu_list")), "0-1\n");
    assert_eq!(names(&mut world, &format!("{cpu}/cpu1/thermal_throttle")), ["core_throttle_count"]);
    // What plugs CPUs in can only be written, and x86 refuses it.
    let probe = format!("{cpu}/probe");
    assert_eq!(near(&mut world).read(&probe), Err(Errno::EIO));
    assert_eq!(write(&mut world, &probe, "4"), Err(Errno::EPERM));
    assert!(near(&mut alone(quiet("pc"))).read(&probe) == Err(Errno::ENOENT), "not on later kernels");
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
