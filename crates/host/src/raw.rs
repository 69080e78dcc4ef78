//! The system calls rustix has no safe form of, each in one small function. The only unsafe code of this crate.
use std::io;
use std::mem::MaybeUninit;
use std::os::fd::{AsRawFd, BorrowedFd, FromRawFd, IntoRawFd, OwnedFd};
use std::process::Command;

use powerband_machine::Errno;
use powerband_record::{ExitStatus, Usage};
use rustix::process::Pid;

/// Which side of [`clone_sibling`] this is.
pub(crate) enum Cloned {
    /// The new process.
    Sibling,
    /// The caller, with the new process's number.
    Caller(Pid),
}

/// A copy of this process whose parent is our parent.
///
/// Its peak memory starts at nothing, unlike that of a process which only executes: the kernel carries a peak over exec.
/// Must be called from a process with one thread, and the copy must execute soon.
#[expect(unsafe_code, reason = "rustix has no clone; the caller has one thread, so the copy is whole")]
pub(crate) fn clone_sibling() -> io::Result<Cloned> {
    let flags = libc::c_long::from(libc::CLONE_PARENT | libc::SIGCHLD);
    let none: libc::c_long = 0;
    // SAFETY: as fork(2): no new stack, no shared memory.
    match unsafe { libc::syscall(libc::SYS_clone, flags, none, none, none, none) } {
        -1 => Err(io::Error::last_os_error()),
        0 => Ok(Cloned::Sibling),
        pid => i32::try_from(pid)
            .ok()
            .and_then(Pid::from_raw)
            .map(Cloned::Caller)
            .ok_or_else(|| io::Error::from_raw_os_error(libc::EIO)),
    }
}

/// Reaps an ended child of ours: how it ended, and what it and those it waited for cost. `real_ns` is left 0.
///
/// The CPU time counts from the clone, so it holds a fraction of a millisecond that `real_ns`, from exec, does not.
#[expect(unsafe_code, reason = "rustix has no wait4, and waitid answers no usage")]
pub(crate) fn reap(pid: Pid, patient: bool) -> io::Result<Option<(ExitStatus, Usage)>> {
    let mut status = 0;
    let mut usage = MaybeUninit::<libc::rusage>::zeroed();
    let options = if patient { 0 } else { libc::WNOHANG };
    let usage = loop {
        // SAFETY: both pointers are to live variables of the right type; zeroed is a valid rusage.
        match unsafe { libc::wait4(pid.as_raw_nonzero().get(), &raw mut status, options, usage.as_mut_ptr()) } {
            -1 if io::Error::last_os_error().kind() == io::ErrorKind::Interrupted => {}
            -1 => return Err(io::Error::last_os_error()),
            0 => return Ok(None),
            // SAFETY: the kernel filled it in.
            _ => break unsafe { usage.assume_init() },
        }
    };
    let ended = if libc::WIFSIGNALED(status) {
        ExitStatus::Signal(libc::WTERMSIG(status))
    } else {
        ExitStatus::Code(libc::WEXITSTATUS(status))
    };
    let cost = Usage {
        real_ns: 0,
        user_ns: timeval_ns(usage.ru_utime),
        sys_ns: timeval_ns(usage.ru_stime),
        peak_rss_kib: u64::try_from(usage.ru_maxrss).unwrap_or(0),
    };
    Ok(Some((ended, cost)))
}

/// CPU time of this process, ns, and how often it gave up the CPU by itself.
#[expect(unsafe_code, reason = "rustix has no getrusage")]
pub(crate) fn own_usage() -> (u64, u64) {
    let mut usage = MaybeUninit::<libc::rusage>::zeroed();
    // SAFETY: the pointer is to a live variable of the right type; zeroed is a valid rusage if the call failed.
    let usage = unsafe {
        libc::getrusage(libc::RUSAGE_SELF, usage.as_mut_ptr());
        usage.assume_init()
    };
    let switches = u64::try_from(usage.ru_nvcsw).unwrap_or(0);
    (timeval_ns(usage.ru_utime) + timeval_ns(usage.ru_stime), switches)
}

/// Closes, and says what went wrong: some file systems report a failed write only here.
#[expect(unsafe_code, reason = "dropping a descriptor loses the error")]
pub(crate) fn close(fd: OwnedFd) -> io::Result<()> {
    // SAFETY: the descriptor was owned and is given up.
    match unsafe { libc::close(fd.into_raw_fd()) } {
        0 => Ok(()),
        _ => Err(io::Error::last_os_error()),
    }
}

/// Gives every signal its default meaning and blocks none; what was ignored would stay ignored over exec.
#[expect(unsafe_code, reason = "rustix does not set signal dispositions")]
pub(crate) fn reset_signals() {
    // As the kernel's own struct sigaction has it: no handler, no flags, no mask; larger than that of any machine.
    let default = [0_u64; 16];
    let (none, mask_bytes): (libc::c_long, libc::c_long) = (0, 8);
    // SAFETY: no handler is installed; the mask is a live, initialised variable. The system call itself, because the
    // C library keeps 32 and 33 from us, which it leaves ignored in what it spawns.
    unsafe {
        for signal in 1..=64 {
            libc::syscall(libc::SYS_rt_sigaction, libc::c_long::from(signal), default.as_ptr(), none, mask_bytes);
        }
        let mut none = MaybeUninit::<libc::sigset_t>::zeroed();
        libc::sigemptyset(none.as_mut_ptr());
        libc::sigprocmask(libc::SIG_SETMASK, none.as_ptr(), std::ptr::null_mut());
    }
}

/// Has `act` done in the new process right before a command is executed.
#[expect(unsafe_code, reason = "what runs between fork and exec is for the caller to answer for")]
pub(crate) fn before_exec(command: &mut Command, act: impl Fn() -> Result<(), Errno> + Send + Sync + 'static) {
    use std::os::unix::process::CommandExt;
    // SAFETY: the C library's fork leaves its allocator usable in the copy, and `act` takes no lock of ours: it calls the
    // system and allocates.
    unsafe { command.pre_exec(move || act().map_err(|errno| io::Error::from_raw_os_error(errno.0))) };
}

/// From here on this thread's rights on files are those of `uid` and `gid`; answers whether they are.
#[expect(unsafe_code, reason = "rustix has no setfsuid")]
pub(crate) fn set_file_rights(uid: u32, gid: u32) -> bool {
    // SAFETY: numbers only; both calls concern the calling thread alone. A number nobody has (-1) changes nothing and
    // answers what is in force, which is how a refusal shows.
    unsafe {
        libc::setfsgid(gid);
        libc::setfsuid(uid);
        u32::try_from(libc::setfsgid(libc::gid_t::MAX)) == Ok(gid)
            && u32::try_from(libc::setfsuid(libc::uid_t::MAX)) == Ok(uid)
    }
}

/// Keeps this thread on the CPUs of a mask, bit 0 of its first word being CPU 0.
#[expect(unsafe_code, reason = "rustix's set of CPUs ends at 1,024")]
pub(crate) fn set_affinity(mask: &[usize]) -> io::Result<()> {
    let this_thread: libc::c_long = 0;
    // SAFETY: pointer and length describe one live array of words, which the kernel only reads.
    match unsafe { libc::syscall(libc::SYS_sched_setaffinity, this_thread, size_of_val(mask), mask.as_ptr()) } {
        -1 => Err(io::Error::last_os_error()),
        _ => Ok(()),
    }
}

/// The CPUs that this thread may use, in as many words as the kernel has.
#[expect(unsafe_code, reason = "rustix's set of CPUs ends at 1,024")]
pub(crate) fn affinity() -> io::Result<Vec<usize>> {
    let this_thread: libc::c_long = 0;
    // The most CPUs a kernel is built for are 8,192.
    let mut mask = vec![0_usize; (1 << 16) / usize::BITS as usize];
    // SAFETY: pointer and length describe one live array of words, which the kernel fills in from its beginning.
    let written = unsafe {
        libc::syscall(libc::SYS_sched_getaffinity, this_thread, size_of_val(mask.as_slice()), mask.as_mut_ptr())
    };
    let bytes = usize::try_from(written).map_err(|_| io::Error::last_os_error())?;
    mask.truncate(bytes / size_of::<usize>());
    Ok(mask)
}

/// The ends of our children come to us, also when our caller ignored those of his.
#[expect(unsafe_code, reason = "rustix does not set signal dispositions")]
pub(crate) fn heed_children() {
    // SAFETY: no handler is installed.
    unsafe { libc::signal(libc::SIGCHLD, libc::SIG_DFL) };
}

/// SIGINT, SIGTERM and SIGHUP no longer end this process.
#[expect(unsafe_code, reason = "rustix does not set signal dispositions")]
pub(crate) fn ignore_stop_signals() {
    for signal in [libc::SIGINT, libc::SIGTERM, libc::SIGHUP] {
        // SAFETY: no handler is installed.
        unsafe { libc::signal(signal, libc::SIG_IGN) };
    }
}

/// The descriptors of this process from a number upwards, however many it may have; without /proc, all there could be.
fn descriptors_from(first: i32) -> Vec<i32> {
    let names = std::fs::read_dir("/proc/self/fd").map(|entries| entries.flatten().map(|entry| entry.file_name()));
    match names {
        Ok(names) => names.filter_map(|name| name.to_str()?.parse().ok()).filter(|&fd: &i32| fd >= first).collect(),
        Err(_) => {
            let most = rustix::process::getrlimit(rustix::process::Resource::Nofile).current;
            (first..most.and_then(|most| i32::try_from(most).ok()).unwrap_or(1 << 20)).collect()
        }
    }
}

/// Closes every descriptor from 3 upwards. Only for the beginning of a process, when none of them is our own.
#[expect(unsafe_code, reason = "rustix has no close_range")]
pub(crate) fn close_inherited() {
    let (first, last, flags): (libc::c_long, libc::c_long, libc::c_long) = (3, i32::MAX.into(), 0);
    // SAFETY: nothing in this process owns them yet.
    unsafe {
        if libc::syscall(libc::SYS_close_range, first, last, flags) != 0 {
            // Before Linux 5.9.
            for fd in descriptors_from(3) {
                libc::close(fd);
            }
        }
    }
}

/// Marks every descriptor from 3 upwards to be closed at exec, also those we were handed by our caller.
#[expect(unsafe_code, reason = "rustix has no close_range")]
pub(crate) fn close_all_at_exec() {
    let (first, last, flag): (libc::c_long, libc::c_long, libc::c_long) = (3, i32::MAX.into(), 4 /* CLOEXEC */);
    // SAFETY: only a flag of descriptors is changed.
    unsafe {
        if libc::syscall(libc::SYS_close_range, first, last, flag) != 0 {
            // Before Linux 5.11.
            for fd in descriptors_from(3) {
                libc::fcntl(fd, libc::F_SETFD, libc::FD_CLOEXEC);
            }
        }
    }
}

/// Has the kernel ask a child to end (SIGTERM) when the thread that starts it ends, however that ends.
#[expect(unsafe_code, reason = "what runs between fork and exec may only call what is safe there")]
pub(crate) fn end_with_us(command: &mut std::process::Command) {
    use std::os::unix::process::CommandExt;
    let owner = rustix::process::getpid();
    let order = move || {
        rustix::process::set_parent_process_death_signal(Some(rustix::process::Signal::TERM))?;
        // We may have ended before the order was given.
        if rustix::process::getppid() == Some(owner) { Ok(()) } else { Err(io::Error::from_raw_os_error(libc::ESRCH)) }
    };
    // SAFETY: two system calls on numbers; nothing is allocated and no lock is taken.
    unsafe { command.pre_exec(order) };
}

/// Process, user and group at the other end of a Unix socket; the process is 0 when it is in a namespace that we do not see.
#[expect(unsafe_code, reason = "rustix's form has no place for a process 0")]
pub(crate) fn peer_of(socket: BorrowedFd<'_>) -> io::Result<(u32, u32, u32)> {
    let mut peer = libc::ucred { pid: 0, uid: 0, gid: 0 };
    let mut length = size_of::<libc::ucred>() as libc::socklen_t;
    // SAFETY: pointer and length describe one live structure of numbers, which the kernel fills in.
    let answer = unsafe {
        let into = (&raw mut peer).cast();
        libc::getsockopt(socket.as_raw_fd(), libc::SOL_SOCKET, libc::SO_PEERCRED, into, &raw mut length)
    };
    if answer == 0 {
        Ok((u32::try_from(peer.pid).unwrap_or(0), peer.uid, peer.gid))
    } else {
        Err(io::Error::last_os_error())
    }
}

/// The further groups of the process at the other end of a Unix socket, as they were when it connected.
#[expect(unsafe_code, reason = "rustix has no SO_PEERGROUPS")]
pub(crate) fn peer_groups(socket: BorrowedFd<'_>) -> io::Result<Vec<u32>> {
    let mut groups: Vec<libc::gid_t> = vec![0; 65_536];
    let mut length = libc::socklen_t::try_from(size_of_val(groups.as_slice())).unwrap_or(0);
    // SAFETY: pointer and length describe one live array of numbers, which the kernel fills in from its beginning.
    let answer = unsafe {
        let into = groups.as_mut_ptr().cast();
        libc::getsockopt(socket.as_raw_fd(), libc::SOL_SOCKET, libc::SO_PEERGROUPS, into, &raw mut length)
    };
    if answer != 0 {
        return Err(io::Error::last_os_error());
    }
    groups.truncate(length as usize / size_of::<libc::gid_t>());
    Ok(groups)
}

/// Lets a netlink socket's refusals carry words.
pub(crate) fn want_extended_acks(socket: BorrowedFd<'_>) -> io::Result<()> {
    set_netlink_option(socket, libc::NETLINK_EXT_ACK, 1)
}

/// Makes a netlink socket a member of a group that is told things.
pub(crate) fn join_netlink_group(socket: BorrowedFd<'_>, group: u32) -> io::Result<()> {
    set_netlink_option(socket, libc::NETLINK_ADD_MEMBERSHIP, group)
}

#[expect(unsafe_code, reason = "rustix has no options of netlink")]
fn set_netlink_option(socket: BorrowedFd<'_>, option: libc::c_int, value: u32) -> io::Result<()> {
    let length: libc::socklen_t = 4;
    // SAFETY: pointer and length describe one live integer.
    unsafe {
        let value = (&raw const value).cast();
        match libc::setsockopt(socket.as_raw_fd(), libc::SOL_NETLINK, option, value, length) {
            0 => Ok(()),
            _ => Err(io::Error::last_os_error()),
        }
    }
}

/// A group of fanotify that is told afterwards, and does not wait.
#[expect(unsafe_code, reason = "rustix has no fanotify")]
pub(crate) fn fanotify() -> io::Result<OwnedFd> {
    let group = libc::FAN_CLASS_NOTIF | libc::FAN_CLOEXEC | libc::FAN_NONBLOCK | libc::FAN_UNLIMITED_MARKS;
    let events = libc::O_RDONLY | libc::O_CLOEXEC | libc::O_LARGEFILE | libc::O_NONBLOCK;
    // SAFETY: numbers only; the descriptor that comes back is nobody else's.
    unsafe {
        match libc::fanotify_init(group, events.cast_unsigned()) {
            -1 => Err(io::Error::last_os_error()),
            fd => Ok(OwnedFd::from_raw_fd(fd)),
        }
    }
}

/// From now on a group is told what is written to the file that is at a path now.
#[expect(unsafe_code, reason = "rustix has no fanotify")]
pub(crate) fn fanotify_mark(group: BorrowedFd<'_>, path: &str) -> io::Result<()> {
    let path = std::ffi::CString::new(path)?;
    // SAFETY: the path is a live string that ends with its zero.
    unsafe {
        match libc::fanotify_mark(
            group.as_raw_fd(),
            libc::FAN_MARK_ADD,
            libc::FAN_MODIFY,
            libc::AT_FDCWD,
            path.as_ptr(),
        ) {
            0 => Ok(()),
            _ => Err(io::Error::last_os_error()),
        }
    }
}

/// Some of what a group was told: which process, and the file, which is absent where events were lost.
#[expect(unsafe_code, reason = "rustix has no fanotify; the kernel hands over open descriptors")]
pub(crate) fn fanotify_events(group: BorrowedFd<'_>) -> io::Result<Vec<(u32, Option<OwnedFd>)>> {
    let mut buffer = [0_u8; 4096];
    let got = rustix::io::read(group, &mut buffer)?;
    let (mut events, mut rest) = (Vec::new(), &buffer[..got]);
    // struct fanotify_event_metadata: length u32, version u8, u8, u16, mask u64, descriptor i32, process i32.
    while let (Some(length), Some(told)) = (rest.first_chunk::<4>(), rest.get(16..24)) {
        let number = |at: usize| i32::from_ne_bytes([told[at], told[at + 1], told[at + 2], told[at + 3]]);
        // SAFETY: the kernel has just opened it for us, once for each event.
        let file = (number(0) >= 0).then(|| unsafe { OwnedFd::from_raw_fd(number(0)) });
        events.push((u32::try_from(number(4)).unwrap_or(0), file));
        let length = usize::try_from(u32::from_ne_bytes(*length)).unwrap_or(usize::MAX);
        rest = rest.get(length.max(24)..).unwrap_or_default();
    }
    Ok(events)
}

/// One request of ethtool's ioctl, on a structure of numbers alone, in place: `N` words, as the request in the first has.
#[expect(unsafe_code, reason = "rustix has no SIOCETHTOOL")]
pub(crate) fn ethtool<const N: usize>(socket: BorrowedFd<'_>, device: &str, words: &mut [u32; N]) -> io::Result<()> {
    let mut request = MaybeUninit::<libc::ifreq>::zeroed();
    // SAFETY: zeroed is a valid ifreq; the name leaves room for its final zero; the kernel reads and writes the
    // structure the first word says, which is the one `words` has the size of, and it outlives the call.
    unsafe {
        let name = &mut request.assume_init_mut().ifr_name;
        if device.len() >= name.len() {
            return Err(io::Error::from_raw_os_error(libc::ENODEV));
        }
        for (to, from) in name.iter_mut().zip(device.bytes()) {
            *to = from.cast_signed() as libc::c_char;
        }
        request.assume_init_mut().ifr_ifru.ifru_data = words.as_mut_ptr().cast();
        match libc::ioctl(socket.as_raw_fd(), libc::SIOCETHTOOL as _, request.as_mut_ptr()) {
            0 => Ok(()),
            _ => Err(io::Error::last_os_error()),
        }
    }
}

/// Opens a counter of whatever runs on a CPU: an event of a device, by its three words.
#[expect(unsafe_code, reason = "rustix has no perf_event_open")]
pub(crate) fn perf_counter(device_type: u32, [config, config1, config2]: [u64; 3], cpu: i32) -> io::Result<OwnedFd> {
    /// `struct perf_event_attr` as far as its second version goes.
    #[repr(C)]
    struct Attributes {
        device_type: u32,
        size_bytes: u32,
        config: u64,
        /// Sampling, its period and contents, the form of what is read, flags, wake-ups, breakpoints: none.
        none: [u64; 5],
        config1: u64,
        config2: u64,
    }
    let size_bytes = size_of::<Attributes>() as u32;
    let attributes = Attributes { device_type, size_bytes, config, none: [0; 5], config1, config2 };
    let (everything, no_group, close_at_exec): (libc::c_long, libc::c_long, libc::c_long) = (-1, -1, 8);
    // SAFETY: the structure is a live one of the size it says, which the kernel only reads; the descriptor that comes back
    // is nobody else's.
    unsafe {
        let attributes = &raw const attributes;
        let cpu = libc::c_long::from(cpu);
        match libc::syscall(libc::SYS_perf_event_open, attributes, everything, cpu, no_group, close_at_exec) {
            -1 => Err(io::Error::last_os_error()),
            fd => Ok(OwnedFd::from_raw_fd(fd as libc::c_int)),
        }
    }
}

fn timeval_ns(time: libc::timeval) -> u64 {
    u64::try_from(time.tv_sec).unwrap_or(0) * 1_000_000_000 + u64::try_from(time.tv_usec).unwrap_or(0) * 1000
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_descriptor_is_found_however_high() {
        let most = rustix::process::getrlimit(rustix::process::Resource::Nofile).current.unwrap_or(4096);
        let high = i32::try_from(most.min(1 << 16)).unwrap() - 1;
        let open = rustix::io::fcntl_dupfd_cloexec(rustix::stdio::stderr(), high).unwrap();
        assert_eq!(open.as_raw_fd(), high);
        assert!(high >= 1023 && descriptors_from(3).contains(&high));
        assert!(descriptors_from(high).iter().all(|&fd| fd >= high));
    }
}
