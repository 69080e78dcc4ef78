//! The tree: names, modes, texts and errors of each kernel.
use powerband_machine::Errno;
use powerband_sim::cpufreq::{BootConfig, Governor, KernelRules, PolicyConfig};

use super::bench::{Bench, SRV, config};

/// Two domains of two CPUs.
fn two(rules: KernelRules, governor: Governor) -> BootConfig {
    let policy = |cpus: [u32; 2]| {
        let mut policy = PolicyConfig::new(cpus.to_vec(), &SRV);
        policy.bios_limit_khz = Some(2_400_000);
        policy
    };
    let mut config = BootConfig::new(rules, vec![policy([0, 1]), policy([2, 3])]);
    config.default_governor = governor;
    config
}

fn names(bench: &Bench, dir: &str) -> Vec<String> {
    bench.cpufreq.list(dir).unwrap().into_iter().map(|e| if e.is_dir { e.name + "/" } else { e.name }).collect()
}

#[test]
fn the_modern_tree() {
    let mut bench = Bench::new(two(KernelRules::V6_1, Governor::Ondemand));
    assert_eq!(names(&bench, "cpufreq"), ["ondemand/", "policy0/", "policy2/"]);
    let expected = "affected_cpus bios_limit cpuinfo_cur_freq cpuinfo_max_freq cpuinfo_min_freq \
        cpuinfo_transition_latency freqdomain_cpus related_cpus scaling_available_frequencies \
        scaling_available_governors scaling_cur_freq scaling_driver scaling_governor scaling_max_freq scaling_min_freq \
        scaling_setspeed stats/";
    assert_eq!(names(&bench, "cpufreq/policy2"), expected.split_whitespace().collect::<Vec<_>>());
    assert_eq!(names(&bench, "cpufreq/policy0/stats"), ["reset", "time_in_state", "total_trans", "trans_table"]);
    assert_eq!(names(&bench, "cpu3/cpufreq"), names(&bench, "cpufreq/policy2"));
    assert_eq!(bench.cpufreq.link(3), Some("../cpufreq/policy2".to_owned()));
    let modes: Vec<(String, u16)> =
        bench.cpufreq.list("cpufreq/policy0").unwrap().into_iter().map(|e| (e.name, e.mode)).collect();
    for (name, mode) in
        [("affected_cpus", 0o444), ("cpuinfo_cur_freq", 0o400), ("scaling_governor", 0o644), ("stats", 0o755)]
    {
        assert!(modes.contains(&(name.to_owned(), mode)), "{name}");
    }
    for (path, error) in [
        ("cpufreq/policy1", Errno::ENOENT),
        ("cpufreq/policy00", Errno::ENOENT),
        ("cpu4/cpufreq", Errno::ENOENT),
        ("cpu0", Errno::ENOENT),
        ("cpufreq/policy0/scaling_governor/x", Errno::ENOTDIR),
        ("cpufreq/policy0", Errno::EISDIR),
        ("cpufreq/conservative/up_threshold", Errno::ENOENT),
    ] {
        assert_eq!(bench.read_at(path), Err(error), "{path}");
    }
    assert_eq!(bench.cpufreq.list("cpufreq/policy0/scaling_governor"), Err(Errno::ENOTDIR));
}

#[test]
fn the_old_trees() {
    let bench = Bench::new(two(KernelRules::V2_6_18, Governor::Ondemand));
    assert_eq!(bench.cpufreq.list("cpufreq"), Err(Errno::ENOENT));
    let expected = "affected_cpus cpuinfo_cur_freq cpuinfo_max_freq cpuinfo_min_freq ondemand/ \
        scaling_available_frequencies scaling_available_governors scaling_cur_freq scaling_driver scaling_governor \
        scaling_max_freq scaling_min_freq stats/";
    assert_eq!(names(&bench, "cpu1/cpufreq"), expected.split_whitespace().collect::<Vec<_>>());
    assert_eq!((bench.cpufreq.link(0), bench.cpufreq.link(1)), (None, Some("../cpu0/cpufreq".to_owned())));
    assert_eq!(names(&bench, "cpu0/cpufreq/stats"), ["time_in_state", "total_trans", "trans_table"]);
    let tunables = ["ignore_nice_load", "sampling_rate", "sampling_rate_max", "sampling_rate_min", "up_threshold"];
    assert_eq!(names(&bench, "cpu2/cpufreq/ondemand"), tunables);

    let bench = Bench::new(two(KernelRules::V2_6_32, Governor::Conservative));
    assert_eq!(names(&bench, "cpufreq"), ["conservative/"]);
    assert!(names(&bench, "cpu0/cpufreq").contains(&"related_cpus".to_owned()));
    assert!(names(&bench, "cpu0/cpufreq").contains(&"bios_limit".to_owned()), "from 2.6.33 on");
    let bench = Bench::new(two(KernelRules::V2_6_18, Governor::Userspace));
    assert!(names(&bench, "cpu0/cpufreq").contains(&"scaling_setspeed".to_owned()), "only while userspace governs");
}

#[test]
fn texts() {
    let mut bench = Bench::new(two(KernelRules::V6_1, Governor::Performance));
    for (file, text) in [
        ("affected_cpus", "2 3\n"),
        ("related_cpus", "2 3\n"),
        ("bios_limit", "2400000\n"),
        ("cpuinfo_cur_freq", "2400000\n"),
        ("cpuinfo_max_freq", "2400000\n"),
        ("cpuinfo_min_freq", "1600000\n"),
        ("cpuinfo_transition_latency", "10000\n"),
        ("scaling_available_frequencies", "2400000 2267000 2133000 2000000 1867000 1733000 1600000 \n"),
        ("scaling_available_governors", "conservative ondemand userspace powersave performance schedutil \n"),
        ("scaling_cur_freq", "2400000\n"),
        ("scaling_driver", "acpi-cpufreq\n"),
        ("scaling_governor", "performance\n"),
        ("scaling_setspeed", "<unsupported>\n"),
    ] {
        assert_eq!(bench.read_at(&format!("cpufreq/policy2/{file}")).unwrap(), text, "{file}");
    }
    bench.write_at("cpu2/cpufreq/scaling_governor", "userspace").unwrap();
    assert_eq!(bench.read_at("cpufreq/policy2/scaling_setspeed").unwrap(), "2400000\n");
}

#[test]
fn odd_texts() {
    let mut odd = config(KernelRules::V6_1, &SRV, 2_400_000, Governor::Performance);
    odd.policies[0].transition_latency_ns = u32::MAX;
    odd.policies[0].measured_cur_freq = true;
    odd.policies[0].reads_hardware = false;
    let mut bench = Bench::new(odd);
    assert_eq!(bench.read("cpuinfo_transition_latency").unwrap(), "4294967295\n");
    assert_eq!(bench.read("cpuinfo_cur_freq"), Err(Errno::ENOENT));
    assert_eq!(bench.read("scaling_cur_freq").unwrap(), "2400000\n");
    bench.sums.average_khz = Some(2_391_234);
    assert_eq!(bench.read("scaling_cur_freq").unwrap(), "2391234\n");
}

#[test]
fn who_may() {
    let mut bench = Bench::new(config(KernelRules::V6_1, &SRV, 2_400_000, Governor::Performance));
    let mut unprivileged =
        |file: &str| bench.cpufreq.read(&format!("cpufreq/policy0/{file}"), 0, false, &bench.sums).map(|_| ());
    assert_eq!(unprivileged("cpuinfo_cur_freq"), Err(Errno::EACCES));
    assert_eq!(unprivileged("scaling_cur_freq"), Ok(()));
    for file in ["cpuinfo_max_freq", "scaling_driver", "stats/total_trans", "affected_cpus"] {
        assert_eq!(bench.write(file, "1"), Err(Errno::EACCES), "{file}: read only, for root too");
    }
    assert_eq!(bench.read("stats/reset"), Err(Errno::EACCES));
    assert_eq!(bench.write("scaling_max_freq", ""), Ok(()), "no bytes, nothing happens");
    assert_eq!(bench.write("stats", "1"), Err(Errno::EISDIR));
}

#[test]
fn governors_are_named_by_the_first_word() {
    let mut bench = Bench::new(config(KernelRules::V6_1, &SRV, 2_400_000, Governor::Performance));
    for (text, result) in [
        ("powersave\n", Ok("powersave")),
        ("  ONDEMAND now", Ok("ondemand")),
        ("\n", Err(Errno::EINVAL)),
        ("interactive", Err(Errno::EINVAL)),
        ("performance1", Err(Errno::EINVAL)),
        ("schedutil", Ok("schedutil")),
    ] {
        let before = bench.read("scaling_governor").unwrap();
        assert_eq!(bench.write("scaling_governor", text), result.map(|_| ()), "{text:?}");
        let now = bench.read("scaling_governor").unwrap();
        assert_eq!(now, result.map_or(before, |name| format!("{name}\n")));
    }
    let mut few = config(KernelRules::V6_1, &SRV, 2_400_000, Governor::Performance);
    few.available_governors = vec![Governor::Performance];
    let mut bench = Bench::new(few);
    assert_eq!(bench.write("scaling_governor", "ondemand"), Err(Errno::EINVAL), "not built in");
    assert_eq!(bench.read("scaling_available_governors").unwrap(), "performance \n");
    let mut load = |loaded| bench.cpufreq.set_governor_loaded(Governor::Ondemand, loaded);
    assert_eq!((load(false), load(true), load(true)), (Err(Errno::ENOENT), Ok(()), Err(Errno::EEXIST)));
    assert_eq!(bench.read("scaling_available_governors").unwrap(), "ondemand performance \n", "the last one first");
    bench.write("scaling_governor", "ondemand").unwrap();
    assert_eq!(bench.cpufreq.set_governor_loaded(Governor::Ondemand, false), Err(Errno::EAGAIN), "in use");
    bench.write("scaling_governor", "performance").unwrap();
    assert_eq!(bench.cpufreq.set_governor_loaded(Governor::Ondemand, false), Ok(()));
    assert_eq!(bench.write("scaling_governor", "ondemand"), Err(Errno::EINVAL), "gone");
}

#[test]
fn tunables_come_and_go_with_their_users() {
    let mut bench = Bench::new(two(KernelRules::V6_1, Governor::Ondemand));
    bench.write_at("cpufreq/ondemand/up_threshold", "80").unwrap();
    bench.write_at("cpufreq/policy0/scaling_governor", "conservative").unwrap();
    assert_eq!(names(&bench, "cpufreq"), ["conservative/", "ondemand/", "policy0/", "policy2/"]);
    assert_eq!(bench.read_at("cpufreq/ondemand/up_threshold").unwrap(), "80\n", "policy2 still uses it");
    bench.write_at("cpufreq/policy2/scaling_governor", "conservative").unwrap();
    assert_eq!(names(&bench, "cpufreq"), ["conservative/", "policy0/", "policy2/"]);
    bench.write_at("cpufreq/policy2/scaling_governor", "ondemand").unwrap();
    assert_eq!(bench.read_at("cpufreq/ondemand/up_threshold").unwrap(), "95\n", "back at its default");

    let mut bench = Bench::new(two(KernelRules::V2_6_32, Governor::Ondemand));
    bench.write_at("cpufreq/ondemand/up_threshold", "70").unwrap();
    for governor in ["performance", "ondemand"] {
        for cpu in ["cpu0", "cpu2"] {
            bench.write_at(&format!("{cpu}/cpufreq/scaling_governor"), governor).unwrap();
        }
    }
    assert_eq!(bench.read_at("cpufreq/ondemand/up_threshold").unwrap(), "70\n", "the old kernels remember");
}

#[test]
fn tunables_of_each_policy() {
    let mut own = two(KernelRules::V6_1, Governor::Ondemand);
    own.per_policy_governors = true;
    let mut bench = Bench::new(own);
    assert_eq!(names(&bench, "cpufreq"), ["policy0/", "policy2/"]);
    assert!(names(&bench, "cpufreq/policy0").contains(&"ondemand/".to_owned()));
    bench.write_at("cpufreq/policy0/ondemand/up_threshold", "80").unwrap();
    assert_eq!(bench.read_at("cpufreq/policy2/ondemand/up_threshold").unwrap(), "95\n");
    let mut bench = Bench::new(two(KernelRules::V2_6_18, Governor::Ondemand));
    bench.write_at("cpu0/cpufreq/ondemand/up_threshold", "70").unwrap();
    assert_eq!(bench.read_at("cpu2/cpufreq/ondemand/up_threshold").unwrap(), "70\n", "system-wide values");
}

/// Writes and what reads back; `None` for a refusal.
fn check(rules: KernelRules, governor: Governor, cases: &[(&str, &str, Option<u32>)]) {
    let mut bench = Bench::new(config(rules, &SRV, 2_400_000, governor));
    let place = if rules == KernelRules::V2_6_18 { "cpu0/cpufreq" } else { "cpufreq" };
    for &(tunable, text, expected) in cases {
        let path = format!("{place}/{}/{tunable}", governor.name());
        let before = bench.read_at(&path).unwrap();
        let result = bench.write_at(&path, text);
        assert_eq!(result, expected.map(|_| ()).ok_or(Errno::EINVAL), "{path}={text}");
        let after = expected.map_or(before, |value| format!("{value}\n"));
        assert_eq!(bench.read_at(&path).unwrap(), after, "{path}={text}");
    }
}

#[test]
fn ranges_of_tunables() {
    check(
        KernelRules::V6_1,
        Governor::Ondemand,
        &[
            ("sampling_rate", "7999", None),
            ("sampling_rate", "8000", Some(8000)),
            ("sampling_rate", "fast", None),
            ("up_threshold", "0", None),
            ("up_threshold", "101", None),
            ("up_threshold", "1", Some(1)),
            ("sampling_down_factor", "100000", Some(100_000)),
            ("sampling_down_factor", "100001", None),
            ("ignore_nice_load", "7", Some(1)),
            ("powersave_bias", "5000", Some(1000)),
            ("io_is_busy", "2", Some(1)),
        ],
    );
    check(
        KernelRules::V6_1,
        Governor::Conservative,
        &[
            ("up_threshold", "20", None),
            ("up_threshold", "21", Some(21)),
            ("down_threshold", "21", None),
            ("down_threshold", "0", None),
            ("down_threshold", "1", Some(1)),
            ("sampling_down_factor", "11", None),
            ("freq_step", "500", Some(100)),
        ],
    );
    check(
        KernelRules::V6_1,
        Governor::Schedutil,
        &[("rate_limit_us", "500\n", Some(500)), ("rate_limit_us", "500us", None), ("rate_limit_us", "0x10", None)],
    );
    check(
        KernelRules::V2_6_18,
        Governor::Ondemand,
        &[
            ("up_threshold", "10", None),
            ("up_threshold", "11", Some(11)),
            ("sampling_rate", "39999", None),
            ("sampling_rate", "40000", Some(40_000)),
            ("sampling_rate", "40000001", None),
        ],
    );
    check(
        KernelRules::V2_6_18,
        Governor::Conservative,
        &[("down_threshold", "0", Some(0)), ("down_threshold", "80", None)],
    );
    check(KernelRules::V2_6_32, Governor::Ondemand, &[("sampling_rate", "5", Some(10_000))]);
    check(KernelRules::V2_6_32, Governor::Conservative, &[("down_threshold", "10", None)]);
}

#[test]
fn slow_drivers_and_dynamic_governors() {
    for (rules, result, after) in [
        (KernelRules::V2_6_18, Err(Errno::EINVAL), "powersave\n"),
        (KernelRules::V2_6_32, Ok(()), "performance\n"),
        (KernelRules::V6_1, Ok(()), "ondemand\n"),
    ] {
        let mut slow = config(rules, &SRV, 2_400_000, Governor::Powersave);
        slow.policies[0].transition_latency_ns = 10_000_001;
        let mut bench = Bench::new(slow);
        assert_eq!(bench.write("scaling_governor", "ondemand"), result, "{rules:?}");
        assert_eq!(bench.read("scaling_governor").unwrap(), after);
    }
    let mut stubborn = config(KernelRules::V6_1, &SRV, 2_400_000, Governor::Powersave);
    stubborn.policies[0].no_dynamic_switching = true;
    let mut bench = Bench::new(stubborn.clone());
    bench.write("scaling_governor", "schedutil").unwrap();
    assert_eq!(bench.read("scaling_governor").unwrap(), "performance\n");
    stubborn.available_governors.retain(|&g| g != Governor::Performance);
    let mut bench = Bench::new(stubborn);
    assert_eq!(bench.write("scaling_governor", "schedutil"), Err(Errno::EINVAL));
    assert_eq!(bench.read("scaling_governor").unwrap(), "powersave\n");
}
