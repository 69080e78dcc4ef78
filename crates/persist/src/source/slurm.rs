//! Slurm, which sets frequencies and governors for the time of a job's step: by `CpuFreqDef` of slurm.conf, or as
//! `srun --cpu-freq` asks (`SLURM_CPU_FREQ_REQ` of a job's environment).
use powerband_sysfs::{proc, proc::OWN_ENVIRONMENT};

use crate::finding::{BootFinding, BootStanding};
use crate::keys::{Key, last};
use crate::scene::Scene;

/// Where slurm.conf is unless `SLURM_CONF` says so.
const CONFIG: &str = "/etc/slurm/slurm.conf";
/// Governors that Slurm lets a job choose unless `CpuFreqGovernors` says so (slurm.conf(5)).
const GOVERNORS: &str = "OnDemand,Performance,UserSpace";

pub(super) fn look(scene: &mut Scene<'_>) {
    if !matches!(scene.target.name(), "cpufreq.governor" | "cpufreq.freq" | "cpufreq.min_freq" | "cpufreq.max_freq") {
        return;
    }
    // A job's, where who looks is a job.
    let environment = scene.peek(OWN_ENVIRONMENT).unwrap_or_default();
    let variable = |name: &str| proc::variable(&environment, name).map(str::to_owned);
    let config = variable("SLURM_CONF").filter(|path| path.starts_with('/')).unwrap_or_else(|| CONFIG.to_owned());
    let keys = scene.keys(&config);
    let ignored = ignored(scene, &config, &keys);
    let in_job = variable("SLURM_JOB_ID").is_some();
    if let Some(key) = value_of(&keys, "CpuFreqDef") {
        let finding = BootFinding::new("Slurm", &config)
            .line(key.line, &key.text)
            .because("CpuFreqDef, for steps that ask for nothing");
        let off = if in_job { ignored.clone() } else { Some("it acts while a step of a job runs".to_owned()) };
        push(scene, finding, &key.value, off);
    }
    if let Some(asked) = variable("SLURM_CPU_FREQ_REQ") {
        let text = format!("SLURM_CPU_FREQ_REQ={asked}");
        let finding =
            BootFinding::new("Slurm", OWN_ENVIRONMENT).line(1, &text).because("the step was started with --cpu-freq");
        let off = ignored.or_else(|| not_allowed(&keys, &asked));
        push(scene, finding, &asked, off);
    }
}

/// Slurm's keys may be written in any case.
fn value_of<'k>(keys: &'k [Key], name: &str) -> Option<&'k Key> {
    keys.iter().rev().find(|key| key.name.eq_ignore_ascii_case(name) && !key.value.is_empty())
}

/// Why Slurm ignores what is asked about frequencies: it does so for steps that are bound to no CPUs.
fn ignored(scene: &mut Scene<'_>, config: &str, keys: &[Key]) -> Option<String> {
    let plugins = value_of(keys, "TaskPlugin").map_or("", |key| key.value.as_str()).to_lowercase();
    let has = |name: &str| plugins.split(',').any(|plugin| plugin.trim().trim_start_matches("task/") == name);
    if keys.is_empty() || has("affinity") {
        return None;
    }
    let folder = config.rsplit_once('/').map_or("/etc/slurm", |(folder, _)| folder);
    let groups = scene.keys(&format!("{folder}/cgroup.conf"));
    if has("cgroup") && last(&groups, "ConstrainCores").is_some_and(|key| key.value.eq_ignore_ascii_case("yes")) {
        return None;
    }
    Some("Slurm ignores it without TaskPlugin=task/affinity, or task/cgroup with ConstrainCores=yes".into())
}

/// Why Slurm refuses a governor.
fn not_allowed(keys: &[Key], asked: &str) -> Option<String> {
    let governor = Asked::of(asked).governor.filter(|_| !keys.is_empty())?;
    let allowed = value_of(keys, "CpuFreqGovernors").map_or(GOVERNORS, |key| key.value.as_str());
    let is_allowed = allowed.split(',').any(|name| name.trim().eq_ignore_ascii_case(&governor));
    (!is_allowed).then(|| format!("{governor} is not one of CpuFreqGovernors={allowed}"))
}

fn push(scene: &mut Scene<'_>, finding: BootFinding, asked: &str, off: Option<String>) {
    let asked = Asked::of(asked);
    let value = match scene.target.name() {
        "cpufreq.governor" => asked.governor,
        "cpufreq.freq" => asked.speed,
        "cpufreq.min_freq" => asked.low,
        _ => asked.high,
    };
    let Some(value) = value else { return };
    // low, medium, highm1 and high are one of the driver's steps.
    let values =
        if value.bytes().all(|byte| byte.is_ascii_digit()) || is_governor(&value) { vec![value] } else { Vec::new() };
    let standing = off.map_or(BootStanding::Acts, |why| BootStanding::Off { why });
    let sites = scene.target.everywhere();
    scene.push(finding.standing(standing).sets(values, sites));
}

/// What `--cpu-freq` comes to (srun(1)): a frequency in kHz or a word for one, a range of two with a governor, or a governor.
#[derive(Debug, Default, PartialEq, Eq)]
struct Asked {
    governor: Option<String>,
    speed: Option<String>,
    low: Option<String>,
    high: Option<String>,
}

impl Asked {
    fn of(text: &str) -> Asked {
        let text = text.trim().to_lowercase();
        let (frequency, governor) =
            text.split_once(':').map_or((text.as_str(), None), |(f, g)| (f, Some(g.to_owned())));
        match frequency.split_once('-') {
            Some((low, high)) => {
                Asked { governor, speed: None, low: Some(low.to_owned()), high: Some(high.to_owned()) }
            }
            None if is_governor(frequency) => Asked { governor: Some(frequency.to_owned()), ..Asked::default() },
            // One frequency is set under userspace.
            None => Asked {
                governor: governor.or_else(|| Some("userspace".into())),
                speed: Some(frequency.to_owned()),
                ..Asked::default()
            },
        }
    }
}

fn is_governor(word: &str) -> bool {
    ["conservative", "ondemand", "performance", "powersave", "schedutil", "userspace"].contains(&word)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn requests_are_read_as_srun_writes_them() {
        let text = |text: &str| Some(text.to_owned());
        assert_eq!(Asked::of("Performance"), Asked { governor: text("performance"), ..Asked::default() });
        let speed = Asked { governor: text("userspace"), speed: text("2400000"), ..Asked::default() };
        assert_eq!(Asked::of("2400000"), speed);
        let range = Asked { governor: text("ondemand"), low: text("1000000"), high: text("2000000"), speed: None };
        assert_eq!(Asked::of("1000000-2000000:OnDemand"), range);
    }
}
