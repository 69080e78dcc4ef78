//! What `info` finds on machines that are odd, broken or large. Recorded machines are looked at by the command's own tests.
use powerband_knob::look::{Cpus, ReadFailure, Transition, clocks, cpus, devices, idle, power};
use powerband_machine::{Coalescing, Errno, LATENCY_DEVICE};
use powerband_record::CpuList;

use crate::fake::{Fake, ROOT, Rules, bare, cpufreq};

const CPU: &str = "/sys/devices/system/cpu";

fn with(mut machine: Fake, files: &[(&str, &str)]) -> Fake {
    for (path, text) in files {
        machine.files.insert((*path).to_owned(), format!("{text}\n"));
    }
    machine
}

fn list(text: &str) -> CpuList {
    text.parse().unwrap()
}

/// Policy 0's statistics in two steps.
fn with_stats(machine: Fake) -> Fake {
    with(
        machine,
        &[
            (&format!("{ROOT}/policy0/stats/time_in_state"), "2400000 300\n1600000 100"),
            (&format!("{ROOT}/policy0/stats/total_trans"), "7"),
            (
                &format!("{ROOT}/policy0/stats/trans_table"),
                "   From  :    To\n         :   2400000   1600000 \n  2400000:         0         4 \n  1600000:         3         0 ",
            ),
        ],
    )
}

#[test]
fn times_become_shares_and_the_table_its_changes() {
    let mut machine = with_stats(cpufreq(1, 1, Rules::default()));
    let found = clocks(&mut machine, None).unwrap();
    let stats = found.policies[0].stats.as_ref().unwrap();
    let times: Vec<_> = stats.time_in_state.iter().map(|at| (at.khz, at.time_ms, at.time_pct)).collect();
    assert_eq!(times, [(2_400_000, 3000, 75.0), (1_600_000, 1000, 25.0)]);
    assert_eq!(stats.total_changes, Some(7));
    let down = Transition { from_khz: 2_400_000, to_khz: 1_600_000, count: 4 };
    let up = Transition { from_khz: 1_600_000, to_khz: 2_400_000, count: 3 };
    assert_eq!(stats.changes.as_deref(), Some(&[down, up][..]));
    assert_eq!(found.unread, []);
}

#[test]
fn a_table_longer_than_a_page_is_told_and_the_rest_is_there() {
    let mut machine = with_stats(cpufreq(1, 1, Rules::default()));
    let table = format!("{ROOT}/policy0/stats/trans_table");
    machine.unreadable.insert(table.clone(), Errno::EFBIG);
    let found = clocks(&mut machine, None).unwrap();
    let stats = found.policies[0].stats.as_ref().unwrap();
    assert_eq!((stats.time_in_state.len(), &stats.changes), (2, &None));
    assert_eq!(found.unread, [ReadFailure { path: table, why: "file too large (EFBIG)".into() }]);
}

#[test]
fn policies_of_another_kind_have_their_own_driver_governors_and_files() {
    let mut machine = cpufreq(6, 1, Rules::default());
    let policy = |number: u32, file: &str| format!("{ROOT}/policy{number}/{file}");
    // Slower CPUs behind the first ones, of another driver with files of its own.
    for number in [3, 4] {
        for (file, text) in [
            ("cpuinfo_max_freq", "2000000"),
            ("scaling_available_frequencies", "2000000 1600000"),
            ("scaling_driver", "little"),
            ("scaling_available_governors", "performance schedutil"),
            ("scaling_governor", "schedutil"),
            ("boost", "1"),
            ("base_frequency", "1800000"),
            ("bios_limit", "1900000"),
            ("energy_performance_available_preferences", "default power"),
        ] {
            machine.files.insert(policy(number, file), format!("{text}\n"));
        }
    }
    machine.files.insert(policy(4, "boost"), "0\n".into());
    // One of the fast ones is under a governor that the others are not offered.
    machine.files.insert(policy(5, "scaling_governor"), "walt\n".into());
    machine.files.insert(policy(5, "scaling_available_governors"), "walt performance\n".into());
    let found = clocks(&mut machine, None).unwrap();
    let first = found.policies[0].clone();
    for clock in &found.policies[..3] {
        assert_eq!((&clock.info.driver, clock.boost, clock.base_khz), (&first.info.driver, None, None));
        assert_eq!(
            (&clock.info.available_governors, clock.info.bios_limit_khz),
            (&first.info.available_governors, None)
        );
    }
    for (clock, boosts) in found.policies[3..5].iter().zip([true, false]) {
        assert_eq!(clock.info.driver.as_deref(), Some("little"));
        assert_eq!(clock.info.available_governors, ["performance", "schedutil"]);
        assert_eq!((clock.boost, clock.base_khz), (Some(boosts), Some(1_800_000)));
        assert_eq!(
            (clock.info.bios_limit_khz, &clock.available_preferences[..]),
            (Some(1_900_000), &["default".to_owned(), "power".into()][..])
        );
    }
    assert_eq!(found.policies[5].info.available_governors, ["walt", "performance"]);
    assert_eq!(found.policies[5].info.driver, first.info.driver);
    assert_eq!(found.unread, []);
    // Asked one by one they say the same.
    let narrow = clocks(&mut machine, Some(&list("0-5"))).unwrap();
    assert_eq!(narrow.policies, found.policies);
    let (settings, _) = powerband_knob::cpufreq(&mut machine).unwrap();
    assert_eq!(settings, found.policies.iter().map(|clock| clock.info.clone()).collect::<Vec<_>>());
}

#[test]
fn broken_files_are_told_and_the_rest_is_there() {
    let policy = |file: &str| format!("{ROOT}/policy0/{file}");
    let mut machine = with(
        with_stats(cpufreq(1, 1, Rules::default())),
        &[
            (&policy("scaling_cur_freq"), "<unknown>"),
            (&policy("scaling_available_frequencies"), "2400000 fast 1600000"),
            (&policy("stats/time_in_state"), "2400000 300\nrubbish"),
            (&policy("stats/trans_table"), "rubbish"),
            (&policy("cpuinfo_cur_freq"), "2399000"),
            (&policy("scaling_boost_frequencies"), "2600000"),
            (&policy("base_frequency"), "2300000"),
            (&policy("freqdomain_cpus"), "0 4"),
        ],
    );
    machine.unreadable.insert(policy("scaling_driver"), Errno::EIO);
    let found = clocks(&mut machine, None).unwrap();
    let clock = &found.policies[0];
    assert_eq!((clock.info.current_khz, clock.hardware_khz, &clock.info.driver), (None, Some(2_399_000), &None));
    assert_eq!(clock.info.steps_khz, [1_600_000, 2_400_000]);
    assert_eq!((clock.boost_steps_khz.as_slice(), clock.base_khz), (&[2_600_000][..], Some(2_300_000)));
    assert_eq!(clock.freqdomain_cpus, Some(list("0,4")));
    assert_eq!(clock.stats.as_ref().unwrap().time_in_state.len(), 1);
    let told: Vec<(&str, &str)> =
        found.unread.iter().map(|one| (one.path.rsplit('/').next().unwrap(), one.why.as_str())).collect();
    for one in [
        ("scaling_cur_freq", "reads '<unknown>'"),
        ("scaling_driver", "input/output error (EIO)"),
        ("scaling_available_frequencies", "holds 'fast'"),
        ("trans_table", "is no table of changes"),
        ("time_in_state", "1 of its 2 lines are no time at a step"),
    ] {
        assert!(told.contains(&one), "{told:?}");
    }
    assert_eq!(told.len(), 5, "{told:?}");
}

#[test]
fn tunables_are_those_of_the_governor_in_force() {
    let found = clocks(&mut cpufreq(2, 1, Rules::default()), None).unwrap();
    let tunables = found.policies[1].tunables.as_ref().unwrap();
    assert!(tunables.shared && tunables.values["up_threshold"] == "95", "{tunables:?}");
    let found = clocks(&mut cpufreq(2, 1, Rules { per_policy: true, ..Rules::default() }), None).unwrap();
    assert!(found.policies.iter().all(|clock| clock.tunables.as_ref().is_some_and(|tunables| !tunables.shared)));
}

#[test]
fn a_list_of_cpus_narrows() {
    let mut machine = cpufreq(4, 2, Rules::default());
    let found = clocks(&mut machine, Some(&list("3"))).unwrap();
    assert_eq!(found.policies.iter().map(|clock| clock.info.policy.name.as_str()).collect::<Vec<_>>(), ["policy2"]);
    let mut machine = large(4);
    assert_eq!(
        idle(&mut machine, Some(&list("1-2"))).unwrap().cpus.iter().map(|cpu| cpu.cpu).collect::<Vec<_>>(),
        [1, 2]
    );
    let why = idle(&mut machine, Some(&list("9"))).unwrap_err().to_string();
    assert!(why.contains("cpu9"), "{why}");
}

#[test]
fn kinds_of_cpus_are_told_apart() {
    let cpuinfo = "processor\t: 0\nmodel name\t: big\nbogomips\t: 48.00\n\nprocessor\t: 1\nmodel name\t: big\n\
                   bogomips\t: 48.50\n\nprocessor\t: 2\nmodel name\t: little\n\nHardware\t: board";
    let mut machine = with(large(4), &[("/proc/cpuinfo", cpuinfo), (&format!("{CPU}/intel_pstate/no_turbo"), "1")]);
    let Cpus { models, boost, pstate, .. } = cpus(&mut machine, None).unwrap();
    let told: Vec<_> = models.iter().map(|model| (model.cpus.to_string(), model.name.as_deref().unwrap())).collect();
    assert_eq!(told, [("0-1".to_owned(), "big"), ("2".to_owned(), "little")]);
    assert_eq!((models[0].bogomips_least, models[0].bogomips_most), (Some(48.0), Some(48.5)));
    assert!(!boost.unwrap().on);
    assert_eq!(pstate[0].values["no_turbo"], "1");
}

#[test]
fn limits_on_waking_up_are_told_with_their_cpus() {
    let limit = |cpu: u32| format!("{CPU}/cpu{cpu}/power/pm_qos_resume_latency_us");
    let mut machine =
        with(large(4), &[(&limit(1), "20"), (&limit(2), "20"), (&limit(3), "n/a"), (LATENCY_DEVICE, "7")]);
    let found = idle(&mut machine, None).unwrap();
    let limits: Vec<_> =
        found.resume_limits.iter().map(|limit| (limit.cpus.to_string(), limit.latency_us.as_str())).collect();
    assert_eq!(limits, [("1-2".to_owned(), "20"), ("3".to_owned(), "n/a")]);
    assert_eq!(found.cpu_dma_latency_us, Some(7));
}

#[test]
fn what_limits_power_and_heat_is_told() {
    let zone = |file: &str| format!("/sys/class/powercap/intel-rapl:0/{file}");
    let cooling = |file: &str| format!("/sys/class/thermal/cooling_device{file}");
    let throttle = |file: &str| format!("{CPU}/cpu1/thermal_throttle/{file}");
    let mut machine = with(
        large(2),
        &[
            (&zone("name"), "package-0"),
            (&zone("enabled"), "1"),
            (&zone("constraint_0_name"), "long_term"),
            (&zone("constraint_0_power_limit_uw"), "15000000"),
            (&zone("constraint_0_time_window_us"), "27983872"),
            (&zone("constraint_0_max_power_uw"), "15000000"),
            (&cooling("0/type"), "Fan"),
            (&cooling("1/type"), "Processor"),
            (&cooling("1/cur_state"), "3"),
            (&cooling("1/max_state"), "10"),
            ("/sys/firmware/acpi/platform_profile", "balanced"),
            ("/sys/firmware/acpi/platform_profile_choices", "low-power balanced"),
            (&throttle("core_throttle_count"), "12"),
            (&throttle("package_throttle_count"), "40"),
        ],
    );
    let found = power(&mut machine, None).unwrap();
    let limit = &found.zones[0].limits[0];
    assert_eq!((found.zones[0].enabled, limit.power_limit_uw), (Some(true), Some(15_000_000)));
    assert_eq!((limit.time_window_us, limit.max_power_uw), (Some(27_983_872), Some(15_000_000)));
    let cooling: Vec<_> = found.cooling.iter().map(|one| (one.kind.as_str(), one.state)).collect();
    assert_eq!(cooling, [("Processor", Some(3))]);
    assert_eq!((found.profile.as_deref(), found.available_profiles.len()), (Some("balanced"), 2));
    let [throttled] = &found.throttled[..] else { panic!("{:?}", found.throttled) };
    assert_eq!((throttled.cpu, throttled.core_count, throttled.package_count), (1, Some(12), Some(40)));
    assert_eq!((throttled.core_time_ms, found.unread), (None, vec![]));
}

#[test]
fn network_cards_tell_what_they_have_and_have_not() {
    let net = |file: &str| format!("/sys/class/net/{file}");
    let mut machine = with(
        bare(),
        &[
            ("/proc/net/dev", "Inter-|\n face |\n  eth0: 0\n  eth1: 0"),
            (&net("eth0/device/uevent"), "DRIVER=e1000e\nPCI_ID=8086:156F"),
            (&net("eth0/operstate"), "up"),
            (&net("eth0/speed"), "1000"),
            (&net("eth1/speed"), "-1"),
            (&net("eth1/mtu"), "many"),
        ],
    );
    machine.cards.insert("eth0".into(), Coalescing([("rx-usecs".to_owned(), 3)].into()));
    machine.unreadable.insert(net("eth1/carrier"), Errno::EINVAL);
    let found = devices(&mut machine);
    let [card, other] = &found.devices[..] else { panic!("{:?}", found.devices) };
    assert_eq!((card.driver.as_deref(), card.speed_mbit), (Some("e1000e"), Some(1000)));
    assert_eq!((card.coalescing["rx-usecs"], card.coalescing["rx-frames"]), (Some(3), None));
    assert_eq!((other.speed_mbit, other.carrier, other.coalescing.len()), (None, None, 0));
    assert_eq!(other.no_coalescing.as_deref(), Some("no such device (ENODEV)"));
    assert_eq!(found.unread, [ReadFailure { path: net("eth1/mtu"), why: "reads 'many'".into() }]);
}

/// CPUs with a policy of their own, four idle states each and all their files.
fn large(count: u32) -> Fake {
    let mut machine = cpufreq(count, 1, Rules::default());
    for cpu in 0..count {
        for state in 0..4 {
            for (file, text) in [
                ("name", format!("C{state}")),
                ("latency", "10".into()),
                ("residency", "20".into()),
                ("disable", "0".into()),
                ("usage", "5".into()),
                ("time", "100".into()),
            ] {
                machine.files.insert(format!("{CPU}/cpu{cpu}/cpuidle/state{state}/{file}"), format!("{text}\n"));
            }
        }
        machine.files.insert(format!("{CPU}/cpu{cpu}/power/pm_qos_resume_latency_us"), "0\n".into());
    }
    machine
}

/// Everything `info` reads of the CPUs.
fn reads(machine: &mut Fake) -> usize {
    machine.reads = 0;
    cpus(machine, None).unwrap();
    assert_eq!(idle(machine, None).unwrap().cpus.iter().map(|cpu| cpu.states.len()).sum::<usize>() % 4, 0);
    power(machine, None).unwrap();
    clocks(machine, None).unwrap();
    machine.reads
}

#[test]
fn a_thousand_cpus_take_no_more_reads_each_than_a_few() {
    let [few, many] = [8, 1024].map(|count| {
        let mut machine = large(count);
        // Linux would have a table of changes for each, and without `online` every CPU is asked.
        let reads = reads(&mut machine);
        assert_eq!(clocks(&mut machine, None).unwrap().policies.len(), count as usize);
        assert_eq!(idle(&mut machine, None).unwrap().cpus.len(), count as usize);
        reads
    });
    let each = (many - few) / (1024 - 8);
    assert_eq!((many - few) % (1024 - 8), 0, "the same for each CPU");
    // Four states with nine files, a policy with about twenty: what all policies have in common is read once.
    assert!((45..=60).contains(&each), "{each} reads for each CPU");
    assert!(few - 8 * each < 60, "{few} reads on a machine of 8");
}
