//! Files of the kernel that change without being written.

/// Patterns of their paths, and why they change.
const MOVING: [(&str, &str); 21] = [
    ("/proc/sys/fs/dentry-state$", "a counter of names in memory"),
    ("/proc/sys/fs/file-nr$", "a counter of open files"),
    ("/proc/sys/fs/inode-nr$", "a counter of inodes in memory"),
    ("/proc/sys/fs/inode-state$", "the same"),
    ("/proc/sys/kernel/ns_last_pid$", "the number of the newest process"),
    ("/proc/sys/kernel/random/entropy_avail$", "what the kernel's generator has gathered"),
    ("/proc/sys/kernel/random/uuid$", "another random number at each reading"),
    ("/proc/sys/kernel/pty/nr$", "a counter of terminals"),
    ("/proc/sys/fs/quota/syncs$", "a counter"),
    ("/cpufreq/policy[0-9]*/scaling_cur_freq$", "the frequency of the moment"),
    ("/cpufreq/policy[0-9]*/cpuinfo_cur_freq$", "the same"),
    ("/cpufreq/policy[0-9]*/stats/", "times and counters of frequencies"),
    ("/cpuidle/state[0-9]*/\\(above\\|below\\|rejected\\|time\\|usage\\)$", "times and counters of idle states"),
    ("/power/runtime_", "the state of the moment, and times"),
    ("/mm/ksm/\\(full_scans\\|pages_[a-su-z].*\\)$", "counters"),
    ("/mm/transparent_hugepage/khugepaged/\\(full_scans\\|pages_collapsed\\)$", "counters"),
    ("/mm/page_idle/bitmap$", "what pages are doing"),
    (
        "/class/net/[^/]*/\\(carrier.*\\|duplex\\|operstate\\|speed\\)$",
        "the state of the link, and counters of its changes",
    ),
    ("/class/net/[^/]*/statistics/", "counters of packets"),
    ("/byte_queue_limits/\\(inflight\\|limit\\|stall.*\\)$", "follows the load"),
    ("/crash_notes$", "an address"),
];

/// A pattern a line, as `grep -f` reads them.
pub(super) fn patterns() -> String {
    MOVING.iter().map(|(pattern, _)| format!("{pattern}\n")).collect()
}
