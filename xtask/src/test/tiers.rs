//! The tiers: what each runs, and which programs of the system it needs.
use std::fmt;

use super::built::{Binary, Built, Kind};
use super::runner::{Group, Job, Lane};
use crate::metadata::Package;

/// A group of checks with the same needs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Tier {
    /// Formatting, clippy, tidy.
    Lint,
    /// Tests that need a compiler and nothing else.
    Pure,
    /// Tests that use this machine: processes, control groups, name spaces, loop file systems.
    Host,
    /// Tests against services that run next to us.
    Services,
    /// Tests inside a kernel of their own.
    Guest,
}

/// Packages whose tests use this machine. Every package that is in no list is pure.
const HOST: [&str; 2] = ["powerband-host", "powerband"];

/// Packages whose tests boot a kernel.
const GUEST: [&str; 1] = ["powerband-bench-virtual"];

/// Test binaries whose name begins so need a compiler and nothing else, although their package belongs elsewhere.
const PURE: &str = "pure";

/// Test binaries whose name begins so need services of the system, and belong to the tier of that name.
const SERVICES: &str = "services";

/// Test binaries of that tier whose name begins so boot systems, and mostly wait for them.
const BOOTS: &str = "services_boot";

/// Test binaries whose name begins so are disturbed by neighbours and run one test at a time.
const QUIET: &str = "quiet";

/// The module of the tests that boot a board.
const BOARDS: &str = "boards::";

impl Tier {
    /// All, in the order they run.
    pub(crate) const ALL: [Tier; 5] = [Tier::Lint, Tier::Pure, Tier::Host, Tier::Services, Tier::Guest];

    /// Those that need no root and no component.
    pub(crate) const QUICK: [Tier; 2] = [Tier::Lint, Tier::Pure];

    /// The tier of a name.
    pub(crate) fn named(name: &str) -> Option<Tier> {
        Tier::ALL.into_iter().find(|tier| tier.to_string() == name)
    }

    /// Programs of the system its tests call. The compiler is among them: SQLite is C.
    pub(crate) fn programs(self) -> &'static [&'static str] {
        match self {
            Tier::Lint | Tier::Pure => &["cc", "make"],
            Tier::Host => &[
                "cc",
                "make",
                "ip",
                "unshare",
                "ps",
                "mke2fs",
                "script",
                "sudo",
                "ssh",
                "ssh-keygen",
                "sshd",
                "busybox",
                "dash",
                "cpupower",
                "cpufreq-set",
                "ethtool",
                "mpirun",
                "iperf3",
                "nuttcp",
                "sockperf",
                "ping",
                "wrk",
                "cyclictest",
                "perf",
                "lstopo-no-graphics",
                "tuned",
                "psutil.py",
            ],
            Tier::Services => &[
                "cc",
                "make",
                "apache2",
                "libphp.so",
                "mysqli.so",
                "mariadbd",
                "postgres",
                "openssl",
                "unshare",
                "node",
                "npm",
                "chromium",
                "mmdebstrap",
                "systemd-nspawn",
                "slurmctld",
                "slurmd",
                "sbatch",
                "munged",
            ],
            Tier::Guest => &[
                "cc",
                "make",
                "qemu-system-x86_64",
                "iasl",
                "busybox",
                "mke2fs",
                "strip",
                "iperf3",
                "nuttcp",
                "mmdebstrap",
                "qemu-system-arm",
                "dtc",
                "arm-linux-gnueabihf-gcc",
                "arm-linux-gnueabihf/libc.a",
                "qemu-arm-static",
            ],
        }
    }

    /// Programs of all the tiers given.
    pub(crate) fn needs(tiers: &[Tier]) -> Vec<&'static str> {
        let mut programs: Vec<&str> = tiers.iter().flat_map(|tier| tier.programs()).copied().collect();
        programs.sort_unstable();
        programs.dedup();
        programs
    }

    /// What of the workspace's tests it runs, in groups that run one after the other.
    pub(crate) fn groups(self, built: &Built) -> Vec<Group> {
        let here = |binary: &&Binary| Tier::of(binary) == self;
        let (quiet, ordinary): (Vec<&Binary>, Vec<&Binary>) =
            built.binaries.iter().filter(here).partition(|binary| begins(binary, QUIET));
        let jobs = |binaries: Vec<&Binary>| binaries.into_iter().cloned().map(Job::Binary).collect();
        let (at_once, threads) = self.at_once();
        let repeats = self.repeats();
        let group = Group { jobs: jobs(ordinary), at_once, threads, repeats, ..Group::default() };
        let alone = |jobs, lane| Group { jobs, at_once: 1, threads: 1, lane, repeats, ..Group::default() };
        let quiet = alone(jobs(quiet), Lane::Quiet);
        let mut groups = match self {
            Tier::Lint => vec![alone(vec![Job::Lint], Lane::Compiling)],
            Tier::Pure => {
                let examples = built.examples.then_some(Job::Examples);
                vec![group, alone(examples.into_iter().collect(), Lane::Compiling), quiet]
            }
            // The command for boards is built while the others run.
            Tier::Guest => {
                let group = Group { lane: Lane::Aside, ..group };
                let on_board = Group { on_board: true, words: vec![BOARDS.to_owned()], ..group.clone() };
                vec![Group { words: vec!["--skip".to_owned(), BOARDS.to_owned()], ..group }, on_board, quiet]
            }
            Tier::Services => {
                let boots = |job: &Job| matches!(job, Job::Binary(binary) if begins(binary, BOOTS));
                let (boots, jobs) = group.jobs.into_iter().partition(boots);
                let booting = Group { threads: 2, ..alone(boots, Lane::Booting) };
                vec![Group { jobs, ..group }, booting, quiet]
            }
            Tier::Host => vec![group, quiet],
        };
        groups.retain(|group| !group.jobs.is_empty());
        groups
    }

    /// How many binaries run at once, and how many tests of each.
    fn at_once(self) -> (usize, usize) {
        match self {
            Tier::Lint | Tier::Pure => (2, 2),
            // Most of them wait for processes.
            Tier::Host => (2, 3),
            // The tests of a binary share a service, which belongs to one of them at a time.
            Tier::Services => (2, 1),
            // Each test has its own guest, and one that measures ranks before the others of this machine.
            Tier::Guest => (1, 2),
        }
    }

    /// Whether what its tests start may be starved by what runs next to them.
    fn repeats(self) -> bool {
        matches!(self, Tier::Host | Tier::Services | Tier::Guest)
    }

    /// Whether tests of a package belong to it.
    pub(crate) fn has_tests_of(self, package: &Package) -> bool {
        let named = |word: &str| package.tests.iter().any(|name| name.starts_with(word));
        self == Tier::of_package(&package.name)
            || self == Tier::Pure && named(PURE)
            || self == Tier::Services && named(SERVICES)
    }

    fn of(binary: &Binary) -> Tier {
        if begins(binary, SERVICES) {
            Tier::Services
        } else if begins(binary, PURE) {
            Tier::Pure
        } else {
            Tier::of_package(&binary.package)
        }
    }

    /// The tier of a package's tests, where a binary's name says nothing else.
    pub(crate) fn of_package(package: &str) -> Tier {
        match package {
            _ if HOST.contains(&package) => Tier::Host,
            _ if GUEST.contains(&package) => Tier::Guest,
            _ => Tier::Pure,
        }
    }
}

fn begins(binary: &Binary, word: &str) -> bool {
    binary.kind == Kind::Integration && binary.name.starts_with(word)
}

impl fmt::Display for Tier {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Tier::Lint => "lint",
            Tier::Pure => "pure",
            Tier::Host => "host",
            Tier::Services => "services",
            Tier::Guest => "guest",
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn built(binaries: &[(&str, Kind, &str)], examples: bool) -> Built {
        let binary = |(package, kind, name): &(&str, Kind, &str)| Binary {
            package: (*package).to_owned(),
            folder: "/w".into(),
            kind: *kind,
            name: (*name).to_owned(),
            path: "/t".into(),
        };
        Built { binaries: binaries.iter().map(binary).collect(), examples, variables: Vec::new() }
    }

    /// Each group as its binaries' titles, how many of them at once, and how many tests of each.
    fn groups(tier: Tier, built: &Built) -> Vec<(Vec<String>, usize, usize)> {
        let titles = |group: Group| (group.jobs.iter().map(Job::title).collect(), group.at_once, group.threads);
        tier.groups(built).into_iter().map(titles).collect()
    }

    fn titles(words: &[&str]) -> Vec<String> {
        words.iter().map(|word| (*word).to_owned()).collect()
    }

    #[test]
    fn every_binary_is_in_one_tier() {
        let built = built(
            &[
                ("powerband", Kind::Program, "powerband"),
                ("powerband", Kind::Integration, "services_boot"),
                ("powerband", Kind::Integration, "services_page"),
                ("powerband-bench-virtual", Kind::Integration, "it"),
                ("powerband-bench-virtual", Kind::Integration, "pure_traces"),
                ("powerband-host", Kind::Library, "powerband_host"),
                ("powerband-stats", Kind::Library, "services_of_statistics"),
                ("xtask", Kind::Program, "xtask"),
            ],
            true,
        );
        let pure = ["powerband-bench-virtual/pure_traces", "powerband-stats/lib", "xtask/xtask"];
        assert_eq!(groups(Tier::Pure, &built), [(titles(&pure), 2, 2), (titles(&["examples"]), 1, 1)]);
        let host = ["powerband/powerband", "powerband-host/lib"];
        assert_eq!(groups(Tier::Host, &built), [(titles(&host), 2, 3)]);
        let (page, boot) = (titles(&["powerband/services_page"]), titles(&["powerband/services_boot"]));
        assert_eq!(groups(Tier::Services, &built), [(page, 2, 1), (boot, 1, 2)]);
        let guest = (titles(&["powerband-bench-virtual/it"]), 1, 2);
        assert_eq!(groups(Tier::Guest, &built), [guest.clone(), guest]);
        let words: Vec<_> =
            Tier::Guest.groups(&built).iter().map(|group| (group.words.join(" "), group.on_board)).collect();
        assert_eq!(words, [("--skip boards::".to_owned(), false), ("boards::".to_owned(), true)]);
        assert_eq!(groups(Tier::Lint, &built), [(titles(&["lint"]), 1, 1)]);
        let all = Tier::ALL.iter().flat_map(|tier| tier.groups(&built));
        let jobs: usize = all.filter(|group| !group.on_board).map(|group| group.jobs.len()).sum();
        // The examples and the checks are no binaries.
        assert_eq!(jobs, built.binaries.len() + 2);
    }

    #[test]
    fn quiet_binaries_run_alone_and_last() {
        let built =
            built(&[("powerband", Kind::Integration, "quiet"), ("powerband-host", Kind::Integration, "it")], false);
        let expect = [(titles(&["powerband-host/it"]), 2, 3), (titles(&["powerband/quiet"]), 1, 1)];
        assert_eq!(groups(Tier::Host, &built), expect);
    }

    #[test]
    fn names_are_read_back() {
        for tier in Tier::ALL {
            assert_eq!(Tier::named(&tier.to_string()), Some(tier));
        }
        assert_eq!(Tier::named("all"), None);
    }
}
