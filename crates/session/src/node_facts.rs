//! What may make nodes of one fleet different kinds: read once, when a node's task has opened its machine.
use powerband_machine::{Look, World};
use powerband_record::{FleetTask, Side};
use powerband_sysfs::{names, proc, text};

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
    let cpus = machine.read(proc::CPUINFO).unwrap_or_default();
    for (name, key) in [("cpu", "model name"), ("stepping", "stepping"), ("microcode", "microcode")] {
        fact(name, proc::field(&cpus, key));
    }
    fact("bios", machine.read("/sys/class/dmi/id/bios_version").ok());
    fact("memory modules", modules(machine));
    task
}

/// How many memory modules of which size, by the kernel's error detection (EDAC): `8 x 16384 MB`.
fn modules(machine: &mut dyn Look) -> Option<String> {
    const CONTROLLERS: &str = "/sys/devices/system/edac/mc";
    let mut sizes = std::collections::BTreeMap::<String, u32>::new();
    for controller in names(machine, CONTROLLERS).iter().filter(|name| name.starts_with("mc")).take(MAX) {
        let folder = format!("{CONTROLLERS}/{controller}");
        let is_module = |name: &&String| name.starts_with("dimm") || name.starts_with("rank");
        for module in names(machine, &folder).iter().filter(is_module).take(MAX) {
            let size = text(machine, &format!("{folder}/{module}/size")).unwrap_or_default();
            if !size.is_empty() && size != "0" {
                *sizes.entry(size).or_default() += 1;
            }
        }
    }
    let said: Vec<String> = sizes.iter().map(|(size, count)| format!("{count} x {size} MB")).collect();
    (!said.is_empty()).then(|| said.join(", "))
}
