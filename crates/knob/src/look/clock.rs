//! cpufreq as `info` shows it: each policy's driver, governor, limits, frequency, statistics.
use std::collections::BTreeMap;

use powerband_machine::{Errno, Look};
use powerband_record::CpuList;
use serde::Serialize;

use super::seen::{ReadFailure, Seen};
use super::stats::Stats;
use crate::catalogue::tunable_folder;
use crate::policy::{Texts, policies, policies_with};
use crate::{KnobError, Policy};

/// One policy's settings. What the kernel does not say is absent.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, schemars::JsonSchema)]
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
    /// Current frequency as the kernel tells it (`scaling_cur_freq`), kHz.
    pub current_khz: Option<u32>,
    /// Steps of the driver's table, ascending, kHz; empty without a table.
    pub steps_khz: Vec<u32>,
    /// Time a change takes, ns.
    pub latency_ns: Option<u64>,
}

/// One policy with everything `info` tells of it.
#[derive(Clone, Debug, PartialEq, Serialize, schemars::JsonSchema)]
pub struct Clock {
    /// Its settings.
    #[serde(flatten)]
    pub info: PolicyInfo,
    /// CPUs whose clock the hardware changes together with these, where they are more.
    pub freqdomain_cpus: Option<CpuList>,
    /// Frequency without boost that the firmware promises, kHz.
    pub base_khz: Option<u32>,
    /// Steps only boost reaches, ascending, kHz.
    pub boost_steps_khz: Vec<u32>,
    /// Whether this policy may boost, where each has its own switch.
    pub boost: Option<bool>,
    /// Current frequency as the hardware answers (`cpuinfo_cur_freq`), kHz.
    pub hardware_khz: Option<u32>,
    /// What the CPU prefers, energy or performance, where it chooses frequencies itself.
    pub preference: Option<String>,
    /// Preferences it takes.
    pub available_preferences: Vec<String>,
    /// Tunables of the governor in force.
    pub tunables: Option<Tunables>,
    /// Time at each step and changes.
    pub stats: Option<Stats>,
}

/// Tunables of a governor, with their values as they read.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, schemars::JsonSchema)]
pub struct Tunables {
    /// Whether all policies under this governor share them.
    pub shared: bool,
    /// Values by name.
    pub values: BTreeMap<String, String>,
}

/// The policies of a machine.
#[derive(Clone, Debug, PartialEq, Serialize, schemars::JsonSchema)]
pub struct PolicyFrequencies {
    /// Those with a CPU online.
    pub policies: Vec<Clock>,
    /// Names of those whose CPUs are all offline.
    pub offline: Vec<String>,
    /// What could not be read.
    pub unread: Vec<ReadFailure>,
}

/// What the kernel prints for a latency it does not know.
const UNKNOWN_LATENCY: u64 = u32::MAX as u64;

/// The settings of all policies, and the names of those whose CPUs are all offline.
///
/// # Errors
/// [`KnobError::Absent`] when the machine has no cpufreq.
pub fn cpufreq(machine: &mut dyn Look) -> Result<(Vec<PolicyInfo>, Vec<String>), KnobError> {
    let all = policies(machine, "cpufreq")?;
    let mut seen = Seen::new(machine);
    let mut common = Common::default();
    let info = |policy: Policy| {
        seen.turn_to(&policy.folder);
        settings(&mut seen, policy, &mut common)
    };
    let infos = all.active.into_iter().map(info).collect();
    Ok((infos, all.asleep))
}

/// Everything `info` tells of the policies that drive one of `cpus`, of all when it is absent.
///
/// # Errors
/// [`KnobError::Absent`] when the machine has no cpufreq.
pub fn clocks(machine: &mut dyn Look, cpus: Option<&CpuList>) -> Result<PolicyFrequencies, KnobError> {
    // In one go, unless few of them are wanted.
    let mut wanted = Vec::new();
    let (mut all, mut texts) = policies_with(machine, "cpufreq", |machine, folder| {
        wanted = if cpus.is_some() { Vec::new() } else { worth_asking(machine, folder) };
        wanted.clone()
    })?;
    if let Some(cpus) = cpus {
        all.active.retain(|policy| policy.cpus.as_slice().iter().any(|&cpu| cpus.contains(cpu)));
        let number = |name: &str| name.strip_prefix("policy").and_then(|number| number.parse().ok());
        all.asleep.retain(|name| number(name).is_some_and(|number| cpus.contains(number)));
    }
    let mut seen = Seen::new(machine);
    let mut common = Common::default();
    let folders = all.active.iter().map(|policy| policy.folder.clone()).collect();
    match cpus {
        Some(_) => seen.read_ahead(folders, &FILES),
        None => {
            for (place, _) in FILES.iter().enumerate().filter(|(_, name)| !wanted.contains(name)) {
                texts.iter_mut().for_each(|texts| texts.insert(place, Err(Errno::ENOENT)));
            }
            add_what_kinds_have(seen.machine, &folders, &wanted, &mut texts);
            seen.keep(folders, &FILES, texts)
        }
    }
    let policies = all.active.into_iter().map(|policy| clock(&mut seen, policy, &mut common)).collect();
    Ok(PolicyFrequencies { policies, offline: all.asleep, unread: all.unread.into_iter().chain(seen.unread).collect() })
}

/// The files of a policy's folder that are looked at, in that order.
const FILES: [&str; 19] = [
    "freqdomain_cpus",
    "energy_performance_preference",
    "scaling_min_freq",
    "scaling_max_freq",
    "cpuinfo_min_freq",
    "cpuinfo_max_freq",
    "bios_limit",
    "scaling_cur_freq",
    "cpuinfo_transition_latency",
    "scaling_governor",
    "scaling_available_frequencies",
    "base_frequency",
    "scaling_boost_frequencies",
    "boost",
    "cpuinfo_cur_freq",
    "energy_performance_available_preferences",
    "stats/time_in_state",
    "stats/total_trans",
    "stats/trans_table",
];

/// Those of [`FILES`] that tell one kind of CPU from another.
const OF_HARDWARE: [&str; 4] =
    ["cpuinfo_min_freq", "cpuinfo_max_freq", "cpuinfo_transition_latency", "scaling_available_frequencies"];

/// Those of [`FILES`] that are a driver's own: every policy of a kind has them, or none has.
const OF_DRIVERS: [&str; 5] = [
    "energy_performance_preference",
    "base_frequency",
    "scaling_boost_frequencies",
    "boost",
    "energy_performance_available_preferences",
];

/// The files to ask of every policy, by what one of them has: asking thousands for what is not there takes long.
fn worth_asking(machine: &mut dyn Look, folder: &str) -> Vec<&'static str> {
    let Ok(there) = machine.list(folder) else { return FILES.to_vec() };
    let has = |name: &str| !OF_DRIVERS.contains(&name) || there.iter().any(|entry| entry.name == name);
    FILES.into_iter().filter(|name| has(name)).collect()
}

/// Reads what policies of another kind than the first have and the first has not, into their places in `texts`.
fn add_what_kinds_have(machine: &mut dyn Look, folders: &[String], asked: &[&str], texts: &mut [Texts]) {
    let places = OF_HARDWARE.map(|name| FILES.iter().position(|file| *file == name).unwrap_or_default());
    let alike = |one: &Texts, other: &Texts| places.iter().all(|&place| one.get(place) == other.get(place));
    let mut kinds: Vec<Vec<usize>> = Vec::new();
    for (number, own) in texts.iter().enumerate() {
        match kinds.iter_mut().find(|kind| alike(&texts[kind[0]], own)) {
            Some(kind) => kind.push(number),
            None => kinds.push(vec![number]),
        }
    }
    for kind in kinds.iter().skip(1) {
        let mut more = worth_asking(machine, &folders[kind[0]]);
        more.retain(|name| !asked.contains(name));
        if more.is_empty() {
            continue;
        }
        let of_kind: Vec<String> = kind.iter().map(|&number| folders[number].clone()).collect();
        for (&number, read) in kind.iter().zip(machine.read_in(&of_kind, &more)) {
            for (name, text) in more.iter().zip(read) {
                let place = FILES.iter().position(|file| file == name);
                if let Some(old) = place.and_then(|place| texts[number].get_mut(place)) {
                    *old = text;
                }
            }
        }
    }
}

/// What policies have in common, so that it is read once.
#[derive(Default)]
struct Common {
    kinds: Vec<Kind>,
    /// By governor, where they are the same for all policies under it.
    tunables: BTreeMap<String, Tunables>,
}

/// Policies of like hardware: what drives one of them drives all, and offers them the same governors.
struct Kind {
    hardware: Hardware,
    driver: Option<String>,
    governors: Vec<String>,
}

/// Limits of the hardware, what a change takes, and the steps.
type Hardware = (Option<u32>, Option<u32>, Option<u64>, Vec<u32>);

impl Common {
    /// The kind of the policy whose folder was turned to. One under a governor that the others of its kind are not offered is
    /// a kind of its own.
    fn kind(&mut self, seen: &mut Seen<'_>, hardware: Hardware, governor: Option<&str>) -> &Kind {
        let governor = governor.map(str::to_lowercase);
        let offers = |kind: &Kind| governor.as_ref().is_none_or(|governor| kind.governors.contains(governor));
        let known = self.kinds.iter().position(|kind| kind.hardware == hardware && offers(kind));
        let place = known.unwrap_or_else(|| {
            let text = seen.text("scaling_available_governors").unwrap_or_default().to_lowercase();
            let governors = text.split_whitespace().map(str::to_owned).collect();
            self.kinds.push(Kind { hardware, driver: seen.text("scaling_driver"), governors });
            self.kinds.len() - 1
        });
        &self.kinds[place]
    }
}

/// Of the policy whose folder was turned to.
fn settings(seen: &mut Seen<'_>, policy: Policy, common: &mut Common) -> PolicyInfo {
    let mut khz = |file: &str| seen.parsed(file);
    let (min_khz, max_khz) = (khz("scaling_min_freq"), khz("scaling_max_freq"));
    let (lowest_khz, highest_khz) = (khz("cpuinfo_min_freq"), khz("cpuinfo_max_freq"));
    let (bios_limit_khz, current_khz) = (khz("bios_limit"), khz("scaling_cur_freq"));
    let latency: Option<u64> = seen.parsed("cpuinfo_transition_latency");
    let governor = seen.text("scaling_governor");
    let steps_khz = seen.numbers("scaling_available_frequencies");
    let hardware = (lowest_khz, highest_khz, latency, steps_khz.clone());
    let kind = common.kind(seen, hardware, governor.as_deref());
    PolicyInfo {
        driver: kind.driver.clone(),
        governor,
        available_governors: kind.governors.clone(),
        min_khz,
        max_khz,
        lowest_khz,
        highest_khz,
        bios_limit_khz,
        current_khz,
        steps_khz,
        latency_ns: latency.filter(|&ns| ns != UNKNOWN_LATENCY),
        policy,
    }
}

fn clock(seen: &mut Seen<'_>, policy: Policy, common: &mut Common) -> Clock {
    seen.turn_to(&policy.folder);
    let wide = seen.spaced_cpus("freqdomain_cpus");
    let preference = seen.text("energy_performance_preference");
    let info = settings(seen, policy, common);
    let policy = &info.policy;
    Clock {
        freqdomain_cpus: Some(wide).filter(|wide| wide.as_slice().iter().any(|&cpu| !policy.cpus.contains(cpu))),
        base_khz: seen.parsed("base_frequency"),
        boost_steps_khz: seen.numbers("scaling_boost_frequencies"),
        boost: seen.flag("boost"),
        hardware_khz: seen.parsed("cpuinfo_cur_freq"),
        preference,
        available_preferences: seen.words("energy_performance_available_preferences"),
        tunables: info.governor.as_deref().and_then(|governor| tunables(seen, policy, governor, &mut common.tunables)),
        stats: Stats::of(seen),
        info,
    }
}

fn tunables(
    seen: &mut Seen<'_>,
    policy: &Policy,
    governor: &str,
    known: &mut BTreeMap<String, Tunables>,
) -> Option<Tunables> {
    if let Some(known) = known.get(governor) {
        return Some(known.clone());
    }
    let (folder, shared) = match tunable_folder(seen.machine, policy, governor) {
        Ok(found) => found?,
        Err(error) => {
            seen.note(&policy.file(governor), error.to_string());
            return None;
        }
    };
    let tunables = Tunables { shared, values: seen.files(&folder).into_iter().collect() };
    if shared {
        known.insert(governor.to_owned(), tunables.clone());
    }
    Some(tunables)
}
