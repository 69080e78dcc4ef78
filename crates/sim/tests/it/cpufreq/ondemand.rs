//! ondemand: worked samples under each kernel's rules.
use powerband_sim::cpufreq::{Governor, KernelRules, Util};

use super::bench::{Bench, OMAP, SRV, Window, config};

fn modern(table: &[u32], khz: u32) -> Bench {
    Bench::new(config(KernelRules::V6_1, table, khz, Governor::Ondemand))
}

fn set(bench: &mut Bench, tunable: &str, value: u32) {
    bench.write_at(&format!("cpufreq/ondemand/{tunable}"), &format!("{value}\n")).unwrap();
}

#[test]
fn t01_ondemand_sweep() {
    let mut bench = modern(&OMAP, 125_000);
    assert_eq!(bench.read_at("cpufreq/ondemand/up_threshold").unwrap(), "95\n");
    assert_eq!(bench.read_at("cpufreq/ondemand/sampling_rate").unwrap(), "10000\n");
    let chosen = bench.loads(10_000, &[0, 13, 14, 52, 53, 84, 85, 94, 95, 96, 100, 50]);
    assert_eq!(chosen, [125, 125, 250, 250, 500, 500, 550, 550, 600, 600, 600, 250]);
}

#[test]
fn t02_closest_tie() {
    let ascending: Vec<u32> = SRV.iter().rev().copied().collect();
    let mut unsorted = SRV.to_vec();
    unsorted.swap(1, 4);
    for (table, expected) in [(SRV.to_vec(), 1867), (ascending, 1733), (unsorted, 1867)] {
        let mut bench = modern(&table, 2_400_000);
        assert_eq!(bench.loads(10_000, &[25]), [expected], "{table:?}");
    }
}

#[test]
fn t02_switch_points() {
    for (load, below, at) in
        [(9, 1600, 1733), (25, 1733, 1867), (42, 1867, 2000), (59, 2000, 2133), (75, 2133, 2267), (92, 2267, 2400)]
    {
        let mut bench = modern(&SRV, 1_600_000);
        assert_eq!(bench.loads(10_000, &[load - 1, load]), [below, at], "load {load}");
    }
}

#[test]
fn t03_sampling_down_factor() {
    let mut bench = modern(&OMAP, 125_000);
    set(&mut bench, "sampling_down_factor", 3);
    bench.pass(Window::load(10_000, 100));
    let mut sampled = Vec::new();
    for ms in 0..=70u64 {
        if ms > 0 {
            bench.pass(Window::load(1000, if ms <= 30 { 100 } else { 40 }));
        }
        bench.cpufreq.utilisation(0, bench.now_ns, Util::Direct, &bench.sums);
        let samples = bench.cpufreq.next_due_ns() == Some(bench.now_ns);
        bench.run();
        if samples {
            sampled.push((ms, bench.mhz()));
        }
    }
    assert_eq!(sampled, [(0, 600), (30, 600), (60, 250), (70, 250)]);
}

#[test]
fn the_rate_is_stretched_only_on_the_way_up() {
    let mut bench = modern(&OMAP, 600_000);
    set(&mut bench, "sampling_down_factor", 3);
    assert_eq!(bench.loads(10_000, &[100, 40]), [600, 250], "was at the top already: 10 ms later");
}

#[test]
fn a_new_down_factor_waits_for_the_next_climb() {
    let mut bench = modern(&OMAP, 125_000);
    set(&mut bench, "sampling_down_factor", 3);
    assert_eq!(bench.loads(10_000, &[100]), [600]);
    set(&mut bench, "sampling_down_factor", 5);
    assert_eq!(bench.loads(30_000, &[100]), [600]);
    assert_eq!(bench.loads(10_000, &[40]), [250], "one period later, not three");
}

#[test]
fn toggling_what_counts_as_idle_starts_a_new_window() {
    for (tunable, expected) in [("ignore_nice_load", 600), ("io_is_busy", 600), ("powersave_bias", 500)] {
        let mut bench = modern(&OMAP, 125_000);
        bench.pass(Window::load(5000, 0));
        set(&mut bench, tunable, u32::from(tunable != "powersave_bias"));
        bench.pass(Window::load(10_000, 100));
        bench.event();
        assert_eq!(bench.mhz(), expected, "{tunable}: 100 % of the new window, 66 % of the whole");
    }
}

#[test]
fn proportion_is_of_the_hardware_range() {
    let mut bench = modern(&OMAP, 125_000);
    bench.write("scaling_min_freq", "500000").unwrap();
    assert_eq!(bench.loads(10_000, &[50, 84]), [500, 500], "362500 and 524000, not 550000 and 584000");
}

#[test]
fn t04_long_idle_copy() {
    let long = Window::load(50_000, 0);
    let fresh = || {
        let mut bench = modern(&OMAP, 600_000);
        assert_eq!(bench.loads(10_000, &[100]), [600]);
        bench
    };
    let mut bench = fresh();
    assert_eq!(bench.sample(long), 600, "the load before the sleep counts once more");
    assert_eq!(bench.sample(Window::load(10_000, 10)), 125);
    let mut bench = fresh();
    assert_eq!([bench.sample(long), bench.sample(long)], [600, 125]);
    let mut bench = fresh();
    assert_eq!(bench.sample(Window { wall: 20_000, idle: 20_000, ..Window::default() }), 125, "not long");
    let mut bench = fresh();
    assert_eq!(bench.sample(Window { wall: 20_001, idle: 20_001, ..Window::default() }), 600, "just long");
}

/// Clocks (MHz) and how long each was kept (µs), over four changes.
fn split(table: &[u32], load: u64) -> Vec<(u32, u64)> {
    let mut bench = modern(table, table[0]);
    set(&mut bench, "powersave_bias", 100);
    bench.pass(Window::load(10_000, load));
    let mut kept: Vec<(u32, u64)> = Vec::new();
    let mut since = bench.now_ns;
    bench.event();
    let mut at = bench.mhz();
    while kept.len() < 4 {
        // The load is stated over each stretch of 1 µs: the same share whenever a sample falls.
        bench.now_ns += 1000;
        bench.sums.idle_ns[0] += 10 * (100 - load);
        bench.event();
        let mhz = bench.mhz();
        if mhz != at {
            kept.push((at, (bench.now_ns - since) / 1000));
            (at, since) = (mhz, bench.now_ns);
        }
    }
    kept
}

#[test]
fn t05_powersave_bias() {
    assert_eq!(split(&OMAP, 100), [(550, 8000), (500, 2000), (550, 8000), (500, 2000)]);
    assert_eq!(split(&SRV, 100), [(2267, 2015), (2133, 7985), (2267, 2015), (2133, 7985)]);
    assert_eq!(split(&OMAP, 50), [(500, 8000), (250, 2000), (500, 8000), (250, 2000)]);
}

#[test]
fn t06_nice_and_iowait() {
    // On a table of 100 steps between 0 and 100 MHz above a base the clock tells the load.
    let table: Vec<u32> = (0..=100).map(|percent| 100_000 + percent * 1000).collect();
    let load = |tunable: &str, value: u32, window: Window| {
        let mut bench = modern(&table, 100_000);
        set(&mut bench, tunable, value);
        bench.sample(window) - 100
    };
    let nice = Window { wall: 10_000, idle: 2000, nice: 5000, iowait: 0 };
    assert_eq!(load("ignore_nice_load", 0, nice), 80);
    assert_eq!(load("ignore_nice_load", 1, nice), 30);
    let iowait = Window { wall: 10_000, idle: 1000, nice: 0, iowait: 6000 };
    assert_eq!(load("io_is_busy", 0, iowait), 30);
    assert_eq!(load("io_is_busy", 1, iowait), 90);
    for (governor, expected) in [(Governor::Ondemand, 600), (Governor::Conservative, 500)] {
        let mut config = config(KernelRules::V6_1, &OMAP, 500_000, governor);
        config.io_is_busy = true;
        let waiting = Window { wall: 10_000, idle: 0, nice: 0, iowait: 7000 };
        assert_eq!(Bench::new(config).sample(waiting), expected, "conservative has no such tunable");
    }
}

#[test]
fn t14_ondemand_2_6_18() {
    let loads = [60, 60, 75, 81, 69, 70, 30, 30, 85];
    let mut old = config(KernelRules::V2_6_18, &SRV, 2_400_000, Governor::Ondemand);
    // 100 ticks a sample, so that every whole percentage exists.
    old.hz = 1000;
    let mut bench = Bench::new(old);
    bench.write("ondemand/sampling_rate", "100000").unwrap();
    bench.pass(Window::load(20_000, 100));
    bench.run();
    let chosen: Vec<u32> = loads
        .iter()
        .map(|&load| {
            bench.pass(Window::load(100_000, load));
            bench.run();
            bench.mhz()
        })
        .collect();
    assert_eq!(chosen, [2133, 1867, 1867, 2400, 2400, 2400, 1600, 1600, 2400]);

    let chosen = modern(&SRV, 2_400_000).loads(10_000, &loads);
    assert_eq!(chosen, [2133, 2133, 2267, 2267, 2133, 2133, 1867, 1867, 2267]);
}

#[test]
fn t15_ondemand_2_6_32() {
    let mut bench = Bench::new(config(KernelRules::V2_6_32, &SRV, 2_400_000, Governor::Ondemand));
    assert_eq!(bench.read_at("cpufreq/ondemand/sampling_rate").unwrap(), "10000\n");
    // At 250 Hz a period of 10000 µs is 3 ticks, aligned to multiples of 3.
    let chosen: Vec<u32> = [60, 90, 96, 80, 92, 91, 50]
        .iter()
        .map(|&load| {
            bench.pass(Window::load(12_000, load));
            bench.run();
            bench.mhz()
        })
        .collect();
    assert_eq!(chosen, [1600, 1600, 2400, 2133, 2133, 2133, 1600]);
}

#[test]
fn old_ondemand_reads_more_idle_than_time_as_overload() {
    let mut bench = Bench::new(config(KernelRules::V2_6_18, &SRV, 1_600_000, Governor::Ondemand));
    bench.pass(Window { wall: 80_000, idle: 84_000, ..Window::default() });
    bench.run();
    assert_eq!(bench.mhz(), 2400);
}

#[test]
fn a_deferrable_timer_waits_for_the_cpu_to_wake() {
    let mut bench = Bench::new(config(KernelRules::V2_6_32, &SRV, 2_400_000, Governor::Ondemand));
    bench.sums.running[0] = false;
    bench.pass(Window::load(12_000, 0));
    bench.run();
    assert_eq!((bench.mhz(), bench.cpufreq.next_due_ns()), (2400, None), "asleep: no sample");
    bench.pass(Window::load(50_000, 0));
    bench.event();
    assert_eq!(bench.mhz(), 1600, "samples on waking");
    assert_eq!(bench.cpufreq.next_due_ns(), Some(bench.now_ns + 10_000), "the change of clock");
    bench.now_ns += 10_000;
    bench.run();
    assert_eq!(bench.cpufreq.next_due_ns(), Some(72_000_000), "the next multiple of three ticks");
}

#[test]
fn weighted_load_uses_the_measured_clock() {
    let mut bench = Bench::new(config(KernelRules::V2_6_32, &SRV, 2_400_000, Governor::Ondemand));
    bench.sums.average_khz = Some(1_200_000);
    bench.pass(Window::load(12_000, 100));
    bench.run();
    assert_eq!(bench.mhz(), 1600, "100 % at half the clock is 50 %");
}

#[test]
fn the_old_bias_counts_in_ticks() {
    let mut old = config(KernelRules::V2_6_32, &OMAP, 600_000, Governor::Ondemand);
    old.hz = 1000;
    let mut bench = Bench::new(old);
    set(&mut bench, "powersave_bias", 100);
    let mut seen = Vec::new();
    for _ in 0..30 {
        bench.pass(Window::load(1000, 100));
        bench.run();
        seen.push(bench.mhz());
    }
    let pattern: Vec<u32> = [[550; 8].as_slice(), &[500; 2]].concat();
    assert_eq!(seen[9..29], [pattern.clone(), pattern].concat());
}

#[test]
fn the_busiest_cpu_of_a_domain_decides() {
    for (rules, expected) in [(KernelRules::V6_1, 1867), (KernelRules::V2_6_32, 1600), (KernelRules::V2_6_18, 1600)] {
        let mut shared = config(rules, &SRV, 2_400_000, Governor::Ondemand);
        shared.policies[0].cpus = vec![0, 1];
        shared.possible_cpus = 2;
        let mut bench = Bench::new(shared);
        let window = |percent| Window::load(96_000, percent);
        bench.pass_on(0, window(0));
        bench.pass_on(1, window(30));
        bench.now_ns += 96_000_000;
        bench.event();
        assert_eq!(bench.mhz(), expected, "{rules:?}");
    }
}
