//! Coalescing that was changed, by the notifications of ethtool's family, and who may have done it.
//!
//! The kernel says that a device was turned, and to what, not by whom: who it was is inferred. Who turns a device by
//! netlink has a socket of that kind open at that moment, and the kernel lists those with their processes. One that was
//! not there when the watch began is probably it; else a program that is known to turn devices and runs.
//! A set that changes nothing is not told at all.
use std::collections::{BTreeMap, BTreeSet};
use std::os::fd::OwnedFd;

use powerband_machine::{Coalescing, CoalescingPlace, Errno};
use powerband_record::Writer;

use super::{Heard, hand};
use crate::netlink::Monitor;

/// The group that is told, and the notification (linux/ethtool_netlink.h).
const FAMILY: &str = "ethtool";
const GROUP: &str = "monitor";
const CHANGED: u8 = 21;

/// Where this network namespace's netlink sockets are listed, and the protocol of generic netlink there.
const SOCKETS: &str = "/proc/self/net/netlink";
const GENERIC: &str = "16";

/// Programs that turn network devices, as the kernel cuts their names.
const TURNERS: [&str; 7] =
    ["ethtool", "NetworkManager", "systemd-networkd", "systemd-network", "systemd-udevd", "(udev-worker)", "tuned"];

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
    format!("this kernel does not tell when coalescing is changed ({errno}); Linux 5.8 and later do")
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
    pub(super) fn listen(&mut self, ours: &[u32], heard: &mut Heard) {
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
                heard.note(place, who.clone());
            }
        }
    }

    /// Who has probably done it.
    fn likely(&self, ours: &[u32]) -> Writer {
        let holders: Vec<u32> = holders().into_iter().filter(|pid| !ours.contains(pid)).collect();
        let mut came = holders.iter().filter(|pid| !self.before.contains(pid)).map(|&pid| hand::writer(pid));
        let named = came.find(|writer| writer.program.is_some());
        let inferred = |writer: Writer, why: &str| Writer { inferred: Some(why.into()), ..writer };
        if let Some(writer) = named {
            return inferred(writer, "the kernel does not say; it had just opened a netlink socket");
        }
        let is_turner = |pid: &u32| hand::program(*pid).is_some_and(|name| TURNERS.contains(&name.as_str()));
        match processes().filter(|pid| !ours.contains(pid)).find(is_turner) {
            Some(pid) => {
                inferred(hand::writer(pid), "the kernel does not say; it turns network devices and was running")
            }
            None => {
                Writer::unknown("the kernel does not say, and no program that turns network devices was left running")
            }
        }
    }
}

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
    table.lines().filter_map(holder).collect()
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
