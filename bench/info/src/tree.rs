//! A tree of /sys/devices/system/cpu as a server under acpi-cpufreq shows it, in plain files.
use std::fs;
use std::os::unix::fs::symlink;
use std::path::Path;

use anyhow::{Context as _, Result};

/// Steps of the table, kHz.
const STEPS_KHZ: [u32; 6] = [2_600_000, 2_300_000, 2_000_000, 1_700_000, 1_400_000, 1_200_000];

/// Idle states: name, time to wake up and sleep that is worth it, us.
const STATES: [(&str, u32, u32); 4] = [("POLL", 0, 0), ("C1", 2, 2), ("C1E", 10, 20), ("C6", 133, 600)];

/// Writes the tree of `cpus` CPUs, each with a policy of its own, into an empty folder.
///
/// # Errors
/// When a file cannot be written.
pub(crate) fn build(folder: &Path, cpus: u32) -> Result<()> {
    let all = format!("0-{}\n", cpus.saturating_sub(1));
    let lists = [
        ("online", all.as_str()),
        ("possible", all.as_str()),
        ("present", all.as_str()),
        ("offline", "\n"),
        ("isolated", "\n"),
        ("nohz_full", "(null)\n"),
        ("kernel_max", "8191\n"),
    ];
    write(folder, &lists)?;
    write(&folder.join("smt"), &[("control", "on\n"), ("active", "1\n")])?;
    let idle = [
        ("current_driver", "intel_idle\n"),
        ("current_governor", "menu\n"),
        ("current_governor_ro", "menu\n"),
        ("available_governors", "ladder menu teo \n"),
    ];
    write(&folder.join("cpuidle"), &idle)?;
    write(&folder.join("cpufreq"), &[("boost", "1\n")])?;
    let tunables = [
        ("up_threshold", "95\n"),
        ("sampling_rate", "10000\n"),
        ("sampling_down_factor", "1\n"),
        ("ignore_nice_load", "0\n"),
        ("io_is_busy", "1\n"),
        ("powersave_bias", "0\n"),
    ];
    write(&folder.join("cpufreq/ondemand"), &tunables)?;
    for cpu in 0..cpus {
        policy(&folder.join(format!("cpufreq/policy{cpu}")), cpu)?;
        one(folder, cpu, cpus)?;
    }
    Ok(())
}

/// Files of one folder, which is made.
fn write(folder: &Path, files: &[(&str, &str)]) -> Result<()> {
    fs::create_dir_all(folder).with_context(|| format!("cannot make {}", folder.display()))?;
    for (name, text) in files {
        let path = folder.join(name);
        fs::write(&path, text).with_context(|| format!("cannot write {}", path.display()))?;
    }
    Ok(())
}

/// Figures of one CPU that scatter as counters do, the same in every run.
fn scatter(cpu: u32, what: u32) -> u64 {
    let mixed = (u64::from(cpu) << 32 | u64::from(what)).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    (mixed >> 40) * 37 + 1
}

fn policy(folder: &Path, cpu: u32) -> Result<()> {
    let own = format!("{cpu}\n");
    let step = STEPS_KHZ[scatter(cpu, 0) as usize % STEPS_KHZ.len()];
    let (now, steps) = (format!("{step}\n"), STEPS_KHZ.map(|khz| format!("{khz} ")).concat() + "\n");
    let files = [
        ("affected_cpus", own.as_str()),
        ("related_cpus", own.as_str()),
        ("freqdomain_cpus", own.as_str()),
        ("bios_limit", "2600000\n"),
        ("cpuinfo_cur_freq", now.as_str()),
        ("cpuinfo_max_freq", "2600000\n"),
        ("cpuinfo_min_freq", "1200000\n"),
        ("cpuinfo_transition_latency", "10000\n"),
        ("scaling_available_frequencies", steps.as_str()),
        ("scaling_available_governors", "conservative ondemand userspace powersave performance schedutil \n"),
        ("scaling_cur_freq", now.as_str()),
        ("scaling_driver", "acpi-cpufreq\n"),
        ("scaling_governor", "ondemand\n"),
        ("scaling_max_freq", "2600000\n"),
        ("scaling_min_freq", "1200000\n"),
        ("scaling_setspeed", "<unsupported>\n"),
    ];
    write(folder, &files)?;
    let columns = STEPS_KHZ.map(|khz| format!(" {khz:9}")).concat();
    let mut table = format!("   From  :    To\n         :{columns} \n");
    let (mut times, mut total) = (String::new(), 0);
    for (from, khz) in STEPS_KHZ.iter().enumerate() {
        times += &format!("{khz} {}\n", scatter(cpu, 10 + from as u32));
        table += &format!("{khz:9}:");
        for to in 0..STEPS_KHZ.len() {
            let count = if to == from { 0 } else { scatter(cpu, (100 + from * 10 + to) as u32) % 9000 };
            total += count;
            table += &format!(" {count:9}");
        }
        table += " \n";
    }
    let total = format!("{total}\n");
    write(
        &folder.join("stats"),
        &[("time_in_state", times.as_str()), ("total_trans", total.as_str()), ("trans_table", table.as_str())],
    )
}

/// One CPU's own folder.
fn one(all: &Path, cpu: u32, cpus: u32) -> Result<()> {
    let folder = all.join(format!("cpu{cpu}"));
    write(&folder, &[("online", "1\n"), ("crash_notes_size", "400\n")])?;
    let link = folder.join("cpufreq");
    symlink(format!("../cpufreq/policy{cpu}"), &link).with_context(|| format!("cannot make {}", link.display()))?;
    for (number, (name, latency, residency)) in STATES.iter().enumerate() {
        let count = |what: usize| format!("{}\n", scatter(cpu, (1000 + number * 10 + what) as u32));
        let line = |text: &dyn std::fmt::Display| format!("{text}\n");
        let files = [
            ("name", line(name)),
            ("desc", line(name)),
            ("latency", line(latency)),
            ("residency", line(residency)),
            ("power", line(&0)),
            ("disable", line(&0)),
            ("default_status", line(&"enabled")),
            ("usage", count(0)),
            ("time", count(1)),
            ("above", count(2)),
            ("below", count(3)),
            ("rejected", count(4)),
        ];
        let files: Vec<(&str, &str)> = files.iter().map(|(name, text)| (*name, text.as_str())).collect();
        write(&folder.join(format!("cpuidle/state{number}")), &files)?;
    }
    let heat = [
        ("core_throttle_count", "0\n"),
        ("core_throttle_total_time_ms", "0\n"),
        ("core_throttle_max_time_ms", "0\n"),
        ("package_throttle_count", "0\n"),
        ("package_throttle_total_time_ms", "0\n"),
        ("package_throttle_max_time_ms", "0\n"),
    ];
    write(&folder.join("thermal_throttle"), &heat)?;
    write(&folder.join("power"), &[("pm_qos_resume_latency_us", "0\n"), ("control", "auto\n")])?;
    // Two threads a core, half of all CPUs a package.
    let (core, package, other) = (cpu % (cpus / 2).max(1), cpu * 2 / cpus.max(1), (cpu + cpus / 2) % cpus.max(1));
    let (core, package) = (format!("{core}\n"), format!("{package}\n"));
    let threads = format!("{},{}\n", cpu.min(other), cpu.max(other));
    let topology = [
        ("core_id", core.as_str()),
        ("physical_package_id", package.as_str()),
        ("die_id", "0\n"),
        ("thread_siblings_list", threads.as_str()),
    ];
    write(&folder.join("topology"), &topology)
}
