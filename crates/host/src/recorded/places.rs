//! What is captured of a machine: one table of paths, and how each text is reduced before it is written down.

/// How a text is reduced; addresses, host and user names go in any case.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Keep {
    /// Nothing but those.
    Whole,
    /// Words of the kernel's command line that have to do with what we turn.
    CommandLine,
    /// What kind of CPU it is; flags once.
    CpuInfo,
    /// Without who built it where.
    Version,
    /// Names of the devices; what they carried is 0.
    Devices,
    /// Names of the modules; where they lie in memory is 0.
    Modules,
    /// Lines of the kernel's configuration that have to do with what we turn.
    Config,
    /// Lines that name something we turn, and headings.
    Lines,
    /// The name of a process, if it is one that turns what we turn.
    Process,
}

/// Files of one pattern. In a name `#` stands for a number and `*` for anything.
pub(super) struct Place {
    /// Absolute path.
    pub(super) pattern: &'static str,
    /// How their text is reduced.
    pub(super) keep: Keep,
}

const fn whole(pattern: &'static str) -> Place {
    Place { pattern, keep: Keep::Whole }
}

const fn lines(pattern: &'static str) -> Place {
    Place { pattern, keep: Keep::Lines }
}

const fn reduced(pattern: &'static str, keep: Keep) -> Place {
    Place { pattern, keep }
}

/// Where a CPU keeps its cpufreq: a link to a policy, or the files themselves on kernels before policies (2.6).
pub(super) const OF_A_CPU: [Place; 2] =
    [whole("/sys/devices/system/cpu/cpu#/cpufreq/*"), whole("/sys/devices/system/cpu/cpu#/cpufreq/*/*")];

/// Everything that knobs, meters and the verbs that look may read. Network devices are captured by their own rule.
pub(super) const PLACES: &[Place] = &[
    // CPUs.
    whole("/sys/devices/system/cpu/*"),
    whole("/sys/devices/system/cpu/cpufreq/*"),
    whole("/sys/devices/system/cpu/cpufreq/*/*"),
    whole("/sys/devices/system/cpu/cpufreq/policy#/*/*"),
    whole("/sys/devices/system/cpu/cpuidle/*"),
    whole("/sys/devices/system/cpu/intel_pstate/*"),
    whole("/sys/devices/system/cpu/amd_pstate/*"),
    whole("/sys/devices/system/cpu/smt/*"),
    whole("/sys/devices/system/cpu/cpu#/online"),
    whole("/sys/devices/system/cpu/cpu#/cpu_capacity"),
    whole("/sys/devices/system/cpu/cpu#/cpuidle/*/*"),
    whole("/sys/devices/system/cpu/cpu#/topology/*_id"),
    whole("/sys/devices/system/cpu/cpu#/topology/*_list"),
    whole("/sys/devices/system/cpu/cpu#/topology/*_siblings"),
    whole("/sys/devices/system/cpu/cpu#/power/energy_perf_bias"),
    whole("/sys/devices/system/cpu/cpu#/power/pm_qos_*"),
    whole("/sys/devices/system/cpu/cpu#/thermal_throttle/*"),
    whole("/sys/devices/system/cpu/cpu#/acpi_cppc/*"),
    whole("/sys/devices/system/clocksource/clocksource#/available_clocksource"),
    whole("/sys/devices/system/clocksource/clocksource#/current_clocksource"),
    // Meters.
    whole("/sys/class/hwmon/*/name"),
    whole("/sys/class/hwmon/*/update_interval"),
    whole("/sys/class/hwmon/*/power#_*"),
    whole("/sys/class/hwmon/*/energy#_*"),
    whole("/sys/class/hwmon/*/temp#_*"),
    whole("/sys/class/hwmon/*/fan#_*"),
    whole("/sys/class/hwmon/*/device/name"),
    whole("/sys/class/hwmon/*/device/update_interval"),
    whole("/sys/class/hwmon/*/device/power#_*"),
    whole("/sys/class/hwmon/*/device/energy#_*"),
    whole("/sys/class/powercap/*/name"),
    whole("/sys/class/powercap/*/enabled"),
    whole("/sys/class/powercap/*/energy_uj"),
    whole("/sys/class/powercap/*/max_energy_range_uj"),
    whole("/sys/class/powercap/*/constraint_*"),
    whole("/sys/class/thermal/thermal_zone#/type"),
    whole("/sys/class/thermal/thermal_zone#/temp"),
    whole("/sys/class/thermal/cooling_device#/type"),
    whole("/sys/class/thermal/cooling_device#/*_state"),
    whole("/sys/kernel/powerband/*"),
    // What the hardware and the kernel are.
    whole("/sys/class/dmi/id/sys_vendor"),
    whole("/sys/class/dmi/id/product_name"),
    whole("/sys/class/dmi/id/bios_vendor"),
    whole("/sys/hypervisor/type"),
    whole("/sys/firmware/acpi/platform_profile*"),
    whole("/sys/module/acpi_cpufreq/parameters/*"),
    whole("/sys/module/cpufreq/parameters/*"),
    whole("/sys/module/cpuidle/parameters/*"),
    whole("/sys/module/haltpoll/parameters/*"),
    whole("/sys/module/intel_idle/parameters/*"),
    whole("/sys/module/processor/parameters/*"),
    whole("/sys/fs/cgroup/cgroup.controllers"),
    reduced("/proc/cmdline", Keep::CommandLine),
    reduced("/proc/version", Keep::Version),
    reduced("/proc/cpuinfo", Keep::CpuInfo),
    reduced("/proc/modules", Keep::Modules),
    reduced("/proc/net/dev", Keep::Devices),
    reduced("/proc/config.gz", Keep::Config),
    reduced("/boot/config-*", Keep::Config),
    reduced("/proc/#/comm", Keep::Process),
    whole("/proc/cgroups"),
    whole("/proc/sys/kernel/osrelease"),
    whole("/proc/sys/kernel/ostype"),
    whole("/proc/sys/kernel/nmi_watchdog"),
    whole("/proc/sys/kernel/numa_balancing"),
    whole("/proc/sys/kernel/perf_event_paranoid"),
    whole("/proc/sys/kernel/sched_*"),
    whole("/proc/sys/kernel/timer_migration"),
    whole("/proc/sys/kernel/watchdog*"),
    whole("/proc/sys/net/core/busy_*"),
    whole("/proc/sys/net/core/default_qdisc"),
    whole("/proc/sys/net/core/dev_weight*"),
    whole("/proc/sys/net/core/netdev_budget*"),
    whole("/proc/sys/net/core/netdev_max_backlog"),
    whole("/proc/sys/net/core/?mem_*"),
    whole("/proc/sys/net/core/somaxconn"),
    whole("/proc/sys/vm/compaction_proactiveness"),
    whole("/proc/sys/vm/dirty*"),
    whole("/proc/sys/vm/laptop_mode"),
    whole("/proc/sys/vm/min_free_kbytes"),
    whole("/proc/sys/vm/nr_hugepages"),
    whole("/proc/sys/vm/overcommit_*"),
    whole("/proc/sys/vm/page-cluster"),
    whole("/proc/sys/vm/stat_interval"),
    whole("/proc/sys/vm/swappiness"),
    whole("/proc/sys/vm/vfs_cache_pressure"),
    whole("/proc/sys/vm/watermark_*"),
    whole("/proc/sys/vm/zone_reclaim_mode"),
    // Who sets what at boot.
    whole("/etc/os-release"),
    whole("/etc/default/cpufreqd"),
    whole("/etc/default/cpufrequtils"),
    whole("/etc/default/cpupower"),
    whole("/etc/default/loadcpufreq"),
    lines("/etc/default/grub"),
    whole("/etc/default/tlp"),
    whole("/etc/sysconfig/cpupower"),
    whole("/etc/sysconfig/cpuspeed"),
    whole("/etc/cpupower-service.conf"),
    whole("/etc/cpufreqd.conf"),
    whole("/etc/auto-cpufreq.conf"),
    whole("/etc/config/cpufreq"),
    whole("/etc/gamemode.ini"),
    whole("/etc/laptop-mode/conf.d/cpufreq.conf"),
    whole("/etc/tlp.conf"),
    whole("/etc/tlp.d/*.conf"),
    whole("/usr/share/tlp/defaults.conf"),
    whole("/etc/tuned/active_profile"),
    whole("/etc/tuned/profile_mode"),
    whole("/etc/tuned/ppd.conf"),
    whole("/etc/tuned/tuned-main.conf"),
    whole("/etc/tuned/*/tuned.conf"),
    whole("/etc/tuned/profiles/*/tuned.conf"),
    whole("/usr/lib/tuned/*/tuned.conf"),
    whole("/usr/lib/tuned/profiles/*/tuned.conf"),
    whole("/var/lib/power-profiles-daemon/state.ini"),
    lines("/etc/thermald/*"),
    lines("/etc/init.d/cpufreqd"),
    lines("/etc/init.d/cpufrequtils"),
    lines("/etc/init.d/cpuspeed"),
    lines("/etc/init.d/loadcpufreq"),
    lines("/etc/init.d/ondemand"),
    lines("/etc/rc.d/init.d/cpuspeed"),
    lines("/etc/rc#.d/*cpu*"),
    lines("/etc/rc#.d/*ondemand"),
    lines("/etc/rc.d/rc#.d/*cpu*"),
    lines("/etc/rc.local"),
    lines("/etc/rc.d/rc.local"),
    lines("/etc/crontab"),
    lines("/etc/cron.d/*"),
    lines("/etc/modprobe.d/*.conf"),
    lines("/etc/modules"),
    lines("/etc/modules-load.d/*.conf"),
    lines("/etc/sysctl.conf"),
    lines("/etc/sysctl.d/*.conf"),
    lines("/usr/lib/sysctl.d/*.conf"),
    lines("/etc/sysfs.conf"),
    lines("/etc/sysfs.d/*.conf"),
    lines("/etc/tmpfiles.d/*.conf"),
    lines("/usr/lib/tmpfiles.d/*.conf"),
    lines("/etc/udev/rules.d/*.rules"),
    lines("/usr/lib/udev/rules.d/*.rules"),
    lines("/etc/systemd/network/*.link"),
    lines("/etc/systemd/system/*.service"),
    lines("/etc/systemd/system/*.wants/*.service"),
    lines("/usr/lib/systemd/system/*cpu*.service"),
    lines("/usr/lib/systemd/system/irqbalance.service"),
    lines("/usr/lib/systemd/system/ondemand.service"),
    lines("/usr/lib/systemd/system/power-profiles-daemon.service"),
    lines("/usr/lib/systemd/system/thermald.service"),
    lines("/usr/lib/systemd/system/tlp.service"),
    lines("/usr/lib/systemd/system/tuned.service"),
    lines("/usr/lib/systemd/system/*.wants/*cpu*.service"),
];

/// What is captured of a network device, below /sys/class/net/NAME: nothing that tells who it is or whom it talks to.
pub(super) const OF_A_DEVICE: [&str; 7] = ["carrier", "duplex", "mtu", "operstate", "speed", "tx_queue_len", "type"];

/// Whether a name is one of a pattern's.
pub(super) fn is_like(pattern: &str, name: &str) -> bool {
    let Some(first) = pattern.chars().next() else { return name.is_empty() };
    let rest = &pattern[first.len_utf8()..];
    match first {
        '*' => name.char_indices().map(|(at, _)| at).chain([name.len()]).any(|at| is_like(rest, &name[at..])),
        '#' => {
            let digits = name.bytes().take_while(u8::is_ascii_digit).count();
            digits > 0 && is_like(rest, &name[digits..])
        }
        '?' => name.chars().next().is_some_and(|c| is_like(rest, &name[c.len_utf8()..])),
        _ => name.strip_prefix(first).is_some_and(|name| is_like(rest, name)),
    }
}

/// Whether a name of a pattern stands for several.
pub(super) fn is_pattern(name: &str) -> bool {
    name.contains(['*', '#', '?'])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn patterns_mean_what_they_show() {
        let like = "cpu#=cpu12 *= *.conf=a.b.conf power#_*=power10_input ?mem_*=rmem_max";
        let unlike = "cpu#=cpu cpu#=cpufreq cpu#=cpu1x *.conf=a.confx power#_*=power_input =x";
        for (pairs, wanted) in [(like, true), (unlike, false)] {
            for (pattern, name) in pairs.split(' ').filter_map(|pair| pair.split_once('=')) {
                assert_eq!(is_like(pattern, name), wanted, "{pattern} {name}");
            }
        }
    }

    #[test]
    fn places_are_absolute_and_each_is_there_once() {
        for (at, place) in PLACES.iter().enumerate() {
            assert!(place.pattern.starts_with('/') && !place.pattern.contains("//"), "{}", place.pattern);
            assert!(PLACES[..at].iter().all(|other| other.pattern != place.pattern), "{}", place.pattern);
        }
    }
}
