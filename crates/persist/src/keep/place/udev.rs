//! udev: a rule for each device whose attribute is kept, which acts when the device appears. The clocks of CPUs are not kept this way:
//! their files appear with a driver that is loaded after the CPU has been announced.
use powerband_machine::Look;

use super::{Overlay, Texts, Want, has_udev, own};
use crate::keep::Origin;
use crate::keep::manifest::Set;

const PATH: &str = "/etc/udev/rules.d/99-zz-powerband.rules";

pub(super) fn write(machine: &mut Overlay<'_>, wants: &[Want], origin: &Origin) -> Option<Texts> {
    if !has_udev(machine) {
        return None;
    }
    let rules = wants.iter().map(|want| match &want.set {
        Set::Write { .. } => rule(want),
        Set::Coalesce { device, .. } => card(machine, want, device),
    });
    let body = rules.collect::<Option<String>>()?;
    Some(vec![(PATH.to_owned(), own(origin, &body))])
}

/// Where ethtool lies on a machine that has it.
const ETHTOOL: [&str; 2] = ["/usr/sbin/ethtool", "/sbin/ethtool"];

/// A card by its address, whatever it is called by then; what lies on it may have the same address, but no driver.
fn card(machine: &mut Overlay<'_>, want: &Want, device: &str) -> Option<String> {
    let address = powerband_sysfs::net::address(machine, device)?;
    let ethtool = ETHTOOL.iter().find(|path| {
        let (folder, name) = path.rsplit_once('/').unwrap_or_default();
        machine.list(folder).is_ok_and(|entries| entries.iter().any(|entry| entry.name == name))
    })?;
    let set = want.command()?;
    let options = set.strip_prefix(&format!("ethtool -C {device} "))?;
    Some(format!(
        "ACTION==\"add\", SUBSYSTEM==\"net\", DRIVERS==\"?*\", ATTR{{address}}==\"{address}\", RUN+=\"{ethtool} -C $name {options}\"\n"
    ))
}

fn rule(want: &Want) -> Option<String> {
    let path = want.path()?;
    let (subsystem, rest) = match path.strip_prefix("/sys/block/") {
        Some(rest) => ("block", rest),
        None => path.strip_prefix("/sys/class/")?.split_once('/')?,
    };
    let (device, attribute) = rest.split_once('/')?;
    // What an interface is called when it appears is not what it is called afterwards.
    let plain = |text: &str| text.chars().all(|c| c.is_ascii_alphanumeric() || "-_./:, ".contains(c));
    if subsystem == "net" || !plain(attribute) || !plain(device) || !plain(&want.value) {
        return None;
    }
    let value = &want.value;
    Some(format!(
        "ACTION==\"add\", SUBSYSTEM==\"{subsystem}\", KERNEL==\"{device}\", ATTR{{{attribute}}}=\"{value}\"\n"
    ))
}
