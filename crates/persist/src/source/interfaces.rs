//! The network as scripts bring it up: ifupdown of Debian, ifcfg files of Red Hat and SUSE, and scripts next to them.
use crate::finding::BootFinding;
use crate::keys::{joined, last};
use crate::scene::Scene;

/// Folders of scripts that run when a card comes up.
const SCRIPTS: [&str; 6] = [
    "/etc/network/if-pre-up.d",
    "/etc/network/if-up.d",
    "/etc/NetworkManager/dispatcher.d",
    "/usr/lib/NetworkManager/dispatcher.d",
    "/etc/networkd-dispatcher/configured.d",
    "/etc/networkd-dispatcher/routable.d",
];

/// What Debian's ethtool calls a parameter in the stanza of a card.
const PREFIX: &str = "hardware-irq-coalesce-";

pub(super) fn look(scene: &mut Scene<'_>) {
    let mut stanzas = vec!["/etc/network/interfaces".to_owned()];
    stanzas.extend(scene.files("/etc/network/interfaces.d", ""));
    for path in stanzas {
        interfaces(scene, &path);
    }
    if scene.target.parameter().is_none() {
        return;
    }
    for folder in ["/etc/sysconfig/network-scripts", "/etc/sysconfig/network"] {
        for path in scene.files(folder, "") {
            if let Some(device) = path.rsplit_once("/ifcfg-").map(|(_, device)| device.to_owned()) {
                ifcfg(scene, &path, &device);
            }
        }
    }
    for folder in SCRIPTS {
        for path in scene.files(folder, "") {
            let name = path.rsplit('/').next().unwrap_or_default().to_owned();
            if let Some(text) = scene.text(&path) {
                scene.script(&BootFinding::new(name, path).how("when the network comes up"), &text);
            }
        }
    }
}

/// `iface eth0 …` with options and commands below it.
fn interfaces(scene: &mut Scene<'_>, path: &str) {
    let Some(text) = scene.text(path) else { return };
    let mut device = String::new();
    for (number, line) in joined(&text) {
        let Some((word, rest)) = line.trim().split_once(char::is_whitespace) else { continue };
        let finding = BootFinding::new("ifupdown", path).line(number, &line).how("when the device comes up");
        match word {
            "iface" => rest.split_whitespace().next().unwrap_or_default().clone_into(&mut device),
            "up" | "pre-up" | "post-up" => {
                let command = rest.replace("$IFACE", &device).replace("${IFACE}", &device);
                scene.command(&finding, &command);
            }
            option if option.strip_prefix(PREFIX).is_some_and(|name| scene.target.parameter() == Some(name)) => {
                let sites = scene.target.at_device(&device);
                if !sites.is_empty() {
                    scene.push(finding.sets(vec![rest.trim().to_owned()], sites));
                }
            }
            _ => {}
        }
    }
}

/// Options for ethtool in the file of a card: commands by semicolons, the device in them or left out.
fn ifcfg(scene: &mut Scene<'_>, path: &str, device: &str) {
    let keys = scene.keys(path);
    let device = last(&keys, "DEVICE").map_or(device, |key| key.value.as_str());
    for key in keys.iter().filter(|key| key.name.starts_with("ETHTOOL_OPT")) {
        let finding = BootFinding::new("the network's scripts", path).line(key.line, &key.text);
        for options in key.value.split(';').map(str::trim) {
            let options = options.replace("iface", device).replace("${DEVICE}", device).replace("$DEVICE", device);
            scene.script(&finding.clone().how("when the device comes up"), &format!("ethtool {options}"));
        }
    }
}
