//! What a CPU that looks finds: nothing where all is even, what waits, what gathers, and who leads.
use super::super::domains::{BalanceSpec, Level, Savings, domains};
use super::*;

const EIGHT: BalanceSpec = BalanceSpec { packages: 2, cores_per_package: 4, cores_per_cache: 2, threads: 1 };

/// Tasks on each CPU, for long.
struct Tasks<'a>(&'a [u64]);

impl View for Tasks<'_> {
    fn runnable(&self, cpu: u32) -> Option<u64> {
        self.0.get(cpu as usize).copied()
    }

    fn averaged(&self, cpu: u32, _average: usize) -> u64 {
        self.0.get(cpu as usize).map_or(0, |tasks| tasks * UNIT)
    }
}

/// What `own` finds at a level.
fn found(
    savings: Savings,
    level: Level,
    own: u32,
    looker: Looker,
    rules: KernelRules,
    tasks: [u64; 8],
) -> Option<Found> {
    let all = domains(&EIGHT, rules, savings);
    let domain = all.iter().find(|it| it.level == level && it.cpus().any(|cpu| cpu == own)).unwrap();
    find(domain, own, looker, rules, &Tasks(&tasks))
}

const OFF: Savings = Savings { mc: 0, smt: 0 };
const ON: Savings = Savings { mc: 1, smt: 0 };
const OLD: KernelRules = KernelRules::V2_6_18;

#[test]
fn two_tasks_of_one_cache_are_spread_only_while_nothing_is_saved() {
    let tasks = [1, 1, 0, 0, 0, 0, 0, 0];
    let spread = found(OFF, Level::Packages, 4, Looker::Idle, OLD, tasks);
    assert_eq!(spread, Some(Found { cpu: 0, load: UNIT, leader: None }));
    assert_eq!(found(ON, Level::Packages, 4, Looker::Idle, OLD, tasks), None);
    assert_eq!(found(OFF, Level::Packages, 4, Looker::Idle, OLD, [1, 0, 1, 0, 0, 0, 0, 0]), None);
}

#[test]
fn what_waits_is_taken_by_who_is_idle_near_by() {
    let tasks = [2, 0, 1, 0, 0, 0, 0, 0];
    for looker in [Looker::Idle, Looker::NewlyIdle] {
        let near = found(ON, Level::Cores, 1, looker, OLD, tasks);
        assert_eq!(near, Some(Found { cpu: 0, load: UNIT, leader: None }), "{looker:?}");
    }
    assert_eq!(found(ON, Level::Packages, 4, Looker::Idle, OLD, tasks), None, "three fit into a package");
    let full = found(ON, Level::Packages, 4, Looker::Idle, OLD, [2, 1, 1, 1, 0, 0, 0, 0]);
    assert_eq!(full, Some(Found { cpu: 0, load: UNIT, leader: None }), "five do not");
}

#[test]
fn where_work_is_gathered_the_leader_empties_the_other() {
    let tasks = [1, 1, 0, 0, 1, 0, 0, 0];
    let pull = Some(Found { cpu: 4, load: UNIT, leader: Some(0) });
    assert_eq!(found(ON, Level::Packages, 3, Looker::Idle, OLD, tasks), pull);
    assert_eq!(found(ON, Level::Packages, 5, Looker::Idle, OLD, tasks), None, "the emptied one gives");
    assert_eq!(found(ON, Level::Packages, 0, Looker::Busy, OLD, tasks), None, "busy CPUs take no part");
    assert_eq!(found(OFF, Level::Packages, 3, Looker::Idle, OLD, [1, 0, 0, 0, 1, 0, 0, 0]), None);
    let full = [1, 1, 1, 1, 1, 0, 0, 0];
    assert_eq!(found(ON, Level::Packages, 3, Looker::Idle, OLD, full), None, "a full package leads nobody");
}

#[test]
fn of_equal_packages_old_kernels_fill_the_last_and_newer_ones_the_first() {
    let tasks = [1, 0, 0, 0, 1, 0, 0, 0];
    let of = |own, rules| found(ON, Level::Packages, own, Looker::Idle, rules, tasks);
    assert_eq!(of(5, OLD), Some(Found { cpu: 0, load: UNIT, leader: Some(4) }));
    assert_eq!(of(1, OLD), None);
    assert_eq!(of(1, KernelRules::V2_6_32), Some(Found { cpu: 4, load: UNIT, leader: Some(0) }));
    assert_eq!(of(5, KernelRules::V2_6_32), None);
}

#[test]
fn a_busy_cpu_takes_only_from_one_much_busier() {
    assert_eq!(found(ON, Level::Cores, 1, Looker::Busy, OLD, [2, 1, 0, 0, 0, 0, 0, 0]), None);
    let far_busier = found(ON, Level::Cores, 1, Looker::Busy, OLD, [4, 1, 1, 1, 0, 0, 0, 0]);
    assert_eq!(far_busier.map(|found| found.cpu), Some(0));
}

#[test]
fn recent_load_counts_with_caution() {
    /// CPU 0 has just got its second task.
    struct Sudden;
    impl View for Sudden {
        fn runnable(&self, cpu: u32) -> Option<u64> {
            Some(if cpu == 0 { 2 } else { 0 })
        }
        fn averaged(&self, _cpu: u32, _average: usize) -> u64 {
            0
        }
    }
    let all = domains(&EIGHT, OLD, ON);
    assert_eq!(find(&all[0], 1, Looker::Idle, OLD, &Sudden), None);
    let newer = domains(&EIGHT, KernelRules::V2_6_32, ON);
    let newly = find(&newer[0], 1, Looker::NewlyIdle, KernelRules::V2_6_32, &Sudden);
    assert_eq!(newly.map(|found| found.cpu), Some(0), "who just fell idle looks at what is there now");
}
