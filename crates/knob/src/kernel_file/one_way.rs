//! Values that cannot be taken back although the kernel takes the value that is there: no trial of the undo shows it, or the trial itself
//! would change something.
use powerband_machine::Look;

use super::network::loss;

/// Files of which some values stay until the next boot: whatever is not among the values that can be taken back. The value that
/// is there can be written, so that no trial of the undo shows it.
const ONE_WAY: [(&str, &[&str], &str); 7] = [
    // Linux 6.12 kernel/bpf/syscall.c, `bpf_unpriv_handler`.
    ("/proc/sys/kernel/unprivileged_bpf_disabled", &["0", "2"], "the kernel takes no other value after 1"),
    // security/yama/yama_lsm.c, `yama_dointvec_minmax`.
    ("/proc/sys/kernel/yama/ptrace_scope", &["0", "1", "2"], "the kernel takes no other value after 3"),
    // kernel/panic.c, `proc_taint`.
    ("/proc/sys/kernel/tainted", &[], "the kernel adds flags and removes none"),
    // kernel/umh.c, `proc_cap_handler`.
    ("/proc/sys/kernel/usermodehelper/bset", &[], "the kernel drops capabilities and adds none"),
    ("/proc/sys/kernel/usermodehelper/inheritable", &[], "the kernel drops capabilities and adds none"),
    // kernel/pid_namespace.c, `pid_ns_ctl_handler`.
    ("/proc/sys/kernel/ns_last_pid", &[], "each new process changes it"),
    // drivers/acpi/proc.c, `acpi_system_write_wakeup_device`.
    ("/proc/acpi/wakeup", &[], "the kernel switches a device that is written there, and takes no list of them"),
];

/// Files that may show another value than the one in force, and the file of the same folder that shows that one: the CPU that
/// booted is asked for state 0 and is in the highest until Linux 6.2 (kernel/cpu.c, `boot_cpu_hotplug_init`), so that writing
/// what is there takes it offline.
const IN_FORCE: [(&str, &str); 1] = [("/hotplug/target", "state")];

/// Files to which a write adds (Linux 6.12 kernel/cgroup/cgroup.c, `cgroup_procs_write`; kernel/trace/trace_events.c), by name.
const ADDED_TO: [&str; 11] = [
    "cgroup.procs",
    "cgroup.threads",
    "tasks",
    "set_event",
    "set_ftrace_filter",
    "set_ftrace_notrace",
    "set_graph_function",
    "kprobe_events",
    "uprobe_events",
    "dynamic_events",
    "synthetic_events",
];

/// Controllers of groups with a line for each device, of which a write sets one.
const BY_DEVICE: [&str; 4] = ["io.", "blkio.", "rdma.", "misc."];

/// What a file shows that has no value yet: the kernel's formatted output of nothing. Written, it would be a name.
pub(super) const NOTHING: &str = "(null)";

/// Files that have no value again after an empty line (Linux 6.12 drivers/base/driver.c, `driver_set_override`).
pub(super) const EMPTIED: &str = "/driver_override";

/// Why a value of a file could not be taken back, if that is known without trying.
pub(crate) fn not_taken_back(machine: &mut dyn Look, path: &str, value: &str) -> Option<String> {
    let one_way = ONE_WAY.iter().find(|(file, ..)| *file == path);
    if let Some((.., why)) = one_way.filter(|(_, reversible, _)| !reversible.contains(&value.trim())) {
        return Some((*why).to_owned());
    }
    let shown = machine.read(path).unwrap_or_default();
    let why = is_more_than_a_value(machine, path, value, &shown).map(str::to_owned);
    why.or_else(|| loss(machine, path, value)).or_else(|| another_in_force(machine, path, &shown))
}

/// Why a write is no value that another write replaces.
fn is_more_than_a_value(machine: &mut dyn Look, path: &str, value: &str, shown: &str) -> Option<&'static str> {
    let (folder, name) = path.rsplit_once('/')?;
    let mut asked = value.trim().chars();
    let is_request = match asked.next() {
        Some('+') => true,
        Some('-') => asked.next().is_some_and(|next| !next.is_ascii_digit()),
        _ => false,
    };
    let key = |line: &str| line.split_whitespace().next().map(str::to_owned);
    let by_device = path.starts_with("/sys/fs/cgroup/") && BY_DEVICE.iter().any(|start| name.starts_with(start));
    if is_request || ADDED_TO.contains(&name) {
        Some("what is written is added to what it shows, or removed from that")
    } else if by_device && (shown.lines().count() != 1 || key(shown) != key(value)) {
        Some("it has a line for each device, and a write sets one of them")
    } else if shown.trim() == NOTHING && !path.ends_with(EMPTIED) {
        Some("it has no value now, and no text brings that back")
    } else if path == "/sys/power/state" {
        Some("the machine would sleep when the value that is there is written")
    } else if ["max_bytes", "min_bytes"].contains(&name) && path.contains("/bdi/") {
        Some("what it shows follows the memory; max_ratio_fine and min_ratio_fine set the same")
    } else if name == "enable" && path.contains("/pci") {
        Some("the kernel counts the writes")
    } else if makes_folders(machine, folder, name) {
        Some("a write removes the folders that it counts, with what is set there")
    } else {
        None
    }
}

/// Whether a file says how many numbered folders are next to it: the kernel makes all of them again when it is written (Linux 6.12
/// mm/damon/sysfs.c, `nr_contexts_store`).
fn makes_folders(machine: &mut dyn Look, folder: &str, name: &str) -> bool {
    let is_numbered = |name: &str| name.bytes().all(|byte| byte.is_ascii_digit());
    name.starts_with("nr_")
        && machine.list(folder).unwrap_or_default().iter().any(|entry| entry.folder && is_numbered(&entry.name))
}

/// What is in force instead of what a file shows, in words.
fn another_in_force(machine: &mut dyn Look, path: &str, shown: &str) -> Option<String> {
    let (_, other) = IN_FORCE.iter().find(|(end, _)| path.ends_with(end))?;
    let other = format!("{}/{other}", path.rsplit_once('/')?.0);
    let real = machine.read(&other).ok()?;
    let (shown, real) = (shown.trim(), real.trim());
    (shown != real).then(|| format!("it shows {shown}, but {real} is in force ({other})"))
}
