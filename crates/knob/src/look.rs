//! Looking without turning: one knob's readings, and the whole of cpufreq for `info`.
use powerband_machine::Machine;
use powerband_record::{CpuList, KnobRef};
use serde::Serialize;

use crate::policy::policies;
use crate::{KnobError, Policy, Selection, Value, resolve_here};

/// A knob at one site as it is now.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Reading {
    /// Canonical name.
    pub knob: String,
    /// Site.
    pub site: String,
    /// CPUs of that site, if it has any.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cpus: Option<CpuList>,
    /// What reads there, as it can be typed again; absent when it cannot be read.
    pub value: Option<String>,
    /// For people: `1867 MHz`, or why it cannot be read.
    pub shown: String,
    /// Values it takes, as they can be typed; empty when they cannot be listed or are more than 64.
    pub choices: Vec<String>,
}

/// More choices than this are a range, which the knob's description gives.
const LISTED: usize = 64;

/// Reads a knob at its sites.
///
/// # Errors
/// [`KnobError`] when the name, the site or the knob is not there; a file that cannot be read is a [`Reading`] that
/// says so.
pub fn get(machine: &mut dyn Machine, knob: &KnobRef, narrow: &Selection) -> Result<Vec<Reading>, KnobError> {
    let named = resolve_here(&knob.name, &[], machine)?;
    let sites = named.knob.sites(&named.name, machine, &narrow.at(knob.site.as_deref()))?;
    let mut readings = Vec::new();
    for site in sites.sites {
        let choices = named.knob.choices(machine, &site);
        let shown_choices = if choices.len() <= LISTED { &choices[..] } else { &[] };
        let choices = shown_choices.iter().map(Value::typed).collect();
        let (value, shown) = match &site.path {
            None => (None, "only while a load runs".to_owned()),
            Some(path) => match machine.read(path) {
                Ok(text) => (Some(text.trim().to_owned()), named.knob.shown(&text)),
                Err(errno) => (None, format!("cannot be read: {errno}")),
            },
        };
        let cpus = site.policy.map(|policy| policy.cpus);
        readings.push(Reading { knob: named.name.clone(), site: site.name, cpus, value, shown, choices });
    }
    Ok(readings)
}

/// One policy as `info` shows it. What the kernel does not say is absent.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct PolicyInfo {
    /// Name, folder, CPUs.
    #[serde(flatten)]
    pub policy: Policy,
    /// Driver.
    pub driver: Option<String>,
    /// Governor in force.
    pub governor: Option<String>,
    /// Governors offered.
    pub available_governors: Vec<String>,
    /// Lower limit in force, kHz.
    pub min_khz: Option<u32>,
    /// Upper limit in force, kHz.
    pub max_khz: Option<u32>,
    /// Lowest frequency of the CPU, kHz.
    pub lowest_khz: Option<u32>,
    /// Highest frequency of the CPU, kHz.
    pub highest_khz: Option<u32>,
    /// Limit set by firmware, kHz.
    pub bios_limit_khz: Option<u32>,
    /// Current frequency as the kernel tells it, kHz.
    pub current_khz: Option<u32>,
    /// Steps of the driver's table, ascending, kHz; empty without a table.
    pub steps_khz: Vec<u32>,
    /// Time a change takes, ns.
    pub latency_ns: Option<u64>,
}

/// What the kernel prints for a latency it does not know.
const UNKNOWN_LATENCY: u64 = u32::MAX as u64;

/// Everything `info` says of cpufreq: the policies, and the names of those whose CPUs are all offline.
///
/// # Errors
/// [`KnobError::Absent`] when the machine has no cpufreq.
pub fn cpufreq(machine: &mut dyn Machine) -> Result<(Vec<PolicyInfo>, Vec<String>), KnobError> {
    let all = policies(machine, "cpufreq")?;
    let infos = all.active.into_iter().map(|policy| {
        let latency = policy.read(machine, "cpuinfo_transition_latency").ok().and_then(|text| text.parse().ok());
        PolicyInfo {
            driver: policy.read(machine, "scaling_driver").ok(),
            governor: policy.read(machine, "scaling_governor").ok(),
            available_governors: policy.governors(machine).unwrap_or_default(),
            min_khz: policy.khz(machine, "scaling_min_freq"),
            max_khz: policy.khz(machine, "scaling_max_freq"),
            lowest_khz: policy.khz(machine, "cpuinfo_min_freq"),
            highest_khz: policy.khz(machine, "cpuinfo_max_freq"),
            bios_limit_khz: policy.khz(machine, "bios_limit"),
            current_khz: policy.khz(machine, "scaling_cur_freq"),
            steps_khz: policy.steps_khz(machine),
            latency_ns: latency.filter(|&ns| ns != UNKNOWN_LATENCY),
            policy,
        }
    });
    Ok((infos.collect(), all.asleep))
}
