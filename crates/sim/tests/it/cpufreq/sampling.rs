//! When samples are taken.
use powerband_sim::cpufreq::{Governor, KernelRules, Util};

use super::bench::{Bench, OMAP, SRV, Window, config};

/// Samples of a CPU that is busy from 0 to `until_ms`, ticking, ms.
fn samples(hz: u32, until_ms: u64) -> (Bench, Vec<u64>) {
    let mut config = config(KernelRules::V6_1, &OMAP, 125_000, Governor::Ondemand);
    config.hz = hz;
    // Load windows in wall time, whatever the clock: the trace is stated.
    config.policies[0].invariant = false;
    let mut bench = Bench::new(config);
    let tick_us = u64::from(1_000_000 / hz);
    let mut seen = Vec::new();
    bench.cpufreq.current(0, Some(1), 0);
    loop {
        bench.cpufreq.utilisation(0, bench.now_ns, Util::Tick, &bench.sums);
        if bench.cpufreq.next_due_ns() == Some(bench.now_ns) {
            seen.push(bench.now_ns / 1_000_000);
        }
        bench.run();
        if bench.now_ns >= until_ms * 1_000_000 {
            return (bench, seen);
        }
        bench.pass(Window::load(tick_us, 100));
        bench.run();
    }
}

#[test]
fn t07_sampling_instants() {
    assert_eq!(samples(250, 36).1, [0, 12, 24, 36]);
    assert_eq!(samples(1000, 30).1, [0, 10, 20, 30]);
    assert_eq!(samples(100, 40).1, [0, 20, 40]);

    let (mut bench, seen) = samples(250, 12);
    assert_eq!(seen, [0, 12]);
    bench.cpufreq.current(0, None, bench.now_ns);
    bench.pass(Window::load(88_000, 0));
    bench.run();
    assert_eq!(bench.mhz(), 600, "nobody looks while idle");
    bench.cpufreq.current(0, Some(1), bench.now_ns);
    bench.cpufreq.utilisation(0, bench.now_ns, Util::Enqueue, &bench.sums);
    assert_eq!(bench.cpufreq.next_due_ns(), Some(100_000_000));
    bench.run();
    assert_eq!(bench.mhz(), 600, "one window of 88 ms: the load before the sleep counts");
}

#[test]
fn a_callback_inside_a_load_window_does_not_reach_the_governor() {
    let mut bench = Bench::new(config(KernelRules::V6_1, &SRV, 1_600_000, Governor::Ondemand));
    let mut callback = |at_us: u64, why| {
        bench.now_ns = at_us * 1000;
        bench.cpufreq.utilisation(0, bench.now_ns, why, &bench.sums);
        let queued = bench.cpufreq.next_due_ns() == Some(bench.now_ns);
        bench.run();
        queued
    };
    assert!(callback(0, Util::Enqueue));
    let last_boundary = (9 * 1024 * 1024_u64).div_ceil(1000);
    assert!(!callback(last_boundary, Util::Enqueue), "too early for the period");
    assert!(!callback(10_001, Util::Dequeue), "the period is over, the window is not");
    assert!(callback(10_002, Util::IoWake));
}

#[test]
fn the_worker_reads_the_window_when_it_runs() {
    let mut slow = config(KernelRules::V6_1, &OMAP, 125_000, Governor::Ondemand);
    slow.worker_delay_ns = 50_000;
    let mut bench = Bench::new(slow);
    bench.pass(Window::load(10_000, 100));
    bench.cpufreq.utilisation(0, bench.now_ns, Util::Direct, &bench.sums);
    assert_eq!(bench.cpufreq.next_due_ns(), Some(10_050_000));
    bench.pass(Window { wall: 50, idle: 50, ..Window::default() });
    bench.run();
    assert_eq!(bench.mhz(), 600);
    assert_eq!(bench.cpufreq.khz(0), 125_000, "the silicon follows after the driver's latency");
    bench.now_ns += 10_000;
    bench.run();
    assert_eq!(bench.cpufreq.khz(0), 600_000);
    let change = bench.changes();
    assert_eq!(change.len(), 1);
    assert_eq!((change[0].from_khz, change[0].to_khz, change[0].at_ns), (125_000, 600_000, 10_060_000));
}

#[test]
fn the_worker_comes_later_to_a_cpu_that_was_idle() {
    let due_ns = |idle: bool| {
        let mut config = config(KernelRules::V6_1, &OMAP, 125_000, Governor::Ondemand);
        (config.worker_delay_ns, config.idle_exit_ns) = (50_000, 3_000);
        let mut bench = Bench::new(config);
        bench.cpufreq.current(0, (!idle).then_some(1), bench.now_ns);
        bench.pass(Window::load(10_000, 100));
        bench.cpufreq.current(0, Some(1), bench.now_ns);
        bench.cpufreq.utilisation(0, bench.now_ns, Util::Direct, &bench.sums);
        bench.cpufreq.next_due_ns()
    };
    assert_eq!((due_ns(false), due_ns(true)), (Some(10_050_000), Some(10_053_000)));
}

/// Whether the scheduler's next callback samples, 1 ms after a sample that kept load at 100 %.
fn samples_soon(then: impl FnOnce(&mut Bench)) -> bool {
    let mut bench = Bench::new(config(KernelRules::V6_1, &OMAP, 125_000, Governor::Ondemand));
    bench.sample(Window::load(10_000, 100));
    then(&mut bench);
    bench.pass(Window::load(1000, 100));
    bench.cpufreq.run_due(bench.now_ns, &bench.sums);
    bench.cpufreq.utilisation(0, bench.now_ns, Util::Direct, &bench.sums);
    bench.cpufreq.next_due_ns() == Some(bench.now_ns)
}

#[test]
fn what_makes_the_next_event_sample() {
    assert!(!samples_soon(|_| ()));
    assert!(samples_soon(|bench| bench.write_at("cpufreq/ondemand/sampling_rate", "50000").unwrap()));
    assert!(samples_soon(|bench| bench.write("scaling_max_freq", "550000").unwrap()));
    assert!(samples_soon(|bench| bench.write("scaling_governor", "ondemand").unwrap()), "limits are told again");
    assert!(!samples_soon(|bench| bench.write_at("cpufreq/ondemand/up_threshold", "50").unwrap()));
}

#[test]
fn changed_limits_replace_the_step_down_by_a_sample() {
    let mut bench = Bench::new(config(KernelRules::V6_1, &OMAP, 125_000, Governor::Ondemand));
    bench.write_at("cpufreq/ondemand/powersave_bias", "100").unwrap();
    assert_eq!(bench.sample(Window::load(10_000, 100)), 550, "8 ms of this, then 2 ms of 500 MHz");
    bench.write("scaling_max_freq", "600000").unwrap();
    assert_eq!(bench.sample(Window::load(8000, 0)), 125, "a sample, not the step down");
}

#[test]
fn defaults_of_the_sampling_rate() {
    let rate = |rules, governor: Governor, hz, latency_ns| {
        let mut config = config(rules, &OMAP, 125_000, governor);
        config.hz = hz;
        config.policies[0].transition_latency_ns = latency_ns;
        let mut bench = Bench::new(config);
        let place = if rules == KernelRules::V2_6_18 { "cpu0/cpufreq" } else { "cpufreq" };
        bench.read_at(&format!("{place}/{}/sampling_rate", governor.name())).unwrap().trim().parse::<u32>().unwrap()
    };
    use Governor::{Conservative, Ondemand};
    // A driver that asks for a time between changes, as intel_pstate does, is believed in place of its latency.
    for (delay_us, hz, expected) in [(5_000, 1000, 5_000), (500, 1000, 2_000), (5_000, 250, 8_000)] {
        let mut config = config(KernelRules::V6_1, &OMAP, 125_000, Ondemand);
        (config.hz, config.policies[0].transition_delay_us) = (hz, Some(delay_us));
        let mut bench = Bench::new(config);
        assert_eq!(bench.read_at("cpufreq/ondemand/sampling_rate").unwrap(), format!("{expected}\n"));
        bench.write("scaling_governor", "schedutil").unwrap();
        assert_eq!(bench.read_at("cpufreq/schedutil/rate_limit_us").unwrap(), format!("{delay_us}\n"));
    }
    for hz in [250, 1000] {
        assert_eq!(rate(KernelRules::V6_1, Ondemand, hz, 10_000), 10_000);
        assert_eq!(rate(KernelRules::V6_1, Conservative, hz, 300_000), 10_000);
    }
    assert_eq!(rate(KernelRules::V6_1, Ondemand, 100, 10_000), 20_000);
    assert_eq!(rate(KernelRules::V6_1, Ondemand, 1000, 0), 2000, "two ticks");
    assert_eq!(rate(KernelRules::V2_6_18, Ondemand, 1000, 10_000), 20_000);
    assert_eq!(rate(KernelRules::V2_6_18, Ondemand, 250, 10_000), 80_000);
    assert_eq!(rate(KernelRules::V2_6_18, Ondemand, 100, 10_000), 200_000);
    assert_eq!(rate(KernelRules::V2_6_18, Conservative, 1000, 10_000), 100_000);
    assert_eq!(rate(KernelRules::V2_6_32, Ondemand, 250, 10_000), 10_000);
    assert_eq!(rate(KernelRules::V2_6_32, Conservative, 250, 10_000), 80_000);
}
