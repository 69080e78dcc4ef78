//! Scheduling domains of old kernels: which CPUs balance with which, in which groups, and how much a group holds.
use crate::cpufreq::KernelRules;

/// What one task weighs, and what one CPU holds.
pub(super) const UNIT: u64 = 1_024;

/// How a machine's CPUs lie, for balancing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BalanceSpec {
    /// Packages.
    pub packages: u32,
    /// Cores of each package.
    pub cores_per_package: u32,
    /// Cores that share their last cache.
    pub cores_per_cache: u32,
    /// Threads of each core, 1 or 2; the first of all cores come first in the numbering.
    pub threads: u32,
}

impl BalanceSpec {
    pub(super) fn cores(&self) -> u32 {
        self.packages * self.cores_per_package
    }

    fn core(&self, cpu: u32) -> u32 {
        cpu % self.cores().max(1)
    }

    fn package(&self, cpu: u32) -> u32 {
        self.core(cpu) / self.cores_per_package.max(1)
    }

    fn cache(&self, cpu: u32) -> u32 {
        self.core(cpu) / self.cores_per_cache.max(1)
    }

    fn cpus(&self) -> std::ops::Range<u32> {
        0..self.cores() * self.threads
    }

    /// The other threads of a CPU's core.
    pub(super) fn siblings(&self, cpu: u32) -> impl Iterator<Item = u32> + use<> {
        let (spec, core) = (*self, self.core(cpu));
        self.cpus().filter(move |&other| other != cpu && spec.core(other) == core)
    }
}

/// What is written into `sched_mc_power_savings` and `sched_smt_power_savings`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Savings {
    pub(crate) mc: u32,
    pub(crate) smt: u32,
}

/// Between whom a domain balances.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Level {
    /// The threads of a core.
    Threads,
    /// Cores.
    Cores,
    /// Packages, or caches while nothing is saved.
    Packages,
}

/// CPUs that count as one from outside.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Group {
    pub(super) cpus: Vec<u32>,
    /// What it holds, in [`UNIT`]s of one CPU.
    pub(super) power: u64,
}

impl Group {
    /// How many tasks it holds.
    pub(super) fn capacity(&self) -> u64 {
        self.power / UNIT
    }
}

/// CPUs that balance among each other.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Domain {
    pub(super) level: Level,
    pub(super) groups: Vec<Group>,
    /// Whether work is gathered on few of its groups.
    pub(super) gathers: bool,
    /// Most ms between two looks of an idle CPU; the least is 1.
    pub(super) longest_ms: u64,
    /// From which ratio on groups are uneven, %.
    pub(super) uneven_percent: u64,
    /// Looks in vain before a running task is moved, less two.
    pub(super) patience: u32,
    /// Over how long loads are averaged for a busy, a newly idle and an idle CPU: 0 not at all, 1 the last tick, 2 more.
    pub(super) averages: [usize; 3],
}

impl Domain {
    fn new(level: Level, rules: KernelRules, groups: Vec<Group>, gathers: bool) -> Self {
        let newly = if rules == KernelRules::V2_6_18 { 2 } else { 0 };
        let (longest_ms, uneven_percent, patience, averages) = match level {
            Level::Threads => (2, 110, 0, [0, newly.min(1), 0]),
            Level::Cores | Level::Packages => (4, 125, 1, [2, newly, 1]),
        };
        Domain { level, groups, gathers, longest_ms, uneven_percent, patience, averages }
    }

    pub(super) fn cpus(&self) -> impl Iterator<Item = u32> {
        self.groups.iter().flat_map(|group| &group.cpus).copied()
    }
}

/// All domains of a machine, those of threads first, then cores, then packages. A level at which there is nothing to choose
/// from has none.
///
/// While something is saved, cores balance within their package, which holds a task for each core (for each thread, where
/// threads are gathered); otherwise within their cache, and what is outside it holds one task, so that a second one goes
/// elsewhere. From Linux 2.6.18 kernel/sched.c and arch/x86/kernel/smpboot.c.
pub(super) fn domains(spec: &BalanceSpec, rules: KernelRules, savings: Savings) -> Vec<Domain> {
    let saves = savings.mc > 0 || savings.smt > 0;
    let near = |cpu: u32| if saves { spec.package(cpu) } else { spec.cache(cpu) };
    let mut all = Vec::new();
    let core = |cpu: u32| spec.core(cpu);
    if spec.threads > 1 {
        for threads in split(spec.cpus(), core) {
            let groups = threads.into_iter().map(|cpu| Group { cpus: vec![cpu], power: UNIT }).collect();
            all.push(Domain::new(Level::Threads, rules, groups, false));
        }
    }
    let core_power = if savings.smt > 0 { UNIT * u64::from(spec.threads) } else { UNIT };
    let mut cores_of_near = 1;
    for cpus in split(spec.cpus(), near) {
        let cores = split(cpus, core);
        cores_of_near = u64::try_from(cores.len()).unwrap_or(1);
        let groups: Vec<Group> = cores.into_iter().map(|cpus| Group { cpus, power: core_power }).collect();
        all.push(Domain::new(Level::Cores, rules, groups, savings.smt > 0));
    }
    let power = if saves { core_power * cores_of_near } else { UNIT };
    let groups = split(spec.cpus(), near).into_iter().map(|cpus| Group { cpus, power }).collect();
    all.push(Domain::new(Level::Packages, rules, groups, saves));
    all.retain(|domain| domain.groups.len() > 1);
    all
}

/// CPUs by a key, in the order of the keys.
fn split(cpus: impl IntoIterator<Item = u32>, key: impl Fn(u32) -> u32) -> Vec<Vec<u32>> {
    let mut by_key = std::collections::BTreeMap::<u32, Vec<u32>>::new();
    for cpu in cpus {
        by_key.entry(key(cpu)).or_default().push(cpu);
    }
    by_key.into_values().collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    const EIGHT: BalanceSpec = BalanceSpec { packages: 2, cores_per_package: 4, cores_per_cache: 2, threads: 1 };
    const THREADS: BalanceSpec = BalanceSpec { packages: 2, cores_per_package: 2, cores_per_cache: 2, threads: 2 };

    fn shape(spec: &BalanceSpec, savings: Savings) -> Vec<(Level, Vec<Vec<u32>>, u64, bool)> {
        let all = domains(spec, KernelRules::V2_6_18, savings);
        let groups = |domain: &Domain| domain.groups.iter().map(|group| group.cpus.clone()).collect();
        all.iter().map(|it| (it.level, groups(it), it.groups[0].capacity(), it.gathers)).collect()
    }

    #[test]
    fn without_savings_caches_are_what_is_spread_over() {
        let all = shape(&EIGHT, Savings::default());
        assert_eq!(all.len(), 5);
        assert_eq!(all[1], (Level::Cores, vec![vec![2], vec![3]], 1, false));
        let caches = vec![vec![0, 1], vec![2, 3], vec![4, 5], vec![6, 7]];
        assert_eq!(all[4], (Level::Packages, caches, 1, false));
    }

    #[test]
    fn with_savings_a_package_holds_a_task_a_core() {
        let all = shape(&EIGHT, Savings { mc: 1, smt: 0 });
        assert_eq!(all.len(), 3);
        assert_eq!(all[0], (Level::Cores, vec![vec![0], vec![1], vec![2], vec![3]], 1, false));
        assert_eq!(all[2], (Level::Packages, vec![vec![0, 1, 2, 3], vec![4, 5, 6, 7]], 4, true));
    }

    #[test]
    fn savings_of_threads_fill_cores_and_packages() {
        let none = shape(&THREADS, Savings::default());
        assert_eq!(none[0], (Level::Threads, vec![vec![0], vec![4]], 1, false));
        assert_eq!(none[4], (Level::Cores, vec![vec![0, 4], vec![1, 5]], 1, false));
        assert_eq!(none[6], (Level::Packages, vec![vec![0, 1, 4, 5], vec![2, 3, 6, 7]], 1, false));
        let smt = shape(&THREADS, Savings { mc: 0, smt: 1 });
        assert_eq!((smt[4].2, smt[4].3, smt[6].2, smt[6].3), (2, true, 4, true));
        let mc = shape(&THREADS, Savings { mc: 1, smt: 0 });
        assert_eq!((mc[4].2, mc[4].3, mc[6].2, mc[6].3), (1, false, 2, true));
        assert_eq!(THREADS.siblings(6).collect::<Vec<u32>>(), [2]);
    }
}
