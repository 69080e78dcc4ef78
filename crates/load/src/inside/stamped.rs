//! Packets with the time at which the kernel took them in, as ping(8) has it: how late a process hears of them is not theirs.
use std::io;
use std::mem::MaybeUninit;
use std::os::fd::{AsRawFd, BorrowedFd};

/// Room for the control message of one time, and for others.
const CONTROL_BYTES: usize = 128;

/// The option and the type of what it brings, with 64 bits for the seconds on every machine, so that 2038 passes unnoticed. On
/// machines of 32 bits that is SO_TIMESTAMPNS_NEW of asm-generic/socket.h, since Linux 5.1.
const TIMES_OF_64_BITS: libc::c_int = if cfg!(target_pointer_width = "64") { libc::SO_TIMESTAMPNS } else { 64 };

/// A time with 64 bits for the seconds on every machine: the kernel's `__kernel_timespec`.
const TIME_BYTES: usize = 16;

/// Asks the kernel for the time of each packet (SO_TIMESTAMPNS, socket(7)).
pub(super) fn stamp(fd: BorrowedFd<'_>) -> io::Result<()> {
    let on: libc::c_int = 1;
    let length = libc::socklen_t::try_from(size_of::<libc::c_int>()).unwrap_or(0);
    #[expect(unsafe_code, reason = "rustix has no SO_TIMESTAMPNS")]
    // SAFETY: pointer and length describe one live int, which the kernel only reads.
    let done =
        unsafe { libc::setsockopt(fd.as_raw_fd(), libc::SOL_SOCKET, TIMES_OF_64_BITS, (&raw const on).cast(), length) };
    if done == 0 { Ok(()) } else { Err(io::Error::last_os_error()) }
}

/// The next packet: its length, and when it was taken in by the wall clock, ns, where the kernel says so.
pub(super) fn receive(fd: BorrowedFd<'_>, bytes: &mut [u8]) -> io::Result<(usize, Option<u64>)> {
    let mut part = libc::iovec { iov_base: bytes.as_mut_ptr().cast(), iov_len: bytes.len() };
    // Aligned as a control message has to be.
    let mut control = [0_u64; CONTROL_BYTES / 8];
    #[expect(unsafe_code, reason = "rustix does not read SCM_TIMESTAMPNS")]
    // SAFETY: all pointers are to live buffers of the lengths given next to them, which outlive the call; msghdr is plain data,
    // for which zeroes are valid. The control messages are walked by the macros made for that, over what the kernel wrote.
    unsafe {
        let mut message: libc::msghdr = MaybeUninit::zeroed().assume_init();
        (message.msg_iov, message.msg_iovlen) = (&raw mut part, 1);
        // Some C libraries have fewer bits for the length.
        (message.msg_control, message.msg_controllen) = (control.as_mut_ptr().cast(), CONTROL_BYTES as _);
        let got = libc::recvmsg(fd.as_raw_fd(), &raw mut message, 0);
        let Ok(got) = usize::try_from(got) else { return Err(io::Error::last_os_error()) };
        let mut at_ns = None;
        let mut header = libc::CMSG_FIRSTHDR(&raw const message);
        while !header.is_null() {
            if (*header).cmsg_level == libc::SOL_SOCKET && (*header).cmsg_type == TIMES_OF_64_BITS {
                at_ns = unix_ns(libc::CMSG_DATA(header).cast::<[u8; TIME_BYTES]>().read());
            }
            header = libc::CMSG_NXTHDR(&raw const message, header);
        }
        Ok((got, at_ns))
    }
}

/// Nanoseconds since 1970 of seconds and nanoseconds.
fn unix_ns(time: [u8; TIME_BYTES]) -> Option<u64> {
    let (seconds, rest) = time.split_at(TIME_BYTES / 2);
    let [seconds, rest] = [seconds, rest].map(|half| half.try_into().ok().map(i64::from_ne_bytes));
    u64::try_from(seconds?).ok()?.checked_mul(1_000_000_000)?.checked_add(u64::try_from(rest?).ok()?)
}

#[cfg(test)]
mod tests {
    use std::net::UdpSocket;
    use std::os::fd::AsFd;

    use rustix::time::ClockId;

    use super::super::now_ns;
    use super::{receive, stamp, unix_ns};

    #[test]
    fn a_time_after_2038_is_read() {
        let time =
            |seconds: i64, rest: i64| unix_ns([seconds.to_ne_bytes(), rest.to_ne_bytes()].concat().try_into().unwrap());
        assert_eq!(time(2_208_988_800, 5), Some(2_208_988_800_000_000_005));
        assert_eq!((time(-1, 0), time(i64::MAX, 0)), (None, None));
    }

    #[test]
    fn a_packet_carries_when_it_came() {
        let (to, from) = (UdpSocket::bind("127.0.0.1:0").unwrap(), UdpSocket::bind("127.0.0.1:0").unwrap());
        stamp(to.as_fd()).unwrap();
        let mut bytes = [0; 16];
        let mut stamped = || {
            let before_ns = now_ns(ClockId::Realtime);
            from.send_to(b"hello", to.local_addr().unwrap()).unwrap();
            let after_ns = now_ns(ClockId::Realtime);
            std::thread::sleep(std::time::Duration::from_millis(20));
            let (got, at_ns) = receive(to.as_fd(), &mut bytes).unwrap();
            assert_eq!(&bytes[..got], b"hello");
            // By its coming, and not by when we looked.
            (before_ns..=after_ns).contains(&at_ns.unwrap())
        };
        // The first socket of a machine that asks is heard a little later, by a worker.
        assert!((0..100).any(|_| stamped()), "no packet is stamped as it comes");
        to.set_nonblocking(true).unwrap();
        assert_eq!(receive(to.as_fd(), &mut bytes).unwrap_err().kind(), std::io::ErrorKind::WouldBlock);
    }
}
