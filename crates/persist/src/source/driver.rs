//! What the cpufreq driver makes of the default, and the limit the firmware sets.
use powerband_sysfs::power::PM_PROFILE;

use crate::finding::{BootFinding, BootStanding};
use crate::scene::Scene;

/// What the firmware says a server is for (ACPI, preferred profile of power management), and when it says nothing.
const SERVERS: [&str; 4] = ["0", "4", "5", "7"];

pub(super) fn look(scene: &mut Scene<'_>) {
    if scene.target.is_governor() {
        own_default(scene);
    } else if scene.target.name() == "cpufreq.max_freq" {
        firmware_limit(scene);
    }
}

/// Drivers that choose the frequency themselves have two governors, which are only names, and a default of their own.
fn own_default(scene: &mut Scene<'_>) {
    let Some(driver) = scene.target.driver.clone() else { return };
    let value = match driver.as_str() {
        "intel_pstate" => "powersave",
        "amd-pstate-epp" => match scene.text(PM_PROFILE) {
            Some(profile) if SERVERS.contains(&profile.trim()) => "performance",
            _ => "powersave",
        },
        _ => return,
    };
    // A default that the driver has too is taken over.
    let known = |value: &String| matches!(value.as_str(), "performance" | "powersave");
    if scene.findings().iter().any(|finding| finding.counts() && finding.values.iter().all(known)) {
        return;
    }
    let Some(folder) = scene.target.places.first().and_then(|place| place.site.policy.as_ref()) else { return };
    let path = folder.file("scaling_driver");
    let sites = scene.target.everywhere();
    let finding = BootFinding::new(format!("the driver {driver}"), path).line(1, &driver).verb("starts with");
    let because = "because it has only performance and powersave, and the kernel's default is neither";
    scene.push(finding.sets(vec![value.to_owned()], sites).because(because));
}

/// `bios_limit` below the CPU's own highest frequency.
fn firmware_limit(scene: &mut Scene<'_>) {
    for place in scene.target.places.clone() {
        let Some(policy) = &place.site.policy else { continue };
        let limit = policy.khz(scene.machine(), "bios_limit");
        let highest = policy.khz(scene.machine(), "cpuinfo_max_freq");
        if let (Some(limit), Some(highest)) = (limit, highest)
            && limit < highest
        {
            let finding = BootFinding::new("the firmware", policy.file("bios_limit")).line(1, &limit.to_string());
            let why = "the firmware may set and lift it at any time".to_owned();
            let finding = finding.sets(vec![limit.to_string()], vec![place.site.name.clone()]);
            scene.push(finding.standing(BootStanding::Unsure { why }));
        }
    }
}
