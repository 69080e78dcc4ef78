//! Generic netlink, as much as one request and its answer need: messages, attributes, and the kernel's words on a refusal.
use std::collections::VecDeque;
use std::os::fd::{AsFd, OwnedFd};
use std::time::Duration;

use powerband_machine::Errno;
use rustix::net::sockopt::{Timeout, set_socket_timeout};
use rustix::net::{AddressFamily, RecvFlags, SendFlags, SocketFlags, SocketType, netlink};

use crate::{errno, io_errno};

/// How long the kernel may take to answer; a driver may have to talk to its card.
const PATIENCE: Duration = Duration::from_secs(10);

/// Lengths of the two headers (linux/netlink.h, linux/genetlink.h).
const HEADER: usize = 16;
const GENERIC_HEADER: usize = 4;

/// Message flags and types (linux/netlink.h).
const REQUEST_AND_ACK: u16 = 0x1 | 0x4;
const CAPPED: u16 = 0x100;
const HAS_ACK_ATTRIBUTES: u16 = 0x200;
const ERROR: u16 = 2;

/// Attributes of an answer that refuses.
const ACK_MESSAGE: u16 = 1;
const ACK_OFFSET: u16 = 2;

/// An attribute that holds attributes.
const NESTED: u16 = 0x8000;

/// The family of families (linux/genetlink.h).
const CONTROL: u16 = 0x10;
const GET_FAMILY: u8 = 3;
const FAMILY_ID: u16 = 1;
const FAMILY_NAME: u16 = 2;
const FAMILY_GROUPS: u16 = 7;
const GROUP_NAME: u16 = 1;
const GROUP_ID: u16 = 2;

/// What the kernel said no to, and how.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Refused {
    pub(crate) errno: Errno,
    /// Its own words, if it had any.
    pub(crate) message: Option<String>,
    /// The attribute it stumbled over.
    pub(crate) attribute: Option<u16>,
}

impl From<Errno> for Refused {
    fn from(errno: Errno) -> Self {
        Refused { errno, message: None, attribute: None }
    }
}

/// Attributes of a message, being written.
#[derive(Default)]
pub(crate) struct Attributes(Vec<u8>);

impl Attributes {
    pub(crate) fn add(&mut self, kind: u16, value: &[u8]) {
        let length = u16::try_from(value.len() + 4).unwrap_or(u16::MAX);
        self.0.extend(length.to_ne_bytes());
        self.0.extend(kind.to_ne_bytes());
        self.0.extend(value);
        self.0.resize(self.0.len().next_multiple_of(4), 0);
    }

    pub(crate) fn add_text(&mut self, kind: u16, text: &str) {
        self.add(kind, &[text.as_bytes(), b"\0"].concat());
    }

    pub(crate) fn add_nested(&mut self, kind: u16, inner: &Attributes) {
        self.add(kind | NESTED, &inner.0);
    }
}

/// The attributes of a message that was read; what is cut short ends them.
pub(crate) fn attributes(bytes: &[u8]) -> impl Iterator<Item = (u16, &[u8])> {
    placed_attributes(bytes).map(|(_, kind, value)| (kind, value))
}

/// The same, each with where it begins.
fn placed_attributes(bytes: &[u8]) -> impl Iterator<Item = (usize, u16, &[u8])> {
    let mut at = 0;
    std::iter::from_fn(move || {
        let length = usize::from(u16_at(bytes, at)?);
        let kind = u16_at(bytes, at + 2)? & !(NESTED | 0x4000);
        let value = bytes.get(at + 4..at + length)?;
        let place = at;
        at += length.next_multiple_of(4);
        Some((place, kind, value))
    })
}

fn u16_at(bytes: &[u8], at: usize) -> Option<u16> {
    Some(u16::from_ne_bytes(bytes.get(at..at + 2)?.try_into().ok()?))
}

pub(crate) fn u32_at(bytes: &[u8], at: usize) -> Option<u32> {
    Some(u32::from_ne_bytes(bytes.get(at..at + 4)?.try_into().ok()?))
}

/// A socket that hears what one family tells everybody.
pub(crate) struct Monitor {
    socket: OwnedFd,
    id: u16,
    heard: VecDeque<(u8, Vec<u8>)>,
}

impl Monitor {
    /// # Errors
    /// The kernel's error number; `ENOENT` when it has no such family or group.
    pub(crate) fn join(family: &str, group: &str) -> Result<Monitor, Errno> {
        let (Family { socket, id }, answer) = Family::introduced(family)?;
        let groups = attributes(&answer).find(|(kind, _)| *kind == FAMILY_GROUPS).map_or(&[][..], |(_, groups)| groups);
        let number = attributes(groups).find_map(|(_, told)| {
            let of = |wanted: u16| attributes(told).find(|(kind, _)| *kind == wanted).map(|(_, value)| value);
            (of(GROUP_NAME)?.strip_suffix(b"\0")? == group.as_bytes()).then(|| u32_at(of(GROUP_ID)?, 0))?
        });
        crate::raw::join_netlink_group(socket.as_fd(), number.ok_or(Errno::ENOENT)?)
            .map_err(|error| io_errno(&error))?;
        Ok(Monitor { socket, id, heard: VecDeque::new() })
    }

    /// What to poll.
    pub(crate) fn fd(&self) -> &OwnedFd {
        &self.socket
    }

    /// Command and attributes of the next thing that was told. Never waits.
    pub(crate) fn hear(&mut self) -> Option<(u8, Vec<u8>)> {
        let mut buffer = vec![0; 16 << 10];
        while self.heard.is_empty() {
            let got = match rustix::net::recv(&self.socket, &mut buffer[..], RecvFlags::DONTWAIT) {
                Ok((_, got)) => got.min(buffer.len()),
                // Some were lost, of which nothing more is known; what was kept comes after it.
                Err(rustix::io::Errno::INTR | rustix::io::Errno::NOBUFS) => continue,
                Err(_) => return None,
            };
            let mut rest = &buffer[..got];
            while let Some((kind, _, body, after)) = first_message(rest) {
                rest = after;
                if kind == self.id
                    && let (Some(&command), Some(attributes)) = (body.first(), body.get(GENERIC_HEADER..))
                {
                    self.heard.push_back((command, attributes.to_vec()));
                }
            }
        }
        self.heard.pop_front()
    }
}

/// A socket that talks to one family of this network namespace.
pub(crate) struct Family {
    socket: OwnedFd,
    id: u16,
}

impl Family {
    /// # Errors
    /// The kernel's error number; `ENOENT` when it has no such family.
    pub(crate) fn find(name: &str) -> Result<Family, Errno> {
        Family::introduced(name).map(|(family, _)| family)
    }

    /// The same, with what the kernel says of the family.
    fn introduced(name: &str) -> Result<(Family, Vec<u8>), Errno> {
        let (kind, flags) = (SocketType::RAW, SocketFlags::CLOEXEC);
        let socket =
            rustix::net::socket_with(AddressFamily::NETLINK, kind, flags, Some(netlink::GENERIC)).map_err(errno)?;
        set_socket_timeout(&socket, Timeout::Recv, Some(PATIENCE)).map_err(errno)?;
        crate::raw::want_extended_acks(socket.as_fd()).map_err(|error| io_errno(&error))?;
        let mut family = Family { socket, id: CONTROL };
        let mut asked = Attributes::default();
        asked.add_text(FAMILY_NAME, name);
        let answer = family.ask(GET_FAMILY, &asked).map_err(|refused| refused.errno)?.ok_or(Errno::ENOENT)?;
        let id = attributes(&answer).find(|(kind, _)| *kind == FAMILY_ID);
        family.id = id.and_then(|(_, value)| u16_at(value, 0)).ok_or(Errno::ENOENT)?;
        Ok((family, answer))
    }

    /// Asks, and answers the attributes of the reply if there is one.
    ///
    /// # Errors
    /// [`Refused`]; `ETIMEDOUT` when no answer comes in time.
    pub(crate) fn ask(&self, command: u8, asked: &Attributes) -> Result<Option<Vec<u8>>, Refused> {
        let request = message(self.id, command, asked);
        rustix::net::send(&self.socket, &request, SendFlags::empty()).map_err(errno)?;
        let mut reply = None;
        let mut buffer = vec![0; 64 << 10];
        loop {
            let got = match rustix::net::recv(&self.socket, &mut buffer[..], RecvFlags::empty()) {
                Ok((_, got)) => got.min(buffer.len()),
                Err(rustix::io::Errno::INTR) => continue,
                Err(rustix::io::Errno::AGAIN) => return Err(Errno::ETIMEDOUT.into()),
                Err(error) => return Err(errno(error).into()),
            };
            let mut rest = &buffer[..got];
            while let Some((kind, flags, body, after)) = first_message(rest) {
                rest = after;
                if kind == ERROR {
                    return verdict(flags, body, &request).map(|()| reply);
                }
                reply = body.get(GENERIC_HEADER..).map(<[u8]>::to_vec).or(reply);
            }
        }
    }
}

fn message(family: u16, command: u8, asked: &Attributes) -> Vec<u8> {
    let length = HEADER + GENERIC_HEADER + asked.0.len();
    let mut bytes = Vec::with_capacity(length);
    bytes.extend(u32::try_from(length).unwrap_or(u32::MAX).to_ne_bytes());
    bytes.extend(family.to_ne_bytes());
    bytes.extend(REQUEST_AND_ACK.to_ne_bytes());
    // One request at a time on a socket of its own: every answer is to this one.
    bytes.extend(1_u32.to_ne_bytes());
    bytes.extend(0_u32.to_ne_bytes());
    bytes.extend([command, 1, 0, 0]);
    bytes.extend(&asked.0);
    bytes
}

/// Type, flags and body of the first message, and what follows it.
pub(crate) fn first_message(bytes: &[u8]) -> Option<(u16, u16, &[u8], &[u8])> {
    let length = usize::try_from(u32_at(bytes, 0)?).ok()?;
    let body = bytes.get(HEADER..length)?;
    let after = bytes.get(length.next_multiple_of(4)..).unwrap_or_default();
    Some((u16_at(bytes, 4)?, u16_at(bytes, 6)?, body, after))
}

/// What an acknowledgement says of the request.
fn verdict(flags: u16, body: &[u8], request: &[u8]) -> Result<(), Refused> {
    let number = u32_at(body, 0).map_or(0, u32::cast_signed);
    if number == 0 {
        return Ok(());
    }
    let mut refused = Refused::from(Errno(-number));
    if flags & HAS_ACK_ATTRIBUTES != 0 {
        // The request comes back before the words, all of it or its header.
        let quoted =
            if flags & CAPPED != 0 { HEADER } else { u32_at(body, 4).map_or(HEADER, |length| length as usize) };
        let words = body.get(4 + quoted.next_multiple_of(4)..).unwrap_or_default();
        for (kind, value) in attributes(words) {
            match kind {
                ACK_MESSAGE => {
                    let text = value.split(|&byte| byte == 0).next().unwrap_or_default();
                    refused.message = Some(String::from_utf8_lossy(text).into_owned());
                }
                ACK_OFFSET => refused.attribute = u32_at(value, 0).and_then(|offset| attribute_at(request, offset)),
                _ => {}
            }
        }
    }
    Err(refused)
}

/// Which attribute of our request begins at an offset.
fn attribute_at(request: &[u8], offset: u32) -> Option<u16> {
    let first = HEADER + GENERIC_HEADER;
    let wanted = usize::try_from(offset).ok()?.checked_sub(first)?;
    placed_attributes(request.get(first..)?).find(|(place, ..)| *place == wanted).map(|(_, kind, _)| kind)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn attributes_are_read_as_written() {
        let mut inner = Attributes::default();
        inner.add_text(2, "eth0");
        let mut all = Attributes::default();
        all.add_nested(1, &inner);
        all.add(11, &[1]);
        all.add(2, &20_u32.to_ne_bytes());
        let read: Vec<(usize, u16, &[u8])> = placed_attributes(&all.0).collect();
        assert_eq!(read[0], (0, 1, &inner.0[..]));
        assert_eq!(read[1], (16, 11, &[1][..]));
        assert_eq!(read[2], (24, 2, &20_u32.to_ne_bytes()[..]));
        let request = message(20, 20, &all);
        assert_eq!((attribute_at(&request, 36), attribute_at(&request, 44)), (Some(11), Some(2)));
        assert_eq!(attribute_at(&request, 37), None);
        // Cut short anywhere, it ends instead of reading on.
        assert!((0..all.0.len()).all(|end| placed_attributes(&all.0[..end]).count() < 3));
    }

    #[test]
    fn a_refusal_keeps_the_kernels_words_and_the_attribute() {
        let mut asked = Attributes::default();
        asked.add(6, &5_u32.to_ne_bytes());
        let request = message(20, 20, &asked);
        let mut words = Attributes::default();
        words.add_text(ACK_MESSAGE, "no");
        words.add(ACK_OFFSET, &20_u32.to_ne_bytes());
        let body = [&(-22_i32).to_ne_bytes()[..], &request, &words.0].concat();
        let refused = verdict(HAS_ACK_ATTRIBUTES, &body, &request).unwrap_err();
        assert_eq!(refused, Refused { errno: Errno::EINVAL, message: Some("no".into()), attribute: Some(6) });
        let capped = [&(-22_i32).to_ne_bytes()[..], &request[..HEADER], &words.0].concat();
        assert_eq!(verdict(HAS_ACK_ATTRIBUTES | CAPPED, &capped, &request).unwrap_err(), refused);
        assert_eq!(verdict(0, &0_i32.to_ne_bytes(), &request), Ok(()));
    }
}
