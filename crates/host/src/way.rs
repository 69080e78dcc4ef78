//! What leads to an agent: a child process whose pipes are its own, or a socket of root's.
use std::os::fd::{AsFd, OwnedFd};
use std::path::Path;

use powerband_machine::Errno;
use rustix::event::PollFlags;
use rustix::net::{AddressFamily, SocketAddrUnix, SocketFlags, SocketType};

use crate::leading::Leading;
use crate::{errno, io_errno};

/// How long a connection may take to be taken, ns.
const TAKEN_NS: u64 = 5_000_000_000;

/// What leads there, for as long as the connection is needed.
#[derive(Debug)]
pub(crate) enum Way {
    /// A child.
    Child(Leading),
    /// A socket.
    Socket(OwnedFd),
}

impl Way {
    /// Starts a program that leads there; answers its two ends as well.
    pub(crate) fn lead(program: &str, arguments: &[String]) -> Result<(Way, OwnedFd, OwnedFd), Errno> {
        Leading::start(program, arguments).map(|(child, input, output)| (Way::Child(child), input, output))
    }

    /// Connects to a socket at whose other end is root: anybody else would be said what we do, and would only say that it
    /// was done.
    pub(crate) fn to(path: &Path) -> Result<(Way, OwnedFd, OwnedFd), Errno> {
        let flags = SocketFlags::CLOEXEC | SocketFlags::NONBLOCK;
        let socket = rustix::net::socket_with(AddressFamily::UNIX, SocketType::STREAM, flags, None).map_err(errno)?;
        let address = SocketAddrUnix::new(path).map_err(errno)?;
        let until_ns = crate::now_ns() + TAKEN_NS;
        loop {
            match rustix::net::connect(&socket, &address) {
                Ok(()) => break,
                // So many wait to be taken that there is no room for one more.
                Err(rustix::io::Errno::AGAIN) if crate::now_ns() < until_ns => {
                    crate::pause_until(crate::now_ns() + 10_000_000);
                }
                Err(error) => return Err(errno(error)),
            }
        }
        let (_, uid, _) = crate::raw::peer_of(socket.as_fd()).map_err(|error| io_errno(&error))?;
        if uid != 0 {
            return Err(Errno::EPERM);
        }
        let copy = || socket.try_clone().map_err(|error| io_errno(&error));
        Ok((Way::Socket(copy()?), copy()?, copy()?))
    }

    /// Waits until the other end has done what it had left to do; whether it has.
    pub(crate) fn wait(&self, for_ns: u64) -> bool {
        match self {
            Way::Child(leading) => leading.wait(for_ns),
            Way::Socket(socket) => {
                let until_ns = crate::now_ns() + for_ns;
                // It is our last word that ends it: its end is the answer.
                let _ = rustix::net::shutdown(socket, rustix::net::Shutdown::Write);
                loop {
                    if crate::talk::wait_for(socket, PollFlags::IN, until_ns).is_err() {
                        return false;
                    }
                    match rustix::io::read(socket, &mut [0; 4096]) {
                        Ok(1..) | Err(rustix::io::Errno::INTR | rustix::io::Errno::AGAIN) => {}
                        Ok(0) | Err(_) => return true,
                    }
                }
            }
        }
    }

    /// `what`, and how it ended when that is known.
    pub(crate) fn ending(&mut self, what: &str) -> String {
        match self {
            Way::Child(leading) => leading.ending(what),
            Way::Socket(_) => what.to_owned(),
        }
    }

    /// Ends it.
    pub(crate) fn end(&mut self) {
        match self {
            Way::Child(leading) => drop(leading.end()),
            Way::Socket(socket) => drop(rustix::net::shutdown(socket, rustix::net::Shutdown::Both)),
        }
    }
}
