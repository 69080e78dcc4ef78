//! Boost, drivers without a table, tables too long to print.
use powerband_machine::Errno;
use powerband_sim::cpufreq::{BoostSupport, BootConfig, Cpufreq, Governor, KernelRules, PolicyConfig, Step};

use super::bench::{Bench, SRV, Sums, config};

fn boosted(boost: BoostSupport) -> Bench {
    let mut config = config(KernelRules::V6_1, &SRV, 2_267_000, Governor::Performance);
    config.policies[0].table[0].boost = true;
    config.boost = boost;
    Bench::new(config)
}

#[test]
fn table_boost_moves_the_range_and_overwrites_the_maximum() {
    let mut bench = boosted(BoostSupport::Table(false));
    assert_eq!((bench.limits(), bench.mhz()), ((1600, 2267), 2267));
    assert_eq!(bench.read("scaling_boost_frequencies").unwrap(), "2400000 \n");
    assert!(!bench.read("scaling_available_frequencies").unwrap().contains("2400000"));
    bench.write("scaling_max_freq", "2000000").unwrap();
    bench.write_at("cpufreq/boost", "1\n").unwrap();
    assert_eq!((bench.limits(), bench.mhz()), ((1600, 2400), 2400));
    assert_eq!(bench.read("cpuinfo_max_freq").unwrap(), "2400000\n");
    bench.write_at("cpufreq/boost", "0").unwrap();
    assert_eq!((bench.limits(), bench.mhz()), ((1600, 2267), 2267));
    for text in ["2", "-1", "y", "on"] {
        assert_eq!(bench.write_at("cpufreq/boost", text), Err(Errno::EINVAL), "{text}");
    }
    assert_eq!(bench.read_at("cpufreq/boost").unwrap(), "0\n");
}

#[test]
fn hardware_boost_leaves_the_limits_alone() {
    let mut config = config(KernelRules::V6_1, &SRV, 2_400_000, Governor::Performance);
    config.boost = BoostSupport::Hardware(true);
    let mut bench = Bench::new(config);
    assert_eq!(bench.read_at("cpufreq/boost").unwrap(), "1\n");
    bench.write("scaling_max_freq", "2000000").unwrap();
    bench.write_at("cpufreq/boost", "0").unwrap();
    assert_eq!((bench.read_at("cpufreq/boost").unwrap().as_str(), bench.limits()), ("0\n", (1600, 2000)));
    assert_eq!(bench.read("scaling_boost_frequencies"), Err(Errno::ENOENT));
    let mut without = Bench::new(self::config(KernelRules::V6_1, &SRV, 2_400_000, Governor::Performance));
    assert_eq!(without.read_at("cpufreq/boost"), Err(Errno::ENOENT));
}

#[test]
fn a_policy_boosts_only_while_the_machine_does() {
    let policy = |cpu| {
        let mut policy = PolicyConfig::new(vec![cpu], &SRV);
        (policy.table[0].boost, policy.initial_khz) = (true, 2_267_000);
        policy
    };
    let mut config = BootConfig::new(KernelRules::V6_1, vec![policy(0), policy(1)]);
    (config.boost, config.policy_boost) = (BoostSupport::Table(false), true);
    let mut bench = Bench::new(config);
    let max =
        |bench: &mut Bench| [0, 1].map(|n| bench.read_at(&format!("cpufreq/policy{n}/scaling_max_freq")).unwrap());
    assert_eq!(bench.write("boost", "1"), Err(Errno::EINVAL));
    bench.write_at("cpufreq/boost", "1").unwrap();
    assert_eq!((bench.read("boost").unwrap().as_str(), max(&mut bench)), ("1\n", ["2400000\n"; 2].map(String::from)));
    bench.write("boost", "0").unwrap();
    assert_eq!(max(&mut bench), ["2267000\n", "2400000\n"]);
    assert_eq!(
        (bench.read_at("cpufreq/boost").unwrap(), bench.write("boost", "on")),
        ("1\n".into(), Err(Errno::EINVAL))
    );
    bench.write_at("cpufreq/boost", "0").unwrap();
    assert_eq!(max(&mut bench), ["2267000\n"; 2]);
    assert_eq!(bench.write("boost", "0"), Err(Errno::EINVAL), "not even what it is");
    assert_eq!(boosted(BoostSupport::Table(true)).read("boost"), Err(Errno::ENOENT), "older kernels have one switch");
}

#[test]
fn a_driver_without_a_table_takes_any_clock() {
    let mut config = config(KernelRules::V6_1, &[], 1_000_000, Governor::Userspace);
    config.policies[0].range_khz = (800_000, 3_000_000);
    config.policies[0].initial_khz = 1_000_000;
    let mut bench = Bench::new(config);
    bench.write("scaling_setspeed", "1234567").unwrap();
    assert_eq!(bench.read("scaling_cur_freq").unwrap(), "1234567\n");
    assert_eq!(bench.read("scaling_available_frequencies"), Err(Errno::ENODEV));
    assert_eq!(bench.read("stats/total_trans"), Err(Errno::ENOENT));
    bench.write("scaling_max_freq", "1100000").unwrap();
    assert_eq!(bench.read("scaling_cur_freq").unwrap(), "1100000\n");
}

#[test]
fn a_transition_table_of_more_than_a_page() {
    let table = |n: u32| (0..n).map(|i| 1_000_000 + i * 1000).collect::<Vec<u32>>();
    let read = |rules, n| {
        let table = table(n);
        Bench::new(config(rules, &table, table[0], Governor::Performance)).read("stats/trans_table")
    };
    assert_eq!(read(KernelRules::V6_1, 19).unwrap().len(), 17 + 12 + 190 + 19 * (12 + 190));
    assert_eq!(read(KernelRules::V6_1, 20), Err(Errno::EFBIG));
    assert_eq!(read(KernelRules::V2_6_18, 20).unwrap().len(), 4096, "cut off");
}

#[test]
fn what_does_not_come_up() {
    let times = Sums::new(4);
    let refused = |config: BootConfig| Cpufreq::new(config, 0, &times).unwrap_err();
    let policy = |cpus: &[u32]| PolicyConfig::new(cpus.to_vec(), &SRV);
    let twice = PolicyConfig { table: vec![Step::from(1), Step::from(1)], ..policy(&[0]) };
    for policies in [vec![twice], vec![policy(&[])], vec![policy(&[0, 1]), policy(&[1])]] {
        assert_eq!(refused(BootConfig::new(KernelRules::V6_1, policies)), Errno::EINVAL);
    }
    let mut config = BootConfig::new(KernelRules::V2_6_32, vec![policy(&[0])]);
    config.default_governor = Governor::Schedutil;
    assert_eq!(refused(config), Errno::EINVAL, "not built in");
}
