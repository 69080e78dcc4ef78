//! udev: a rule for each device whose attribute is kept, which acts when the device appears. The clocks of CPUs are not kept this way:
//! their files appear with a driver that is loaded after the CPU has been announced.
use powerband_machine::Look;

use super::{Overlay, Texts, Want, own};
use crate::keep::Origin;

const PATH: &str = "/etc/udev/rules.d/99-zz-powerband.rules";

pub(super) fn write(machine: &mut Overlay<'_>, wants: &[Want], origin: &Origin) -> Option<Texts> {
    let has_udev = ["/lib/udev/rules.d", "/usr/lib/udev/rules.d"].iter().any(|folder| machine.list(folder).is_ok());
    if !has_udev {
        return None;
    }
    let body = wants.iter().map(rule).collect::<Option<String>>()?;
    Some(vec![(PATH.to_owned(), own(origin, &body))])
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
