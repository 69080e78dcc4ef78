//! The administrator's own script at the end of the boot.
use crate::finding::{BootFinding, BootStanding};
use crate::scene::Scene;

const PATHS: [&str; 4] = ["/etc/rc.local", "/etc/rc.d/rc.local", "/etc/init.d/boot.local", "/etc/rc.d/boot.local"];

pub(super) fn look(scene: &mut Scene<'_>) {
    let mut before = None;
    for path in PATHS {
        // One of them is often a link to another.
        let Some(text) = scene.text(path).filter(|text| before.as_ref() != Some(text)) else { continue };
        let mut finding = BootFinding::new("rc.local", path);
        if scene.services().has_systemd() && scene.is_executable(path) == Some(false) {
            finding = finding.standing(BootStanding::Off { why: format!("{path} may not be executed") });
        }
        scene.script(&finding, &text);
        before = Some(text);
    }
}
