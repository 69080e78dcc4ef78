//! What a device, its firmware or the processor kept over a boot although its file is the kernel's.
use super::*;

const PROFILE: &str = "/sys/firmware/acpi/platform_profile";

/// What became of a change from 0 to 1 that reads `now` in a later boot, and whether it counted as over.
fn later(path: &str, hold: Hold, acted: bool, now: &str) -> (Undone, bool, String) {
    let store = MemoryLedger::default();
    let mut ledger = load(&store);
    let id = ledger.intend(&turn(path, "0", "1", hold), &mut nothing).unwrap();
    if acted {
        ledger.done(id, None, Some("1".into()), &mut |_| {}).unwrap();
    }
    let mut files: Files = [(path.to_owned(), now.to_owned())].into();
    let mut later = booted(&store, "boot2");
    let is_over = later.find(id).unwrap().is_over("boot2", &mut |_| Ok(format!("{now}\n")));
    let outcome = undo(&mut later, &mut files, id, false);
    (outcome, is_over, files[path].clone())
}

#[test]
fn what_reads_as_we_left_it_in_a_later_boot_is_undone() {
    for path in [
        PROFILE,
        "/sys/class/power_supply/BAT0/charge_control_end_threshold",
        "/sys/class/powercap/intel-rapl:0/constraint_0_power_limit_uw",
        "/sys/devices/system/cpu/cpu0/power/energy_perf_bias",
        "/sys/devices/system/cpu/cpufreq/policy0/energy_performance_preference",
    ] {
        for (hold, acted) in [(Hold::Held, true), (Hold::Held, false), (Hold::Set, true)] {
            assert_eq!(later(path, hold, acted, "1"), (Undone::Undone, false, "0".into()), "{path}");
        }
        // The boot, or somebody after it, has set something else.
        for now in ["0", "2"] {
            assert_eq!(later(path, Hold::Held, true, now), (Undone::Rebooted, true, now.into()), "{path}");
        }
    }
}

/// A boot script may have set again what a trial had tried.
#[test]
fn what_the_kernel_keeps_itself_is_over_whatever_reads_there() {
    for path in [
        "/proc/sys/vm/swappiness",
        "/sys/kernel/mm/transparent_hugepage/enabled",
        "/sys/block/sda/queue/nr_requests",
        "/sys/devices/pci0000:00/0000:00:1f.2/ata1/host0/block/sda/queue/nr_requests",
        "/sys/devices/system/cpu/cpufreq/policy0/scaling_governor",
        "/sys/devices/system/cpu/cpufreq/ondemand/up_threshold",
        "/sys/devices/system/cpu/cpu0/cpuidle/state1/disable",
        "/sys/class/net/eth0/tx_queue_len",
    ] {
        assert_eq!(later(path, Hold::Held, true, "1"), (Undone::Rebooted, true, "1".into()), "{path}");
    }
}

#[test]
fn what_only_kept_a_value_is_over() {
    let mut kept = turn(PROFILE, "1", "1", Hold::Held);
    kept.before = Before::Saved { saved: "1".into() };
    let mut ledger = load(&MemoryLedger::default());
    let id = begin(&mut ledger, &kept, None, "1");
    assert!(ledger.find(id).unwrap().is_over("boot2", &mut |_| Ok("1\n".into())));
}
