//! What is pasted to have a setting: a line for a node, and lines for Slurm where Slurm can set it.
use powerband_record::{CpuList, Setting, parse_frequency_khz};
use serde::Serialize;

/// How Slurm is asked for a setting.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, schemars::JsonSchema)]
pub struct SlurmRequest {
    /// Line of slurm.conf that makes it the default of all steps; absent where Slurm has no such default (it knows governors
    /// alone there).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub slurm_conf: Option<String>,
    /// Option for one step, as it is typed.
    pub srun: String,
    /// The setting sets more than that, which Slurm cannot.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub in_part: bool,
}

/// Governors by the kernel's name and Slurm's.
const GOVERNORS: [(&str, &str); 6] = [
    ("conservative", "Conservative"),
    ("ondemand", "OnDemand"),
    ("performance", "Performance"),
    ("powersave", "PowerSave"),
    ("schedutil", "SchedUtil"),
    ("userspace", "UserSpace"),
];

/// What of a setting Slurm can set.
#[derive(Default)]
struct Asked {
    governor: Option<&'static str>,
    low: Option<u32>,
    high: Option<u32>,
    fixed: Option<u32>,
    more: bool,
}

fn asked(setting: &Setting) -> Asked {
    let mut asked = Asked::default();
    for assignment in &setting.assignments {
        let name = assignment.knob.name.as_str();
        let khz = parse_frequency_khz(&assignment.value).ok();
        let whole = assignment.knob.site.is_none();
        match (name.strip_prefix("cpufreq.").unwrap_or(name), khz) {
            ("governor", _) if whole => {
                asked.governor =
                    GOVERNORS.iter().find(|(kernel, _)| *kernel == assignment.value).map(|(_, slurm)| *slurm);
                asked.more |= asked.governor.is_none();
            }
            ("min_freq", Some(khz)) if whole => asked.low = Some(khz),
            ("max_freq", Some(khz)) if whole => asked.high = Some(khz),
            ("freq", Some(khz)) if whole => asked.fixed = Some(khz),
            _ => asked.more = true,
        }
    }
    asked
}

/// Lines for Slurm; none where it can set nothing of the setting.
pub(super) fn slurm(turns: &str) -> Option<SlurmRequest> {
    let setting = Setting::parse(&format!("a:{turns}")).ok()?.of_machines();
    let asked = asked(&setting);
    let frequencies = match (asked.fixed, asked.low, asked.high) {
        (Some(fixed), ..) => Some(fixed.to_string()),
        (None, Some(low), Some(high)) => Some(format!("{low}-{high}")),
        (None, None, Some(high)) => Some(format!("low-{high}")),
        (None, Some(low), None) => Some(format!("{low}-high")),
        (None, None, None) => None,
    };
    // A fixed frequency brings the governor that allows it along.
    let governor = asked.governor.filter(|governor| asked.fixed.is_none() || *governor != "UserSpace");
    let value = match (&frequencies, governor) {
        (Some(range), Some(governor)) if asked.fixed.is_none() => format!("{range}:{governor}"),
        (Some(range), _) => range.clone(),
        (None, Some(governor)) => governor.to_owned(),
        (None, None) => return None,
    };
    let slurm_conf = governor.filter(|_| frequencies.is_none()).map(|governor| format!("CpuFreqDef={governor}"));
    Some(SlurmRequest { slurm_conf, srun: format!("srun --cpu-freq={value}"), in_part: asked.more })
}

/// What keeps a setting on a node, on the CPUs that it was measured on; absent where it sets nothing on a machine.
pub(super) fn keep(turns: &str, cpus: Option<&CpuList>) -> Option<String> {
    let setting = Setting::parse(&format!("a:{turns}")).ok()?.of_machines();
    let cpus = cpus.map(|cpus| format!(" -c {cpus}")).unwrap_or_default();
    (!setting.assignments.is_empty()).then(|| format!("powerband{cpus} keep {}", setting.turns()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn slurm_is_asked_for_what_it_can_set() {
        let lines = |turns: &str| {
            let slurm = slurm(turns).unwrap();
            (slurm.slurm_conf.unwrap_or_default(), slurm.srun, slurm.in_part)
        };
        let all = |conf: &str, srun: &str, in_part| (conf.to_owned(), format!("srun --cpu-freq={srun}"), in_part);
        assert_eq!(lines("governor=powersave"), all("CpuFreqDef=PowerSave", "PowerSave", false));
        assert_eq!(lines("cpufreq.governor=ondemand boost=0"), all("CpuFreqDef=OnDemand", "OnDemand", true));
        assert_eq!(lines("max_freq=2GHz"), all("", "low-2000000", false));
        assert_eq!(
            lines("governor=schedutil min_freq=1GHz max_freq=2GHz"),
            all("", "1000000-2000000:SchedUtil", false)
        );
        assert_eq!(lines("governor=userspace freq=1.5GHz"), all("", "1500000", false));
        assert_eq!(slurm("boost=0"), None);
        assert_eq!(slurm("governor@policy0=powersave"), None);
        assert_eq!(slurm(""), None);
        let kept = |turns: &str, cpus: Option<&CpuList>| keep(turns, cpus).unwrap_or_default();
        assert_eq!(kept("governor=powersave boost=0", None), "powerband keep governor=powersave boost=0");
        let cpus = CpuList::new(vec![0, 1, 2, 3]);
        assert_eq!(kept("governor=powersave", Some(&cpus)), "powerband -c 0-3 keep governor=powersave");
        assert_eq!(keep("", None), None);
    }
}
