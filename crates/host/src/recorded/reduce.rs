//! What is left of a text when it is written down: no addresses, no names of hosts and people, nothing that is long and
//! says nothing of settings.
use std::net::{Ipv4Addr, Ipv6Addr};

use powerband_machine::Look;

use super::places::Keep;
use powerband_record::InOrder;

/// Words that tell that a line is about something we turn.
const TURNED: [&str; 15] = [
    "amd_pstate",
    "amd-pstate",
    "coalesce",
    "cpufreq",
    "cpuidle",
    "cpupower",
    "cpuspeed",
    "cstate",
    "energy_perf",
    "ethtool",
    "governor",
    "intel_pstate",
    "pm_qos",
    "scaling_",
    "sched_mc",
];

/// The same for settings the kernel has under /proc/sys, for driver modules and for programs that turn.
const SETTINGS: [&str; 12] = [
    "irqbalance",
    "kernel.",
    "loadcpufreq",
    "net.core.",
    "p4-clockmod",
    "power-profiles",
    "powernow",
    "processor",
    "thermald",
    "tlp",
    "tuned",
    "vm.",
];

/// How parameters of the kernel begin that have to do with what we turn.
const PARAMETERS: [&str; 24] = [
    "acpi=",
    "amd_prefcore",
    "amd_pstate",
    "clocksource=",
    "cpufreq",
    "cpuidle",
    "highres=",
    "idle=",
    "intel_idle",
    "intel_pstate",
    "irqaffinity=",
    "isolcpus=",
    "maxcpus=",
    "mitigations=",
    "nohz",
    "nosmt",
    "nr_cpus=",
    "nowatchdog",
    "possible_cpus=",
    "preempt=",
    "processor.",
    "rcu_nocb",
    "skew_tick=",
    "tsc=",
];

/// Parts of the names of kernel options that have to do with what we turn.
const OPTIONS: [&str; 24] = [
    "ACPI_CPPC",
    "ACPI_PROCESSOR",
    "AMD_PSTATE",
    "BANDWIDTH",
    "CGROUP",
    "CPUFREQ",
    "CPU_FREQ",
    "CPU_IDLE",
    "CPUSETS",
    "ENERGY",
    "HALTPOLL",
    "HIGH_RES",
    "HYPERVISOR_GUEST",
    "HZ",
    "INTEL_IDLE",
    "INTEL_PSTATE",
    "KVM_GUEST",
    "NET_RX_BUSY",
    "PARAVIRT",
    "POWERCAP",
    "PREEMPT",
    "RAPL",
    "SCHED_MC",
    "SCHED_SMT",
];

/// Whole names of further symbols: what those above stand on, and what else a knob needs.
const SYMBOLS: [&str; 23] = [
    "ACPI",
    "ARM",
    "ARM64",
    "ARM_SCMI_PROTOCOL",
    "CPU_SUP_INTEL",
    "ETHTOOL_NETLINK",
    "FAIR_GROUP_SCHED",
    "HAS_IOMEM",
    "HAVE_CLK",
    "HAVE_PERF_EVENTS",
    "HOTPLUG_CPU",
    "HWMON",
    "MODULES",
    "NET",
    "PCI",
    "PERF_EVENTS",
    "PROC_FS",
    "PROC_SYSCTL",
    "SENSORS_ACPI_POWER",
    "SMP",
    "SYSFS",
    "X86",
    "X86_64",
];

/// Lines of /proc/cpuinfo that tell what kind of CPU it is, on x86 and on ARM.
const CPU: [&str; 20] = [
    "processor",
    "vendor_id",
    "cpu family",
    "model",
    "model name",
    "stepping",
    "cpu mhz",
    "physical id",
    "core id",
    "siblings",
    "cpu cores",
    "flags",
    "features",
    "bogomips",
    "hardware",
    "cpu implementer",
    "cpu architecture",
    "cpu variant",
    "cpu part",
    "cpu revision",
];

/// Beginnings of the names of processes that turn what we turn, and of those that start them.
const PROCESSES: [&str; 16] = [
    "auto-cpufreq",
    "cpufreqd",
    "cpuspeed",
    "gamemoded",
    "init",
    "irqbalance",
    "laptop_mode",
    "ondemand",
    "power-profiles-",
    "powernowd",
    "system76-power",
    "systemd",
    "tccd",
    "thermald",
    "tlp",
    "tuned",
];

/// A text as far as it is kept; `None` when nothing of it is.
pub(super) fn reduce(text: &str, keep: Keep) -> Option<String> {
    match keep {
        Keep::Whole => Some(text.to_owned()),
        Keep::CommandLine => Some(command_line(text)),
        Keep::CpuInfo => Some(cpu_info(text)),
        Keep::Version => Some(version(text)),
        Keep::Devices => Some(devices(text)),
        Keep::Modules => Some(modules(text)),
        Keep::Config => {
            let about = |line: &str| OPTIONS.iter().any(|part| line.contains(part));
            let is_heading = |line: &str| line.starts_with("# Linux") && line.contains("ernel");
            let named = |line: &str| SYMBOLS.contains(&symbol(line));
            Some(lines(text, |line| line.contains("CONFIG_") && (about(line) || named(line)) || is_heading(line)))
        }
        Keep::Lines => {
            let about = |line: &str| TURNED.iter().chain(&SETTINGS).any(|word| has_start(line, word));
            let any = text.lines().any(about);
            any.then(|| lines(text, |line| about(line) || line.starts_with('[')))
        }
        Keep::Process => PROCESSES.iter().any(|name| text.starts_with(name)).then(|| text.to_owned()),
    }
}

/// The name in `CONFIG_NAME=y` and `# CONFIG_NAME is not set`.
fn symbol(line: &str) -> &str {
    let name = line.trim_start_matches("# ").strip_prefix("CONFIG_").unwrap_or_default();
    name.split(['=', ' ']).next().unwrap_or_default()
}

/// Whether a word of the line begins so.
fn has_start(line: &str, word: &str) -> bool {
    line.match_indices(word).any(|(at, _)| !line[..at].ends_with(char::is_alphanumeric))
}

fn lines(text: &str, keep: impl Fn(&str) -> bool) -> String {
    text.lines().filter(|line| keep(line)).map(|line| format!("{line}\n")).collect()
}

/// What stands behind `--` is for the first process.
fn command_line(text: &str) -> String {
    let words = text.split_whitespace().take_while(|word| *word != "--");
    let kept: Vec<&str> = words.filter(|word| PARAMETERS.iter().any(|start| word.starts_with(start))).collect();
    kept.join(" ") + "\n"
}

fn cpu_info(text: &str) -> String {
    let (mut flags, mut kept) = (false, String::new());
    for line in text.lines() {
        let name = line.split(':').next().unwrap_or_default().trim().to_lowercase();
        let long = matches!(name.as_str(), "flags" | "features");
        if (line.is_empty() || CPU.contains(&name.as_str())) && !(long && flags) {
            kept += line;
            kept.push('\n');
        }
        flags |= long;
    }
    kept
}

/// `Linux version 6.1.0 (who@where) (gcc …) #1 SMP …` without who and where.
fn version(text: &str) -> String {
    match (text.find(" ("), text.find(") ")) {
        (Some(from), Some(to)) if from < to && text[from..to].contains('@') => {
            format!("{}{}", &text[..from], &text[to + 1..])
        }
        _ => text.to_owned(),
    }
}

/// Two lines of headings, then `name: numbers`.
fn devices(text: &str) -> String {
    let device = |line: &str| {
        let Some((name, numbers)) = line.split_once(':') else { return format!("{line}\n") };
        if is_named_by_address(name.trim()) {
            return String::new();
        }
        format!("{name}:{}\n", " 0".repeat(numbers.split_whitespace().count()))
    };
    text.lines().map(device).collect()
}

/// `name size users by state address`.
fn modules(text: &str) -> String {
    let module = |line: &str| {
        let words: Vec<&str> = line.split(' ').take(5).collect();
        format!("{} 0x0\n", words.join(" "))
    };
    text.lines().map(module).collect()
}

/// `enx0011…`: the name of a network device that is its address.
pub(super) fn is_named_by_address(device: &str) -> bool {
    device.split_at_checked(3).is_some_and(|(_, rest)| rest.len() == 12 && rest.bytes().all(|b| b.is_ascii_hexdigit()))
}

/// Who a machine and its people are, to be told nobody.
#[derive(Debug, Default)]
pub(super) struct Names {
    /// What a name becomes, the longest name first.
    names: Vec<(String, &'static str)>,
}

impl Names {
    /// Those of a machine.
    pub(super) fn of(machine: &mut dyn Look) -> Self {
        let mut names = Vec::new();
        for path in ["/proc/sys/kernel/hostname", "/proc/sys/kernel/domainname", "/etc/hostname"] {
            let text = machine.read(path).unwrap_or_default();
            let name = text.trim();
            names.push((name.to_owned(), "host"));
            names.extend(name.split_once('.').map(|(short, _)| (short.to_owned(), "host")));
        }
        let users = machine.read("/etc/passwd").unwrap_or_default();
        for line in users.lines() {
            let mut fields = line.split(':');
            let (Some(name), Some(uid)) = (fields.next(), fields.nth(1).and_then(|uid| uid.parse::<u32>().ok())) else {
                continue;
            };
            if (1000..65_000).contains(&uid) {
                names.push((name.to_owned(), "user"));
            }
        }
        names.retain(|(name, _)| name.len() > 1 && name != "localhost" && name != "(none)");
        names.order_by_key(|(name, _)| std::cmp::Reverse(name.len()));
        Names { names }
    }

    /// A text without them.
    pub(super) fn hide(&self, text: &str) -> String {
        self.names.iter().fold(text.to_owned(), |text, (name, instead)| replace_word(&text, name, instead))
    }
}

fn replace_word(text: &str, word: &str, instead: &str) -> String {
    let part_of_one = |c: Option<char>| c.is_some_and(|c| c.is_alphanumeric() || c == '_');
    let (mut done, mut rest) = (String::new(), text);
    while let Some(at) = rest.find(word) {
        let (before, found) = rest.split_at(at);
        let after = &found[word.len()..];
        let last = before.chars().next_back().or_else(|| done.chars().next_back());
        done += before;
        done += if part_of_one(last) || part_of_one(after.chars().next()) { word } else { instead };
        rest = after;
    }
    done + rest
}

/// A text with zeros for Ethernet and Internet addresses.
pub(super) fn hide_addresses(text: &str) -> String {
    let part_of_one = |c: char| c.is_ascii_hexdigit() || matches!(c, ':' | '.' | '-');
    let mut done = String::new();
    let mut rest = text;
    while !rest.is_empty() {
        let end = rest.find(|c| !part_of_one(c)).unwrap_or(rest.len());
        let (run, after) = rest.split_at(end);
        done += without_addresses(run).as_deref().unwrap_or(run);
        let other = after.find(part_of_one).unwrap_or(after.len());
        done += &after[..other];
        rest = &after[other..];
    }
    done
}

/// `None` when there is none in this run of digits and marks.
fn without_addresses(run: &str) -> Option<String> {
    let bytes = run.as_bytes();
    let ethernet = |window: &[u8]| {
        let mark = window[2];
        matches!(mark, b':' | b'-')
            && window.iter().enumerate().all(|(i, b)| if i % 3 == 2 { *b == mark } else { b.is_ascii_hexdigit() })
    };
    if let Some(at) = bytes.windows(17).position(ethernet) {
        let (before, after) = (&run[..at], &run[at + 17..]);
        let after = without_addresses(after).unwrap_or_else(|| after.to_owned());
        return Some(format!("{before}00:00:00:00:00:00{after}"));
    }
    let bare = run.trim_end_matches(['.', ':', '-']);
    // A port may stand behind it.
    let address = bare.split_once(':').filter(|_| bare.contains('.')).map_or(bare, |(address, _)| address);
    let rest = &run[address.len()..];
    if address.parse::<Ipv4Addr>().is_ok() {
        return Some(format!("0.0.0.0{rest}"));
    }
    if run.matches(':').count() >= 2 && run.parse::<Ipv6Addr>().is_ok_and(|address| !address.is_unspecified()) {
        return Some("::".into());
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_become_zeros_and_numbers_stay() {
        for (text, hidden) in [
            ("ATTR{address}==\"00:1b:21:aa:BB:cc\"\n", "ATTR{address}==\"00:00:00:00:00:00\"\n"),
            ("route 10.1.2.3/24 via 192.168.0.1:80.", "route 0.0.0.0/24 via 0.0.0.0:80."),
            ("fe80::1b21 and 2001:db8::5:1", ":: and ::"),
            ("1700000 2.6.18 0-3 00:1f.3 12:30:59 6.1.0-18", "1700000 2.6.18 0-3 00:1f.3 12:30:59 6.1.0-18"),
            ("", ""),
        ] {
            assert_eq!(hide_addresses(text), hidden);
        }
    }

    #[test]
    fn names_of_hosts_and_people_are_words_not_parts_of_words() {
        let names = Names { names: vec![("ada.example".into(), "host"), ("ada".into(), "user")] };
        assert_eq!(names.hide("/home/ada/x ada@ada.example adamant ada"), "/home/user/x user@host adamant user");
    }

    #[test]
    fn only_what_has_to_do_with_settings_is_left() {
        let config = "# Linux/x86 6.1.0 Kernel Configuration\n# CPU\nCONFIG_HZ=250\n# CONFIG_NO_HZ is not set\n\
                      CONFIG_NET=y\n# CONFIG_SMP is not set\nCONFIG_NETFILTER=y\nCONFIG_DEFAULT_HOSTNAME=\"x\"\n";
        let cpus = "processor\t: 0\nflags\t: a b\nSerial\t: 5\n\nprocessor\t: 1\nflags\t: a b\n";
        let told = [
            (Keep::CommandLine, "root=UUID=1 nohz_full=1 quiet intel_pstate=off -- idle=x"),
            (Keep::Version, "Linux version 6.1 (a@b.c) (gcc 12) #1 SMP\n"),
            (Keep::Version, "Linux version sim (rules) #1\n"),
            (Keep::Modules, "a 10 1 b, Live 0xffff (E)\n"),
            (Keep::Devices, "h\n eth0: 1 2\nenx001122334455: 1 2\n"),
            (Keep::Config, config),
            (Keep::Lines, "[Service]\nExecStart=cpupower x\nUser=y\n"),
            (Keep::Lines, "[Service]\nUser=y\n"),
            (Keep::Lines, "# see dm-lvm.rules\nvm.swappiness = 1\n"),
            (Keep::Process, "tuned\n"),
            (Keep::Process, "editor\n"),
            (Keep::CpuInfo, cpus),
        ]
        .map(|(keep, text)| format!("{keep:?} {text:?}\n    {:?}\n", reduce(text, keep)));
        insta::assert_snapshot!("reduced", told.concat());
    }
}
