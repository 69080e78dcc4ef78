//! TuneD: a profile of our own that includes the active one, and is the active one from now on.
use powerband_machine::Look;

use super::{Overlay, Texts, Want, by_knob, everywhere, is_on, own};
use crate::keep::Origin;

const ACTIVE: &str = "/etc/tuned/active_profile";
const MODE: &str = "/etc/tuned/profile_mode";

/// Where profiles of a later TuneD (2.25) lie, and where ours goes then.
const LATER: (&str, &str) = ("/usr/lib/tuned/profiles", "/etc/tuned/profiles");

/// The profile's name.
const NAME: &str = "powerband";

pub(super) fn write(machine: &mut Overlay<'_>, wants: &[Want], origin: &Origin) -> Option<Texts> {
    if !is_on(machine, "tuned") {
        return None;
    }
    let active = machine.read(ACTIVE).ok()?;
    let includes: Vec<&str> = active.split_whitespace().filter(|name| *name != NAME).collect();
    if includes.is_empty() {
        return None;
    }
    let (mut cpu, mut sysctl, mut sysfs) = (String::new(), String::new(), String::new());
    for (knob, wants) in by_knob(wants) {
        let all = everywhere(machine, &wants);
        match (knob, all) {
            ("cpufreq.governor", Some(governor)) => cpu += &format!("governor={governor}\n"),
            // Single policies lose against the governor of the profile that is included.
            ("cpufreq.governor", None) => return None,
            _ => {
                for want in wants {
                    let path = want.path()?;
                    match path.strip_prefix(powerband_sysfs::proc::SYSCTL) {
                        Some(key) => sysctl += &format!("{}={}\n", key.replace('/', "."), want.value),
                        None if path.starts_with("/sys/") => sysfs += &format!("{path}={}\n", want.value),
                        None => return None,
                    }
                }
            }
        }
    }
    let section = |head: &str, lines: &str| if lines.is_empty() { String::new() } else { format!("\n{head}\n{lines}") };
    let body = format!(
        "[main]\nsummary=What powerband keeps\ninclude={}\n{}{}{}",
        includes.join(","),
        section("[cpu]", &cpu),
        section("[sysctl]", &sysctl),
        section("[powerband_sysfs]\ntype=sysfs", &sysfs),
    );
    let folder = if machine.list(LATER.0).is_ok() { LATER.1 } else { "/etc/tuned" };
    let mut texts =
        vec![(format!("{folder}/{NAME}/tuned.conf"), own(origin, &body)), (ACTIVE.to_owned(), format!("{NAME}\n"))];
    if machine.read(MODE).is_ok_and(|mode| mode.trim() != "manual") {
        texts.push((MODE.to_owned(), "manual\n".to_owned()));
    }
    Some(texts)
}
