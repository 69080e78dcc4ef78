//! The course of clocks and of how busy CPUs are: what is kept, of whom, and what no machine is asked for.
use powerband_machine::{Sample, Sampling};
use powerband_meter::OpenCourses;
use powerband_record::{CpuList, MeterQuantity, Recorded, Recording, Side, Timeline};

use crate::fake::Fake;

const S: u64 = 1_000_000_000;
const CPUFREQ: &str = "/sys/devices/system/cpu/cpufreq";

/// Two policies of two CPUs, whose clocks and uses a test moves on.
fn machine() -> Fake {
    let mut machine = Fake::default();
    for (policy, cpus) in [(0, "0 1"), (2, "2 3")] {
        machine.put(&format!("{CPUFREQ}/policy{policy}/affected_cpus"), cpus);
        machine.put(&format!("{CPUFREQ}/policy{policy}/scaling_cur_freq"), "800000");
        machine.put(&format!("{CPUFREQ}/policy{policy}/scaling_governor"), "ondemand");
    }
    for cpu in 0..4 {
        machine.put(&format!("/sys/devices/system/cpu/cpu{cpu}/online"), "1");
    }
    use_cpus(&mut machine, 0, 0);
    machine
}

/// Ticks so far: CPU 1 busy for some, the others idle all the time.
fn use_cpus(machine: &mut Fake, busy: u64, all: u64) {
    let line = |cpu: u64| match cpu {
        1 => format!("cpu1 {busy} 0 0 {} 0 0 0 0 0 0\n", all - busy),
        cpu => format!("cpu{cpu} 0 0 0 {all} 0 0 0 0 0 0\n"),
    };
    machine.put("/proc/stat", &(0..4).map(line).collect::<String>());
}

fn asked(text: &str) -> Vec<Recording> {
    Recording::parse_list(text).unwrap()
}

fn told(timelines: &[Timeline], of: &str) -> Vec<(u64, u64)> {
    timelines.iter().find(|timeline| timeline.boundary == of).unwrap().readings().unwrap()
}

#[test]
fn clocks_by_policy_and_use_by_cpu_are_kept_at_their_times() {
    let mut machine = machine();
    let courses = OpenCourses::open(&mut machine, &asked("clock,utilisation"), None).unwrap();
    let watches = courses.watches();
    let [watch @ Sampling { period_ns: Some(100_000_000), .. }] = &watches[..] else {
        panic!("both are read at once, ten times a second: {watches:?}")
    };
    assert_eq!(watch.handles.len(), 3, "two clocks and one table, no governor and no limit");
    let mut moments: Vec<Sample> = Vec::new();
    // A tick is 10 ms. Some tens of microseconds late each; the third finds no tick that has passed.
    for (at_ms, busy, all, khz) in [(0, 0, 0, 800_000), (100, 5, 10, 900_000), (101, 5, 10, 900_000), (300, 25, 30, 1)]
    {
        use_cpus(&mut machine, busy, all);
        machine.put(&format!("{CPUFREQ}/policy2/scaling_cur_freq"), &khz.to_string());
        moments.push(machine.sample(watch, 7 * S + at_ms * 1_000_000 + at_ms * 300));
    }
    let timelines = courses.timelines(Side::Near, &[moments], &[]);
    courses.close(&mut machine);
    assert_eq!(machine.still_open(), 0);
    let names: Vec<(&str, &str)> = timelines.iter().map(|it| (it.meter.as_str(), it.boundary.as_str())).collect();
    let used = [("utilisation", "cpu0"), ("utilisation", "cpu1"), ("utilisation", "cpu2"), ("utilisation", "cpu3")];
    assert_eq!(names, [&[("clock", "policy0"), ("clock", "policy2")][..], &used].concat());
    let ms = |at: u64| at * 1_000_000;
    assert_eq!(told(&timelines, "policy2"), [(0, 800_000), (ms(100), 900_000), (ms(101), 900_000), (ms(300), 1)]);
    assert_eq!(told(&timelines, "cpu1"), [(0, 0), (ms(100), 500), (ms(300), 1000)]);
    let cpu1 = timelines.iter().find(|timeline| timeline.boundary == "cpu1").unwrap();
    assert_eq!((cpu1.quantity, cpu1.min, cpu1.max), (MeterQuantity::BusyPermille, 500, 1000));
    // Half of the first 0.1 s and all of the 0.2 s after.
    assert!((cpu1.mean - 2500.0 / 3.0).abs() < 1e-9, "{}", cpu1.mean);
}

#[test]
fn some_cpus_alone_are_kept_at_a_period_of_their_own() {
    let mut machine = machine();
    let turned: CpuList = "1".parse().unwrap();
    let courses = OpenCourses::open(&mut machine, &asked("clock@2:1s,utilisation"), Some(&turned)).unwrap();
    let watches = courses.watches();
    let periods: Vec<_> = watches.iter().map(|watch| (watch.period_ns, watch.handles.len())).collect();
    assert_eq!(periods, [(Some(S / 10), 1), (Some(S), 1)]);
    let mut moments = vec![Vec::new(); 2];
    for at_s in 1..5 {
        use_cpus(&mut machine, 10 * at_s, 100 * at_s);
        for (watch, moments) in watches.iter().zip(&mut moments) {
            moments.push(machine.sample(watch, at_s * S));
        }
    }
    let timelines = courses.timelines(Side::Far, &moments, &[]);
    let names: Vec<(Side, &str)> = timelines.iter().map(|it| (it.side, it.boundary.as_str())).collect();
    assert_eq!(names, [(Side::Far, "cpu1"), (Side::Far, "policy2")]);
    assert_eq!(told(&timelines, "cpu1")[1..], [(S, 100), (2 * S, 100), (3 * S, 100)]);
}

#[test]
fn no_cpu_is_interrupted_to_tell_its_clock() {
    for (release, flags, refused) in [
        ("5.10.0-8-amd64", "flags\t\t: fpu aperfmperf", true),
        ("5.10.0-8-amd64", "flags\t\t: fpu", false),
        ("6.1.0-13-amd64", "flags\t\t: fpu aperfmperf", false),
    ] {
        let mut machine = machine();
        machine.put("/proc/sys/kernel/osrelease", release);
        machine.put("/proc/cpuinfo", flags);
        let opened = OpenCourses::open(&mut machine, &asked("utilisation,clock"), None);
        assert_eq!(opened.is_err(), refused, "{release} {flags}");
        let Err((Recorded::Clock, why)) = opened else { continue };
        assert!(why.contains("interrupts") && why.contains("clock_mhz"), "{why}");
        assert_eq!(machine.still_open(), 0);
    }
    let none = OpenCourses::open(&mut Fake::default(), &asked("clock"), None).unwrap_err();
    assert!(none.1.contains("no cpufreq"), "{}", none.1);
}
