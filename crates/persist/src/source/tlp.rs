//! TLP, which sets one value on the mains and another on battery.
use crate::finding::{BootFinding, BootStanding};
use crate::keys::{Key, last};
use crate::scene::{Scene, of_service};

/// Read before and after the folder of drop-ins; what comes later counts.
const BEFORE: [&str; 2] = ["/usr/share/tlp/defaults.conf", "/etc/default/tlp"];
const AFTER: &str = "/etc/tlp.conf";

pub(super) fn look(scene: &mut Scene<'_>) {
    let name = match scene.target.name() {
        "cpufreq.governor" => "CPU_SCALING_GOVERNOR",
        "cpufreq.min_freq" => "CPU_SCALING_MIN_FREQ",
        "cpufreq.max_freq" => "CPU_SCALING_MAX_FREQ",
        "cpufreq.epp" => "CPU_ENERGY_PERF_POLICY",
        _ => return,
    };
    let service = scene.service("tlp");
    let mut paths: Vec<String> = BEFORE.map(str::to_owned).into();
    paths.extend(scene.files("/etc/tlp.d", ".conf"));
    paths.push(AFTER.to_owned());
    let mut all: Vec<(String, Key)> = Vec::new();
    for path in paths {
        all.extend(scene.keys(&path).into_iter().map(|key| (path.clone(), key)));
    }
    let keys: Vec<Key> = all.iter().map(|(_, key)| key.clone()).collect();
    let mains = scene.on_mains();
    let off = last(&keys, "TLP_ENABLE").filter(|key| key.value == "0").is_some();
    for (suffix, on) in [("AC", true), ("BAT", false)] {
        let name = format!("{name}_ON_{suffix}");
        let Some((path, key)) = all.iter().rev().find(|(_, key)| key.name == name && !key.value.is_empty()) else {
            continue;
        };
        let finding = BootFinding { path: path.clone(), ..of_service("TLP", &service) }.line(key.line, &key.text);
        let power = if on { "on the mains" } else { "on battery" };
        let standing = match (&finding.standing, mains) {
            (BootStanding::Acts, _) if off => BootStanding::Off { why: "its configuration says TLP_ENABLE=0".into() },
            (BootStanding::Acts, Some(mains)) if mains != on => {
                BootStanding::Off { why: format!("it is for {}", &power[3..]) }
            }
            (BootStanding::Acts, None) => BootStanding::Unsure { why: format!("it acts {power}") },
            (standing, _) => standing.clone(),
        };
        let sites = scene.target.everywhere();
        let finding = finding.standing(standing).because(format!("as the machine is {power}"));
        scene.push(finding.sets(vec![key.value.clone()], sites));
    }
}
