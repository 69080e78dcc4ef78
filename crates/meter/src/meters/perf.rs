//! `perf`: energy counters of the kernel's perf, in its device `power` (RAPL of Intel and AMD).
use powerband_machine::{Errno, Look, PerfPlace};
use powerband_record::{CpuList, InOrder};
use powerband_sysfs::{parsed, power::PERF_POWER as FOLDER, proc, topology};

use super::powercap::{PSYS_NOTE, UPDATES_NS, rank};
use crate::{Absent, FileScale, Kind, Meter, MeterAbout, MeterInstance, PowerScope};

/// Energy counters of perf.
#[derive(Clone, Copy, Debug)]
pub struct Perf;

const DEVICE: &str = "power";

const ABOUT: MeterAbout = MeterAbout {
    name: "perf",
    summary: "the energy that powercap shows, as the kernel's perf counts it, for who may not read powercap",
    unit: "J, times the event's scale",
    boundary: "the event's name: energy-pkg holds energy-cores and energy-gpu, not energy-ram; energy-psys holds them all",
    kind: "counter",
    cost: "one read before and one after, each of which interrupts a CPU of the package",
    source: "Linux arch/x86/events/rapl.c, Documentation/admin-guide/perf-security.rst",
};

/// uJ in the events' J.
const UJ: u64 = 1_000_000;

impl Meter for Perf {
    fn about(&self) -> &'static MeterAbout {
        &ABOUT
    }

    fn find(&self, machine: &mut dyn Look) -> Result<Vec<MeterInstance>, Absent> {
        let absent = |why: String| Absent::new(ABOUT.name, why);
        let events = machine.list(&format!("{FOLDER}/events")).map_err(|errno| {
            absent(format!("{FOLDER}: {errno}; processors that count their energy need the module rapl (intel_rapl_perf before 5.9)"))
        })?;
        let events: Vec<String> = events.into_iter().map(|entry| entry.name).collect();
        if !events.iter().any(|event| event == "energy-pkg") {
            // The kernel offers those that count something, but psys unseen.
            return Err(absent(format!(
                "{FOLDER} has no energy-pkg, so the kernel found no counter that runs, as in most virtual machines; what else \
                 it has ({}) is not believed",
                events.iter().filter(|event| !event.contains('.')).cloned().collect::<Vec<_>>().join(", ")
            )));
        }
        let packages = packages(machine);
        let mut found = Vec::new();
        for event in &events {
            found.extend(counters(machine, event, &packages));
        }
        found.order_by_key(|meter| rank(&meter.scope));
        let Some(first) = found.first() else {
            return Err(absent(format!("no event of {FOLDER} has a unit and a scale, or there is no cpumask")));
        };
        match machine.read(&first.source) {
            Ok(_) | Err(Errno::EACCES | Errno::EPERM) => Ok(found),
            Err(errno) => Err(absent(format!(
                "{}: {errno}; perf counts for programs on the machine itself, powerband's agent among them",
                first.source
            ))),
        }
    }
}

/// Makers whose dies all show the counter of their package; some kernels (6.9) list a CPU of each die all the same.
const ONE_COUNTER_A_PACKAGE: [&str; 2] = ["AuthenticAMD", "HygonGenuine"];

/// The CPUs that are read, by package as powercap names it: `0`, or `0-die-1` where a package has several that are read.
fn packages(machine: &mut dyn Look) -> Vec<(u32, String)> {
    let mask: Option<CpuList> = parsed(machine, &format!("{FOLDER}/cpumask"));
    let cpuinfo = machine.read(proc::CPUINFO).unwrap_or_default();
    let one_each = ONE_COUNTER_A_PACKAGE.iter().any(|maker| cpuinfo.contains(maker));
    let mut topology = |cpu, name: &str| parsed::<u32>(machine, &topology::file(cpu, &format!("topology/{name}")));
    let mut found: Vec<(u32, u32)> = Vec::new();
    for &cpu in mask.iter().flat_map(|mask| mask.as_slice()) {
        let Some(package) = topology(cpu, "physical_package_id") else { continue };
        if !(one_each && found.iter().any(|(_, other)| *other == package)) {
            found.push((cpu, package));
        }
    }
    let mut name = |&(cpu, package): &(u32, u32)| {
        let several = found.iter().filter(|(_, other)| *other == package).count() > 1;
        match several.then(|| topology(cpu, "die_id")).flatten() {
            Some(die) => (cpu, format!("{package}-die-{die}")),
            None => (cpu, package.to_string()),
        }
    };
    found.iter().map(&mut name).collect()
}

/// An event as a meter of each package, or of the platform.
fn counters(machine: &mut dyn Look, event: &str, packages: &[(u32, String)]) -> Vec<MeterInstance> {
    let scope: fn(String) -> PowerScope = match event {
        "energy-pkg" => PowerScope::Package,
        "energy-cores" => PowerScope::Cores,
        "energy-gpu" => PowerScope::Uncore,
        "energy-ram" => PowerScope::Memory,
        "energy-psys" => |_| PowerScope::Platform,
        _ => return Vec::new(),
    };
    let mut text = |what: &str| machine.read(&format!("{FOLDER}/events/{event}.{what}")).unwrap_or_default();
    let Some(scale) =
        Some(text("scale")).filter(|_| text("unit").trim() == "Joules").and_then(|it| FileScale::fraction(&it, UJ))
    else {
        return Vec::new();
    };
    let count = if event == "energy-psys" { 1 } else { packages.len() };
    let counter = |(cpu, package): &(u32, String)| {
        let scope = scope(package.clone());
        let source = PerfPlace { device: DEVICE, event, cpu: *cpu }.to_string();
        let notes = if scope == PowerScope::Platform { vec![PSYS_NOTE.to_owned()] } else { Vec::new() };
        let meter = MeterInstance::new(ABOUT.name, boundary(&scope), source, Kind::Counter { wrap: None });
        MeterInstance { scale, scope, notes, updates_ns: Some(UPDATES_NS), ..meter }
    };
    packages.iter().take(count).map(counter).collect()
}

/// As powercap names it.
fn boundary(scope: &PowerScope) -> String {
    match scope {
        PowerScope::Package(package) => format!("package-{package}"),
        PowerScope::Cores(package) => format!("core of package-{package}"),
        PowerScope::Uncore(package) => format!("uncore of package-{package}"),
        PowerScope::Memory(package) => format!("dram of package-{package}"),
        PowerScope::Platform => "psys".into(),
        PowerScope::Machine | PowerScope::Battery(_) | PowerScope::Unknown => String::new(),
    }
}
