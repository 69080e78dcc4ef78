//! Small packets to an echo at times fixed beforehand; every round trip counts from the time its packet was meant to leave,
//! so that a packet kept waiting behind others counts in full. Next to that, the mean from when each did leave to when the
//! kernel took its answer in, which is what ping(8) tells.
use std::collections::BTreeMap;
use std::io::{self, ErrorKind, Read, Write};
use std::net::{SocketAddr, TcpStream, UdpSocket};
use std::os::fd::{AsFd, BorrowedFd};

use hdrhistogram::Histogram;
use powerband_record::Protocol;
use rustix::event::{PollFd, PollFlags};
use rustix::time::{ClockId, Timespec};
use serde_json::{Value, json};

use super::icmp::Icmp;
use super::packet::{DONE, MARK, number};
use super::stamped;
use super::stream::{prepare, socket_address};
use super::{Failure, now_ns};

/// A timer wakes us this much early, ns; the rest is spent looking, so that packets leave on time.
const EARLY_NS: u64 = 100_000;

/// How long answers are waited for after the last packet, ns.
const LAST_NS: u64 = 1_000_000_000;

/// How often, and how long each time, ns, the echo is told that we are done.
const GOODBYES: u32 = 5;
const GOODBYE_NS: u64 = 200_000_000;

/// How long connecting may take.
const CONNECT: std::time::Duration = std::time::Duration::from_secs(10);

/// Round trips from 1 ns to a minute, to three digits.
const MAX_NS: u64 = 60_000_000_000;
const DIGITS: u8 = 3;

/// How packets travel.
pub(super) enum Way {
    Udp { socket: UdpSocket, packet: Vec<u8> },
    Tcp { stream: TcpStream, packet: Vec<u8>, waiting: Vec<u8>, come: Vec<u8> },
    Icmp(Icmp),
}

impl Way {
    /// To an echo at an address.
    pub(super) fn to(protocol: Protocol, address: &str, port: u16, size_bytes: u32) -> Result<Way, Failure> {
        let place = socket_address(address, port)?;
        let cannot = || Failure::of(format!("cannot reach {place}"));
        let mut packet = vec![0; usize::try_from(size_bytes).unwrap_or(0).max(MARK.len() + 4)];
        packet[..MARK.len()].copy_from_slice(&MARK);
        Ok(match protocol {
            Protocol::Udp => {
                let any: SocketAddr = if place.is_ipv4() { ([0; 4], 0).into() } else { ([0_u16; 8], 0).into() };
                let socket = UdpSocket::bind(any).map_err(cannot())?;
                socket.connect(place).map_err(cannot())?;
                stamped::stamp(socket.as_fd()).map_err(cannot())?;
                socket.set_nonblocking(true).map_err(cannot())?;
                Way::Udp { socket, packet }
            }
            Protocol::Tcp => {
                let stream = TcpStream::connect_timeout(&place, CONNECT).map_err(cannot())?;
                prepare(&stream).map_err(cannot())?;
                stream.set_nonblocking(true).map_err(cannot())?;
                Way::Tcp { stream, packet, waiting: Vec::new(), come: Vec::new() }
            }
            Protocol::Icmp => Way::Icmp(Icmp::to(place.ip(), packet).map_err(cannot())?),
        })
    }

    fn fd(&self) -> BorrowedFd<'_> {
        match self {
            Way::Udp { socket, .. } => socket.as_fd(),
            Way::Tcp { stream, .. } => stream.as_fd(),
            Way::Icmp(icmp) => icmp.fd(),
        }
    }

    /// Makes the packet of a number ready, so that nothing but sending lies between its time and its leaving.
    fn prepare(&mut self, number: u32) {
        let numbered = |packet: &mut Vec<u8>| packet[MARK.len()..][..4].copy_from_slice(&number.to_be_bytes());
        match self {
            Way::Udp { packet, .. } | Way::Tcp { packet, .. } => numbered(packet),
            Way::Icmp(icmp) => {
                numbered(&mut icmp.payload);
                icmp.prepare(number);
            }
        }
    }

    /// Sends what is ready; what there is no room for is lost, or waits where nothing may be lost.
    fn send(&mut self) -> io::Result<()> {
        let sent = match self {
            Way::Udp { socket, packet } => socket.send(packet).map(drop),
            Way::Tcp { packet, waiting, .. } => {
                waiting.extend_from_slice(packet);
                self.flush()
            }
            Way::Icmp(icmp) => icmp.send(),
        };
        match sent {
            Err(error) if is_loss(&error) => Ok(()),
            sent => sent,
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        let Way::Tcp { stream, waiting, .. } = self else { return Ok(()) };
        while !waiting.is_empty() {
            match stream.write(waiting) {
                Ok(sent) => drop(waiting.drain(..sent)),
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                Err(error) => return Err(error),
            }
        }
        Ok(())
    }

    /// The number of a packet that has come back, if one has, and when by the wall clock, ns, where the kernel says so.
    fn receive(&mut self) -> io::Result<Option<(u32, Option<u64>)>> {
        let mut bytes = [0; 2048];
        loop {
            let got = match self {
                Way::Udp { socket, .. } => stamped::receive(socket.as_fd(), &mut bytes)
                    .map(|(got, at_ns)| number(&bytes[..got]).map(|number| (number, at_ns))),
                Way::Tcp { stream, packet, come, .. } => match first_of(come, packet.len()) {
                    Some(number) => Ok(Some((number, None))),
                    None => match stream.read(&mut bytes) {
                        Ok(0) => Err(ErrorKind::UnexpectedEof.into()),
                        Ok(got) => {
                            come.extend_from_slice(&bytes[..got]);
                            continue;
                        }
                        Err(error) => Err(error),
                    },
                },
                Way::Icmp(icmp) => icmp.receive(&mut bytes),
            };
            match got {
                Ok(Some(come)) => return Ok(Some(come)),
                // Somebody else's packet.
                Ok(None) => {}
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                Err(error) if error.kind() == ErrorKind::WouldBlock => return Ok(None),
                Err(error) => return Err(error),
            }
        }
    }
}

/// A loss on the way rather than its end: no room in a queue.
fn is_loss(error: &io::Error) -> bool {
    const ENOBUFS: i32 = 105;
    error.kind() == ErrorKind::WouldBlock || error.raw_os_error() == Some(ENOBUFS)
}

/// Takes the first whole packet of a stream.
fn first_of(come: &mut Vec<u8>, length: usize) -> Option<u32> {
    let number = number(come.get(..length)?);
    come.drain(..length);
    number
}

/// What came of it so far.
struct Tally {
    /// Packets under way.
    under_way: BTreeMap<u32, UnderWay>,
    trips: Histogram<u64>,
    sum_ns: u128,
    max_ns: u64,
    sent: u32,
    /// From leaving to coming back: all together, and each, ns.
    away_ns: u128,
    away: Histogram<u64>,
}

/// When a packet was meant to leave, and when it did, by the monotonic and by the wall clock, ns.
#[derive(Clone, Copy, Default)]
struct UnderWay {
    meant_ns: u64,
    left_ns: u64,
    left_wall_ns: u64,
}

impl Tally {
    fn took(&mut self, number: u32, now_ns: u64, came_wall_ns: Option<u64>) {
        // One that comes twice counts once.
        let Some(UnderWay { meant_ns, left_ns, left_wall_ns }) = self.under_way.remove(&number) else { return };
        let heard_ns = now_ns.saturating_sub(left_ns);
        // Where the wall clock was set meanwhile, ours has to do.
        let away_ns = came_wall_ns.and_then(|came_ns| came_ns.checked_sub(left_wall_ns));
        let away_ns = away_ns.filter(|away_ns| *away_ns <= heard_ns).unwrap_or(heard_ns);
        self.away_ns += u128::from(away_ns);
        self.away.saturating_record(away_ns);
        let trip_ns = now_ns.saturating_sub(meant_ns);
        self.trips.saturating_record(trip_ns);
        self.sum_ns += u128::from(trip_ns);
        self.max_ns = self.max_ns.max(trip_ns);
    }

    fn report(&self) -> Value {
        let received = self.trips.len();
        let cells: Vec<(u64, u64)> =
            self.trips.iter_recorded().map(|it| (it.value_iterated_to(), it.count_at_value())).collect();
        json!({
            "sent": self.sent,
            "received": received,
            "mean_ns": self.sum_ns as f64 / received.max(1) as f64,
            "rtt_ns": self.away_ns as f64 / received.max(1) as f64,
            "rtt_p50_ns": self.away.value_at_quantile(0.5),
            "max_ns": self.max_ns,
            "histogram": cells,
        })
    }
}

/// Sends at `times`, ns from now, and answers the report.
pub(super) fn ping(mut way: Way, times: impl Iterator<Item = u64>) -> Result<Value, Failure> {
    let lost = || Failure::of("the echo was lost");
    let trips = Histogram::new_with_bounds(1, MAX_NS, DIGITS)
        .map_err(|error| Failure::Work(format!("no such histogram: {error}")))?;
    let away = trips.clone();
    let mut tally = Tally { under_way: BTreeMap::new(), trips, sum_ns: 0, max_ns: 0, sent: 0, away_ns: 0, away };
    let began_ns = now_ns(ClockId::Monotonic);
    for after_ns in times {
        let meant_ns = began_ns + after_ns;
        way.prepare(tally.sent);
        listen(&mut way, &mut tally, meant_ns, |_| false).map_err(lost())?;
        let (left_ns, left_wall_ns) = (now_ns(ClockId::Monotonic), now_ns(ClockId::Realtime));
        way.send().map_err(lost())?;
        tally.under_way.insert(tally.sent, UnderWay { meant_ns, left_ns, left_wall_ns });
        tally.sent += 1;
    }
    let until_ns = now_ns(ClockId::Monotonic) + LAST_NS;
    listen(&mut way, &mut tally, until_ns, |tally| tally.under_way.is_empty()).map_err(lost())?;
    let report = tally.report();
    if let Way::Udp { .. } = way {
        say_goodbye(&mut way, &mut tally);
    }
    Ok(report)
}

/// Takes what comes back until a time, or until it is enough.
fn listen(way: &mut Way, tally: &mut Tally, until_ns: u64, enough: impl Fn(&Tally) -> bool) -> io::Result<()> {
    while !enough(tally) {
        match way.flush() {
            Err(error) if !is_loss(&error) => return Err(error),
            _ => {}
        }
        if let Some((number, came_wall_ns)) = way.receive()? {
            tally.took(number, now_ns(ClockId::Monotonic), came_wall_ns);
            continue;
        }
        let left_ns = until_ns.saturating_sub(now_ns(ClockId::Monotonic));
        if left_ns == 0 {
            break;
        }
        if left_ns > EARLY_NS {
            let ns = left_ns - EARLY_NS;
            let timeout = Timespec {
                tv_sec: i64::try_from(ns / 1_000_000_000).unwrap_or(i64::MAX),
                tv_nsec: i64::try_from(ns % 1_000_000_000).unwrap_or(0),
            };
            // Interrupted: the next round waits for the rest.
            let _ = rustix::event::poll(&mut [PollFd::from_borrowed_fd(way.fd(), PollFlags::IN)], Some(&timeout));
        }
    }
    Ok(())
}

/// Tells the echo that we are done. If it never hears of it, it gives us up by itself.
fn say_goodbye(way: &mut Way, tally: &mut Tally) {
    tally.under_way.clear();
    for _ in 0..GOODBYES {
        tally.under_way.insert(DONE, UnderWay::default());
        way.prepare(DONE);
        if way.send().is_err() {
            return;
        }
        let until_ns = now_ns(ClockId::Monotonic) + GOODBYE_NS;
        if listen(way, tally, until_ns, |tally| tally.under_way.is_empty()).is_err() || tally.under_way.is_empty() {
            return;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn packets_of_a_stream_are_told_apart_wherever_it_is_cut() {
        let packet = |number: u32| [&MARK[..], &number.to_be_bytes(), &[0; 8]].concat();
        let stream = [packet(1), packet(2)].concat();
        let mut come = Vec::new();
        let mut numbers = Vec::new();
        for &byte in &stream {
            come.push(byte);
            numbers.extend(first_of(&mut come, 16));
        }
        assert_eq!((numbers, come.len()), (vec![1, 2], 0));
        assert_eq!((number(b"PBpg\0\0\x01"), number(b"xxxx\0\0\0\x01")), (None, None));
    }
}
