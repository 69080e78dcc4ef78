//! Idle states of a whole machine: what is counted, drawn and felt, and what limits it.
use powerband_machine::{Action, Errno, Hold, Job, LATENCY_DEVICE, Turn, Wake, World};
use powerband_record::{Arrivals, CpuList, Demand, Protocol, Side, Work};
use powerband_sim::{Profile, SimWorld};

use crate::rig::{SECOND, alone, fix, job, quiet, read, run, spawn, turn, write};

const METER: &str = "/sys/kernel/powerband/energy_uj";

/// The four CPUs and their states under the rules of Linux 6.1, whose files can switch states off; without noise.
fn newer() -> Profile {
    let text = Profile::builtin_text("quadcore").unwrap();
    let text = text.replace("rules = \"2.6.32\"", "rules = \"6.1\"").replace("[\"menu\"]", "[\"ladder\", \"menu\"]");
    let mut profile = Profile::parse(&text).unwrap();
    profile.noise = quiet("quadcore").noise;
    profile
}

fn of(cpu: u32, state: usize, file: &str) -> String {
    format!("/sys/devices/system/cpu/cpu{cpu}/cpuidle/state{state}/{file}")
}

fn number(world: &mut SimWorld, path: &str) -> u64 {
    read(world, path).trim().parse().unwrap()
}

fn pass(world: &mut SimWorld, for_ns: u64) {
    let until = world.now_ns() + for_ns;
    while world.now_ns() < until {
        world.wait(Some(until));
    }
}

/// Watts over a second in which nothing runs.
fn idle_w(world: &mut SimWorld) -> f64 {
    pass(world, SECOND);
    let before = number(world, METER);
    pass(world, SECOND);
    (number(world, METER) - before) as f64 / 1e6
}

fn hold(world: &mut SimWorld, us: u32) {
    let action = Action::HoldFile { path: LATENCY_DEVICE.into(), text: format!("0x{us:08x}") };
    let acted =
        world.machine(Side::Near).unwrap().act(&Turn { action, ..turn(LATENCY_DEVICE, "", Hold::Held) }).unwrap();
    assert_eq!((acted.errno, acted.reads_back), (None, Some(us.to_string())));
}

/// The mean round trip of a second of pings within the machine, us.
fn trip_us(world: &mut SimWorld) -> f64 {
    let work = Work::Ping {
        protocol: Protocol::Icmp,
        address: "localhost".into(),
        port: 0,
        for_ns: SECOND,
        rate_per_s: 50.0,
        arrivals: Arrivals::Constant,
        seed: 1,
        size_bytes: 56,
    };
    let report = run(world, &job(work)).report.unwrap();
    assert_eq!(report["sent"], 50);
    report["mean_ns"].as_f64().unwrap() / 1e3
}

#[test]
fn the_states_are_those_of_the_file_and_old_kernels_show_less_of_them() {
    for (profile, files) in [(quiet("quadcore"), 6), (newer(), 12)] {
        let mut world = alone(profile);
        for (state, name) in ["POLL", "C1", "C1E", "C3", "C6"].into_iter().enumerate() {
            assert_eq!(read(&mut world, &of(2, state, "name")).trim(), name);
        }
        assert_eq!(read(&mut world, &of(2, 4, "latency")), "200\n");
        let listed = world.machine(Side::Near).unwrap().list("/sys/devices/system/cpu/cpu2/cpuidle/state4").unwrap();
        assert_eq!(listed.len(), files);
        let folder = "/sys/devices/system/cpu/cpuidle";
        assert_eq!(read(&mut world, &format!("{folder}/current_governor_ro")), "menu\n");
        let governor = write(&mut world, &format!("{folder}/current_governor"), "ladder");
        assert_eq!(governor, if files == 6 { Err(Errno::ENOENT) } else { Ok("ladder".into()) });
    }
    let mut world = alone(newer());
    assert_eq!(read(&mut world, "/sys/devices/system/cpu/cpuidle/available_governors"), "ladder menu \n");
    assert_eq!(read(&mut world, &of(2, 4, "residency")), "800\n");
    assert_eq!(write(&mut world, &of(2, 4, "name"), "C9"), Err(Errno::EACCES));
}

#[test]
fn what_is_counted_adds_up_to_the_time_without_work() {
    let mut world = alone(newer());
    fix(&mut world, 1, 1_600_000);
    let demand = Demand { cycles: 1_600_000, memory_share: 0.0, sleep_ns: 9_000_000, repeat: 200 };
    let mut bursts = job(Work::modelled(vec!["bursts".into()], demand));
    bursts.cpus = Some(powerband_record::CpuList::new(vec![1]));
    let done = run(&mut world, &bursts);
    assert_eq!(done.usage.user_ns, 200_000_000, "leaving an idle state is no work");
    let woken_us = done.usage.real_ns as f64 / 1e3 - 200.0 * 10_000.0;
    assert!((200.0 * 100.0..200.0 * 200.0).contains(&woken_us), "{woken_us}: half to all of leaving C6, each time");
    pass(&mut world, SECOND / 10);
    let sum: u64 = (0..5).map(|state| number(&mut world, &of(1, state, "time"))).sum();
    let idle_us = (world.now_ns() - 200_000_000) / 1_000;
    assert!(idle_us - sum < 110_000, "{sum} of {idle_us}: all but the sleep that goes on");
    assert!(number(&mut world, &of(1, 4, "usage")) > 190);
}

#[test]
fn deep_states_save_power_and_cost_time_to_leave() {
    let mut world = alone(newer());
    for cpu in 0..4 {
        fix(&mut world, cpu, 2_400_000);
    }
    let running_w = 1.722e-9 * 1.1 * 1.1 * 2.4e9;
    let (deep_w, deep_us) = (idle_w(&mut world), trip_us(&mut world));
    assert!((deep_w / (80.0 + 3.0 + 4.0 * 0.02 * running_w) - 1.0).abs() < 1e-2, "{deep_w}");
    hold(&mut world, 3);
    let (light_w, light_us) = (idle_w(&mut world), trip_us(&mut world));
    assert!((light_w / (80.0 + 8.0 + 4.0 * 0.4 * running_w) - 1.0).abs() < 1e-3, "{light_w}");
    hold(&mut world, 0);
    let (none_w, none_us) = (idle_w(&mut world), trip_us(&mut world));
    assert!((none_w / (80.0 + 8.0 + 4.0 * running_w) - 1.0).abs() < 1e-3, "{none_w}");
    assert!((1.0..=9.0).contains(&(light_us - none_us)), "{light_us} {none_us}");
    assert!(deep_us - none_us > 100.0, "{deep_us} {none_us}");
}

#[test]
fn a_limit_is_held_for_all_and_set_for_one() {
    let mut world = alone(newer());
    let limit = |cpu| format!("/sys/devices/system/cpu/cpu{cpu}/power/pm_qos_resume_latency_us");
    assert_eq!(read(&mut world, LATENCY_DEVICE), "2000000000\n");
    for (text, reads) in [("20", Ok("20")), ("n/a", Ok("n/a")), ("-1", Err(Errno::EINVAL)), ("0", Ok("0"))] {
        assert_eq!(write(&mut world, &limit(3), text), reads.map(str::to_owned), "{text}");
    }
    write(&mut world, &limit(3), "20").unwrap();
    pass(&mut world, SECOND);
    let deepest = |world: &mut SimWorld, cpu| (0..5).rev().find(|&state| number(world, &of(cpu, state, "usage")) > 0);
    assert_eq!([deepest(&mut world, 2), deepest(&mut world, 3)], [Some(4), Some(3)]);
    hold(&mut world, 10);
    world
        .machine(Side::Near)
        .unwrap()
        .act(&Turn {
            action: Action::ReleaseFile { path: LATENCY_DEVICE.into() },
            ..turn(LATENCY_DEVICE, "", Hold::Held)
        })
        .unwrap();
    assert_eq!(read(&mut world, LATENCY_DEVICE), "2000000000\n");
    assert_eq!(world.machine(Side::Near).unwrap().read("/dev/other"), Err(Errno::ENOENT));
}

#[test]
fn a_disabled_state_is_not_entered_and_enabled_again_by_hotplug() {
    let mut world = alone(newer());
    assert_eq!(write(&mut world, &of(1, 4, "disable"), "1").unwrap(), "1");
    pass(&mut world, SECOND);
    assert_eq!(number(&mut world, &of(1, 4, "usage")), 0);
    assert!(number(&mut world, &of(1, 3, "usage")) > 0 && number(&mut world, &of(2, 4, "usage")) > 0);
    let online = "/sys/devices/system/cpu/cpu1/online";
    write(&mut world, online, "0").unwrap();
    for gone in ["cpuidle/state4/disable", "cpuidle", "topology/core_id", "topology"] {
        let path = format!("/sys/devices/system/cpu/cpu1/{gone}");
        assert_eq!(world.machine(Side::Near).unwrap().read(&path), Err(Errno::ENOENT), "{gone}");
    }
    write(&mut world, online, "1").unwrap();
    assert_eq!(read(&mut world, &of(1, 4, "disable")), "0\n");
    assert_eq!(read(&mut world, "/sys/devices/system/cpu/cpu1/topology/core_id"), "1\n");
    pass(&mut world, SECOND);
    assert!(number(&mut world, &of(1, 4, "usage")) > 0);
}

#[test]
fn a_quiet_machine_that_polls_comes_to_rest() {
    let mut world = alone(newer());
    hold(&mut world, 0);
    assert_eq!(world.wait(None), Wake::Deadline);
    assert!(world.now_ns() <= 11 * SECOND, "ten seconds after the last thing that happened");
    let id = spawn(&mut world, Side::Near, &job(Work::Idle { for_ns: SECOND }));
    assert_eq!(world.wait(None), Wake::Ended(Side::Near, id));
}

/// How late a sleeper is on CPU 1 within two seconds, us: median and worst. `busy`: somebody counts there meanwhile.
fn late_us(world: &mut SimWorld, busy: bool) -> (f64, f64) {
    let on_1 = |work| Job { cpus: Some(CpuList::new(vec![1])), ..job(work) };
    if busy {
        spawn(world, Side::Near, &on_1(Work::Counter { for_ns: 3 * SECOND, align_to_second: false }));
    }
    let wake = Work::Wake { for_ns: 2 * SECOND, interval_ns: 1_000_000, priority: 80 };
    let sleeper = spawn(world, Side::Near, &on_1(wake));
    while world.wait(None) != Wake::Ended(Side::Near, sleeper) {}
    let report = world.machine(Side::Near).unwrap().finished(sleeper).unwrap().report.unwrap();
    assert_eq!(report["wakes"], 2_000);
    let cells: Vec<(u64, u64)> = serde_json::from_value(report["histogram"].clone()).unwrap();
    assert_eq!(cells.iter().map(|(_, count)| count).sum::<u64>(), 2_000);
    let mut seen = 0;
    let middle = cells.iter().find(|(_, count)| {
        seen += count;
        seen >= 1_000
    });
    (middle.unwrap().0 as f64 / 1e3, report["max_ns"].as_f64().unwrap() / 1e3)
}

#[test]
fn an_idle_cpu_wakes_later_than_a_busy_one_unless_it_is_held_awake() {
    let (median, worst) = late_us(&mut alone(newer()), false);
    // C3 takes 20 us to leave, C6 takes 200 and is worth it for 800.
    assert!(median > 15.0 && (195.0..230.0).contains(&worst), "{median} {worst}");
    let (median, worst) = late_us(&mut alone(newer()), true);
    assert!(median < 3.0 && worst < 10.0, "{median} {worst}");
    let mut world = alone(newer());
    hold(&mut world, 0);
    let (median, worst) = late_us(&mut world, false);
    assert!(median < 3.0 && worst < 10.0, "{median} {worst}");
}
