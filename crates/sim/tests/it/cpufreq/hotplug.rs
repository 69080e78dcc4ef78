//! CPUs that come and go.
use powerband_machine::Errno;
use powerband_sim::cpufreq::{BoostSupport, BootConfig, Governor, KernelRules, PolicyConfig};

use super::bench::{Bench, SRV, Window};

fn shared(rules: KernelRules) -> Bench {
    let mut config = BootConfig::new(rules, vec![PolicyConfig::new(vec![0, 1], &SRV)]);
    config.default_governor = Governor::Powersave;
    Bench::new(config)
}

fn online(bench: &mut Bench, cpu: u32, online: bool) {
    bench.cpufreq.set_online(cpu, online, bench.now_ns, &bench.sums);
}

#[test]
fn a_policy_without_cpus_is_busy_and_comes_back_as_it_was() {
    let mut bench = shared(KernelRules::V6_1);
    bench.write("scaling_governor", "conservative").unwrap();
    bench.write("scaling_max_freq", "2000000").unwrap();
    online(&mut bench, 1, false);
    assert_eq!(bench.read("affected_cpus").unwrap(), "0\n");
    assert_eq!(bench.read("related_cpus").unwrap(), "0 1\n");
    online(&mut bench, 0, false);
    for file in ["scaling_governor", "affected_cpus", "stats/total_trans"] {
        assert_eq!(bench.read(file), Err(Errno::EBUSY), "{file}");
    }
    assert_eq!(bench.write("scaling_max_freq", "1600000"), Err(Errno::EBUSY));
    assert_eq!(bench.read_at("cpufreq/conservative/up_threshold"), Err(Errno::ENOENT));
    online(&mut bench, 1, true);
    assert_eq!(bench.read("scaling_governor").unwrap(), "conservative\n");
    assert_eq!((bench.read("affected_cpus").unwrap().as_str(), bench.limits()), ("1\n", (1600, 2000)));
}

#[test]
fn boost_turned_while_away_counts_on_return() {
    let mut config =
        BootConfig::new(KernelRules::V6_1, vec![PolicyConfig::new(vec![0], &SRV), PolicyConfig::new(vec![1], &SRV)]);
    config.policies[0].table[0].boost = true;
    config.boost = BoostSupport::Table(false);
    let mut bench = Bench::new(config);
    assert_eq!(bench.limits(), (1600, 2267));
    online(&mut bench, 0, false);
    bench.write_at("cpufreq/boost", "1").unwrap();
    online(&mut bench, 0, true);
    assert_eq!(bench.limits(), (1600, 2400));
}

#[test]
fn old_folders_go_with_their_cpu() {
    for (rules, governor) in [(KernelRules::V2_6_18, "powersave\n"), (KernelRules::V2_6_32, "conservative\n")] {
        let mut bench = shared(rules);
        bench.write("scaling_governor", "conservative").unwrap();
        bench.write("scaling_max_freq", "2000000").unwrap();
        online(&mut bench, 0, false);
        assert_eq!(bench.read("scaling_governor"), Err(Errno::ENOENT));
        assert_eq!((bench.cpufreq.link(0), bench.cpufreq.link(1)), (None, None), "the other is the folder now");
        assert_eq!(bench.read_at("cpu1/cpufreq/scaling_governor").unwrap(), "conservative\n");
        online(&mut bench, 1, false);
        online(&mut bench, 0, true);
        assert_eq!(bench.read("scaling_governor").unwrap(), governor, "{rules:?}");
        assert_eq!(bench.limits(), (1600, 2400), "limits are forgotten");
    }
}

#[test]
fn a_cpu_that_left_no_longer_counts() {
    let mut bench = shared(KernelRules::V6_1);
    bench.write("scaling_governor", "ondemand").unwrap();
    let sample = |bench: &mut Bench| {
        bench.pass_on(0, Window::load(10_000, 10));
        bench.pass_on(1, Window::load(10_000, 100));
        bench.now_ns += 10_000_000;
        bench.event();
        bench.mhz()
    };
    assert_eq!(sample(&mut bench), 2400);
    online(&mut bench, 1, false);
    assert_eq!(sample(&mut bench), 1733);
}
