//! The tiers: what each runs, and which programs of the system it needs.
use std::fmt;

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
    /// Tests against services that run beside us.
    Services,
    /// Tests inside a kernel of their own.
    Guest,
}

/// Packages whose tests use this machine. Every package that is in no list is pure.
const HOST: [&str; 2] = ["powerband-host", "powerband"];

/// Packages whose tests boot a kernel. What they can test without one belongs to the same tier: it needs no more.
const GUEST: [&str; 1] = ["powerband-bench-virtual"];

/// Test binaries whose name begins so need services of the system, and belong to the tier of that name.
const SERVICES: &str = "services";

/// Test binaries whose name begins so are disturbed by neighbours and run one test at a time.
const QUIET: &str = "quiet";

impl Tier {
    /// All, in the order they run.
    pub(crate) const ALL: [Tier; 5] = [Tier::Lint, Tier::Pure, Tier::Host, Tier::Services, Tier::Guest];

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
            Tier::Services => {
                &["cc", "make", "apache2", "libphp.so", "mysqli.so", "mariadbd", "unshare", "node", "npm", "chromium"]
            }
            Tier::Guest => {
                &["cc", "make", "qemu-system-x86_64", "iasl", "busybox", "mke2fs", "strip", "iperf3", "nuttcp"]
            }
        }
    }

    /// Programs of all the tiers given.
    pub(crate) fn needs(tiers: &[Tier]) -> Vec<&'static str> {
        let mut programs: Vec<&str> = tiers.iter().flat_map(|tier| tier.programs()).copied().collect();
        programs.sort_unstable();
        programs.dedup();
        programs
    }

    /// The words behind `cargo test`, for each run of it. Empty when there is nothing in the tier.
    pub(crate) fn runs(self, packages: &[Package]) -> Vec<Vec<String>> {
        let on_host = |package: &&Package| HOST.contains(&package.name.as_str());
        let in_guest = |package: &&Package| GUEST.contains(&package.name.as_str());
        match self {
            Tier::Pure => pure(packages.iter().filter(|package| !on_host(package) && !in_guest(package))),
            Tier::Host => beside(2, &packages.iter().filter(on_host).collect::<Vec<_>>()),
            // What a guest does in a time is measured there: none has another beside it.
            Tier::Guest => beside(1, &packages.iter().filter(in_guest).collect::<Vec<_>>()),
            Tier::Services => services(packages),
            Tier::Lint => Vec::new(),
        }
    }
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

fn pure<'a>(packages: impl Iterator<Item = &'a Package>) -> Vec<Vec<String>> {
    let mut words = strings(&["--no-fail-fast"]);
    words.extend(packages.flat_map(|package| ["-p".to_owned(), package.name.clone()]));
    if words.len() > 1 { vec![words] } else { Vec::new() }
}

/// Test binaries against services, a test at a time: each starts its own.
fn services(packages: &[Package]) -> Vec<Vec<String>> {
    let mut runs = Vec::new();
    for package in packages {
        let wanted = package.tests.iter().filter(|name| name.starts_with(SERVICES));
        let named: Vec<String> = wanted.flat_map(|name| strings(&["--test", name])).collect();
        if !named.is_empty() {
            let words = strings(&["--no-fail-fast", "-p", &package.name]);
            runs.push([words, named, strings(&["--", "--test-threads", "1"])].concat());
        }
    }
    runs
}

/// Ordinary test binaries so many tests at a time, quiet ones a test at a time and after the others.
fn beside(tests: usize, packages: &[&Package]) -> Vec<Vec<String>> {
    let mut runs = Vec::new();
    let mut quiet_runs = Vec::new();
    for package in packages {
        let here: Vec<&String> = package.tests.iter().filter(|name| !name.starts_with(SERVICES)).collect();
        let (quiet, ordinary): (Vec<&String>, Vec<&String>) = here.iter().partition(|name| name.starts_with(QUIET));
        let mut words = strings(&["--no-fail-fast", "-p", &package.name]);
        if !quiet.is_empty() || here.len() < package.tests.len() {
            let mut quiet_words = words.clone();
            quiet_words.extend(quiet.iter().flat_map(|name| strings(&["--test", name])));
            quiet_words.extend(strings(&["--", "--test-threads", "1"]));
            quiet_runs.extend((!quiet.is_empty()).then_some(quiet_words));
            if package.library {
                runs.push([&words[..], &strings(&["--doc"])].concat());
            }
            words.extend(package.library.then(|| "--lib".to_owned()));
            words.extend(package.program.then(|| "--bins".to_owned()));
            words.extend(ordinary.iter().flat_map(|name| strings(&["--test", name])));
        }
        words.extend(strings(&["--", "--test-threads", &tests.to_string()]));
        runs.push(words);
    }
    runs.extend(quiet_runs);
    runs
}

fn strings(words: &[&str]) -> Vec<String> {
    words.iter().map(|word| (*word).to_owned()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn package(name: &str, library: bool, tests: &[&str]) -> Package {
        Package { name: name.into(), library, program: !library, tests: strings(tests), ..Package::default() }
    }

    fn runs(tier: Tier, packages: &[Package]) -> Vec<String> {
        tier.runs(packages).iter().map(|words| words.join(" ")).collect()
    }

    #[test]
    fn every_package_is_in_a_tier() {
        let packages =
            [package("powerband", false, &["it"]), package("powerband-host", true, &[]), package("xtask", false, &[])];
        assert_eq!(runs(Tier::Pure, &packages), ["--no-fail-fast -p xtask"]);
        assert_eq!(
            runs(Tier::Host, &packages),
            ["--no-fail-fast -p powerband -- --test-threads 2", "--no-fail-fast -p powerband-host -- --test-threads 2"]
        );
        assert_eq!(runs(Tier::Guest, &packages), [""; 0]);
        let guest = [package("powerband-bench-virtual", true, &["it"])];
        assert_eq!(runs(Tier::Guest, &guest), ["--no-fail-fast -p powerband-bench-virtual -- --test-threads 1"]);
        assert_eq!(runs(Tier::Pure, &guest), [""; 0]);
    }

    #[test]
    fn quiet_binaries_run_alone_and_last() {
        let packages = [package("powerband-host", true, &["it", "quiet_kill"]), package("powerband", false, &["it"])];
        assert_eq!(
            runs(Tier::Host, &packages),
            [
                "--no-fail-fast -p powerband-host --doc",
                "--no-fail-fast -p powerband-host --lib --test it -- --test-threads 2",
                "--no-fail-fast -p powerband -- --test-threads 2",
                "--no-fail-fast -p powerband-host --test quiet_kill -- --test-threads 1",
            ]
        );
    }

    #[test]
    fn what_needs_services_runs_in_their_tier_alone() {
        let packages = [package("powerband", false, &["it", "services"])];
        assert_eq!(runs(Tier::Host, &packages), ["--no-fail-fast -p powerband --bins --test it -- --test-threads 2"]);
        assert_eq!(
            runs(Tier::Services, &packages),
            ["--no-fail-fast -p powerband --test services -- --test-threads 1"]
        );
        assert_eq!(runs(Tier::Services, &[package("powerband-host", true, &["it"])]), [""; 0]);
    }

    #[test]
    fn names_are_read_back() {
        for tier in Tier::ALL {
            assert_eq!(Tier::named(&tier.to_string()), Some(tier));
        }
        assert_eq!(Tier::named("all"), None);
    }
}
