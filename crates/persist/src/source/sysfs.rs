//! /etc/sysfs.conf and /etc/sysfs.d: attributes below /sys, written by the service sysfsutils.
use crate::keys::keys;
use crate::scene::{Scene, of_service};

pub(super) fn look(scene: &mut Scene<'_>) {
    let mut paths = vec!["/etc/sysfs.conf".to_owned()];
    paths.extend(scene.files("/etc/sysfs.d", ".conf"));
    let service = scene.service("sysfsutils");
    for path in paths {
        let Some(text) = scene.text(&path) else { continue };
        for key in keys(&text) {
            let sites = scene.target.at_path(&format!("/sys/{}", key.name.trim_start_matches('/')));
            if !sites.is_empty() {
                let mut finding = of_service("sysfsutils", &service).line(key.line, &key.text);
                finding.path.clone_from(&path);
                scene.push(finding.sets(vec![key.value], sites));
            }
        }
    }
}
