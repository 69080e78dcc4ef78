//! Datagrams of one size from one machine to another, with a connection next to them on which both agree.
//!
//! On the connection: exchanges as for a stream; when all is sent, how many datagrams that were (8 bytes, big endian); then the
//! receiver's word that it has taken in what came (1 byte).
use std::io::{self, ErrorKind, Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream, UdpSocket};
use std::os::fd::AsFd;
use std::time::Duration;

use rustix::event::{PollFd, PollFlags};
use rustix::time::{ClockId, Timespec};
use serde_json::{Value, json};

use super::stream::{accept, answer_exchanges, prepare, round_trip_ms, socket_address};
use super::{Control, Failure, cpu_seconds, now_ns};

/// How often a free port of TCP is tried that UDP has free, too.
const TRIES: usize = 20;
/// A receiver that hears nothing for so long gives the sender up.
const SILENCE: Timespec = Timespec { tv_sec: 30, tv_nsec: 0 };
/// After the sender's last word what is still on its way gets so long, ns.
const LAST_NS: u64 = 200_000_000;
/// Who sends at a rate wakes this often at most, ns: it sends what is due by then.
const PACE_NS: u64 = 1_000_000;
/// Datagrams sent before the clock is looked at.
const BURST: u64 = 32;
/// How long connecting may take.
const CONNECT: Duration = Duration::from_secs(10);

/// What is to be sent.
#[derive(Clone, Copy)]
pub(super) struct Asked {
    pub(super) for_ns: u64,
    pub(super) size_bytes: u32,
    pub(super) rate_kbit_s: Option<u64>,
    pub(super) rtt_exchanges: u32,
}

/// A port that both protocols have free.
fn listen(place: SocketAddr) -> io::Result<(TcpListener, UdpSocket)> {
    let mut refused = io::Error::from(ErrorKind::AddrInUse);
    for _ in 0..TRIES {
        let listener = TcpListener::bind(place)?;
        match UdpSocket::bind(listener.local_addr()?) {
            Ok(socket) => return Ok((listener, socket)),
            Err(error) => refused = error,
        }
        if place.port() != 0 {
            break;
        }
    }
    Err(refused)
}

/// What came.
#[derive(Default)]
struct Came {
    bytes: u64,
    datagrams: u64,
    first_ns: u64,
    last_ns: u64,
}

impl Came {
    /// Takes all that waits.
    fn take(&mut self, socket: &UdpSocket, bytes: &mut [u8]) -> io::Result<()> {
        loop {
            match socket.recv(bytes) {
                Ok(got) => {
                    self.last_ns = now_ns(ClockId::Monotonic);
                    if self.datagrams == 0 {
                        self.first_ns = self.last_ns;
                    }
                    self.datagrams += 1;
                    self.bytes += got as u64;
                }
                Err(error) if error.kind() == ErrorKind::WouldBlock => return Ok(()),
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                Err(error) => return Err(error),
            }
        }
    }
}

/// Takes in what one sender sends.
pub(super) fn receive(address: &str, port: u16, control: &mut Control) -> Result<Value, Failure> {
    let place = socket_address(address, port)?;
    let (listener, socket) = listen(place).map_err(Failure::of(format!("cannot listen on {place}")))?;
    let bound = listener.local_addr().map_err(Failure::of("cannot listen"))?;
    control.ready(bound.port())?;
    let mut stream = accept(&listener).map_err(Failure::of("no sender came"))?;
    let lost = || Failure::of("the sender was lost");
    prepare(&stream).map_err(lost())?;
    socket.set_nonblocking(true).map_err(lost())?;
    control.begin()?;
    let cpu_before = cpu_seconds();
    answer_exchanges(&mut stream).map_err(lost())?;
    let mut came = Came::default();
    let sent = take_all(&socket, &mut stream, &mut came).map_err(lost())?;
    let cpu = cpu_seconds() - cpu_before;
    stream.write_all(&[1]).map_err(lost())?;
    let seconds = came.last_ns.saturating_sub(came.first_ns) as f64 / 1e9;
    Ok(json!({
        "bytes": came.bytes,
        "datagrams": came.datagrams.min(sent),
        "seconds": seconds,
        "cpu_seconds": cpu,
    }))
}

/// Until the sender has said how many it sent and they are all here, or no more come; answers how many it sent.
fn take_all(socket: &UdpSocket, stream: &mut TcpStream, came: &mut Came) -> io::Result<u64> {
    let mut bytes = vec![0; 65_536];
    let sent = loop {
        let mut fds = [
            PollFd::from_borrowed_fd(socket.as_fd(), PollFlags::IN),
            PollFd::from_borrowed_fd(stream.as_fd(), PollFlags::IN),
        ];
        if rustix::event::poll(&mut fds, Some(&SILENCE))? == 0 {
            return Err(ErrorKind::TimedOut.into());
        }
        let told = !fds[1].revents().is_empty();
        came.take(socket, &mut bytes)?;
        if told {
            let mut sent = [0; 8];
            stream.read_exact(&mut sent)?;
            break u64::from_be_bytes(sent);
        }
    };
    let until_ns = now_ns(ClockId::Monotonic) + LAST_NS;
    while came.datagrams < sent {
        came.take(socket, &mut bytes)?;
        let left_ns = until_ns.saturating_sub(now_ns(ClockId::Monotonic));
        if left_ns == 0 || came.datagrams >= sent {
            break;
        }
        let timeout = Timespec { tv_sec: 0, tv_nsec: i64::try_from(left_ns).unwrap_or(0) };
        rustix::event::poll(&mut [PollFd::from_borrowed_fd(socket.as_fd(), PollFlags::IN)], Some(&timeout))?;
    }
    Ok(sent)
}

/// Sends for a time, and answers what left.
pub(super) fn send(address: &str, port: u16, asked: &Asked) -> Result<Value, Failure> {
    let place = socket_address(address, port)?;
    let cannot = || Failure::of(format!("cannot connect to {place}"));
    let mut stream = TcpStream::connect_timeout(&place, CONNECT).map_err(cannot())?;
    let any: SocketAddr = if place.is_ipv4() { ([0; 4], 0).into() } else { ([0_u16; 8], 0).into() };
    let socket = UdpSocket::bind(any).map_err(cannot())?;
    socket.connect(place).map_err(cannot())?;
    let lost = || Failure::of(format!("the receiver at {place} was lost"));
    prepare(&stream).map_err(lost())?;
    let rtt_ms = round_trip_ms(&mut stream, asked.rtt_exchanges).map_err(lost())?;
    let cpu_before = cpu_seconds();
    let began_ns = now_ns(ClockId::Monotonic);
    let datagrams = pour(&socket, asked, began_ns).map_err(lost())?;
    let (seconds, cpu) = ((now_ns(ClockId::Monotonic) - began_ns) as f64 / 1e9, cpu_seconds() - cpu_before);
    stream.write_all(&datagrams.to_be_bytes()).map_err(lost())?;
    stream.read_exact(&mut [0]).map_err(lost())?;
    Ok(json!({
        "datagrams": datagrams,
        "bytes": datagrams * u64::from(asked.size_bytes),
        "seconds": seconds,
        "cpu_seconds": cpu,
        "rtt_ms": rtt_ms,
    }))
}

/// Sends until the time is up; answers how many datagrams.
fn pour(socket: &UdpSocket, asked: &Asked, began_ns: u64) -> io::Result<u64> {
    let packet = vec![0; usize::try_from(asked.size_bytes).unwrap_or(0)];
    let mut sent = 0;
    loop {
        let passed_ns = now_ns(ClockId::Monotonic) - began_ns;
        if passed_ns >= asked.for_ns {
            return Ok(sent);
        }
        let due = asked.due(passed_ns);
        if sent >= due {
            let ns = i64::try_from(PACE_NS.min(asked.for_ns - passed_ns)).unwrap_or(0);
            // Interrupted: the next round sleeps the rest.
            let _ = rustix::thread::nanosleep(&Timespec { tv_sec: 0, tv_nsec: ns });
            continue;
        }
        for _ in 0..(due - sent).min(BURST) {
            match socket.send(&packet) {
                // No room in a queue, or nobody listens there any more, which the connection tells better.
                Err(error) if is_passing(&error) => {}
                Err(error) => return Err(error),
                Ok(_) => sent += 1,
            }
        }
    }
}

impl Asked {
    /// How many datagrams are due after so long.
    fn due(&self, passed_ns: u64) -> u64 {
        let Some(kbit_s) = self.rate_kbit_s else { return u64::MAX };
        let bits = u128::from(kbit_s) * u128::from(passed_ns) / 1_000_000;
        u64::try_from(bits / (u128::from(self.size_bytes.max(1)) * 8)).unwrap_or(u64::MAX)
    }
}

fn is_passing(error: &io::Error) -> bool {
    const ENOBUFS: i32 = 105;
    let kinds = [ErrorKind::Interrupted, ErrorKind::WouldBlock, ErrorKind::ConnectionRefused];
    kinds.contains(&error.kind()) || error.raw_os_error() == Some(ENOBUFS)
}

#[cfg(test)]
mod tests {
    use super::Asked;

    #[test]
    fn datagrams_are_due_by_the_payload_asked_for() {
        let asked = Asked { for_ns: 0, size_bytes: 125, rate_kbit_s: Some(1_000), rtt_exchanges: 0 };
        assert_eq!([0, 999_999, 1_000_000, 10_500_000].map(|ns| asked.due(ns)), [0, 0, 1, 10]);
        assert_eq!(Asked { rate_kbit_s: None, ..asked }.due(1), u64::MAX);
    }
}
