//! What outlives a boot although its file is the kernel's: a device or its firmware keeps it, or the processor, over kexec.
use super::OpenEntry;
use super::settle::Read;
use crate::Action;

/// Where the kernel itself keeps what is written, and begins anew at each boot. What reads there as we left it was set again by
/// somebody, as a boot script does.
const FORGOTTEN: [&str; 6] =
    ["/proc/", "/sys/kernel/", "/sys/module/", "/sys/block/", "/sys/class/net/", "/sys/fs/cgroup/"];

/// The same of folders that lie below a device's or a CPU's.
const FORGOTTEN_BELOW: [&str; 5] = ["/block/", "/net/", "/cpuidle/", "/cpufreq/", "/pm_qos_"];

/// What a processor keeps of cpufreq's files: registers, which only a reset clears.
const IN_THE_PROCESSOR: [&str; 3] = ["energy_performance_preference", "boost", "cpb"];

/// Whether a file that the kernel may have forgotten reads as we left it, and not as before.
pub(super) fn has_outlived(entry: &OpenEntry, read: Read<'_>) -> bool {
    let (Some(Action::WriteFile { path, .. }), Action::WriteFile { text, .. }) = (&entry.turn.undo, &entry.turn.action)
    else {
        return false;
    };
    let (Some(before), Some(place)) = (entry.turn.before.text(), &entry.turn.read_back) else { return false };
    if is_forgotten(path) {
        return false;
    }
    // Killed between acting and reading back, it is what was written that is there.
    let ours = entry.reads_back.as_ref().unwrap_or(text).trim_end();
    read(place).is_ok_and(|now| now.trim_end() == ours && ours != before.trim_end())
}

fn is_forgotten(path: &str) -> bool {
    let name = path.rsplit('/').next().unwrap_or(path);
    let is_below = FORGOTTEN_BELOW.iter().any(|folder| path.contains(folder));
    FORGOTTEN.iter().any(|root| path.starts_with(root)) || (is_below && !IN_THE_PROCESSOR.contains(&name))
}
