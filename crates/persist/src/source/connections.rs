//! Connections of NetworkManager that set coalescing.
use crate::finding::{BootFinding, BootStanding};
use crate::keys::keys;
use crate::scene::{Scene, of_service};

const FOLDERS: [&str; 3] = [
    "/etc/NetworkManager/system-connections",
    "/run/NetworkManager/system-connections",
    "/usr/lib/NetworkManager/system-connections",
];

pub(super) fn look(scene: &mut Scene<'_>) {
    let Some(wanted) = scene.target.parameter().map(|parameter| format!("coalesce-{parameter}")) else { return };
    let service = scene.service("NetworkManager");
    for folder in FOLDERS {
        for path in scene.files(folder, "") {
            let Some(text) = scene.text(&path) else { continue };
            let keys = keys(&text);
            let device = keys.iter().rfind(|key| key.section == "connection" && key.name == "interface-name");
            let Some(key) = keys.iter().rfind(|key| key.section == "ethtool" && key.name == wanted) else { continue };
            let mut finding =
                BootFinding { path: path.clone(), ..of_service("NetworkManager", &service) }.line(key.line, &key.text);
            let sites = match device {
                Some(device) => scene.target.at_device(&device.value),
                None => {
                    if finding.standing == BootStanding::Acts {
                        let why = "the connection names no device".to_owned();
                        finding = finding.standing(BootStanding::Unsure { why });
                    }
                    scene.target.everywhere()
                }
            };
            let value = match (key.value.as_str(), wanted.starts_with("coalesce-adaptive")) {
                ("1", true) => "on",
                ("0", true) => "off",
                (value, _) => value,
            };
            if !sites.is_empty() {
                scene.push(finding.how("when the connection comes up").sets(vec![value.to_owned()], sites));
            }
        }
    }
}
