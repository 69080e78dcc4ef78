//! What does not come up, and tables too long to print.
use powerband_machine::Errno;
use powerband_sim::cpufreq::{BootConfig, Cpufreq, Governor, KernelRules, PolicyConfig, Step};

use super::bench::{Bench, SRV, Sums, config};

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
