//! Coalescing that was changed, by the notifications of ethtool's family, and who may have done it.
//!
//! The kernel says that a device was turned, and to what, not by whom: who it was is inferred. Who turns a device by
//! netlink has a socket of that kind open at that moment, and the kernel lists those with their processes. One that was
//! not there when the watch began is probably it, or an ethtool that runs; else daemons that may have done it are named.
//! A set that changes nothing is not told at all.
use std::collections::{BTreeMap, BTreeSet};
use std::os::fd::OwnedFd;

use powerband_machine::{Coalescing, CoalescingPlace, Errno};
use powerband_record::{IntoOrdered as _, Writer};

use super::{Heard, Ours, hand};
use crate::netlink::Monitor;

/// The group that is told, and the notification (linux/ethtool_netlink.h).
const FAMILY: &str = "ethtool";
const GROUP: &str = "monitor";
const CHANGED: u8 = 21;

/// Where this network namespace's netlink sockets are listed, and the protocol of generic netlink there.
const SOCKETS: &str = "/proc/self/net/netlink";
const GENERIC: &str = "16";

/// The program that turns network devices and ends …
const TURNER: &str = "ethtool";
/// … and those that may turn some and stay.
const DAEMONS: [&str; 4] = ["NetworkManager", "systemd-networkd", "systemd-udevd", "tuned"];

/// The devices that are watched.
pub(super) struct Cards {
    monitor: Monitor,
    /// Places by device.
    places: BTreeMap<String, Vec<String>>,
    /// What each had when it was looked at last.
    had: BTreeMap<String, Coalescing>,
    /// Who had a socket when the watch began.
    before: BTreeSet<u32>,
}

/// Why there is no watching.
pub(super) fn in_words(errno: Errno) -> String {
    format!("this kernel does not report when coalescing is changed ({errno}); Linux 5.8 and later do")
}

impl Cards {
    pub(super) fn new() -> Result<Cards, Errno> {
        let monitor = Monitor::join(FAMILY, GROUP)?;
        Ok(Cards { monitor, places: BTreeMap::new(), had: BTreeMap::new(), before: holders() })
    }

    pub(super) fn fd(&self) -> &OwnedFd {
        self.monitor.fd()
    }

    pub(super) fn aim(&mut self, paths: &[&String]) {
        self.places.clear();
        for path in paths {
            let Some(place) = CoalescingPlace::of(path) else { continue };
            let device = place.device.to_owned();
            if !self.had.contains_key(&device)
                && let Ok(has) = crate::coalescing::get(&device)
            {
                self.had.insert(device.clone(), has);
            }
            self.places.entry(device).or_default().push((*path).clone());
        }
    }

    /// Takes what has come.
    pub(super) fn listen(&mut self, ours: &Ours, heard: &mut Heard) {
        // Who is there is asked once for all that has come, before anything else.
        let mut who = None;
        while let Some((command, body)) = self.monitor.hear() {
            if command != CHANGED {
                continue;
            }
            let who = who.get_or_insert_with(|| self.likely(ours));
            let Some((device, has)) = crate::coalescing::told(&body) else { continue };
            let had = self.had.insert(device.clone(), has.clone());
            for place in touched(self.places.get(&device).map_or(&[], Vec::as_slice), had.as_ref(), &has) {
                heard.note(place, who, who.pid.is_some_and(|pid| ours.is_load(pid)));
            }
        }
    }

    /// Who has probably done it.
    fn likely(&self, ours: &Ours) -> Writer {
        let holders = holders();
        let came = holders.iter().filter(|pid| !self.before.contains(pid) && !ours.own.contains(pid));
        let named = came.map(|&pid| hand::writer(pid)).find(|writer| writer.program.is_some());
        if let Some(writer) = named {
            return Writer { inferred: Some(OPENED_A_SOCKET.into()), ..writer };
        }
        let running: Vec<(u32, String)> = processes()
            .filter(|pid| !ours.own.contains(pid))
            .filter_map(|pid| Some((pid, hand::program(pid)?)))
            .collect();
        if let Some((pid, name)) = running.iter().find(|(_, name)| name == TURNER) {
            // The name is the one just read: it may end at any moment.
            return Writer { program: Some(name.clone()), inferred: Some(RAN.into()), ..hand::writer(*pid) };
        }
        let daemons: Vec<String> = running
            .iter()
            .filter(|(_, name)| DAEMONS.contains(&name.as_str()))
            .map(|(pid, name)| format!("{name}, pid {pid}"))
            .collect();
        Writer::unknown(match &daemons[..] {
            [] => "the kernel does not say, and no program known to set network devices was left running".to_owned(),
            some => format!(
                "the kernel does not say; of programs known to set network devices these run: {}",
                some.join(", ")
            ),
        })
    }
}

/// How a writer was inferred.
const OPENED_A_SOCKET: &str = "the kernel does not say, and it had just opened a netlink socket";
const RAN: &str = "the kernel does not say, and it sets network devices and was running";

/// The places whose values have changed; all of the device when none has, for then the same was set again.
fn touched<'p>(places: &'p [String], had: Option<&Coalescing>, has: &Coalescing) -> impl Iterator<Item = &'p String> {
    let changed = move |path: &String| {
        let place = CoalescingPlace::of(path);
        place.is_none_or(|place| had.is_none_or(|had| had.read(&place) != has.read(&place)))
    };
    let again = had == Some(has);
    places.iter().filter(move |path| again || changed(path))
}

/// Processes with a socket of generic netlink in this network namespace. The kernel gives a socket the number of its
/// process where that is free, else a negative one.
fn holders() -> BTreeSet<u32> {
    let table = crate::files::read(SOCKETS, &mut Vec::new()).unwrap_or_default();
    holders_in(&table)
}

fn holders_in(table: &str) -> BTreeSet<u32> {
    let holder = |line: &str| {
        let mut words = line.split_whitespace().skip(1);
        let generic = words.next() == Some(GENERIC);
        words.next().filter(|_| generic)?.parse().ok().filter(|&pid| pid != 0 && pid <= i32::MAX.cast_unsigned())
    };
    table.lines().filter_map(holder).into_set()
}

/// Everything that runs.
fn processes() -> impl Iterator<Item = u32> {
    crate::files::list("/proc").unwrap_or_default().into_iter().filter_map(|entry| entry.name.parse().ok())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn holders_of_sockets_are_read_off_the_kernels_table() {
        let table = "sk               Eth Pid        Groups   Rmem\n\
            0000000000000000 0   710        00000111 0\n\
            0000000000000000 16  0          00000000 0\n\
            0000000000000000 16  4711       00000000 0\n\
            0000000000000000 16  3221225473 00000000 0\n\
            cut";
        assert_eq!(holders_in(table), BTreeSet::from([4711]));
    }

    #[test]
    fn the_places_whose_values_changed_were_touched() {
        let has = |usecs, frames| Coalescing([("rx-usecs".to_owned(), usecs), ("rx-frames".to_owned(), frames)].into());
        let places = ["coalesce:t0/rx-usecs".to_owned(), "coalesce:t0/rx-frames".to_owned()];
        let touched = |had: Option<&Coalescing>, has: &Coalescing| -> Vec<String> {
            super::touched(&places, had, has).cloned().collect()
        };
        assert_eq!(touched(Some(&has(1, 2)), &has(1, 3)), places[1..]);
        assert_eq!(touched(Some(&has(1, 2)), &has(1, 2)), places, "the same again is a write as well");
        assert_eq!(touched(None, &has(1, 2)), places);
    }
}
