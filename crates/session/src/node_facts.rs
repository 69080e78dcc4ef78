//! What may make nodes of one fleet different kinds: read once, when a node's task has opened its machine.
use powerband_machine::{Look, World};
use powerband_record::{FleetTask, Side};

/// The most memory controllers and modules that are looked at.
const MAX: usize = 64;

/// The task with what is known of its node. What cannot be read is left out.
pub(crate) fn with_facts(mut task: FleetTask, world: &mut dyn World) -> FleetTask {
    let Some(machine) = world.machine(Side::Near) else { return task };
    let mut fact = |name: &str, value: Option<String>| {
        if let Some(value) = value.map(|value| value.trim().to_owned()).filter(|value| !value.is_empty()) {
            task.facts.insert(name.into(), value);
        }
    };
    fact("kernel", Some(machine.identity().system.clone()));
    let cpus = machine.read("/proc/cpuinfo").unwrap_or_default();
    for (name, key) in [("cpu", "model name"), ("stepping", "stepping"), ("microcode", "microcode")] {
        fact(name, line_of(&cpus, key));
    }
    fact("bios", machine.read("/sys/class/dmi/id/bios_version").ok());
    fact("memory modules", modules(machine));
    task
}

/// The first value of a key of /proc/cpuinfo.
fn line_of(cpus: &str, key: &str) -> Option<String> {
    cpus.lines().find_map(|line| {
        let (name, value) = line.split_once(':')?;
        (name.trim() == key).then(|| value.trim().to_owned())
    })
}

/// How many memory modules of which size, by the kernel's error detection (EDAC): `8 x 16384 MB`.
fn modules(machine: &mut dyn Look) -> Option<String> {
    const CONTROLLERS: &str = "/sys/devices/system/edac/mc";
    let mut sizes = std::collections::BTreeMap::<String, u32>::new();
    for controller in machine
        .list(CONTROLLERS)
        .ok()?
        .into_iter()
        .map(|entry| entry.name)
        .filter(|name| name.starts_with("mc"))
        .take(MAX)
    {
        let folder = format!("{CONTROLLERS}/{controller}");
        let modules = machine.list(&folder).unwrap_or_default().into_iter().map(|entry| entry.name);
        for module in modules.filter(|name| name.starts_with("dimm") || name.starts_with("rank")).take(MAX) {
            let size = machine.read(&format!("{folder}/{module}/size")).unwrap_or_default().trim().to_owned();
            if !size.is_empty() && size != "0" {
                *sizes.entry(size).or_default() += 1;
            }
        }
    }
    let said: Vec<String> = sizes.iter().map(|(size, count)| format!("{count} x {size} MB")).collect();
    (!said.is_empty()).then(|| said.join(", "))
}
