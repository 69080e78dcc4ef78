//! What the caller may turn, and the narrowest right for what not. Nobody is told to do everything as root.
use std::collections::BTreeSet;

use powerband_machine::Look;

use super::place::Place;
use super::reach::Reach;
use super::{DoctorFinding, Section};
use crate::error::every_cpu;

/// The group that is given what root need not keep to itself.
const GROUP: &str = "powerband";

/// Writable by the group, or by everybody.
const OTHERS_MAY_WRITE: u32 = 0o022;

/// CAP_NET_ADMIN of linux/capability.h, as a bit of `CapEff`.
const NET_ADMIN: u64 = 1 << 12;

/// One line for each kind of right.
pub(super) fn section(machine: &mut dyn Look, place: &Place, reach: &Reach) -> Section {
    let mut findings = Vec::new();
    let privileged = machine.identity().privileged;
    if privileged {
        findings.push(DoctorFinding::ok("user", "root, who may set every knob that the kernel offers"));
    }
    findings.extend(place.read_only.iter().map(|mount| read_only(mount, reach)));
    if reach.devices {
        findings.extend(devices(administers_network(machine), privileged));
    }
    if !privileged {
        findings.extend(files(machine, reach));
        if reach.sysctl {
            findings.push(DoctorFinding::note("sysctl.*", "only root may set it").with(format!(
                "allow whole commands in /etc/sudoers.d/{GROUP}, without a `*`, which takes further words: \
                 `%{GROUP} ALL=(root) /usr/local/bin/powerband set sysctl.vm.swappiness=10`"
            )));
        }
        if reach.quota {
            findings.push(DoctorFinding::note("cgroup.cpu_quota", "takes a group that the caller may divide").with(
                "start powerband in a scope of its own: `systemd-run --user --scope -p Delegate=yes powerband …`",
            ));
        }
    }
    Section { name: "rights", title: "what you may set".into(), findings }
}

/// A mount that takes no writes, which matters where knobs sit in it.
fn read_only(mount: &str, reach: &Reach) -> DoctorFinding {
    const TOLD: &str = "mounted read-only: nothing under it can be set from here";
    const TODO: &str = "run powerband on the host, or give the container that mount to write (docker: --privileged)";
    let has_knobs = if mount == "/sys" { !reach.files.is_empty() } else { reach.sysctl };
    if has_knobs { DoctorFinding::missing(mount, TOLD, TODO) } else { DoctorFinding::note(mount, TOLD) }
}

/// Whether who acts on the machine may set up network devices; `None` when the machine does not tell.
fn administers_network(machine: &mut dyn Look) -> Option<bool> {
    let status = machine.read(powerband_sysfs::proc::OWN_STATUS).ok()?;
    let mask = status.lines().find_map(|line| line.strip_prefix("CapEff:"))?;
    u64::from_str_radix(mask.trim(), 16).ok().map(|mask| mask & NET_ADMIN != 0)
}

/// What it takes to turn a network device. Root of a container may lack it, and others may have it.
fn devices(administers: Option<bool>, privileged: bool) -> Option<DoctorFinding> {
    const ABOUT: &str = "nic.*";
    match administers.unwrap_or(privileged) {
        true if privileged => None,
        true => Some(DoctorFinding::ok(ABOUT, "this program may set it (CAP_NET_ADMIN)")),
        false if privileged => Some(DoctorFinding::missing(
            ABOUT,
            "root lacks CAP_NET_ADMIN here, as in most containers",
            "give it to the container (docker: --cap-add NET_ADMIN), or set it on the host",
        )),
        false => Some(DoctorFinding::missing(
            ABOUT,
            "only a process with CAP_NET_ADMIN may set it",
            format!(
                "give a copy of the program that right, and it to one group alone: \
                 `install -m 750 -g {GROUP} powerband /usr/local/bin/powerband-nic && \
                 setcap cap_net_admin+ep /usr/local/bin/powerband-nic`"
            ),
        )),
    }
}

/// The files under `/sys` that named knobs write, where root alone may.
fn files(machine: &mut dyn Look, reach: &Reach) -> Option<DoctorFinding> {
    let closed: BTreeSet<String> =
        reach.files.iter().filter(|path| !is_open(machine, path)).map(|path| every_cpu(path)).collect();
    if reach.files.is_empty() {
        return None;
    }
    if closed.is_empty() {
        return Some(DoctorFinding::ok("cpufreq.*", "a group may write its files; `id` says whether you are in it"));
    }
    let lines: Vec<String> = closed.iter().map(|path| format!("`z {path} 0664 root {GROUP}`")).collect();
    Some(DoctorFinding::missing(
        "cpufreq.*",
        "root alone may write its files",
        format!(
            "let the group {GROUP} (`groupadd {GROUP}`) write them by these lines in /etc/tmpfiles.d/{GROUP}.conf, in force \
             after `systemd-tmpfiles --create`: {}",
            lines.join(", ")
        ),
    ))
}

fn is_open(machine: &mut dyn Look, path: &str) -> bool {
    let Some((folder, name)) = path.rsplit_once('/') else { return false };
    let entries = machine.list(folder).unwrap_or_default();
    entries.iter().any(|entry| entry.name == name && entry.mode & OTHERS_MAY_WRITE != 0)
}
