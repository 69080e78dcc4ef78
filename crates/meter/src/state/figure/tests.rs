//! Figures from texts as kernels print them, and where there are none.
use powerband_machine::{Look, World};
use powerband_record::Side;
use powerband_sim::{Profile, SimWorld};

use super::*;

fn sim(name: &str) -> SimWorld {
    SimWorld::new(Profile::builtin(name).unwrap(), None, 1).unwrap()
}

/// What a figure tells of two readings a second apart, for the CPUs given.
fn told(name: &str, cpus: &str, first: &[&str], last: &[&str]) -> Result<f64, String> {
    let mut world = sim("quadcore");
    let machine = world.machine(Side::Near).unwrap();
    let cpus: CpuList = cpus.parse().unwrap();
    let Found { tell, told_from, .. } = AskedFigure::named(name).unwrap().find(machine, Some(&cpus)).unwrap();
    let figure = OpenFigure { name: "it".into(), told_from, handles: Vec::new(), tell };
    let sample = |at_ns, texts: &[&str]| Sample { at_ns, texts: texts.iter().map(|text| Ok((*text).into())).collect() };
    figure.tell(&sample(5, first), &sample(1_000_000_005, last))
}

#[test]
fn figures_are_of_the_cpus_that_are_asked_for() {
    let (first, last) = ("cpu0 0 0 0 0\ncpu1 0 0 0 0\nctxt 5\n", "cpu0 30 0 0 70\ncpu1 100 0 0 0\nctxt 25\n");
    assert_eq!(told("cpu_busy_share", "0-1", &[first], &[last]), Ok(0.65));
    assert_eq!(told("cpu_busy_share", "0", &[first], &[last]), Ok(0.3));
    let table = |a, b| format!("     CPU0   CPU1\n 1:  {a}  {b}  edge\nERR: 5\n");
    let (first, last) = (table(1, 10), table(4, 30));
    assert_eq!(told("interrupts_per_s", "0-1", &[&first], &[&last]), Ok(23.0));
    assert_eq!(told("softirqs_per_s", "1", &[&first], &[&last]), Ok(20.0));
    let back = told("interrupts_per_s", "0", &[&last], &[&first]).unwrap_err();
    assert!(back.contains("went back"), "{back}");
}

#[test]
fn the_clock_is_the_mean_over_the_time_in_each_state() {
    let one = "600000 100\n800000 0\n";
    let two = "600000 130\n800000 70\n";
    let first = [one; 4];
    // The quadcore has a policy for each CPU: three stay at 600 MHz, one is 70 % of its time at 800.
    let last = ["600000 200\n800000 0\n", "600000 200\n800000 0\n", "600000 200\n800000 0\n", two];
    let mhz = told("clock_mhz", "0-3", &first, &last).unwrap();
    assert!((mhz - (3.0 * 600.0 + 740.0) / 4.0).abs() < 1e-9, "{mhz}");
    assert!(told("clock_mhz", "0-3", &first, &first).is_err(), "no tick has passed");
}

#[test]
fn what_a_machine_does_not_have_is_told_by_its_file() {
    let mut world = sim("omap3530");
    let machine = world.machine(Side::Near).unwrap();
    let why = |name: &str, machine: &mut dyn Look| AskedFigure::named(name).unwrap().open(machine, None).unwrap_err();
    assert_eq!(why("temperature_c", machine), "no thermal zone reports a temperature");
    assert_eq!(why("throttles", machine), "no CPU counts how often heat slowed it down");
    assert!(why("cpu_pressure_share", machine).starts_with("/proc/pressure/cpu: "));
    assert!(AskedFigure::named("clock_ghz").is_none());
    let clock = AskedFigure::named("clock_mhz").unwrap().open(machine, None).unwrap();
    assert_eq!(clock.told_from(), Some("time in state"));
    clock.close(machine);
}
