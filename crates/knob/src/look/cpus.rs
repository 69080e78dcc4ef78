//! The CPUs as `info` shows them: which are online, what they are, what holds for all of them.
use std::collections::BTreeMap;

use powerband_machine::Look;
use powerband_record::{CpuList, IntoOrdered as _};
use powerband_sysfs::{cgroup::CpuLimit, cpufreq, proc::CPUINFO, topology, topology::CPUS};
use serde::Serialize;

use super::seen::{ReadFailure, Seen};
use crate::{KnobError, Selection, cpu};

/// The CPUs of a machine. What the kernel does not say is absent; lists are as the kernel prints them.
#[derive(Clone, Debug, Default, PartialEq, Serialize, schemars::JsonSchema)]
pub struct Cpus {
    /// In service.
    pub online: String,
    /// Those there is room for.
    pub possible: Option<String>,
    /// Those that are plugged in.
    pub present: Option<String>,
    /// Out of service.
    pub offline: Option<String>,
    /// Left out by the scheduler (`isolcpus=`).
    pub isolated: Option<String>,
    /// Without a tick while they run one task (`nohz_full=`).
    pub nohz_full: Option<String>,
    /// Whether threads share cores: `on`, `off`, `forceoff`, `notsupported`, `notimplemented`.
    pub smt: Option<String>,
    /// Whether any core runs two threads now.
    pub smt_active: Option<bool>,
    /// Gathering of tasks on few packages, 0 to 2; gone since Linux 3.5.
    pub sched_mc_power_savings: Option<u32>,
    /// The same on few cores.
    pub sched_smt_power_savings: Option<u32>,
    /// The limit on CPU time around powerband, as a container has one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub time_limit: Option<TimeLimit>,
    /// What the CPUs are, each kind once.
    pub models: Vec<CpuModel>,
    /// Whether the CPUs may exceed their base frequency.
    pub boost: Option<BoostSwitch>,
    /// Drivers that choose frequencies with the hardware.
    pub pstate: Vec<Pstate>,
    /// What could not be read.
    pub unread: Vec<ReadFailure>,
}

/// A limit on CPU time.
#[derive(Clone, Debug, PartialEq, Serialize, schemars::JsonSchema)]
pub struct TimeLimit {
    /// Whole CPUs that may be used together.
    pub cpus: f64,
    /// The file that shows it.
    pub path: String,
    /// Periods in which it delayed its group since that was made, where the kernel counts them.
    pub delayed_periods: Option<u64>,
    /// For how long, all CPUs together, ms.
    pub delayed_ms: Option<u64>,
}

/// CPUs that call themselves alike in `/proc/cpuinfo`.
#[derive(Clone, Debug, PartialEq, Serialize, schemars::JsonSchema)]
pub struct CpuModel {
    /// Which CPUs.
    pub cpus: CpuList,
    /// What they call themselves.
    pub name: Option<String>,
    /// The least of their BogoMIPS, the kernel's measure of its own waiting loop.
    pub bogomips_least: Option<f64>,
    /// The most.
    pub bogomips_most: Option<f64>,
}

/// The machine's switch for boost.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, schemars::JsonSchema)]
pub struct BoostSwitch {
    /// Whether it is allowed.
    pub on: bool,
    /// The file that says so.
    pub path: String,
}

/// `intel_pstate` or `amd_pstate`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, schemars::JsonSchema)]
pub struct Pstate {
    /// Its name.
    pub driver: String,
    /// `active`, `passive`, `guided` or `off`.
    pub mode: Option<String>,
    /// Its other files as they read.
    pub values: BTreeMap<String, String>,
}

/// Looks at the CPUs; `narrow` leaves kinds that others are out.
///
/// # Errors
/// [`KnobError::NoSite`] when none of the CPUs meant is there.
pub fn cpus(machine: &mut dyn Look, narrow: Option<&CpuList>) -> Result<Cpus, KnobError> {
    let all = cpu::chosen("info", machine, &Selection::site(None, narrow.cloned()))?;
    let mut seen = Seen::new(machine);
    let online = online(&mut seen);
    let mut file = |name: &str| seen.text(&format!("{CPUS}/{name}"));
    let [possible, present, offline] = ["possible", "present", "offline"].map(&mut file);
    // Before it knew what it has to say, the kernel printed this for none.
    let [isolated, nohz_full] = ["isolated", "nohz_full"].map(|name| file(name).map(|text| text.replace("(null)", "")));
    let smt = file("smt/control");
    let mut found = Cpus { online, possible, present, offline, isolated, nohz_full, smt, ..Cpus::default() };
    found.smt_active = seen.flag(topology::SMT_ACTIVE);
    found.sched_mc_power_savings = seen.parsed(topology::SCHED_MC_POWER_SAVINGS);
    found.sched_smt_power_savings = seen.parsed(topology::SCHED_SMT_POWER_SAVINGS);
    found.time_limit = time_limit(seen.machine);
    let text = seen.text(CPUINFO).unwrap_or_default();
    found.models = models(&text, &CpuList::new(all));
    found.boost = boost(&mut seen);
    found.pstate = ["intel_pstate", "amd_pstate"].into_iter().filter_map(|driver| pstate(&mut seen, driver)).collect();
    found.unread = seen.unread;
    Ok(found)
}

/// As the kernel lists them; early 2.6 lists none, and each CPU's folder tells.
fn online(seen: &mut Seen<'_>) -> String {
    if let Some(list) = seen.text(topology::ONLINE) {
        return list;
    }
    let all = topology::present(seen.machine);
    let is_online = |cpu: &u32| seen.text(&topology::file(*cpu, "online")).as_deref() != Some("0");
    CpuList::new(all.as_slice().iter().copied().filter(is_online).collect()).to_string()
}

fn time_limit(machine: &mut dyn Look) -> Option<TimeLimit> {
    let limit = CpuLimit::find(machine)?;
    let held = limit.held_back(machine);
    let (delayed_periods, delayed_ms) = (held.map(|held| held.periods), held.map(|held| held.ns / 1_000_000));
    Some(TimeLimit { cpus: limit.cpus, path: limit.file, delayed_periods, delayed_ms })
}

fn boost(seen: &mut Seen<'_>) -> Option<BoostSwitch> {
    [(cpufreq::BOOST, true), (cpufreq::NO_TURBO, false)].into_iter().find_map(|(path, means_on)| {
        let set = seen.flag(path)?;
        Some(BoostSwitch { on: set == means_on, path: path.to_owned() })
    })
}

fn pstate(seen: &mut Seen<'_>, driver: &str) -> Option<Pstate> {
    let mut values: BTreeMap<String, String> = seen.files(&format!("{CPUS}/{driver}")).into_iter().into_map();
    let mode = values.remove("status");
    (mode.is_some() || !values.is_empty()).then(|| Pstate { driver: driver.to_owned(), mode, values })
}

/// What one CPU says of itself.
#[derive(Clone, Default)]
struct CpuLines {
    name: Option<String>,
    bogomips: Option<f64>,
}

/// Kinds among `all`, in the order of their first CPU. What stands outside every CPU's lines holds for all of them.
fn models(text: &str, all: &CpuList) -> Vec<CpuModel> {
    let (mut each, mut rest): (BTreeMap<u32, CpuLines>, CpuLines) = Default::default();
    let mut current = None;
    for line in text.lines() {
        let Some((key, value)) = line.split_once(':') else {
            continue;
        };
        let (key, value) = (key.trim().to_lowercase(), value.trim());
        if let (true, Ok(number)) = (key == "processor", value.parse()) {
            current = Some(number);
            each.entry(number).or_default();
            continue;
        }
        let told = current.and_then(|number| each.get_mut(&number)).unwrap_or(&mut rest);
        match key.as_str() {
            "model name" | "processor" | "cpu model" | "cpu" | "uarch" => {
                // Some pad their name with blanks.
                told.name = Some(value.split_whitespace().collect::<Vec<_>>().join(" "));
            }
            "bogomips" => told.bogomips = value.parse().ok(),
            _ => {}
        }
    }
    let mut models: Vec<(Vec<u32>, Option<String>, Vec<f64>)> = Vec::new();
    for &cpu in all.as_slice() {
        let own = each.get(&cpu);
        // An offline CPU has no lines where others have some.
        if own.is_none() && !each.is_empty() {
            continue;
        }
        let own = own.cloned().unwrap_or_default();
        let (name, bogomips) = (own.name.or_else(|| rest.name.clone()), own.bogomips.or(rest.bogomips));
        match models.iter_mut().find(|(_, known, _)| *known == name) {
            Some((cpus, _, speeds)) => {
                cpus.push(cpu);
                speeds.extend(bogomips);
            }
            None => models.push((vec![cpu], name, bogomips.into_iter().collect())),
        }
    }
    let row = |(cpus, name, speeds): (Vec<u32>, Option<String>, Vec<f64>)| CpuModel {
        cpus: CpuList::new(cpus),
        name,
        bogomips_least: speeds.iter().copied().reduce(f64::min),
        bogomips_most: speeds.iter().copied().reduce(f64::max),
    };
    let told = |model: &CpuModel| model.name.is_some() || model.bogomips_least.is_some();
    models.into_iter().map(row).filter(told).collect()
}
