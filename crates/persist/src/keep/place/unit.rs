//! A unit of systemd that writes the files itself, after every service known to write them. It needs no powerband to run.
use powerband_sysfs::cpufreq::CPUFREQ;

use super::{Overlay, Texts, Want, by_knob, everywhere, has_systemd, own};
use crate::keep::manifest::Set;
use crate::keep::{MANIFEST, Origin};

/// The unit.
pub(crate) const UNIT: &str = "/etc/systemd/system/powerband-keep.service";

/// What starts it a second time.
const TIMER: &str = "/etc/systemd/system/powerband-keep.timer";

/// How long after the first time, s: some daemons (TuneD, power-profiles-daemon) set a governor a moment after they have told systemd
/// that they are started.
const AGAIN_S: u32 = 10;

/// What starts it at boot: a drop-in and no link, so that it is one file like the others.
pub(crate) const PULLS_IN: &str = "/etc/systemd/system/multi-user.target.d/powerband-keep.conf";

/// Services that set such knobs, after which it starts. One that is not there is no matter.
const AFTER: [&str; 18] = [
    "systemd-udev-settle",
    "systemd-sysctl",
    "systemd-tmpfiles-setup",
    "cpufrequtils",
    "loadcpufreq",
    "cpupower",
    "cpuspeed",
    "tuned",
    "tuned-ppd",
    "power-profiles-daemon",
    "tlp",
    "auto-cpufreq",
    "thermald",
    "laptop-mode",
    "irqbalance",
    "NetworkManager",
    "systemd-networkd",
    "rc-local",
];

/// So many policies are told one by one; more by a pattern, where all of them are meant.
const MAX_POLICIES: usize = 4;

pub(super) fn write(machine: &mut Overlay<'_>, wants: &[Want], origin: &Origin) -> Option<Texts> {
    if !has_systemd(machine) {
        return None;
    }
    // A card may appear after any service has started.
    if wants.iter().any(|want| matches!(want.set, Set::Coalesce { .. })) {
        return None;
    }
    let mut starts = String::new();
    for (_, wants) in by_knob(wants) {
        match of_all_policies(machine, &wants) {
            Some(line) => starts += &line,
            // Each by itself: one that fails does not keep the others from being set, and `check` says so.
            None => {
                for want in wants {
                    starts += &start(&want.command()?);
                }
            }
        }
    }
    let after = AFTER.map(|name| format!("{name}.service")).join(" ");
    let unit = format!(
        "[Unit]\nDescription=Settings kept by powerband\nConditionPathExists={MANIFEST}\nAfter={after}\n\n\
         [Service]\nType=oneshot\n{starts}"
    );
    let timer = format!(
        "[Unit]\nDescription=Settings kept by powerband, again\n\n[Timer]\nOnActiveSec={AGAIN_S}s\nAccuracySec=1s\n"
    );
    let pulls_in = "[Unit]\nWants=powerband-keep.service powerband-keep.timer\n";
    let texts = [(UNIT, unit.as_str()), (TIMER, &timer), (PULLS_IN, pulls_in)];
    Some(texts.into_iter().map(|(path, body)| (path.to_owned(), own(origin, body))).collect())
}

fn start(command: &str) -> String {
    format!("ExecStart=-/bin/sh -c '{command}'\n")
}

/// One line for a file that every policy has.
fn of_all_policies(machine: &mut Overlay<'_>, wants: &[&Want]) -> Option<String> {
    let folder = format!("{CPUFREQ}/policy");
    let value = everywhere(machine, wants)?.to_owned();
    let name = |want: &Want| Some(want.path()?.strip_prefix(&folder)?.split_once('/')?.1.to_owned());
    let first = name(wants.first()?)?;
    let same = wants.len() > MAX_POLICIES && wants.iter().all(|want| name(want).as_ref() == Some(&first));
    wants.first()?.command().filter(|_| same)?;
    Some(start(&format!("for f in {folder}*/{first}; do echo {value} > $$f; done")))
}
