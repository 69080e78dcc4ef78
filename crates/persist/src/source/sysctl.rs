//! sysctl.d and /etc/sysctl.conf.
use crate::finding::{BootFinding, BootStanding};
use crate::keys::keys;
use crate::scene::Scene;
use crate::shell::sysctl_path;

/// The file of before sysctl.d.
const ALONE: &str = "/etc/sysctl.conf";

pub(super) fn look(scene: &mut Scene<'_>) {
    let shelved = scene.shelved("sysctl.d", ".conf");
    // A link of this name in sysctl.d is how it is read among the others.
    let among = shelved.iter().any(|path| path.ends_with("/99-sysctl.conf"));
    for path in shelved {
        file(scene, &path, &BootStanding::Acts);
    }
    if !among {
        let standing = match scene.services().has_systemd() {
            false => BootStanding::Acts,
            true => {
                BootStanding::Unsure { why: "systemd reads only sysctl.d; `sysctl --system` reads it as well".into() }
            }
        };
        file(scene, ALONE, &standing);
    }
}

fn file(scene: &mut Scene<'_>, path: &str, standing: &BootStanding) {
    let Some(text) = scene.text(path) else { return };
    for key in keys(&text) {
        let sites = scene.target.at_path(&sysctl_path(&key.name));
        if !sites.is_empty() {
            let finding = BootFinding::new(path, path).line(key.line, &key.text).standing(standing.clone());
            scene.push(finding.sets(vec![key.value], sites));
        }
    }
}
