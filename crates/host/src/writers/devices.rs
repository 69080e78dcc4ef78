//! What the kernel reports of devices: uevents (NETLINK_KOBJECT_UEVENT), and links of network devices by rtnetlink.
//!
//! What comes anew begins with values of its own: a CPU that is in service again, a driver that was loaded, a network device
//! that its driver has reset. Nobody has written then. What devices report while they stay (`change`: a battery's
//! charge) is left out, and so are devices that have nothing to do with settings.
use std::collections::BTreeMap;
use std::os::fd::OwnedFd;

use powerband_machine::{DEVICES, DEVICES_REPORTED, Errno};
use powerband_record::Writer;
use rustix::net::netlink::{KOBJECT_UEVENT, SocketAddrNetlink};
use rustix::net::{AddressFamily, Protocol, RecvFlags, SocketFlags, SocketType};

use super::Heard;
use crate::errno;
use crate::netlink::{attributes, first_message, u32_at};

/// What of a device counts (linux/kobject.h).
const ACTIONS: [&str; 7] = ["add", "remove", "online", "offline", "bind", "unbind", "move"];

/// Subsystems whose devices bring no setting along that is watched, and come and go all the time: what is mounted, disks,
/// caches of memory, terminals.
const UNRELATED: [&str; 6] = ["bdi", "block", "slab", "tty", "vc", "input"];

/// Both families have the group that is meant first (linux/rtnetlink.h: RTNLGRP_LINK).
const FIRST_GROUP: u32 = 1;

/// Messages about links, the length of what precedes their attributes, and the name among those (linux/rtnetlink.h, linux/if_link.h).
const NEW_LINK: u16 = 16;
const LINK_GONE: u16 = 17;
const LINK_HEADER: usize = 16;
const LINK_NAME: u16 = 3;

/// A link that is up, and one that carries (linux/if.h).
const UP: u32 = 0x1;
const RUNNING: u32 = 0x40;

/// Longer than any uevent (linux/kobject.h: UEVENT_BUFFER_SIZE is 2048) and than most messages about a link.
const BUFFER: usize = 16 << 10;

/// The two sockets.
pub(super) struct Devices {
    events: OwnedFd,
    links: OwnedFd,
    /// How each link was reported last, by its number.
    known: BTreeMap<u32, u32>,
}

/// Why there is no watching.
pub(super) fn in_words(errno: Errno) -> String {
    format!("this kernel does not report which devices come and go: {errno}")
}

fn joined(protocol: Option<Protocol>) -> Result<OwnedFd, Errno> {
    let (kind, flags) = (SocketType::RAW, SocketFlags::CLOEXEC | SocketFlags::NONBLOCK);
    let socket = rustix::net::socket_with(AddressFamily::NETLINK, kind, flags, protocol).map_err(errno)?;
    // A socket without an address of its own is told nothing.
    rustix::net::bind(&socket, &SocketAddrNetlink::new(0, FIRST_GROUP)).map_err(errno)?;
    Ok(socket)
}

impl Devices {
    pub(super) fn new() -> Result<Devices, Errno> {
        Ok(Devices { events: joined(Some(KOBJECT_UEVENT))?, links: joined(None)?, known: BTreeMap::new() })
    }

    pub(super) fn fds(&self) -> [&OwnedFd; 2] {
        [&self.events, &self.links]
    }

    /// Takes what has come.
    pub(super) fn listen(&mut self, heard: &mut Heard) {
        let mut note = |what: &str| {
            heard.note(DEVICES, &Writer::unknown(format!("{DEVICES_REPORTED}{what}")), false);
        };
        each_message(&self.events, |message| match message {
            Some(event) => event_in(event).iter().for_each(|what| note(what)),
            None => note("more about devices than it could keep"),
        });
        let Devices { links, known, .. } = self;
        each_message(links, |message| match message {
            Some(bytes) => links_in(bytes, known).iter().for_each(|what| note(what)),
            None => note("more about links than it could keep"),
        });
    }
}

/// Hands over everything that waits in a socket; nothing for what was lost there.
fn each_message(socket: &OwnedFd, mut take: impl FnMut(Option<&[u8]>)) {
    let mut buffer = vec![0; BUFFER];
    loop {
        match rustix::net::recv(socket, &mut buffer[..], RecvFlags::DONTWAIT) {
            Ok((_, got)) => take(Some(&buffer[..got.min(BUFFER)])),
            Err(rustix::io::Errno::INTR) => {}
            Err(rustix::io::Errno::NOBUFS) => take(None),
            Err(_) => return,
        }
    }
}

/// `online@/devices/system/cpu/cpu3`, zero, and the same again key by key: `cpu3 online`.
fn event_in(event: &[u8]) -> Option<String> {
    let mut keys = event.split(|&byte| byte == 0).map(|key| std::str::from_utf8(key).unwrap_or_default());
    let (action, path) = keys.next()?.split_once('@')?;
    let name = path.rsplit('/').next().filter(|name| !name.is_empty())?;
    let unrelated = keys.filter_map(|key| key.strip_prefix("SUBSYSTEM=")).any(|name| UNRELATED.contains(&name));
    (ACTIONS.contains(&action) && !unrelated).then(|| format!("{name} {action}"))
}

/// The links that are new, gone, or up or down now: `eth0 up`.
fn links_in(mut bytes: &[u8], known: &mut BTreeMap<u32, u32>) -> Vec<String> {
    let mut news = Vec::new();
    while let Some((kind, _, body, rest)) = first_message(bytes) {
        bytes = rest;
        let (Some(number), Some(flags)) = (u32_at(body, 4), u32_at(body, 8)) else { continue };
        let name = attributes(body.get(LINK_HEADER..).unwrap_or_default()).find(|(kind, _)| *kind == LINK_NAME);
        let name = name.map_or_else(|| format!("link {number}"), |(_, name)| text(name));
        let state = flags & (UP | RUNNING);
        match kind {
            NEW_LINK if known.insert(number, state) != Some(state) => {
                let carries = if state & RUNNING == 0 { " without a carrier" } else { "" };
                news.push(if state & UP == 0 { format!("{name} down") } else { format!("{name} up{carries}") });
            }
            LINK_GONE => {
                known.remove(&number);
                news.push(format!("{name} removed"));
            }
            _ => {}
        }
    }
    news
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes.split(|&byte| byte == 0).next().unwrap_or_default()).into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_uevent_is_named_by_its_device_and_what_happened() {
        for (event, told) in [
            (&b"online@/devices/system/cpu/cpu3\0ACTION=online\0SUBSYSTEM=cpu\0"[..], Some("cpu3 online")),
            (b"add@/module/acpi_cpufreq\0", Some("acpi_cpufreq add")),
            (b"change@/devices/battery\0", None),
            (b"add@/devices/virtual/bdi/0:60\0ACTION=add\0SUBSYSTEM=bdi\0", None),
            (b"libudev\0\xfe\xed", None),
            (b"add@/", None),
            (b"", None),
        ] {
            assert_eq!(event_in(event).as_deref(), told);
        }
    }

    /// A message about a link, as the kernel writes it.
    fn link(kind: u16, number: u32, flags: u32) -> Vec<u8> {
        let mut body = [0_u32.to_ne_bytes(), number.to_ne_bytes(), flags.to_ne_bytes(), 0_u32.to_ne_bytes()].concat();
        body.extend([9_u16.to_ne_bytes(), LINK_NAME.to_ne_bytes()].concat());
        body.extend(b"eth0\0\0\0\0");
        let length = u32::try_from(16 + body.len()).unwrap();
        let head = [&length.to_ne_bytes()[..], &kind.to_ne_bytes(), &[0; 10]].concat();
        [head, body].concat()
    }

    #[test]
    fn a_link_is_told_when_it_goes_up_or_down_and_not_for_anything_else() {
        let mut known = BTreeMap::new();
        let mut told = |kind, flags| links_in(&link(kind, 7, flags), &mut known);
        assert_eq!(told(NEW_LINK, UP | RUNNING), ["eth0 up"]);
        assert!(told(NEW_LINK, UP | RUNNING | 0x100).is_empty(), "promiscuous is no news");
        assert_eq!(told(NEW_LINK, UP), ["eth0 up without a carrier"]);
        assert_eq!(told(LINK_GONE, 0), ["eth0 removed"]);
        assert_eq!(told(NEW_LINK, 0), ["eth0 down"]);
        let whole = link(NEW_LINK, 8, UP);
        assert!((0..whole.len()).all(|end| links_in(&whole[..end], &mut BTreeMap::new()).is_empty()));
        let two = [link(NEW_LINK, 8, UP), link(LINK_GONE, 8, 0)].concat();
        assert_eq!(links_in(&two, &mut BTreeMap::new()), ["eth0 up without a carrier", "eth0 removed"]);
    }
}
