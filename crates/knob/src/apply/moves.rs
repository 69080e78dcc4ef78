//! The table "writing X also moves Y": what is saved before a write, because the kernel changes it along and does not bring it
//! back. A row is data; how rows are read is at the end.
use powerband_machine::Look;

/// One row of the table.
struct Row {
    /// The file that is written; `*` stands for any text within one name.
    written: &'static str,
    /// Files that change with it, in the order of saving; they are restored in reverse, after the file itself.
    moved: &'static [Moved],
}

/// Files that change with another one.
struct Moved {
    /// Their path: `*` as in [`Row::written`], `{}` what it stood for there.
    file: &'static str,
    /// Their knob's canonical name; empty for files that the catalogue does not know.
    knob: &'static str,
    /// Those that need saving.
    saved: Saved,
}

/// Files that need saving.
enum Saved {
    /// All.
    Always,
    /// Those with another value than this default.
    Unless(&'static str),
    /// Those with this value.
    Only(&'static str),
    /// Those that differ from this file of the same folder.
    UnlessAs(&'static str),
    /// Those whose list of CPUs is within the one CPU that `{}` numbers.
    OfThatCpu,
}

const fn all(file: &'static str, knob: &'static str) -> Moved {
    Moved { file, knob, saved: Saved::Always }
}

/// State of policies that are made again by a driver's change of mode, or when their last CPU goes offline (Linux 6.12
/// drivers/cpufreq/intel_pstate.c, `intel_pstate_update_status`; amd-pstate.c, `amd_pstate_change_driver_mode`; cpufreq.c).
macro_rules! policies {
    ($policies:literal) => {
        [
            all(concat!($policies, "/energy_performance_preference"), "cpufreq.epp"),
            Moved {
                file: concat!($policies, "/scaling_max_freq"),
                knob: "cpufreq.max_freq",
                saved: Saved::UnlessAs("cpuinfo_max_freq"),
            },
            Moved {
                file: concat!($policies, "/scaling_min_freq"),
                knob: "cpufreq.min_freq",
                saved: Saved::UnlessAs("cpuinfo_min_freq"),
            },
            all(concat!($policies, "/scaling_governor"), "cpufreq.governor"),
        ]
    };
}

/// Idle states of CPUs that are on unless somebody disabled them: CPUs that come back have them all (Linux 6.12
/// drivers/cpuidle/cpuidle.c, `cpuidle_enable_device`).
const fn disabled(file: &'static str) -> Moved {
    Moved { file, knob: "cpuidle.disable", saved: Saved::Unless("0") }
}

const TABLE: [Row; 12] = [
    Row {
        written: "/sys/devices/system/cpu/intel_pstate/status",
        moved: &policies!("/sys/devices/system/cpu/cpufreq/policy*"),
    },
    Row {
        written: "/sys/devices/system/cpu/amd_pstate/status",
        moved: &policies!("/sys/devices/system/cpu/cpufreq/policy*"),
    },
    Row {
        written: "/sys/devices/system/cpu/*_pstate/status",
        moved: &[
            all("/sys/devices/system/cpu/cpufreq/boost", "cpufreq.boost"),
            // The upper end first: the lower one is held below it.
            all("/sys/devices/system/cpu/intel_pstate/min_perf_pct", "pstate.min_perf_pct"),
            all("/sys/devices/system/cpu/intel_pstate/max_perf_pct", "pstate.max_perf_pct"),
            all("/sys/devices/system/cpu/intel_pstate/no_turbo", "pstate.no_turbo"),
            all("/sys/devices/system/cpu/intel_pstate/hwp_dynamic_boost", "pstate.hwp_dynamic_boost"),
            all("/sys/devices/system/cpu/intel_pstate/energy_efficiency", ""),
        ],
    },
    Row {
        written: "/sys/devices/system/cpu/smt/control",
        moved: &[
            Moved { file: "/sys/devices/system/cpu/cpu*/online", knob: "cpu.online", saved: Saved::Only("0") },
            disabled("/sys/devices/system/cpu/cpu*/cpuidle/state*/disable"),
        ],
    },
    Row {
        written: "/sys/devices/system/cpu/cpu*/online",
        moved: &[
            disabled("/sys/devices/system/cpu/cpu{}/cpuidle/state*/disable"),
            // An interrupt whose CPUs are all offline is let loose on every CPU (kernel/irq/cpuhotplug.c).
            Moved { file: "/proc/irq/*/smp_affinity_list", knob: "", saved: Saved::OfThatCpu },
        ],
    },
    // devinet.c, `inet_forward_change`.
    Row { written: "/proc/sys/net/ipv4/ip_forward", moved: &FORWARDING },
    Row { written: "/proc/sys/net/ipv4/conf/all/forwarding", moved: &FORWARDING },
    Row {
        written: "/proc/sys/net/ipv6/conf/all/forwarding",
        moved: &[all("/proc/sys/net/ipv6/conf/*/forwarding", "")],
    },
    Row {
        written: "/proc/sys/net/ipv6/conf/all/disable_ipv6",
        moved: &[all("/proc/sys/net/ipv6/conf/*/disable_ipv6", "")],
    },
    // kernel/watchdog.c: the one switch is both others.
    Row {
        written: "/proc/sys/kernel/watchdog",
        moved: &[all("/proc/sys/kernel/nmi_watchdog", ""), all("/proc/sys/kernel/soft_watchdog", "")],
    },
    // mm/khugepaged.c, `set_recommended_min_free_kbytes`.
    Row { written: "/sys/kernel/mm/transparent_hugepage/enabled", moved: &[all("/proc/sys/vm/min_free_kbytes", "")] },
    Row {
        written: "/sys/kernel/mm/transparent_hugepage/hugepages-*/enabled",
        moved: &[all("/proc/sys/vm/min_free_kbytes", "")],
    },
];

const FORWARDING: [Moved; 2] =
    [all("/proc/sys/net/ipv4/conf/*/forwarding", ""), all("/proc/sys/net/ipv4/conf/all/accept_redirects", "")];

/// One file to save.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct ToSave {
    pub(super) path: String,
    /// Canonical name of its knob, or `file:` and its path.
    pub(super) knob: String,
    /// The policy or CPU it belongs to, or `-`.
    pub(super) site: String,
}

/// The files that a write of `path` moves along and that need saving, in the order of saving.
pub(super) fn moved_by(machine: &mut dyn Look, path: &str) -> Vec<ToSave> {
    let mut found: Vec<ToSave> = Vec::new();
    for row in &TABLE {
        let Some(stands_for) = matched(row.written, path) else { continue };
        for moved in row.moved {
            let files = expanded(machine, &moved.file.replace("{}", stands_for));
            let needed = files.into_iter().filter(|file| file != path && moved.saved.needs(machine, file, stands_for));
            found.extend(needed.collect::<Vec<_>>().into_iter().map(|path| ToSave {
                knob: if moved.knob.is_empty() { format!("file:{path}") } else { moved.knob.to_owned() },
                site: site_of(&path),
                path,
            }));
        }
    }
    found
}

impl Saved {
    fn needs(&self, machine: &mut dyn Look, file: &str, stands_for: &str) -> bool {
        let mut text = |file: &str| machine.read(file).map(|text| text.trim().to_owned());
        let Ok(value) = text(file) else { return true };
        match self {
            Saved::Always => true,
            Saved::Unless(default) => value != *default,
            Saved::Only(only) => value == *only,
            Saved::UnlessAs(other) => {
                let folder = file.rsplit_once('/').map_or("", |(folder, _)| folder);
                text(&format!("{folder}/{other}")).as_ref() != Ok(&value)
            }
            Saved::OfThatCpu => value == stands_for,
        }
    }
}

/// What `*` stands for in a path that has this form; nothing in particular where the form has no `*`.
fn matched<'p>(form: &str, path: &'p str) -> Option<&'p str> {
    let Some((before, after)) = form.split_once('*') else { return (form == path).then_some("") };
    let middle = path.strip_prefix(before)?.strip_suffix(after)?;
    (!middle.is_empty() && !middle.contains('/')).then_some(middle)
}

/// The files that have this form, in the order of their folders.
fn expanded(machine: &mut dyn Look, form: &str) -> Vec<String> {
    let Some(star) = form.find('*') else { return vec![form.to_owned()] };
    let (folder, name) = form[..star].rsplit_once('/').unwrap_or(("", &form[..star]));
    let rest = &form[star + 1..];
    let (end, below) = rest.find('/').map_or((rest, ""), |at| rest.split_at(at));
    let entries = machine.list(folder).unwrap_or_default();
    let fits = |entry: &String| {
        entry.strip_prefix(name).and_then(|rest| rest.strip_suffix(end)).is_some_and(|middle| !middle.is_empty())
    };
    let names: Vec<String> = entries.into_iter().map(|entry| entry.name).filter(fits).collect();
    let mut found = Vec::new();
    for name in names {
        let file = format!("{folder}/{name}{below}");
        if below.contains('*') {
            found.extend(expanded(machine, &file));
        } else if below.is_empty() || machine.read(&file).is_ok() {
            found.push(file);
        }
    }
    found
}

/// The policy or CPU in a path.
fn site_of(path: &str) -> String {
    let numbered = |part: &&str| {
        ["policy", "cpu"].iter().any(|word| {
            part.strip_prefix(word)
                .is_some_and(|number| !number.is_empty() && number.bytes().all(|digit| digit.is_ascii_digit()))
        })
    };
    path.split('/').find(numbered).unwrap_or("-").to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_form_matches_names_and_no_folders() {
        assert_eq!(matched("/cpu/cpu*/online", "/cpu/cpu12/online"), Some("12"));
        assert_eq!(matched("/cpu/cpu*/online", "/cpu/cpu1/x/online"), None);
        assert_eq!(matched("/cpu/cpu*/online", "/cpu/online"), None);
        assert_eq!(matched("/a", "/a"), Some(""));
    }

    #[test]
    fn a_file_has_the_site_of_its_policy_or_cpu() {
        assert_eq!(site_of("/sys/devices/system/cpu/cpu3/cpuidle/state1/disable"), "cpu3");
        assert_eq!(site_of("/sys/devices/system/cpu/cpufreq/policy0/scaling_governor"), "policy0");
        assert_eq!(site_of("/proc/sys/vm/min_free_kbytes"), "-");
    }
}
