//! Files of `/proc`: what CPUs are and did, the kernel and its settings, processes.
use std::collections::BTreeMap;

use powerband_record::IntoOrdered as _;

paths! {
    CMDLINE = "/proc/cmdline";
    CONFIG = "/proc/config.gz";
    CPUINFO = "/proc/cpuinfo";
    CPU_PRESSURE = "/proc/pressure/cpu";
    INTERRUPTS = "/proc/interrupts";
    MEMINFO = "/proc/meminfo";
    OSRELEASE = "/proc/sys/kernel/osrelease";
    OWN_ENVIRONMENT = "/proc/self/environ";
    OWN_MOUNTS = "/proc/self/mounts";
    OWN_STATUS = "/proc/self/status";
    PERF_EVENT_PARANOID = "/proc/sys/kernel/perf_event_paranoid";
    SOFTIRQS = "/proc/softirqs";
    STAT = "/proc/stat";
    SWAPPINESS = "/proc/sys/vm/swappiness";
    SYSCTL = "/proc/sys/";
    VERSION = "/proc/version";
}

/// A file of a process.
pub fn of_process(pid: u32, name: &str) -> String {
    format!("/proc/{pid}/{name}")
}

/// The file of a kernel setting that is named with dots, with a slash for a dot in a name: `net.ipv4.conf.eth0/5.forwarding`.
pub fn sysctl(key: &str) -> String {
    let swapped = |c| match c {
        '.' => '/',
        '/' => '.',
        other => other,
    };
    format!("{SYSCTL}{}", key.chars().map(swapped).collect::<String>())
}

/// Returns the value of the first line `NAME : VALUE` of [`CPUINFO`] or [`MEMINFO`], where it has one.
pub fn field(text: &str, name: &str) -> Option<String> {
    let mut lines = text.lines().filter_map(|line| line.split_once(':'));
    let (_, value) = lines.find(|(head, _)| head.trim() == name)?;
    Some(value.trim().to_owned()).filter(|value| !value.is_empty())
}

/// Whether the first CPU of [`CPUINFO`] has a flag.
pub fn has_flag(cpuinfo: &str, flag: &str) -> bool {
    field(cpuinfo, "flags").is_some_and(|flags| flags.split_whitespace().any(|one| one == flag))
}

/// The value of a variable in [`OWN_ENVIRONMENT`].
pub fn variable<'t>(environment: &'t str, name: &str) -> Option<&'t str> {
    environment.split('\0').find_map(|pair| pair.strip_prefix(name)?.strip_prefix('='))
}

/// Time of one CPU since boot, in the kernel's ticks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CpuTime {
    /// Neither idle nor waiting for a disk.
    pub busy_ticks: u64,
    /// All of it.
    pub total_ticks: u64,
}

/// Columns that count: user, nice, system, idle, iowait, irq, softirq, steal. Guests' time is in user already.
const COLUMNS: usize = 8;

/// Columns of doing nothing.
const IDLE: [usize; 2] = [3, 4];

/// The CPUs that are online, from the text of [`STAT`].
pub fn cpu_times(stat: &str) -> BTreeMap<u32, CpuTime> {
    stat.lines().filter_map(cpu_time).into_map()
}

/// `cpu3 1 2 3 …`; old kernels have fewer columns.
fn cpu_time(line: &str) -> Option<(u32, CpuTime)> {
    let (name, rest) = line.strip_prefix("cpu")?.split_once(' ')?;
    let ticks: Vec<u64> = rest.split_whitespace().take(COLUMNS).map_while(|word| word.parse().ok()).collect();
    let total_ticks: u64 = ticks.iter().sum();
    let idle: u64 = IDLE.iter().filter_map(|&place| ticks.get(place)).sum();
    Some((name.parse().ok()?, CpuTime { busy_ticks: total_ticks - idle, total_ticks }))
}

impl CpuTime {
    /// The share of the time since `earlier` in which it was busy, 0 to 1; `None` before a tick has passed. The kernel
    /// corrects its columns now and then, so that one may go back.
    pub fn busy_since(&self, earlier: &CpuTime) -> Option<f64> {
        let busy = self.busy_ticks.saturating_sub(earlier.busy_ticks);
        let passed = self.total_ticks.saturating_sub(earlier.total_ticks);
        (passed > 0).then(|| (busy as f64 / passed as f64).min(1.0))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_field_is_the_first_of_its_name() {
        let text = "processor\t: 0\nmodel name\t: A  CPU: fast\nflags\t\t: fpu aperfmperf\n\nprocessor\t: 1\nempty :\n";
        assert_eq!(field(text, "model name").as_deref(), Some("A  CPU: fast"));
        assert_eq!(field(text, "processor").as_deref(), Some("0"));
        assert_eq!([field(text, "empty"), field(text, "model"), field("", "flags")], [None, None, None]);
        assert!(has_flag(text, "fpu") && !has_flag(text, "perf") && !has_flag("", "fpu"));
    }

    #[test]
    fn times_are_those_of_cpus_with_a_number() {
        let text = "cpu  9 9 9 9\ncpu0 1 2 3 40 50 6 7 8 1 1\ncpu10 5 0 0 90\nintr 5\nctxt 7\n";
        let times = cpu_times(text);
        assert_eq!(times.keys().copied().collect::<Vec<_>>(), [0, 10]);
        assert_eq!(times[&0], CpuTime { busy_ticks: 27, total_ticks: 117 });
        let later = CpuTime { busy_ticks: 32, total_ticks: 127 };
        assert_eq!((later.busy_since(&times[&0]), later.busy_since(&later)), (Some(0.5), None));
    }

    #[test]
    fn settings_and_variables_have_names() {
        assert_eq!(sysctl("net.ipv4.conf.eth0/5.forwarding"), "/proc/sys/net/ipv4/conf/eth0.5/forwarding");
        assert_eq!(of_process(7, "comm"), "/proc/7/comm");
        let environment = "A=1\0AB=2=3\0C\0";
        assert_eq!(["A", "AB", "B", "C"].map(|name| variable(environment, name)), [Some("1"), Some("2=3"), None, None]);
    }
}
