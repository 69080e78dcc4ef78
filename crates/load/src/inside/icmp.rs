//! Echo requests (RFC 792, RFC 4443) on a ping socket, which needs no rights where the kernel lets our group have one
//! (net.ipv4.ping_group_range), or on a raw one.
use std::io;
use std::net::{IpAddr, SocketAddr};
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};

use rustix::net::{AddressFamily, SendFlags, SocketFlags, SocketType, ipproto};

use super::packet::number;
use super::stamped;

/// Types of messages: request, and answer.
const V4: (u8, u8) = (8, 0);
const V6: (u8, u8) = (128, 129);

/// Type, code, checksum, identifier, number.
const HEADER: usize = 8;

/// A socket that sends echo requests to one address.
pub(super) struct Icmp {
    socket: OwnedFd,
    types: (u8, u8),
    /// A raw socket sees everybody's answers, and with IPv4 the header below.
    raw: bool,
    identifier: u16,
    pub(super) payload: Vec<u8>,
    message: Vec<u8>,
}

impl Icmp {
    pub(super) fn to(address: IpAddr, payload: Vec<u8>) -> io::Result<Icmp> {
        let (family, protocol, types) = match address {
            IpAddr::V4(_) => (AddressFamily::INET, ipproto::ICMP, V4),
            IpAddr::V6(_) => (AddressFamily::INET6, ipproto::ICMPV6, V6),
        };
        let open = |kind| {
            let flags = SocketFlags::CLOEXEC | SocketFlags::NONBLOCK;
            rustix::net::socket_with(family, kind, flags, Some(protocol))
        };
        let (socket, raw) = match open(SocketType::DGRAM) {
            Ok(socket) => (socket, false),
            Err(rustix::io::Errno::ACCESS | rustix::io::Errno::PERM) => {
                (open(SocketType::RAW).map_err(not_allowed)?, true)
            }
            Err(error) => return Err(error.into()),
        };
        rustix::net::connect(&socket, &SocketAddr::new(address, 0))?;
        stamped::stamp(socket.as_fd())?;
        let identifier = (std::process::id() & 0xffff) as u16;
        Ok(Icmp { socket, types, raw, identifier, payload, message: Vec::new() })
    }

    pub(super) fn fd(&self) -> BorrowedFd<'_> {
        self.socket.as_fd()
    }

    /// Makes the message that [`Icmp::send`] sends, of the payload as it is.
    pub(super) fn prepare(&mut self, number: u32) {
        // A ping socket puts its own identifier and sum in; the kernel does the sum of IPv6.
        self.message.clear();
        self.message.extend([self.types.0, 0, 0, 0]);
        self.message.extend(self.identifier.to_be_bytes());
        self.message.extend(((number & 0xffff) as u16).to_be_bytes());
        self.message.extend(&self.payload);
        if self.types == V4 {
            let sum = checksum(&self.message);
            self.message[2..4].copy_from_slice(&sum.to_be_bytes());
        }
    }

    pub(super) fn send(&self) -> io::Result<()> {
        rustix::net::send(&self.socket, &self.message, SendFlags::empty())?;
        Ok(())
    }

    /// The number of an answer and when it came by the wall clock, ns; `None` for a message that is none of ours.
    pub(super) fn receive(&self, bytes: &mut [u8]) -> io::Result<Option<(u32, Option<u64>)>> {
        let (got, at_ns) = stamped::receive(self.socket.as_fd(), bytes)?;
        let mut message = bytes.get(..got).unwrap_or_default();
        if self.raw && self.types == V4 {
            let header = message.first().map_or(0, |first| usize::from(first & 0xf) * 4);
            message = message.get(header..).unwrap_or_default();
        }
        Ok(self.answer(message).map(|number| (number, at_ns)))
    }

    fn answer(&self, message: &[u8]) -> Option<u32> {
        let (header, payload) = message.split_at_checked(HEADER)?;
        let ours = !self.raw || header[4..6] == self.identifier.to_be_bytes();
        (header[0] == self.types.1 && ours).then(|| number(payload))?
    }
}

/// What would help, where neither kind of socket is allowed.
fn not_allowed(error: rustix::io::Errno) -> io::Error {
    let error = io::Error::from(error);
    let why = format!("{error}; only root and the groups of net.ipv4.ping_group_range may, so use udp or tcp");
    io::Error::new(error.kind(), why)
}

/// The internet checksum (RFC 1071) of a message whose own field is 0.
fn checksum(message: &[u8]) -> u16 {
    let word = |pair: &[u8]| u32::from(pair[0]) << 8 | u32::from(pair.get(1).copied().unwrap_or(0));
    let mut sum: u32 = message.chunks(2).map(word).sum();
    while sum > 0xffff {
        sum = (sum & 0xffff) + (sum >> 16);
    }
    !(sum as u16)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_message_with_its_checksum_sums_to_nothing() {
        let mut message = vec![8, 0, 0, 0, 0x12, 0x34, 0, 1, 0xff, 0xee, 0xdd];
        let sum = checksum(&message);
        message[2..4].copy_from_slice(&sum.to_be_bytes());
        assert_eq!(checksum(&message), 0);
        // The example of RFC 1071, section 3.
        assert_eq!(checksum(&[0x00, 0x01, 0xf2, 0x03, 0xf4, 0xf5, 0xf6, 0xf7]), !0xddf2);
    }
}
