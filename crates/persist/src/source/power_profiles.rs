//! power-profiles-daemon, which keeps the profile somebody chose on the desktop over reboots.
use crate::finding::Standing;
use crate::keys::last;
use crate::scene::{Scene, of_service};
use crate::service::Start;

const STATE: &str = "/var/lib/power-profiles-daemon/state.ini";

/// Where the bus says whom it starts when it is asked for.
const ON_DEMAND: [&str; 2] = [
    "/usr/share/dbus-1/system-services/net.hadess.PowerProfiles.service",
    "/usr/share/dbus-1/system-services/org.freedesktop.UPower.PowerProfiles.service",
];

pub(super) fn look(scene: &mut Scene<'_>) {
    let mut service = scene.service("power-profiles-daemon");
    if !scene.target.is_governor() || !service.is_there() {
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
    let values: &[&str] = match (scene.target.driver.as_deref(), chosen) {
        // Later versions let amd-pstate have performance; on intel_pstate the preference does it all.
        (Some("amd-pstate-epp"), "performance") => &["performance", "powersave"],
        (Some("intel_pstate" | "amd-pstate-epp"), _) => &["powersave"],
        (driver, _) => {
            let driver = driver.unwrap_or("this driver").to_owned();
            let why = format!("on {driver} it sets no governor; its profile is {chosen}");
            return scene.push(finding.standing(Standing::Off { why }));
        }
    };
    let sites = scene.target.everywhere();
    let values = values.iter().map(|value| (*value).to_owned()).collect();
    scene.push(finding.sets(values, sites).because(format!("its profile is {chosen}")));
}
