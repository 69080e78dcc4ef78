//! power-profiles-daemon, which keeps the profile somebody chose on the desktop over reboots.
use crate::finding::BootStanding;
use crate::keys::last;
use crate::scene::{Scene, of_service};
use crate::service::Start;

const STATE: &str = "/var/lib/power-profiles-daemon/state.ini";

/// The knobs that a profile sets.
const SETS: [&str; 3] = ["cpufreq.governor", "cpufreq.epp", "cpufreq.epb"];

/// Where the bus says whom it starts when it is asked for.
const ON_DEMAND: [&str; 2] = [
    "/usr/share/dbus-1/system-services/net.hadess.PowerProfiles.service",
    "/usr/share/dbus-1/system-services/org.freedesktop.UPower.PowerProfiles.service",
];

pub(super) fn look(scene: &mut Scene<'_>) {
    let mut service = scene.service("power-profiles-daemon");
    if !SETS.contains(&scene.target.name()) || !service.is_there() {
        return;
    }
    if matches!(&service.start, Start::Off(why) if !why.contains("masked"))
        && ON_DEMAND.iter().any(|path| scene.peek(path).is_some())
    {
        service.start = Start::On("started by the desktop when it asks".to_owned());
    }
    let mut finding = of_service("power-profiles-daemon", &service);
    let keys = scene.keys(STATE);
    let profile = last(&keys, "Profile");
    if let Some(key) = profile {
        STATE.clone_into(&mut finding.path);
        finding = finding.line(key.line, &key.text);
    }
    let chosen = profile.map_or("balanced", |key| key.value.as_str());
    let driver = scene.target.driver.clone();
    let mains = scene.on_mains();
    let Some(values) = values(scene.target.name(), driver.as_deref(), chosen, mains) else {
        let (driver, what) = (driver.as_deref().unwrap_or("this driver"), scene.target.name());
        let what = what.strip_prefix("cpufreq.").unwrap_or(what);
        let why = format!("on {driver} it sets no {what}; its profile is {chosen}");
        return scene.push(finding.standing(BootStanding::Off { why }));
    };
    let sites = scene.target.everywhere();
    let values = values.iter().map(|value| (*value).to_owned()).collect();
    scene.push(finding.sets(values, sites).because(format!("its profile is {chosen}")));
}

/// What a profile sets a knob to, by its drivers for `intel_pstate` and `amd-pstate-epp` (0.12 to 0.30); several where that depends on its
/// version, `None` where it leaves the knob alone.
fn values(knob: &str, driver: Option<&str>, profile: &str, mains: Option<bool>) -> Option<&'static [&'static str]> {
    let (intel, amd) = (driver == Some("intel_pstate"), driver == Some("amd-pstate-epp"));
    let values: &[&str] = match (knob, profile) {
        // Later versions let amd-pstate have performance; on intel_pstate the preference does it all.
        ("cpufreq.governor", "performance") if amd => &["performance", "powersave"],
        ("cpufreq.governor", _) if intel || amd => &["powersave"],
        ("cpufreq.epp", "performance") if intel || amd => &["performance"],
        ("cpufreq.epp", "power-saver") if intel || amd => &["power"],
        // Since 0.20 the balanced profile knows the battery.
        ("cpufreq.epp", _) if intel || amd => match mains {
            Some(true) => &["balance_performance"],
            _ => &["balance_performance", "balance_power"],
        },
        ("cpufreq.epb", "performance") if intel => &["performance"],
        ("cpufreq.epb", "power-saver") if intel => &["power"],
        ("cpufreq.epb", _) if intel => match mains {
            Some(true) => &["normal"],
            _ => &["normal", "balance-power"],
        },
        _ => return None,
    };
    Some(values)
}
