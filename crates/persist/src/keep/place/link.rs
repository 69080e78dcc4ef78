//! Interrupt coalescing: a drop-in of the .link file that udev applies to the device today. A .link file of our own would be the only
//! one applied, and the interface would lose its name.
use powerband_sysfs::{names, net};

use super::{Overlay, Texts, Want, own};
use crate::keep::Origin;
use crate::keep::manifest::Set;
use crate::source::{link_file_of, link_option_of};

pub(super) fn write(machine: &mut Overlay<'_>, wants: &[Want], origin: &Origin) -> Option<Texts> {
    let mut texts: Vec<(String, String)> = Vec::new();
    for want in wants {
        let Set::Coalesce { device, parameter, number } = &want.set else { return None };
        let option = link_option_of(parameter)?;
        let file = link_file_of(machine, device)?;
        // The drop-in is for every device that the file is for.
        if others(machine, device).iter().any(|other| link_file_of(machine, other).as_ref() == Some(&file)) {
            return None;
        }
        let line = format!("{option}={}\n", spelled(&option, *number));
        let name = file.rsplit('/').next().unwrap_or_default();
        let path = format!("/etc/systemd/network/{name}.d/50-powerband.conf");
        match texts.iter_mut().find(|(other, _)| *other == path) {
            Some((_, body)) => *body += &line,
            None => texts.push((path, format!("[Link]\n{line}"))),
        }
    }
    Some(texts.into_iter().map(|(path, body)| (path, own(origin, &body))).collect())
}

/// The other network cards.
fn others(machine: &mut Overlay<'_>, device: &str) -> Vec<String> {
    let all = names(machine, net::NET).into_iter().filter(|name| name != device);
    all.filter(|name| net::is_card(machine, name)).collect()
}

/// A number as systemd.link(5) takes it: times with their unit.
fn spelled(option: &str, number: u32) -> String {
    match option {
        option if option.starts_with("UseAdaptive") => if number == 0 { "no" } else { "yes" }.to_owned(),
        option if option.contains("SampleInterval") => format!("{number}s"),
        option if option.ends_with("Sec") => format!("{number}us"),
        _ => number.to_string(),
    }
}
