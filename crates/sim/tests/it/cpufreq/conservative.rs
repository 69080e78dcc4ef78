//! conservative: worked samples under each kernel's rules.
use powerband_sim::cpufreq::{BootConfig, Governor, KernelRules, PolicyConfig};

use super::bench::{Bench, OMAP, SRV, Window, config};

fn modern(table: &[u32], khz: u32) -> Bench {
    Bench::new(config(KernelRules::V6_1, table, khz, Governor::Conservative))
}

#[test]
fn t10_conservative_up() {
    let mut bench = modern(&SRV, 1_600_000);
    assert_eq!(bench.loads(10_000, &[100; 7]), [1600, 1733, 1867, 2000, 2133, 2267, 2400]);
    let mut bench = modern(&OMAP, 125_000);
    let chosen = bench.loads(10_000, &[100; 16]);
    let expected = [[125; 4].as_slice(), &[250; 8], &[500; 2], &[550], &[600]].concat();
    assert_eq!(chosen, expected);
}

#[test]
fn t11_conservative_down() {
    let mut bench = modern(&SRV, 2_400_000);
    assert_eq!(bench.loads(10_000, &[0; 7]), [2400, 2267, 2133, 2000, 1867, 1733, 1600]);
}

#[test]
fn t12_conservative_idle_periods() {
    let mut bench = modern(&SRV, 2_400_000);
    assert_eq!(bench.loads(10_000, &[100]), [2400]);
    assert_eq!(bench.sample(Window::load(55_000, 0)), 1867);
    assert_eq!(bench.sample(Window::load(10_000, 10)), 1867);
    assert_eq!(bench.sample(Window::load(30_000, 0)), 1600);
}

#[test]
fn the_cpu_that_slept_least_gives_the_idle_periods() {
    let mut shared = config(KernelRules::V6_1, &SRV, 2_400_000, Governor::Conservative);
    shared.policies[0].cpus = vec![0, 1];
    shared.possible_cpus = 2;
    let mut bench = Bench::new(shared);
    assert_eq!(bench.loads(10_000, &[10]), [2400], "2280000 is asked for");
    bench.pass_on(0, Window::load(55_000, 0));
    bench.pass_on(1, Window { wall: 55_000, idle: 31_000, ..Window::default() });
    bench.now_ns += 55_000_000;
    bench.event();
    assert_eq!(bench.mhz(), 1867, "three periods and the step down: 1800000");
}

#[test]
fn idle_periods_alone_are_not_remembered() {
    let mut bench = modern(&SRV, 2_400_000);
    assert_eq!(bench.loads(10_000, &[50]), [2400]);
    assert_eq!(bench.sample(Window::load(55_000, 0)), 2400, "the load before, 50 %, moves nothing");
    assert_eq!(bench.loads(10_000, &[100]), [2400]);
}

#[test]
fn changed_limits_restart_the_request_at_the_clock() {
    let mut bench = modern(&SRV, 1_600_000);
    assert_eq!(bench.loads(10_000, &[100]), [1600], "1720000 is asked for");
    bench.write("scaling_max_freq", "2267000").unwrap();
    assert_eq!(bench.loads(10_000, &[100]), [1600], "1713350");
}

#[test]
fn a_step_up_restarts_the_count_of_the_down_factor() {
    let mut bench = modern(&SRV, 2_400_000);
    bench.write_at("cpufreq/conservative/sampling_down_factor", "2").unwrap();
    let chosen = bench.loads(10_000, &[10, 100, 10, 10, 10, 10]);
    assert_eq!(chosen, [2400, 2400, 2400, 2400, 2400, 2267]);
}

#[test]
fn t13_conservative_factor_2() {
    let mut bench = modern(&SRV, 2_400_000);
    bench.write_at("cpufreq/conservative/sampling_down_factor", "2").unwrap();
    assert_eq!(bench.loads(10_000, &[10; 8]), [2400, 2400, 2400, 2267, 2267, 2133, 2133, 2000]);
}

/// A 1000 Hz machine under old rules whose samples fall on multiples of 100 ms.
fn old(rules: KernelRules, khz: u32) -> Bench {
    let mut config = config(rules, &SRV, khz, Governor::Conservative);
    config.hz = 1000;
    let mut bench = Bench::new(config);
    let folder = if rules == KernelRules::V2_6_18 { "cpu0/cpufreq/conservative" } else { "cpufreq/conservative" };
    bench.write_at(&format!("{folder}/sampling_rate"), "100000").unwrap();
    bench
}

fn old_loads(bench: &mut Bench, percents: &[u64]) -> Vec<u32> {
    let mut next = |&percent: &u64| {
        bench.pass(Window::load(100_000, percent));
        bench.run();
        bench.mhz()
    };
    percents.iter().map(&mut next).collect()
}

#[test]
fn t13_conservative_2_6_18() {
    let mut bench = old(KernelRules::V2_6_18, 2_400_000);
    assert_eq!(bench.read("conservative/sampling_rate").unwrap(), "100000\n");
    assert_eq!(old_loads(&mut bench, &[10; 8]), [2267, 2133, 2000, 1867, 1733, 1600, 1600, 1600]);
    assert_eq!(old_loads(&mut bench, &[90; 3]), [1600, 1733, 1867], "up goes to at most the request");
}

#[test]
fn one_timer_walks_all_policies_of_2_6_18() {
    let policy = |cpu| PolicyConfig::new(vec![cpu], &SRV);
    let mut old = BootConfig::new(KernelRules::V2_6_18, vec![policy(0), policy(1)]);
    (old.hz, old.default_governor) = (1000, Governor::Conservative);
    let mut bench = Bench::new(old);
    bench.now_ns = 150_000_000;
    bench.write_at("cpu1/cpufreq/scaling_governor", "performance").unwrap();
    bench.write_at("cpu1/cpufreq/scaling_governor", "conservative").unwrap();
    bench.run();
    assert_eq!(bench.cpufreq.next_due_ns(), Some(250_000_000), "its rounds go on while one policy takes part");
    bench.pass(Window::load(100_000, 0));
    bench.run();
    bench.now_ns += 10_000;
    bench.run();
    assert_eq!([bench.cpufreq.khz(0), bench.cpufreq.khz(1)], [2_267_000, 2_267_000]);
    for cpu in [0, 1] {
        bench.write_at(&format!("cpu{cpu}/cpufreq/scaling_governor"), "powersave").unwrap();
    }
    bench.now_ns += 10_000;
    bench.run();
    assert_eq!(bench.cpufreq.next_due_ns(), None, "nobody left to walk for");
}

#[test]
fn down_factor_2_6_18_sums_idle_over_samples() {
    let mut bench = old(KernelRules::V2_6_18, 2_400_000);
    bench.write("conservative/sampling_down_factor", "2").unwrap();
    assert_eq!(old_loads(&mut bench, &[10, 10, 30, 8, 30, 12]), [2400, 2267, 2267, 2133, 2133, 2133]);
}

#[test]
fn quirks_of_2_6_32() {
    let mut bench = old(KernelRules::V2_6_32, 2_400_000);
    bench.write_at("cpufreq/conservative/sampling_rate", "100000").unwrap();
    bench.pass(Window::load(20_000, 50));
    bench.run();
    bench.pass(Window::load(80_000, 50));
    bench.run();
    assert_eq!(old_loads(&mut bench, &[10, 9, 9]), [2400, 2267, 2133], "down below threshold - 10");
    bench.write_at("cpufreq/conservative/sampling_down_factor", "5").unwrap();
    assert_eq!(old_loads(&mut bench, &[0, 0]), [2000, 1867], "the down factor has no effect");

    let mut shared = config(KernelRules::V2_6_32, &SRV, 1_600_000, Governor::Conservative);
    shared.policies[0].cpus = vec![0, 1];
    shared.possible_cpus = 2;
    for (first, last, expected) in [(100, 0, 1600), (0, 100, 1733)] {
        let mut bench = Bench::new(shared.clone());
        for _ in 0..2 {
            bench.pass_on(0, Window::load(80_000, first));
            bench.pass_on(1, Window::load(80_000, last));
            bench.now_ns += 80_000_000;
            bench.run();
        }
        assert_eq!(bench.mhz(), expected, "the last CPU's load counts");
    }
}

#[test]
fn a_zero_step_stops_the_modern_governor() {
    let mut bench = modern(&SRV, 1_600_000);
    bench.write_at("cpufreq/conservative/freq_step", "0").unwrap();
    assert_eq!(bench.loads(10_000, &[100, 100, 100]), [1600, 1600, 1600]);
    bench.write_at("cpufreq/conservative/freq_step", "100").unwrap();
    assert_eq!(bench.loads(10_000, &[100, 0]), [2400, 1600]);
}
