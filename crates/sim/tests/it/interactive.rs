//! Android's governor on a simulated machine: its files, bursts, what holds it up and what lets it go down.
use powerband_machine::{Errno, World};
use powerband_record::Side;
use powerband_sim::{Profile, SimWorld, Stretch};

use crate::rig::{SECOND, alone, counter, cpufreq, governor, read, spawn, write};

const MS: u64 = 1_000_000;
const FOLDER: &str = "/sys/devices/system/cpu/cpufreq/interactive";

fn android() -> SimWorld {
    let text = Profile::builtin_text("omap3530").unwrap();
    let with = text.replacen("governors = [", "governors = [\"interactive\", ", 1);
    let mut profile = Profile::parse(&with).unwrap();
    profile.noise.sigma = 0.0;
    let mut world = alone(profile);
    governor(&mut world, 0, "powersave");
    pass(&mut world, 10 * MS);
    governor(&mut world, 0, "interactive");
    world
}

fn pass(world: &mut SimWorld, ns: u64) {
    let until = world.now_ns() + ns;
    while world.now_ns() < until {
        world.wait(Some(until));
    }
}

fn mhz(world: &mut SimWorld) -> u32 {
    read(world, &cpufreq(0, "scaling_cur_freq")).trim().parse::<u32>().unwrap() / 1_000
}

fn set(world: &mut SimWorld, tunable: &str, value: &str) -> Result<String, Errno> {
    write(world, &format!("{FOLDER}/{tunable}"), value)
}

#[test]
fn its_files_show_and_take_what_androids_do() {
    let mut world = android();
    for (tunable, value) in [
        ("target_loads", "90"),
        ("above_hispeed_delay", "20000"),
        ("min_sample_time", "80000"),
        ("hispeed_freq", "600000"),
        ("go_hispeed_load", "99"),
        ("timer_rate", "20000"),
        ("timer_slack", "80000"),
        ("boost", "0"),
        ("boostpulse_duration", "80000"),
        ("io_is_busy", "0"),
    ] {
        assert_eq!(read(&mut world, &format!("{FOLDER}/{tunable}")), format!("{value}\n"), "{tunable}");
    }
    assert_eq!(set(&mut world, "target_loads", "85 500000:95"), Ok("85 500000:95".into()));
    assert_eq!(set(&mut world, "target_loads", "85 500000"), Err(Errno::EINVAL));
    assert_eq!(set(&mut world, "timer_slack", "-1"), Ok("-1".into()));
    assert_eq!(set(&mut world, "hispeed_freq", "fast"), Err(Errno::EINVAL));
    let pulse = world.machine(Side::Near).unwrap().read(&format!("{FOLDER}/boostpulse"));
    assert_eq!(pulse, Err(Errno::EACCES));
}

#[test]
fn a_burst_takes_it_to_the_top_and_it_comes_down_late() {
    let mut world = android();
    assert_eq!(mhz(&mut world), 125);
    spawn(&mut world, Side::Near, &counter(SECOND));
    pass(&mut world, 60 * MS);
    assert_eq!(mhz(&mut world), 600, "two looks are enough");
    pass(&mut world, SECOND);
    // The work has ended some 60 ms ago; the floor holds for min_sample_time after the last look that wanted it.
    assert_eq!(mhz(&mut world), 600);
    pass(&mut world, SECOND / 2);
    assert_eq!(mhz(&mut world), 125);
}

#[test]
fn a_lower_hispeed_freq_is_where_a_burst_stops_first() {
    let mut world = android();
    set(&mut world, "hispeed_freq", "500000").unwrap();
    set(&mut world, "above_hispeed_delay", "200000").unwrap();
    spawn(&mut world, Side::Near, &counter(SECOND));
    pass(&mut world, 100 * MS);
    assert_eq!(mhz(&mut world), 500);
    pass(&mut world, 300 * MS);
    assert_eq!(mhz(&mut world), 600);
}

#[test]
fn half_a_load_settles_where_the_target_load_says() {
    // Ten milliseconds of each twenty, whatever the clock: at 90 % the lowest clock above 5/9 of the present one.
    let settled = |loads: &str| {
        let mut world = android();
        set(&mut world, "target_loads", loads).unwrap();
        let half = |at: u64| Stretch {
            from_ns: at * 20 * MS + SECOND,
            until_ns: at * 20 * MS + 10 * MS + SECOND,
            nice: false,
        };
        world.play(Side::Near, (0..200).map(half).collect()).unwrap();
        pass(&mut world, 4 * SECOND);
        mhz(&mut world)
    };
    assert_eq!(settled("90"), 125);
    assert!(settled("20") >= 500, "a fifth is too much already");
}

#[test]
fn a_cpu_that_sleeps_over_its_timer_is_looked_at_only_within_the_slack() {
    for (slack, khz) in [("80000", 125), ("-1", 600)] {
        let mut world = android();
        set(&mut world, "timer_slack", slack).unwrap();
        let burst = Stretch { from_ns: SECOND, until_ns: SECOND + 200 * MS, nice: false };
        let late = Stretch { from_ns: 9 * SECOND, until_ns: 9 * SECOND + MS, nice: false };
        world.play(Side::Near, vec![burst, late]).unwrap();
        pass(&mut world, SECOND + 150 * MS);
        assert_eq!(mhz(&mut world), 600, "{slack}");
        pass(&mut world, 5 * SECOND);
        assert_eq!(mhz(&mut world), khz, "{slack}");
    }
}

#[test]
fn boosts_lift_it_as_long_as_they_last() {
    let mut world = android();
    set(&mut world, "hispeed_freq", "500000").unwrap();
    set(&mut world, "boost", "1").unwrap();
    pass(&mut world, 500 * MS);
    assert_eq!(mhz(&mut world), 500);
    set(&mut world, "boost", "0").unwrap();
    pass(&mut world, 500 * MS);
    assert_eq!(mhz(&mut world), 125);
    set(&mut world, "boostpulse_duration", "300000").unwrap();
    let pulse = format!("{FOLDER}/boostpulse");
    let machine = world.machine(Side::Near).unwrap();
    let turn =
        powerband_machine::Turn { read_back: None, ..crate::rig::turn(&pulse, "1", powerband_machine::Hold::Held) };
    assert_eq!(machine.act(&turn).unwrap().errno, None);
    pass(&mut world, 200 * MS);
    assert_eq!(mhz(&mut world), 500);
    pass(&mut world, 500 * MS);
    assert_eq!(mhz(&mut world), 125);
}

#[test]
fn limits_hold_it() {
    let mut world = android();
    write(&mut world, &cpufreq(0, "scaling_max_freq"), "550000").unwrap();
    spawn(&mut world, Side::Near, &counter(2 * SECOND));
    pass(&mut world, SECOND);
    assert_eq!(mhz(&mut world), 550);
    write(&mut world, &cpufreq(0, "scaling_max_freq"), "250000").unwrap();
    pass(&mut world, 100 * MS);
    assert_eq!(mhz(&mut world), 250);
    write(&mut world, &cpufreq(0, "scaling_max_freq"), "600000").unwrap();
    pass(&mut world, 100 * MS);
    assert_eq!(mhz(&mut world), 600);
}
