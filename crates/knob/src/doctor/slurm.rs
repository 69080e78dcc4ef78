//! Slurm, which sets frequencies and governors for the time of a job's step, next to what powerband sets.
use powerband_machine::Look;
use powerband_sysfs::{proc, proc::OWN_ENVIRONMENT};

use super::DoctorFinding;

/// Where slurm.conf is unless `SLURM_CONF` says so.
const CONFIG: &str = "/etc/slurm/slurm.conf";

/// What Slurm does to frequencies here.
pub(super) fn findings(machine: &mut dyn Look) -> Vec<DoctorFinding> {
    // A job's, where who looks is a job.
    let environment = machine.read(OWN_ENVIRONMENT).unwrap_or_default();
    let variable = |name: &str| proc::variable(&environment, name);
    let config = variable("SLURM_CONF").filter(|path| path.starts_with('/')).unwrap_or(CONFIG);
    let text = machine.read(config).unwrap_or_default();
    let mut findings = Vec::new();
    if let Some(asked) = variable("SLURM_CPU_FREQ_REQ").filter(|asked| !asked.is_empty()) {
        let said = format!(
            "this step was started with --cpu-freq={asked}, and Slurm sets that at its start and restores it at its end"
        );
        findings.push(DoctorFinding::note("Slurm", said).with("start the step without --cpu-freq while you measure"));
    }
    if let Some(default) = value_of(&text, "CpuFreqDef") {
        let said = format!("sets {default} for every step that asks for no frequency (CpuFreqDef in {config})");
        findings
            .push(DoctorFinding::note("Slurm", said).with("`powerband why governor` says whether that is in force"));
    }
    let binds = value_of(&text, "TaskPlugin").is_some_and(|plugins| {
        let plugins = plugins.to_lowercase();
        plugins.contains("affinity") || plugins.contains("cgroup")
    });
    if !text.is_empty() && !binds {
        let said = format!(
            "binds no step to CPUs (no TaskPlugin=task/affinity or task/cgroup in {config}): jobs share them, and --cpu-freq is ignored"
        );
        findings.push(DoctorFinding::note("Slurm", said));
    }
    if let Some(governors) = value_of(&text, "CpuFreqGovernors") {
        findings.push(DoctorFinding::note(
            "Slurm",
            format!("lets --cpu-freq choose {governors} (CpuFreqGovernors in {config})"),
        ));
    }
    findings
}

/// The last value of a key, written in any case.
fn value_of<'t>(text: &'t str, name: &str) -> Option<&'t str> {
    let value = |line: &'t str| {
        let (key, value) = line.split_once('=')?;
        let value = value.split('#').next().unwrap_or_default().trim();
        (key.trim().eq_ignore_ascii_case(name) && !value.is_empty()).then_some(value)
    };
    text.lines().filter_map(value).next_back()
}

#[cfg(test)]
mod tests {
    use super::value_of;

    #[test]
    fn keys_are_read_in_any_case_and_without_remarks() {
        let text = "# CpuFreqDef=no\ncpufreqdef = Performance # for all\nTaskPlugin=task/affinity,task/cgroup\n";
        assert_eq!(value_of(text, "CpuFreqDef"), Some("Performance"));
        assert_eq!(value_of(text, "TaskPlugin"), Some("task/affinity,task/cgroup"));
        assert_eq!(value_of(text, "CpuFreqGovernors"), None);
    }
}
