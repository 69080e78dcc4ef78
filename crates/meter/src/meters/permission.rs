//! Meters that are there and may not be read, with the narrowest way to change that.
use powerband_machine::{Errno, Look};

use crate::{Absent, MeterInstance};

/// The meters that this user may read. The others are absent, one entry for all of a kind that fail alike; what else goes
/// wrong may pass until it is needed.
pub(super) fn permitted(
    machine: &mut dyn Look,
    found: Vec<MeterInstance>,
    absent: &mut Vec<Absent>,
) -> Vec<MeterInstance> {
    let (mut fine, mut denied): (Vec<MeterInstance>, Vec<(MeterInstance, Errno)>) = (Vec::new(), Vec::new());
    for meter in found {
        match machine.read(&meter.source) {
            Err(errno) if matches!(errno, Errno::EACCES | Errno::EPERM) => denied.push((meter, errno)),
            _ => fine.push(meter),
        }
    }
    if let Some((first, errno)) = denied.first() {
        let others = denied.len() - 1;
        let more = if others > 0 { format!(" (and {others} more)") } else { String::new() };
        let (way, lines) = fix(first, &denied);
        let why = format!("{}{more}: {errno}; {way}", first.source);
        absent.push(Absent { meter: first.meter, why, lines });
    }
    fine
}

/// What lets a group read them, and the file to write it in: a rule where the driver may be loaded at any time, else a line
/// for each that is there from the start. Perf asks for a right of the program.
fn fix(first: &MeterInstance, denied: &[(MeterInstance, Errno)]) -> (String, Vec<String>) {
    if first.meter == "perf" {
        let place = "perf counts a whole CPU for programs with one right alone (before 5.8 it is cap_sys_admin), or for all \
                     where /proc/sys/kernel/perf_event_paranoid is 0 or less; give it to this one by";
        return (place.into(), vec!["setcap cap_perfmon+ep \"$(command -v powerband)\"".into()]);
    }
    let group = "for the group powerband (`groupadd --system powerband`), write this in";
    if first.meter == "powercap" {
        let rules = ["chgrp powerband", "chmod 0440"]
            .map(|command| format!("SUBSYSTEM==\"powercap\", RUN+=\"/bin/{command} /sys%p/energy_uj\""));
        let place = "/etc/udev/rules.d/60-powerband.rules and run `udevadm trigger -s powercap`";
        return (format!("{group} {place}"), rules.to_vec());
    }
    let lines = denied.iter().map(|(meter, _)| format!("z {} 0440 root powerband", meter.source)).collect();
    (format!("{group} /etc/tmpfiles.d/powerband.conf and run `systemd-tmpfiles --create`"), lines)
}
