//! Limits: what a write does, what the files then show, and how governors follow.
use powerband_machine::Errno;
use powerband_sim::cpufreq::{Governor, KernelRules};

use super::bench::{Bench, SRV, config};

fn bench(rules: KernelRules) -> Bench {
    Bench::new(config(rules, &SRV, 2_400_000, Governor::Userspace))
}

fn write(bench: &mut Bench, side: &str, text: &str) -> Result<(), Errno> {
    bench.write(&format!("scaling_{side}_freq"), text)
}

/// A bench with these limits in effect, MHz.
fn at(rules: KernelRules, min: u32, max: u32) -> Bench {
    let mut bench = bench(rules);
    write(&mut bench, "max", &format!("{max}000")).unwrap();
    write(&mut bench, "min", &format!("{min}000")).unwrap();
    assert_eq!(bench.limits(), (min, max));
    bench
}

#[test]
fn t08_limits_6_1() {
    let mut bench = bench(KernelRules::V6_1);
    for (side, text, after) in [
        ("max", "5000000", (1600, 2400)),
        ("max", "2200000", (1600, 2133)),
        ("min", "1700000", (1733, 2133)),
        ("min", "2400000", (2267, 2267)),
        ("max", "2000000", (2000, 2000)),
        ("min", "1600000", (1600, 2000)),
        ("max", "0", (1600, 1600)),
    ] {
        write(&mut bench, side, text).unwrap();
        assert_eq!(bench.limits(), after, "{side}={text}");
    }
    for text in ["abc", "-5", "3000000000"] {
        assert_eq!(write(&mut bench, "max", text), Err(Errno::EINVAL), "{text}");
        assert_eq!(bench.limits(), (1600, 1600));
    }
    write(&mut bench, "max", "4294967295").unwrap();
    assert_eq!(bench.limits(), (1600, 2400));
    write(&mut bench, "max", "1733000abc").unwrap();
    assert_eq!(bench.limits(), (1600, 1733));
}

#[test]
fn t09_limits_old() {
    for rules in [KernelRules::V2_6_18, KernelRules::V2_6_32] {
        let mut bench = at(rules, 1600, 2000);
        assert_eq!(write(&mut bench, "min", "2400000"), Err(Errno::EINVAL), "{rules:?}");
        assert_eq!(bench.limits(), (1600, 2000));
    }
    let mut bench = at(KernelRules::V6_1, 1600, 2000);
    write(&mut bench, "min", "2400000").unwrap();
    assert_eq!(bench.limits(), (2000, 2000));

    let mut bench = at(KernelRules::V2_6_18, 2000, 2400);
    write(&mut bench, "max", "1600000").unwrap();
    assert_eq!(bench.limits(), (1600, 1600));
    write(&mut bench, "max", "2400000").unwrap();
    assert_eq!(bench.limits(), (1600, 2400), "min was dragged down for good");
    bench.write("scaling_governor", "performance").unwrap();
    assert_eq!(bench.limits(), (1600, 2400), "whatever governor comes");
    let mut bench = at(KernelRules::V2_6_32, 2000, 2400);
    assert_eq!(write(&mut bench, "max", "1600000"), Err(Errno::EINVAL));
    write(&mut bench, "max", "2400000").unwrap();
    assert_eq!(bench.limits(), (2000, 2400));
    let mut bench = at(KernelRules::V6_1, 2000, 2400);
    write(&mut bench, "max", "1600000").unwrap();
    assert_eq!(bench.limits(), (1600, 1600));
    write(&mut bench, "max", "2400000").unwrap();
    assert_eq!(bench.limits(), (2000, 2400), "the request for a minimum springs back");

    for (rules, shown) in [(KernelRules::V2_6_18, 1650), (KernelRules::V2_6_32, 1650), (KernelRules::V6_1, 1600)] {
        let mut bench = self::bench(rules);
        write(&mut bench, "max", "1650000").unwrap();
        assert_eq!(bench.limits(), (1600, shown), "{rules:?}");
    }
}

#[test]
fn limits_may_take_effect_later() {
    let mut late = config(KernelRules::V6_1, &SRV, 2_400_000, Governor::Performance);
    late.limits_delay_ns = 30_000;
    let mut bench = Bench::new(late);
    write(&mut bench, "max", "2000000").unwrap();
    assert_eq!(bench.limits(), (1600, 2400), "read at once");
    bench.now_ns = 30_000;
    assert_eq!(bench.cpufreq.next_due_ns(), Some(30_000));
    bench.run();
    assert_eq!((bench.limits(), bench.mhz()), ((1600, 2000), 2000));
}

#[test]
fn the_clock_follows_the_limits_under_every_governor() {
    for governor in Governor::ALL.into_iter().filter(|governor| *governor != Governor::Interactive) {
        let mut bench = Bench::new(config(KernelRules::V6_1, &SRV, 2_000_000, governor));
        write(&mut bench, "max", "1867000").unwrap();
        let lowest = governor == Governor::Powersave;
        assert_eq!(bench.mhz(), if lowest { 1600 } else { 1867 }, "{governor:?}");
        write(&mut bench, "max", "2400000").unwrap();
        write(&mut bench, "min", "2133000").unwrap();
        let highest = governor == Governor::Performance;
        assert_eq!(bench.mhz(), if highest { 2400 } else { 2133 }, "{governor:?}");
    }
}

#[test]
fn a_speed_asked_outside_the_limits_returns_when_they_widen() {
    let mut bench = bench(KernelRules::V6_1);
    bench.write("scaling_setspeed", "1600000").unwrap();
    write(&mut bench, "min", "2000000").unwrap();
    assert_eq!((bench.mhz(), bench.read("scaling_setspeed").unwrap()), (2000, "2000000\n".to_owned()));
    write(&mut bench, "min", "0").unwrap();
    assert_eq!(bench.mhz(), 1600);
    bench.write("scaling_setspeed", "1800000").unwrap();
    assert_eq!(bench.mhz(), 1867, "upwards to an entry");
    assert_eq!(bench.write("scaling_setspeed", "fast"), Err(Errno::EINVAL));
}

#[test]
fn firmware_limits_too() {
    for rules in [KernelRules::V2_6_18, KernelRules::V2_6_32, KernelRules::V6_1] {
        let mut bench = Bench::new(config(rules, &SRV, 2_400_000, Governor::Performance));
        bench.cpufreq.set_bios_limit(0, Some(2_000_000), 0, &bench.sums);
        assert_eq!((bench.limits(), bench.mhz()), ((1600, 2000), 2000), "{rules:?}");
        write(&mut bench, "max", "2400000").unwrap();
        assert_eq!(bench.limits(), (1600, 2000), "{rules:?}");
        bench.cpufreq.set_bios_limit(0, None, 0, &bench.sums);
        let after = if rules == KernelRules::V6_1 { 2400 } else { 2000 };
        assert_eq!(bench.limits(), (1600, after), "old rules remember the limit in effect, {rules:?}");
    }
}
