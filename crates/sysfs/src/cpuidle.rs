//! cpuidle: who picks idle states, and the states of each CPU.
use powerband_machine::Look;

use crate::topology::file;
use crate::{names, numbered};

paths! {
    CPUIDLE = "/sys/devices/system/cpu/cpuidle";
    CURRENT_DRIVER = "/sys/devices/system/cpu/cpuidle/current_driver";
    CURRENT_GOVERNOR = "/sys/devices/system/cpu/cpuidle/current_governor";
    CURRENT_GOVERNOR_RO = "/sys/devices/system/cpu/cpuidle/current_governor_ro";
}

/// The folder of a CPU's states.
pub fn of_cpu(number: u32) -> String {
    file(number, "cpuidle")
}

/// Returns the folders of a CPU's states, from the lightest; none where the kernel has none.
pub fn states(machine: &mut dyn Look, cpu: u32) -> Vec<String> {
    let folder = of_cpu(cpu);
    numbered(names(machine, &folder), "state").into_iter().map(|(_, state)| format!("{folder}/{state}")).collect()
}
