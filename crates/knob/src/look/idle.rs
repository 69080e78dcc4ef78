//! Idle states as `info` shows them: which there are, how CPUs used them, who limits waking up.
use std::collections::BTreeSet;

use powerband_machine::{LATENCY_DEVICE, Look};
use powerband_record::{CpuList, IntoOrdered as _};
use powerband_sysfs::{cpuidle, cpuidle::CPUIDLE, numbered, topology::cpu as folder};
use serde::Serialize;

use super::seen::{ReadFailure, Seen};
use crate::{KnobError, Selection, cpu};

/// Idle states of a machine. What the kernel does not say is absent.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, schemars::JsonSchema)]
pub struct Idle {
    /// Driver that enters them.
    pub driver: Option<String>,
    /// Rule that picks one.
    pub governor: Option<String>,
    /// Rules offered.
    pub available_governors: Vec<String>,
    /// CPUs that have states.
    pub cpus: Vec<CpuIdle>,
    /// How long waking up may take anywhere, us; [`NO_REQUEST_US`] while nobody asks.
    pub cpu_dma_latency_us: Option<u64>,
    /// CPUs whose waking up is limited.
    pub resume_limits: Vec<ResumeLimit>,
    /// What could not be read.
    pub unread: Vec<ReadFailure>,
}

/// What `/dev/cpu_dma_latency` answers while nobody asks for anything.
pub const NO_REQUEST_US: u64 = 2_000_000_000;

/// States of one CPU, from the lightest.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, schemars::JsonSchema)]
pub struct CpuIdle {
    /// The CPU.
    pub cpu: u32,
    /// Its states.
    pub states: Vec<CpuIdleState>,
}

/// One idle state of one CPU.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, schemars::JsonSchema)]
pub struct CpuIdleState {
    /// Its folder: `state2`.
    pub state: String,
    /// Its name: `C6`.
    pub name: Option<String>,
    /// How long waking up takes, us.
    pub latency_us: Option<u64>,
    /// How long a sleep must last to be worth it, us.
    pub residency_us: Option<u64>,
    /// Whether it is kept from use.
    pub disabled: Option<bool>,
    /// How often it was entered.
    pub entered: Option<u64>,
    /// Time in it, us.
    pub time_us: Option<u64>,
    /// How often the sleep was too short for it (`above`).
    pub too_deep: Option<u64>,
    /// How often a deeper one would have been worth it (`below`).
    pub too_shallow: Option<u64>,
    /// How often the CPU did not enter it when asked (`rejected`).
    pub rejected: Option<u64>,
}

/// CPUs that share a limit on waking up.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, schemars::JsonSchema)]
pub struct ResumeLimit {
    /// Which CPUs.
    pub cpus: CpuList,
    /// As the kernel prints it: microseconds, or `n/a` for no wait at all.
    pub latency_us: String,
}

/// Looks at the idle states of `narrow`, of all CPUs when it is absent.
///
/// # Errors
/// [`KnobError::NoSite`] when none of the CPUs meant is there.
pub fn idle(machine: &mut dyn Look, narrow: Option<&CpuList>) -> Result<Idle, KnobError> {
    let chosen = cpu::chosen("info", machine, &Selection::site(None, narrow.cloned()))?;
    let mut seen = Seen::new(machine);
    let driver = seen.text(cpuidle::CURRENT_DRIVER);
    let governor = seen.text(cpuidle::CURRENT_GOVERNOR).or_else(|| seen.text(cpuidle::CURRENT_GOVERNOR_RO));
    let available_governors = seen.words(&format!("{CPUIDLE}/available_governors"));
    let cpu_dma_latency_us = seen.parsed(LATENCY_DEVICE);
    let (mut cpus, mut limits) = (Vec::new(), Vec::<(String, Vec<u32>)>::new());
    let states_of = |cpu: &u32| numbered(seen.names(&cpuidle::of_cpu(*cpu)), "state");
    let named: Vec<Vec<(u32, String)>> = chosen.iter().map(states_of).collect();
    let kinds: BTreeSet<&(u32, String)> = named.iter().flatten().into_set();
    let files = kinds.iter().flat_map(|(_, state)| FILES.map(|file| format!("cpuidle/{state}/{file}")));
    let files: Vec<String> = files.chain([RESUME_LIMIT.to_owned()]).collect();
    let files: Vec<&str> = files.iter().map(String::as_str).collect();
    seen.read_ahead(chosen.iter().map(|&cpu| folder(cpu)).collect(), &files);
    for (cpu, named) in chosen.into_iter().zip(named) {
        seen.turn_to(&folder(cpu));
        let states = states(&mut seen, named);
        if !states.is_empty() {
            cpus.push(CpuIdle { cpu, states });
        }
        let limit = seen.text(RESUME_LIMIT);
        let Some(limit) = limit.filter(|limit| limit != "0") else { continue };
        match limits.iter_mut().find(|(known, _)| *known == limit) {
            Some((_, cpus)) => cpus.push(cpu),
            None => limits.push((limit, vec![cpu])),
        }
    }
    let limit = |(latency_us, cpus)| ResumeLimit { cpus: CpuList::new(cpus), latency_us };
    let resume_limits = limits.into_iter().map(limit).collect();
    let unread = seen.unread;
    Ok(Idle { driver, governor, available_governors, cpus, cpu_dma_latency_us, resume_limits, unread })
}

/// The files of a state's folder that are looked at, in that order.
const FILES: [&str; 9] = ["name", "latency", "residency", "disable", "usage", "time", "above", "below", "rejected"];

/// Below a CPU's folder, how long waking it up may take.
const RESUME_LIMIT: &str = "power/pm_qos_resume_latency_us";

/// The states named of the CPU whose folder was turned to.
fn states(seen: &mut Seen<'_>, named: Vec<(u32, String)>) -> Vec<CpuIdleState> {
    let mut states = Vec::new();
    for (_, state) in named {
        let file = |name: &str| format!("cpuidle/{state}/{name}");
        states.push(CpuIdleState {
            name: seen.text(&file("name")),
            latency_us: seen.parsed(&file("latency")),
            residency_us: seen.parsed(&file("residency")),
            disabled: seen.flag(&file("disable")),
            entered: seen.parsed(&file("usage")),
            time_us: seen.parsed(&file("time")),
            too_deep: seen.parsed(&file("above")),
            too_shallow: seen.parsed(&file("below")),
            rejected: seen.parsed(&file("rejected")),
            state,
        });
    }
    states
}
