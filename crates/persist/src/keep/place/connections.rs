//! NetworkManager: keys of the connection that names the card, since it sets its coalescing whenever that connection comes up.
use powerband_machine::Look;

use super::{Overlay, Texts, Want, is_on};
use crate::keep::Origin;
use crate::keep::manifest::Set;
use crate::keys::keys;

/// Where its connections lie that may be changed.
const FOLDER: &str = "/etc/NetworkManager/system-connections";

/// The section of coalescing.
const SECTION: &str = "ethtool";

pub(super) fn write(machine: &mut Overlay<'_>, wants: &[Want], _origin: &Origin) -> Option<Texts> {
    if !is_on(machine, "NetworkManager") {
        return None;
    }
    let mut texts: Texts = Vec::new();
    for want in wants {
        let Set::Coalesce { device, parameter, number } = &want.set else { return None };
        let of_device = connections(machine, device);
        if of_device.is_empty() {
            return None;
        }
        for (path, text) in of_device {
            let known = texts.iter().position(|(other, _)| *other == path);
            let text = known.map_or(text, |at| texts.swap_remove(at).1);
            let key = format!("coalesce-{parameter}");
            texts.push((path, with_key(&text, SECTION, &key, &number.to_string())));
        }
    }
    Some(texts)
}

/// The connections that name a card, with their text.
fn connections(machine: &mut Overlay<'_>, device: &str) -> Texts {
    let all = machine.list(FOLDER).unwrap_or_default();
    let mut found = Vec::new();
    for path in all.into_iter().map(|entry| format!("{FOLDER}/{}", entry.name)) {
        let Ok(text) = machine.read(&path) else { continue };
        let named = keys(&text)
            .iter()
            .rfind(|key| key.section == "connection" && key.name == "interface-name")
            .is_some_and(|key| key.value == device);
        if named {
            found.push((path, text));
        }
    }
    found
}

/// A text of sections with one key set: in the line that sets it last, or at the end of its section, or of the text.
fn with_key(text: &str, section: &str, name: &str, value: &str) -> String {
    let line = format!("{name}={value}");
    let mut lines: Vec<&str> = text.lines().collect();
    let found = keys(text);
    let of_section = |key: &&crate::keys::Key| key.section == section;
    let header = format!("[{section}]");
    let at_header = lines.iter().position(|line| line.trim() == header);
    if let Some(key) = found.iter().rfind(|key| key.section == section && key.name == name) {
        lines[key.line - 1] = &line;
    } else if let Some(at) = found.iter().rfind(of_section).map(|key| key.line).or(at_header.map(|at| at + 1)) {
        lines.insert(at, &line);
    } else {
        lines.extend(["", header.as_str(), line.as_str()]);
    }
    lines.join("\n") + "\n"
}

#[cfg(test)]
mod tests {
    use super::with_key;

    #[test]
    fn a_key_is_set_in_its_section() {
        let set = |text: &str| with_key(text, "ethtool", "coalesce-rx-usecs", "40");
        assert_eq!(set("[a]\nb=1\n"), "[a]\nb=1\n\n[ethtool]\ncoalesce-rx-usecs=40\n");
        assert_eq!(set("[ethtool]\n[a]\nb=1"), "[ethtool]\ncoalesce-rx-usecs=40\n[a]\nb=1\n");
        assert_eq!(set("[ethtool]\nc=1\n\n[a]\n"), "[ethtool]\nc=1\ncoalesce-rx-usecs=40\n\n[a]\n");
        assert_eq!(set("[ethtool]\ncoalesce-rx-usecs=3\nd=1\n"), "[ethtool]\ncoalesce-rx-usecs=40\nd=1\n");
        assert_eq!(set("[a]\ncoalesce-rx-usecs=3\n"), "[a]\ncoalesce-rx-usecs=3\n\n[ethtool]\ncoalesce-rx-usecs=40\n");
    }
}
