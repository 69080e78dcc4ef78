//! The CPUs: their folders, which there are and which are online.
use powerband_machine::Look;
use powerband_record::CpuList;

use crate::{names, numbered, parsed};

paths! {
    CPUS = "/sys/devices/system/cpu";
    CPU_BUS = "/sys/bus/cpu/devices";
    ONLINE = "/sys/devices/system/cpu/online";
    NOHZ_FULL = "/sys/devices/system/cpu/nohz_full";
    SYSTEM = "/sys/devices/system";
    SMT_ACTIVE = "/sys/devices/system/cpu/smt/active";
    SMT_CONTROL = "/sys/devices/system/cpu/smt/control";
    SCHED_MC_POWER_SAVINGS = "/sys/devices/system/cpu/sched_mc_power_savings";
    SCHED_SMT_POWER_SAVINGS = "/sys/devices/system/cpu/sched_smt_power_savings";
}

/// A file of a CPU, by its name in the CPU's folder.
pub fn file(cpu: u32, name: &str) -> String {
    format!("{CPUS}/cpu{cpu}/{name}")
}

/// The folder of a CPU.
pub fn cpu(number: u32) -> String {
    format!("{CPUS}/cpu{number}")
}

/// The CPU in whose folder a file is.
pub fn cpu_of(path: &str) -> Option<u32> {
    path.strip_prefix(CPUS)?.strip_prefix("/cpu")?.split('/').next()?.parse().ok()
}

/// Numbers of the CPUs that have a folder, ascending, offline ones included.
pub fn present(machine: &mut dyn Look) -> CpuList {
    CpuList::new(numbered(names(machine, CPUS), "cpu").into_iter().map(|(number, _)| number).collect())
}

/// The CPUs that are threads of the same core as one, itself included; nothing where the kernel does not say.
pub fn threads_of_core(machine: &mut dyn Look, cpu: u32) -> Option<CpuList> {
    parsed(machine, &file(cpu, "topology/thread_siblings_list"))
}

/// The CPUs that are online, where the kernel lists them.
pub fn online(machine: &mut dyn Look) -> Option<CpuList> {
    parsed(machine, ONLINE)
}
