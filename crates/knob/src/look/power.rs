//! Limits of power and heat as `info` shows them: zones, cooling, the firmware's profile, throttling.
use powerband_machine::Look;
use powerband_record::CpuList;
use powerband_sysfs::{numbered, power::PLATFORM_PROFILE as PROFILE, power::POWERCAP, power::THERMAL, topology};
use serde::Serialize;

use super::seen::{ReadFailure, Seen};
use crate::{KnobError, Selection, cpu};

/// What limits power and heat of a machine. What the kernel does not say is absent.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, schemars::JsonSchema)]
pub struct Power {
    /// Power zones, parts after their packages.
    pub zones: Vec<Zone>,
    /// Cooling devices that can hold CPUs down.
    pub cooling: Vec<Cooling>,
    /// The firmware's profile in force: `balanced`.
    pub profile: Option<String>,
    /// Profiles it offers.
    pub available_profiles: Vec<String>,
    /// CPUs that count how often heat or power slowed them.
    pub throttled: Vec<Throttled>,
    /// What could not be read.
    pub unread: Vec<ReadFailure>,
}

/// A package, or a part of one, whose power can be limited.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, schemars::JsonSchema)]
pub struct Zone {
    /// Its folder: `intel-rapl:0`.
    pub zone: String,
    /// Its name: `package-0`.
    pub name: Option<String>,
    /// Whether its limits are in force.
    pub enabled: Option<bool>,
    /// Its limits.
    pub limits: Vec<ZoneLimit>,
}

/// One limit of a zone.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, schemars::JsonSchema)]
pub struct ZoneLimit {
    /// Its name: `long_term`.
    pub name: Option<String>,
    /// The limit, uW.
    pub power_limit_uw: Option<u64>,
    /// Over how long it is averaged, us.
    pub time_window_us: Option<u64>,
    /// The most it takes, uW.
    pub max_power_uw: Option<u64>,
}

/// A device of the kernel's thermal class that slows CPUs.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, schemars::JsonSchema)]
pub struct Cooling {
    /// Its folder: `cooling_device0`.
    pub device: String,
    /// What it is: `Processor`, `cpufreq-cpu0`.
    pub kind: String,
    /// How much it cools now; above 0 it holds CPUs down.
    pub state: Option<i64>,
    /// How much it can.
    pub max_state: Option<i64>,
}

/// How often a CPU was slowed since it was started.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, schemars::JsonSchema)]
pub struct Throttled {
    /// The CPU.
    pub cpu: u32,
    /// By the heat of its core.
    pub core_count: Option<u64>,
    /// For how long, ms.
    pub core_time_ms: Option<u64>,
    /// By the heat of its package; every CPU of the package tells the same.
    pub package_count: Option<u64>,
    /// For how long, ms.
    pub package_time_ms: Option<u64>,
}

/// Looks at what limits power and heat; `narrow` leaves other CPUs out.
///
/// # Errors
/// [`KnobError::NoSite`] when none of the CPUs meant is there.
pub fn power(machine: &mut dyn Look, narrow: Option<&CpuList>) -> Result<Power, KnobError> {
    let chosen = cpu::chosen("info", machine, &Selection::site(None, narrow.cloned()))?;
    let mut seen = Seen::new(machine);
    let zones = seen.names(POWERCAP).into_iter().filter(|zone| zone.contains(':'));
    let zones = zones.map(|zone| self::zone(&mut seen, zone)).collect();
    let devices = seen.names(THERMAL);
    let devices = numbered(devices, "cooling_device").into_iter();
    let cooling = devices.filter_map(|(_, device)| cooling(&mut seen, device)).collect();
    let profile = seen.text(PROFILE);
    let available_profiles = seen.words(&format!("{PROFILE}_choices"));
    let mut throttled = Vec::new();
    // Most virtual machines count nothing anywhere, and a CPU that is offline does not.
    if chosen.iter().any(|&cpu| !seen.names(&throttle_folder(cpu)).is_empty()) {
        seen.read_ahead(chosen.iter().map(|&cpu| throttle_folder(cpu)).collect(), &COUNTS);
        throttled = chosen.into_iter().filter_map(|cpu| self::throttled(&mut seen, cpu)).collect();
    }
    Ok(Power { zones, cooling, profile, available_profiles, throttled, unread: seen.unread })
}

fn zone(seen: &mut Seen<'_>, zone: String) -> Zone {
    let folder = format!("{POWERCAP}/{zone}");
    let names = seen.names(&folder);
    let limits = names.iter().filter_map(|name| name.strip_prefix("constraint_")?.strip_suffix("_power_limit_uw"));
    let limits = limits.map(|number| {
        let file = |name: &str| format!("{folder}/constraint_{number}_{name}");
        ZoneLimit {
            name: seen.text(&file("name")),
            power_limit_uw: seen.parsed(&file("power_limit_uw")),
            time_window_us: seen.parsed(&file("time_window_us")),
            max_power_uw: seen.parsed(&file("max_power_uw")),
        }
    });
    let limits = limits.collect();
    let (name, enabled) = (seen.text(&format!("{folder}/name")), seen.flag(&format!("{folder}/enabled")));
    Zone { zone, name, enabled, limits }
}

/// Words in the names of devices that slow CPUs or put them to sleep.
const COOLS_CPUS: [&str; 4] = ["processor", "cpu", "powerclamp", "idle"];

fn cooling(seen: &mut Seen<'_>, device: String) -> Option<Cooling> {
    let folder = format!("{THERMAL}/{device}");
    let kind = seen.text(&format!("{folder}/type"))?;
    let lower = kind.to_lowercase();
    COOLS_CPUS.iter().any(|word| lower.contains(word)).then(|| Cooling {
        state: seen.parsed(&format!("{folder}/cur_state")),
        max_state: seen.parsed(&format!("{folder}/max_state")),
        device,
        kind,
    })
}

/// The files that count, in the order of [`Throttled`].
const COUNTS: [&str; 4] =
    ["core_throttle_count", "core_throttle_total_time_ms", "package_throttle_count", "package_throttle_total_time_ms"];

fn throttle_folder(cpu: u32) -> String {
    topology::file(cpu, "thermal_throttle")
}

fn throttled(seen: &mut Seen<'_>, cpu: u32) -> Option<Throttled> {
    seen.turn_to(&throttle_folder(cpu));
    let counts = COUNTS.map(|name| seen.parsed(name));
    let [core_count, core_time_ms, package_count, package_time_ms] = counts;
    counts.iter().any(Option::is_some).then_some(Throttled {
        cpu,
        core_count,
        core_time_ms,
        package_count,
        package_time_ms,
    })
}
