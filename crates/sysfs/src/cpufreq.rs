//! cpufreq: the folders of policies, and the modes of drivers that choose frequencies with the hardware.
use powerband_machine::Look;
use powerband_record::CpuList;

use crate::topology::file;

paths! {
    CPUFREQ = "/sys/devices/system/cpu/cpufreq";
    BOOST = "/sys/devices/system/cpu/cpufreq/boost";
    AMD_STATUS = "/sys/devices/system/cpu/amd_pstate/status";
    INTEL_STATUS = "/sys/devices/system/cpu/intel_pstate/status";
    NO_TURBO = "/sys/devices/system/cpu/intel_pstate/no_turbo";
    MIN_PERF_PCT = "/sys/devices/system/cpu/intel_pstate/min_perf_pct";
    MAX_PERF_PCT = "/sys/devices/system/cpu/intel_pstate/max_perf_pct";
    HWP_DYNAMIC_BOOST = "/sys/devices/system/cpu/intel_pstate/hwp_dynamic_boost";
}

/// The folder that leads from a CPU to its policy.
pub fn of_cpu(number: u32) -> String {
    file(number, "cpufreq")
}

/// Returns the CPUs that a file of a policy lists between blanks: `affected_cpus`, `related_cpus`, `freqdomain_cpus`.
pub fn cpus(machine: &mut dyn Look, path: &str) -> Option<CpuList> {
    CpuList::parse_spaced(&machine.read(path).ok()?).ok()
}

/// Returns the steps that a policy's folder lists, kHz, ascending, each once; none for drivers without a table.
pub fn steps_khz(machine: &mut dyn Look, folder: &str) -> Vec<u32> {
    let Ok(text) = machine.read(&format!("{folder}/scaling_available_frequencies")) else { return Vec::new() };
    let mut steps: Vec<u32> = text.split_whitespace().filter_map(|word| word.parse().ok()).collect();
    steps.sort_unstable();
    steps.dedup();
    steps
}

/// Returns the lines of `stats/time_in_state`: a frequency, kHz, and the ticks (10 ms) at it. Lines that are not are left out.
pub fn time_in_state(text: &str) -> impl Iterator<Item = (u32, u64)> {
    text.lines().filter_map(|line| {
        let (khz, ticks) = line.trim().split_once(' ')?;
        Some((khz.parse().ok()?, ticks.trim().parse().ok()?))
    })
}
