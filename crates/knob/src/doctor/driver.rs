//! The driver that changes the clock: what it rules out, how to get another, why there may be none.
use std::collections::{BTreeMap, BTreeSet};

use powerband_machine::Look;
use powerband_record::CpuList;
use powerband_sysfs::cpufreq::{AMD_STATUS, INTEL_STATUS};
use powerband_sysfs::{text, topology};

use super::config::{Config, SymbolState};
use super::place::Place;
use super::{DoctorFinding, Section};
use crate::look::{PolicyInfo, cpufreq};

const ABOUT: &str = "driver";

/// Cores that are named at most.
const NAMED_CORES: usize = 4;

/// The driver in charge, by its policies, or why there is none.
pub(super) fn section(machine: &mut dyn Look, place: &Place, config: Option<&Config>, cmdline: &str) -> Section {
    let mut findings = Vec::new();
    match cpufreq(machine) {
        Ok((policies, asleep)) => {
            let mut drivers: BTreeMap<&str, Vec<&PolicyInfo>> = BTreeMap::new();
            for policy in &policies {
                drivers.entry(policy.driver.as_deref().unwrap_or("unknown")).or_default().push(policy);
            }
            for (driver, policies) in drivers {
                findings.push(in_charge(machine, driver, &policies));
                findings.extend(rules_out(machine, driver));
            }
            if !asleep.is_empty() {
                let told = format!("{} have no CPU online and are left out", asleep.join(", "));
                findings.push(DoctorFinding::note("offline", told));
            }
            findings.extend(shared_cores(machine, &policies));
            findings.extend(firmware(&policies));
        }
        Err(_) => findings.push(absent(place, config, cmdline)),
    }
    Section { name: "driver", title: "cpufreq driver".into(), findings }
}

fn in_charge(machine: &mut dyn Look, driver: &str, policies: &[&PolicyInfo]) -> DoctorFinding {
    let count = match policies.len() {
        1 => "1 policy".to_owned(),
        count => format!("{count} policies"),
    };
    let governors = policies.first().map_or_else(String::new, |first| match &first.available_governors[..] {
        [] => {
            let path = first.policy.file("scaling_available_governors");
            let why = machine.read(&path).err().map_or_else(|| "names none".to_owned(), |errno| errno.to_string());
            format!("not known ({path}: {why})")
        }
        all => all.join(", "),
    });
    DoctorFinding::ok(ABOUT, format!("{driver} drives {count}; governors {governors}"))
}

/// What a driver does not do, and how to get one that does.
fn rules_out(machine: &mut dyn Look, driver: &str) -> Option<DoctorFinding> {
    const CHOOSES: &str =
        "chooses frequencies on its own: governors performance and powersave alone, no freq, no tunables";
    let lasting = |word: &str, other: &str| {
        format!(
            ", or for good {word} on the kernel's command line; acpi-cpufreq comes with {other} and `modprobe acpi-cpufreq`"
        )
    };
    // intel_pstate has the file since Linux 4.12.
    let mut switch = |path: &str| match machine.read(path) {
        Ok(_) => "`powerband set pstate=passive governor=schedutil`, or another of the kernel's governors".to_owned(),
        Err(_) => "passive mode has no switch here".to_owned(),
    };
    match driver {
        "intel_pstate" => {
            let todo = format!("{}{}", switch(INTEL_STATUS), lasting("intel_pstate=passive", "intel_pstate=disable"));
            Some(DoctorFinding::note("intel_pstate", CHOOSES).with(todo))
        }
        "amd-pstate-epp" | "amd_pstate_epp" => {
            let todo = format!("{}{}", switch(AMD_STATUS), lasting("amd_pstate=passive", "amd_pstate=disable"));
            Some(DoctorFinding::note("amd-pstate", CHOOSES).with(todo))
        }
        "intel_cpufreq" | "amd-pstate" => {
            Some(DoctorFinding::note(driver, "in passive mode: every governor works; there is no table of frequencies"))
        }
        _ => None,
    }
}

/// Cores whose threads have policies of their own, or are offline.
fn shared_cores(machine: &mut dyn Look, policies: &[PolicyInfo]) -> Option<DoctorFinding> {
    let is_off = matches!(text(machine, topology::SMT_CONTROL).as_deref(), Some("off" | "forceoff"));
    let all_cpus = policies.iter().flat_map(|policy| policy.policy.online.as_slice());
    let cores = all_cpus.filter_map(|&cpu| topology::threads_of_core(machine, cpu));
    let apart = |core: &CpuList| {
        let holds = |policy: &&PolicyInfo| core.as_slice().iter().any(|&cpu| policy.policy.cpus.contains(cpu));
        policies.iter().filter(holds).count() > 1
    };
    let cores: BTreeSet<String> = cores.filter(apart).map(|core| core.to_string()).collect();
    if cores.is_empty() {
        let told = "hyper-threads are off; a core may still follow what its offline thread asked for last";
        return is_off.then(|| DoctorFinding::note("siblings", told).with("limit a CPU before it goes offline"));
    }
    let more = cores.len().saturating_sub(NAMED_CORES);
    let named: Vec<String> = cores.into_iter().take(NAMED_CORES).map(|core| format!("cpus {core}")).collect();
    let more = if more > 0 { format!("; and {more} more cores") } else { String::new() };
    let told = format!("the threads of a core have a policy each: {}{more}", named.join("; "));
    let todo = "set all threads of a core alike: it runs at the highest frequency that one of them asks for";
    Some(DoctorFinding::note("siblings", told).with(todo))
}

/// Firmware that holds the clock below what the CPU can do.
fn firmware(policies: &[PolicyInfo]) -> Option<DoctorFinding> {
    let held = policies
        .iter()
        .find(|policy| policy.bios_limit_khz.zip(policy.highest_khz).is_some_and(|(limit, highest)| limit < highest))?;
    let limit = powerband_record::format_khz(held.bios_limit_khz?);
    Some(
        DoctorFinding::note("firmware", format!("holds {} at {limit} or below", held.policy.name))
            .with("look for a power or thermal limit in the BIOS, and at the power supply"),
    )
}

/// Why there is none, the likeliest first.
fn absent(place: &Place, config: Option<&Config>, cmdline: &str) -> DoctorFinding {
    if let Some(by) = &place.virtual_by {
        return DoctorFinding::note(ABOUT, format!("none, as in most virtual machines ({by})"))
            .with("rehearse with cgroup.cpu_quota or --machine sim:NAME (`powerband sim list` has the names)");
    }
    let told = "none: this kernel changes no frequency";
    let disabled = ["cpufreq.off=1", "cpufreq.off", "intel_pstate=disable", "amd_pstate=disable"];
    if let Some(word) = cmdline.split_whitespace().find(|word| disabled.contains(word)) {
        return DoctorFinding::missing(
            ABOUT,
            told,
            format!("take {word} off the kernel's command line, or load acpi-cpufreq"),
        );
    }
    match config {
        Some(config) if !config.has("CPU_FREQ") => DoctorFinding::missing(
            ABOUT,
            told,
            "build a kernel with CONFIG_CPU_FREQ; `powerband doctor --fragment` has the lines",
        ),
        Some(config) if config.state("X86_ACPI_CPUFREQ") == SymbolState::Module => DoctorFinding::missing(
            ABOUT,
            told,
            "`modprobe acpi-cpufreq`; if that says no such device, let the operating system control power in the BIOS \
             (P-states, SpeedStep, Cool'n'Quiet)",
        ),
        _ if !place.firmware => DoctorFinding::missing(ABOUT, told, "load the driver of this hardware, if it has one"),
        _ => DoctorFinding::missing(
            ABOUT,
            told,
            "let the operating system control power in the BIOS (P-states, SpeedStep, Cool'n'Quiet), or load the \
             driver of this hardware",
        ),
    }
}
