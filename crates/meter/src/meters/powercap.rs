//! `powercap`: energy counters of the kernel's power zones under /sys/class/powercap (RAPL of Intel and AMD).
use powerband_machine::{Errno, Look};
use powerband_record::InOrder;
use powerband_sysfs::power::POWERCAP as FOLDER;

use crate::{Absent, Kind, Meter, MeterAbout, MeterInstance, PowerScope, Wrap};

/// Energy counters of power zones.
#[derive(Clone, Copy, Debug)]
pub struct Powercap;

const ABOUT: MeterAbout = MeterAbout {
    name: "powercap",
    summary: "energy of processor packages, their cores, graphics and memory, as the processor counts it",
    unit: "uJ",
    boundary: "the zone's name: a package holds its cores and uncore, not its memory; psys holds them all",
    kind: "counter",
    cost: "one read before and one after; one more in a quarter of the time in which the counter could come round",
    source: "Linux Documentation/power/powercap/powercap.rst",
};

/// More than any zone draws, W.
const AT_MOST_W: u32 = 2_000;

/// Less than the most that is assumed of any zone, W: small packages exceed what they tell by much for a moment.
const AT_LEAST_W: u32 = 100;

/// A zone may draw so many times what it tells to be its limit's most.
const TIMES: u64 = 4;

/// The hardware's counters move once in so long, ns.
pub(crate) const UPDATES_NS: u64 = 1_000_000;

impl Meter for Powercap {
    fn about(&self) -> &'static MeterAbout {
        &ABOUT
    }

    fn find(&self, machine: &mut dyn Look) -> Result<Vec<MeterInstance>, Absent> {
        let absent = |why: String| Absent::new(ABOUT.name, why);
        let driver = "processors that count their energy need the module intel_rapl_msr, of AMD's too (5.8), and a virtual \
                      machine has none";
        let entries = machine.list(FOLDER).map_err(|errno| absent(format!("{FOLDER}: {errno}; {driver}")))?;
        let mut found: Vec<MeterInstance> = entries.iter().filter_map(|entry| zone(machine, &entry.name)).collect();
        if found.is_empty() {
            return Err(absent(format!("no zone under {FOLDER} counts energy; {driver}")));
        }
        // The registers' driver before that of the mapped ones, which shows the same again.
        found.order_by_key(|meter| (rank(&meter.scope), meter.source.contains("-mmio:")));
        Ok(found)
    }
}

/// What a person should know of psys.
pub(super) const PSYS_NOTE: &str = "what psys covers is the board maker's choice, and some boards have it wired wrong";

/// Packages first: psys is not wired on every board, and the rest is a part of them.
pub(super) fn rank(scope: &PowerScope) -> u8 {
    match scope {
        PowerScope::Package(_) => 0,
        PowerScope::Platform => 1,
        PowerScope::Memory(_) => 2,
        PowerScope::Cores(_) => 3,
        PowerScope::Uncore(_) => 4,
        _ => 5,
    }
}

fn zone(machine: &mut dyn Look, zone: &str) -> Option<MeterInstance> {
    let source = format!("{FOLDER}/{zone}/energy_uj");
    // A folder without a counter is a control type, or a zone that shows power alone.
    if matches!(machine.read(&source), Err(Errno::ENOENT | Errno::ENOTDIR)) {
        return None;
    }
    let name = text(machine, &format!("{FOLDER}/{zone}/name")).unwrap_or_else(|| zone.to_owned());
    // intel-rapl:0:1 lies in intel-rapl:0.
    let parent = zone.rsplit_once(':').map(|(parent, _)| parent).filter(|parent| parent.contains(':'));
    let parent = parent.and_then(|parent| text(machine, &format!("{FOLDER}/{parent}/name")));
    let at_most_w = at_most_w(machine, zone);
    let mut notes = Vec::new();
    let range = text(machine, &format!("{FOLDER}/{zone}/max_energy_range_uj")).and_then(|text| text.parse().ok());
    let wrap = range.filter(|&at_uj| at_uj > 0).map(|at_uj| Wrap { at_uj, at_most_w });
    if wrap.is_none() {
        notes.push("the zone does not report where its counter wraps; a counter that goes back is refused".into());
    }
    let scope = scope(&name, parent.as_deref());
    if scope == PowerScope::Platform {
        notes.push(PSYS_NOTE.into());
    }
    let boundary = match &parent {
        Some(parent) => format!("{name} of {parent}"),
        None => name,
    };
    let meter = MeterInstance::new(ABOUT.name, boundary, source, Kind::Counter { wrap });
    Some(MeterInstance { scope, at_most_w: Some(at_most_w), updates_ns: Some(UPDATES_NS), notes, ..meter })
}

fn scope(name: &str, parent: Option<&str>) -> PowerScope {
    let number = |name: &str| name.strip_prefix("package-").map(str::to_owned);
    if let Some(package) = number(name) {
        return PowerScope::Package(package);
    }
    match (name, parent.and_then(number)) {
        ("psys", _) => PowerScope::Platform,
        ("core", Some(package)) => PowerScope::Cores(package),
        ("uncore", Some(package)) => PowerScope::Uncore(package),
        ("dram", Some(package)) => PowerScope::Memory(package),
        _ => PowerScope::Unknown,
    }
}

/// The most a zone can draw, W, from the most its limits can be set to; those set are anybody's choice.
fn at_most_w(machine: &mut dyn Look, zone: &str) -> u32 {
    let limits = (0..4).filter_map(|limit| {
        text(machine, &format!("{FOLDER}/{zone}/constraint_{limit}_max_power_uw"))?.parse::<u64>().ok()
    });
    let most_w = limits.max().filter(|&uw| uw > 0).map(|uw| uw.saturating_mul(TIMES) / 1_000_000);
    most_w.and_then(|watts| u32::try_from(watts).ok()).map_or(AT_MOST_W, |watts| watts.clamp(AT_LEAST_W, AT_MOST_W))
}

fn text(machine: &mut dyn Look, path: &str) -> Option<String> {
    powerband_sysfs::text(machine, path).filter(|text| !text.is_empty())
}
