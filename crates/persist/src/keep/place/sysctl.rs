//! sysctl.d: a list that is read after all others.
use powerband_machine::Look;

use super::{Overlay, Texts, Want, own};
use crate::keep::Origin;

/// The name sorts behind 99-sysctl.conf, by which /etc/sysctl.conf is read.
const PATH: &str = "/etc/sysctl.d/99-zz-powerband.conf";

pub(super) fn write(machine: &mut Overlay<'_>, wants: &[Want], origin: &Origin) -> Option<Texts> {
    // Where nothing reads it there is no such folder.
    machine.list("/etc/sysctl.d").ok()?;
    let lines = wants.iter().map(|want| {
        let key = want.path()?.strip_prefix(powerband_sysfs::proc::SYSCTL)?;
        // Written with slashes, a key may have dots in the name of a network device.
        let key = if key.contains('.') { key.to_owned() } else { key.replace('/', ".") };
        Some(format!("{key} = {}\n", want.value))
    });
    let body = lines.collect::<Option<String>>()?;
    Some(vec![(PATH.to_owned(), own(origin, &body))])
}
