//! laptop-mode-tools, whose part for cpufreq is off unless it is asked for.
use crate::finding::{BootFinding, BootStanding};
use crate::keys::last;
use crate::scene::{Scene, of_service};

const CONFIG: &str = "/etc/laptop-mode/conf.d/cpufreq.conf";

pub(super) fn look(scene: &mut Scene<'_>) {
    let name = match scene.target.name() {
        "cpufreq.governor" => "GOVERNOR",
        "cpufreq.min_freq" => "MINFREQ",
        "cpufreq.max_freq" => "MAXFREQ",
        _ => return,
    };
    // These leave to the driver what it does anyway.
    let as_it_is = ["auto", "fastest", "slowest"];
    let mut keys = scene.keys(CONFIG);
    keys.retain(|key| !as_it_is.contains(&key.value.as_str()) || key.name == "CONTROL_CPU_FREQUENCY");
    if keys.is_empty() {
        return;
    }
    let service = scene.service("laptop-mode");
    let mut pattern = of_service("laptop-mode", &service);
    if last(&keys, "CONTROL_CPU_FREQUENCY").is_none_or(|key| key.value == "0") && pattern.standing == BootStanding::Acts
    {
        pattern = pattern.standing(BootStanding::Off { why: "it does not say CONTROL_CPU_FREQUENCY=1".into() });
    }
    let mains = scene.on_mains();
    for (prefix, on, power) in [("NOLM_AC_CPU", true, "on the mains"), ("BATT_CPU", false, "on battery")] {
        let mut finding = BootFinding { ..pattern.clone() }.because(format!("as the machine is {power}"));
        if finding.standing == BootStanding::Acts && mains.is_some_and(|mains| mains != on) {
            finding = finding.standing(BootStanding::Off { why: format!("it is for {}", &power[3..]) });
        }
        scene.key(&finding, CONFIG, &keys, &format!("{prefix}_{name}"));
    }
}
