//! One bulk TCP stream between two machines, with the round trip of the idle connection before it.
//!
//! On the wire: the sender's number of exchanges (4 bytes, big endian), that many exchanges of one byte each, then the
//! bulk to the end of the stream; then the receiver's count of the bulk's bytes (8 bytes, big endian).
use std::io::{self, ErrorKind, Read, Write};
use std::mem::MaybeUninit;
use std::net::{IpAddr, Shutdown, SocketAddr, TcpListener, TcpStream};
use std::os::fd::{AsFd, AsRawFd};
use std::time::Duration;

use rustix::event::{PollFd, PollFlags};
use rustix::time::{ClockId, Timespec};
use serde_json::{Value, json};
use socket2::{Domain, Socket, Type};

use super::{Control, Failure, cpu_seconds, now_ns};

/// How long a connection may take to come, s.
const COME_S: i64 = 30;
/// How long a read or a write may stand still before the other end is given up.
const STILL: Duration = Duration::from_secs(30);
/// How long connecting may take.
const CONNECT: Duration = Duration::from_secs(10);
/// What is handed to the kernel at once, bytes; as iperf3 does.
const CHUNK_BYTES: usize = 128 << 10;

/// Accepts one stream and reads it to its end.
pub(super) fn receive(address: &str, port: u16, control: &mut Control) -> Result<Value, Failure> {
    let place = socket_address(address, port)?;
    let listener = TcpListener::bind(place).map_err(Failure::of(format!("cannot listen on {place}")))?;
    let bound = listener.local_addr().map_err(Failure::of("cannot listen"))?;
    control.ready(bound.port())?;
    let mut stream = accept(&listener).map_err(Failure::of("no sender came"))?;
    let lost = || Failure::of("the sender was lost");
    prepare(&stream).map_err(lost())?;
    control.begin()?;
    let cpu_before = cpu_seconds();
    answer_exchanges(&mut stream).map_err(lost())?;
    let mut chunk = vec![0; CHUNK_BYTES];
    let (mut bytes, mut first_ns, mut last_ns) = (0_u64, 0, 0);
    loop {
        match stream.read(&mut chunk) {
            Ok(0) => break,
            Ok(got) => {
                last_ns = now_ns(ClockId::Monotonic);
                if bytes == 0 {
                    first_ns = last_ns;
                    // From here on only: the time begins with the first bytes that come, not with the first chunk.
                    wait_for_chunks(&stream).map_err(Failure::of("cannot set how much is read at once"))?;
                }
                bytes += got as u64;
            }
            Err(error) if error.kind() == ErrorKind::Interrupted => {}
            Err(error) => return Err(lost()(error)),
        }
    }
    let cpu = cpu_seconds() - cpu_before;
    stream.write_all(&bytes.to_be_bytes()).and_then(|()| stream.shutdown(Shutdown::Write)).map_err(lost())?;
    Ok(json!({ "bytes": bytes, "seconds": (last_ns - first_ns) as f64 / 1e9, "cpu_seconds": cpu }))
}

/// Wakes the reader once a chunk (SO_RCVLOWAT, socket(7)), not for each train of segments: on one machine each waking takes the
/// sender's CPU time, a tenth of the rate where CPUs are virtual. The kernel lowers it to half of what the socket may hold, and
/// the end of the stream wakes in any case.
#[expect(unsafe_code, reason = "rustix has no SO_RCVLOWAT")]
fn wait_for_chunks(stream: &TcpStream) -> io::Result<()> {
    let bytes = libc::c_int::try_from(CHUNK_BYTES).unwrap_or(libc::c_int::MAX);
    let length = libc::socklen_t::try_from(size_of_val(&bytes)).unwrap_or(0);
    // SAFETY: the pointer is to a live int of that length, which the kernel only reads.
    let done = unsafe {
        libc::setsockopt(stream.as_raw_fd(), libc::SOL_SOCKET, libc::SO_RCVLOWAT, (&raw const bytes).cast(), length)
    };
    if done == 0 { Ok(()) } else { Err(io::Error::last_os_error()) }
}

/// What a sender may not exceed.
#[derive(Clone, Copy, Debug)]
pub(super) struct Limits {
    /// Bytes on their way.
    pub(super) window_bytes: Option<u64>,
    /// Payload of a segment.
    pub(super) segment_bytes: Option<u32>,
    /// Bytes of one write.
    pub(super) write_bytes: Option<u32>,
}

/// Measures the round trip, then sends for `for_ns`; the bytes reported are those the receiver says it got, the
/// seconds run until it said so.
pub(super) fn send(address: &str, port: u16, for_ns: u64, exchanges: u32, limits: Limits) -> Result<Value, Failure> {
    let place = socket_address(address, port)?;
    let mut stream = connect(&place, limits.segment_bytes)?;
    let lost = || Failure::of(format!("the receiver at {place} was lost"));
    prepare(&stream).map_err(lost())?;
    if let Some(bytes) = limits.window_bytes {
        let bytes = usize::try_from(bytes).unwrap_or(usize::MAX);
        rustix::net::sockopt::set_socket_send_buffer_size(&stream, bytes)
            .map_err(|errno| Failure::of("cannot set how much may be on its way")(errno.into()))?;
    }
    let rtt_ms = round_trip_ms(&mut stream, exchanges).map_err(lost())?;
    // The bulk is not cut into small segments by us either.
    stream.set_nodelay(false).map_err(lost())?;
    let chunk = vec![0; limits.write_bytes.map_or(CHUNK_BYTES, |bytes| bytes.max(1) as usize)];
    let cpu_before = cpu_seconds();
    let started_ns = now_ns(ClockId::Monotonic);
    let until_ns = started_ns.saturating_add(for_ns);
    while now_ns(ClockId::Monotonic) < until_ns {
        stream.write_all(&chunk).map_err(lost())?;
    }
    stream.shutdown(Shutdown::Write).map_err(lost())?;
    let mut got = [0; 8];
    stream.read_exact(&mut got).map_err(lost())?;
    let seconds = (now_ns(ClockId::Monotonic) - started_ns) as f64 / 1e9;
    Ok(json!({
        "bytes": u64::from_be_bytes(got),
        "seconds": seconds,
        "cpu_seconds": cpu_seconds() - cpu_before,
        "retransmits": retransmits(&stream).map_err(Failure::of("cannot read TCP_INFO"))?,
        "rtt_ms": rtt_ms,
    }))
}

/// A connection whose segments are cut as asked: the ends agree on it while they connect.
fn connect(place: &SocketAddr, segment_bytes: Option<u32>) -> Result<TcpStream, Failure> {
    let failed = || Failure::of(format!("cannot connect to {place}"));
    let socket = Socket::new(Domain::for_address(*place), Type::STREAM, None).map_err(failed())?;
    if let Some(bytes) = segment_bytes {
        socket.set_tcp_mss(bytes).map_err(Failure::of("cannot set the size of segments"))?;
    }
    socket.connect_timeout(&(*place).into(), CONNECT).map_err(failed())?;
    Ok(socket.into())
}

pub(super) fn socket_address(address: &str, port: u16) -> Result<SocketAddr, Failure> {
    let ip: IpAddr = address
        .parse()
        .map_err(|_| Failure::Work(format!("'{address}' is not an IP address; write e.g. 127.0.0.1 or ::1")))?;
    Ok(SocketAddr::new(ip, port))
}

pub(super) fn prepare(stream: &TcpStream) -> io::Result<()> {
    stream.set_read_timeout(Some(STILL))?;
    stream.set_write_timeout(Some(STILL))?;
    stream.set_nodelay(true)
}

pub(super) fn accept(listener: &TcpListener) -> io::Result<TcpStream> {
    let mut fds = [PollFd::from_borrowed_fd(listener.as_fd(), PollFlags::IN)];
    match rustix::event::poll(&mut fds, Some(&Timespec { tv_sec: COME_S, tv_nsec: 0 }))? {
        0 => Err(ErrorKind::TimedOut.into()),
        _ => listener.accept().map(|(stream, _)| stream),
    }
}

pub(super) fn answer_exchanges(stream: &mut TcpStream) -> io::Result<()> {
    let mut number = [0; 4];
    stream.read_exact(&mut number)?;
    let mut byte = [0];
    for _ in 0..u32::from_be_bytes(number) {
        stream.read_exact(&mut byte)?;
        stream.write_all(&byte)?;
    }
    Ok(())
}

/// The median of the round trips of single bytes, ms; null without any.
pub(super) fn round_trip_ms(stream: &mut TcpStream, exchanges: u32) -> io::Result<Option<f64>> {
    stream.write_all(&exchanges.to_be_bytes())?;
    let mut trips_ns = Vec::new();
    let mut byte = [0x55];
    for _ in 0..exchanges {
        let sent_ns = now_ns(ClockId::Monotonic);
        stream.write_all(&byte)?;
        stream.read_exact(&mut byte)?;
        trips_ns.push(now_ns(ClockId::Monotonic) - sent_ns);
    }
    Ok(median_ns(&mut trips_ns).map(|median| median / 1e6))
}

fn median_ns(values: &mut [u64]) -> Option<f64> {
    values.sort_unstable();
    let middle = values.len() / 2;
    let upper = *values.get(middle)? as f64;
    Some(match values.len() % 2 {
        0 => (values[middle - 1] as f64 + upper) / 2.0,
        _ => upper,
    })
}

/// Segments sent again on this connection (tcpi_total_retrans, tcp(7)).
#[expect(unsafe_code, reason = "rustix has no TCP_INFO")]
fn retransmits(stream: &TcpStream) -> io::Result<u32> {
    let mut info = MaybeUninit::<libc::tcp_info>::zeroed();
    let mut length = libc::socklen_t::try_from(size_of::<libc::tcp_info>()).unwrap_or(0);
    // SAFETY: pointer and length describe one live tcp_info; all of its fields are numbers, so zeroes are valid.
    unsafe {
        let fd = stream.as_raw_fd();
        match libc::getsockopt(fd, libc::IPPROTO_TCP, libc::TCP_INFO, info.as_mut_ptr().cast(), &raw mut length) {
            0 => Ok(info.assume_init().tcpi_total_retrans),
            _ => Err(io::Error::last_os_error()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn medians() {
        assert_eq!(median_ns(&mut []), None);
        assert_eq!(median_ns(&mut [5]), Some(5.0));
        assert_eq!(median_ns(&mut [9, 1, 4, 2]), Some(3.0));
        assert_eq!(median_ns(&mut [9, 1, 4]), Some(4.0));
    }

    #[test]
    fn addresses_are_numbers() {
        assert!(socket_address("127.0.0.1", 1).is_ok() && socket_address("::1", 1).is_ok());
        assert!(socket_address("localhost", 1).unwrap_err().to_string().contains("IP address"));
    }
}
