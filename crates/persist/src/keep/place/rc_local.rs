//! rc.local, where there is no systemd: OpenWrt and other small systems run it at the end of the boot.
use powerband_machine::Look;

use super::{Overlay, Texts, Want, has_systemd};
use crate::keep::Origin;

const PATHS: [&str; 2] = ["/etc/rc.local", "/etc/rc.d/rc.local"];

pub(super) fn write(machine: &mut Overlay<'_>, wants: &[Want], _origin: &Origin) -> Option<Texts> {
    if has_systemd(machine) {
        return None;
    }
    let (path, text) = PATHS.into_iter().find_map(|path| Some((path, machine.read(path).ok()?)))?;
    let commands = wants.iter().map(Want::command).collect::<Option<Vec<String>>>()?;
    let mut lines: Vec<String> = text.lines().map(str::to_owned).collect();
    // Nothing behind its last exit is run.
    let end = lines.iter().rposition(|line| line.split_whitespace().next() == Some("exit")).unwrap_or(lines.len());
    lines.splice(end..end, commands);
    Some(vec![(path.to_owned(), lines.join("\n") + "\n")])
}
