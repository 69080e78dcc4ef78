//! A fluid closed loop: constant demand in cycles, so that load falls as the clock rises.
use powerband_sim::cpufreq::{CpuTimes, Cpufreq, Governor, KernelRules, Util};

use super::bench::{SRV, Sums, config};

/// Runs `demand_khz` for `periods` sampling periods of `period_us`, and gives the clock after each, MHz.
fn settle(rules: KernelRules, period_us: u64, demand_khz: u64, periods: usize) -> Vec<u32> {
    let mut config = config(rules, &SRV, 2_400_000, Governor::Ondemand);
    config.hz = 1000;
    config.policies[0].transition_latency_ns = 0;
    let mut sums = Sums::new(1);
    let mut cpufreq = Cpufreq::new(config, 0, &sums).unwrap();
    if rules == KernelRules::V6_1 {
        cpufreq.write("cpufreq/ondemand/sampling_rate", &period_us.to_string(), 0, &sums).unwrap();
    }
    let mut now_ns = 0;
    let mut seen = Vec::new();
    for _ in 0..periods {
        now_ns += period_us * 1000;
        let busy_ns = period_us * 1000 * demand_khz / u64::from(cpufreq.khz(0));
        sums.idle_ns[0] += period_us * 1000 - busy_ns;
        cpufreq.utilisation(0, now_ns, Util::Direct, &sums);
        cpufreq.run_due(now_ns, &sums);
        seen.push(cpufreq.khz(0) / 1000);
    }
    assert!(sums.idle_ns(0) > 0);
    seen
}

#[test]
fn the_old_rule_settles_and_the_modern_one_oscillates() {
    let old = settle(KernelRules::V2_6_18, 20_000, 1_200_000, 8);
    assert_eq!(old, [1733; 8]);
    let modern = settle(KernelRules::V6_1, 10_000, 1_200_000, 8);
    assert_eq!(modern, [2000, 2133, 2000, 2133, 2000, 2133, 2000, 2133]);
}
