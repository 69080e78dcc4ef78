//! auto-cpufreq, a daemon that sets its values again and again, by the power supply and the load.
use powerband_sysfs::cpufreq::HWP_DYNAMIC_BOOST;

use crate::finding::{BootFinding, BootStanding};
use crate::keys::keys;
use crate::scene::{Scene, of_service};

const CONFIGS: [&str; 2] = ["/etc/auto-cpufreq.conf", "/usr/local/etc/auto-cpufreq.conf"];

/// What it takes without a configuration, the first that is offered: on the mains from the front, on battery from the
/// back.
const WANTED: [&str; 6] = ["performance", "ondemand", "conservative", "schedutil", "userspace", "powersave"];

pub(super) fn look(scene: &mut Scene<'_>) {
    let name = match scene.target.name() {
        "cpufreq.governor" => "governor",
        "cpufreq.min_freq" => "scaling_min_freq",
        "cpufreq.max_freq" => "scaling_max_freq",
        "cpufreq.epp" => "energy_performance_preference",
        _ => return,
    };
    let service = scene.service("auto-cpufreq");
    if !service.is_there() {
        return;
    }
    let mut finding = of_service("auto-cpufreq", &service);
    // Where the hardware boosts after waiting it leaves the preference alone.
    if name == "energy_performance_preference" && scene.peek(HWP_DYNAMIC_BOOST).is_some_and(|text| text.trim() == "1") {
        finding = finding.standing(BootStanding::Off { why: format!("{HWP_DYNAMIC_BOOST} is on") });
    }
    let mains = scene.on_mains();
    let section = if mains == Some(false) { "battery" } else { "charger" };
    for path in CONFIGS {
        let Some(text) = scene.text(path) else { continue };
        let key = keys(&text).into_iter().rfind(|key| key.section == section && key.name == name);
        if let Some(key) = key {
            let finding = BootFinding { path: path.to_owned(), ..finding }.line(key.line, &key.text);
            let sites = scene.target.everywhere();
            return scene.push(finding.sets(vec![key.value], sites).because(format!("its section {section}")));
        }
    }
    let values = match name {
        "governor" => {
            let mut wanted = WANTED.to_vec();
            if mains == Some(false) {
                wanted.reverse();
            }
            scene.first_offered(&wanted)
        }
        // Later versions set performance on the mains where the governor is performance.
        "energy_performance_preference" if mains == Some(false) => vec!["balance_power".to_owned()],
        "energy_performance_preference" => vec!["balance_performance".to_owned(), "performance".to_owned()],
        _ => return,
    };
    let sites = scene.target.everywhere();
    let finding = finding.sets(values, sites).because("by default, without a configuration");
    let chosen = scene.machine().list("/opt/auto-cpufreq").unwrap_or_default();
    if chosen.iter().any(|entry| entry.name == "override.pickle") && finding.standing == BootStanding::Acts {
        let why = "/opt/auto-cpufreq/override.pickle overrides it by hand".to_owned();
        return scene.push(finding.standing(BootStanding::Unsure { why }));
    }
    scene.push(finding);
}
