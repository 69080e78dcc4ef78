//! Where this kernel counts energy, and who may read it. What is read while work runs is a meter's matter.
use powerband_machine::Look;
use powerband_sysfs::{parsed, power::PERF_POWER, power::POWERCAP, proc::PERF_EVENT_PARANOID};

use super::{DoctorFinding, Section};

/// Readable by the group, or by everybody.
const OTHERS_MAY_READ: u32 = 0o044;

/// Counters of powercap and perf.
pub(super) fn section(machine: &mut dyn Look) -> Section {
    let findings = powercap(machine).into_iter().chain(perf(machine)).collect();
    Section { name: "energy", title: "where energy is counted".into(), findings }
}

fn powercap(machine: &mut dyn Look) -> Option<DoctorFinding> {
    let zones = machine.list(POWERCAP).unwrap_or_default();
    let (mut names, mut closed) = (Vec::new(), false);
    for zone in zones.iter().filter(|zone| zone.name.contains(':')) {
        let folder = format!("{POWERCAP}/{}", zone.name);
        let entries = machine.list(&folder).unwrap_or_default();
        let Some(counter) = entries.iter().find(|entry| entry.name == "energy_uj") else { continue };
        closed |= counter.mode & OTHERS_MAY_READ == 0;
        let name = machine.read(&format!("{folder}/name")).unwrap_or_default();
        names.push(format!("{} ({})", name.trim(), zone.name));
    }
    if names.is_empty() {
        return None;
    }
    let told = format!("counts the energy of {}", names.join(", "));
    if !closed || machine.identity().privileged {
        return Some(DoctorFinding::ok("powercap", told));
    }
    Some(
        DoctorFinding::note(
            "powercap",
            format!("{told}; root alone may read it, since it betrays what others compute"),
        )
        .with(
            "let one group read it by a line in /etc/tmpfiles.d/powerband.conf: \
         `z /sys/class/powercap/*/energy_uj 0440 root powerband`",
        ),
    )
}

fn perf(machine: &mut dyn Look) -> Option<DoctorFinding> {
    let mut events: Vec<String> =
        machine.list(&format!("{PERF_POWER}/events")).ok()?.into_iter().map(|entry| entry.name).collect();
    events.retain(|name| name.starts_with("energy-") && !name.contains('.'));
    let told = format!("counts {}", events.join(", "));
    let paranoid: Option<i32> = parsed(machine, PERF_EVENT_PARANOID);
    if machine.identity().privileged || paranoid.is_some_and(|level| level <= 0) {
        return Some(DoctorFinding::ok("perf", told));
    }
    let told = format!("{told}, for who may watch the whole machine");
    Some(
        DoctorFinding::note("perf", told)
            .with("give the program that reads it the right: `setcap cap_perfmon+ep PROGRAM`"),
    )
}
