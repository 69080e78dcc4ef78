//! Changes of clock as the engine sees them, and time in state.
use powerband_machine::Errno;
use powerband_sim::cpufreq::{FrequencyChange, Governor, KernelRules};

use super::bench::{Bench, OMAP, config};

#[test]
fn t20_stats() {
    let mut config = config(KernelRules::V6_1, &[500_000, 250_000], 500_000, Governor::Userspace);
    config.policies[0].transition_latency_ns = 0;
    let mut bench = Bench::new(config);
    for (khz, at_ns) in [("250000", 123_456_789), ("500000", 150_000_000), ("250000", 160_000_000)] {
        bench.now_ns = at_ns;
        bench.write("scaling_setspeed", khz).unwrap();
    }
    bench.now_ns = 175_000_000;
    assert_eq!(bench.read("stats/time_in_state").unwrap(), "500000 13\n250000 4\n");
    assert_eq!(bench.read("stats/total_trans").unwrap(), "3\n");
    let head = "   From  :    To\n         :    500000    250000 \n";
    let rows = "   500000:         0         2 \n   250000:         1         0 \n";
    assert_eq!(bench.read("stats/trans_table").unwrap(), format!("{head}{rows}"));

    bench.write("stats/reset", "whatever").unwrap();
    assert_eq!(bench.read("stats/total_trans").unwrap(), "0\n");
    let rows = "   500000:         0         0 \n   250000:         0         0 \n";
    assert_eq!(bench.read("stats/trans_table").unwrap(), format!("{head}{rows}"));
    assert_eq!(bench.read("stats/time_in_state").unwrap(), "500000 0\n250000 0\n");
    bench.now_ns += 30_000_000;
    assert_eq!(bench.read("stats/time_in_state").unwrap(), "500000 0\n250000 3\n");
    assert_eq!(bench.read("stats/reset"), Err(Errno::EACCES));
}

#[test]
fn changes_queue_behind_each_other() {
    let mut config = config(KernelRules::V6_1, &OMAP, 125_000, Governor::Userspace);
    config.policies[0].transition_latency_ns = 300_000;
    config.policies[0].stall_ns = 2000;
    let mut bench = Bench::new(config);
    bench.now_ns = 1_000_000;
    bench.write("scaling_setspeed", "600000").unwrap();
    bench.write("scaling_setspeed", "250000").unwrap();
    assert_eq!(bench.read("scaling_cur_freq").unwrap(), "250000\n", "as if the writer had waited");
    assert_eq!((bench.cpufreq.khz(0), bench.cpufreq.next_due_ns()), (125_000, Some(1_300_000)));
    assert!(!bench.cpufreq.has_changes());
    bench.now_ns = 1_300_000;
    bench.run();
    assert_eq!((bench.cpufreq.khz(0), bench.cpufreq.next_due_ns()), (600_000, Some(1_600_000)));
    bench.now_ns = 1_700_000;
    bench.run();
    let change = |from_khz, to_khz, at_ns| FrequencyChange { policy: 0, from_khz, to_khz, at_ns, stall_ns: 2000 };
    assert_eq!(bench.changes(), [change(125_000, 600_000, 1_300_000), change(600_000, 250_000, 1_600_000)]);
    assert!(!bench.cpufreq.has_changes());
    assert_eq!(bench.read("stats/total_trans").unwrap(), "2\n");
}

#[test]
fn a_failing_driver_counts_there_and_back_and_userspace_does_not_say() {
    let mut bench = Bench::new(config(KernelRules::V6_1, &OMAP, 125_000, Governor::Userspace));
    bench.cpufreq.set_driver_fault(0, Some(Errno::EIO));
    bench.write("scaling_setspeed", "600000").unwrap();
    assert_eq!(bench.mhz(), 125);
    assert_eq!(bench.read("stats/total_trans").unwrap(), "2\n");
    bench.cpufreq.set_driver_fault(0, None);
    bench.write("scaling_setspeed", "600000").unwrap();
    assert_eq!(bench.mhz(), 600);
}

#[test]
fn a_boot_clock_outside_the_table_is_brought_to_it() {
    for (boot, mhz) in [(300_000, 500), (125_000, 125), (700_000, 600), (1, 125)] {
        let mut bench = Bench::new(config(KernelRules::V6_1, &OMAP, boot, Governor::Userspace));
        assert_eq!((bench.mhz(), bench.cpufreq.khz(0)), (mhz, mhz * 1000), "{boot}");
        assert_eq!(bench.read("stats/total_trans").unwrap(), "0\n");
    }
}
