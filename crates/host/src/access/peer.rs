//! Who is at the other end of a Unix socket, by the kernel's word: process, user, groups, and the CPUs it may run on.
use std::os::fd::AsFd;

use powerband_record::CpuList;
use thiserror::Error;

/// Why nobody is known there.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[error("the kernel does not say who is at the other end: {0}")]
pub struct PeerRefused(String);

/// Who connected, as the kernel noted it then.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Peer {
    /// The process; 0 when it is in a namespace that we do not see.
    pub pid: u32,
    /// The user.
    pub uid: u32,
    /// The groups, all of them.
    pub groups: Vec<u32>,
}

impl Peer {
    /// At the other end of this socket.
    ///
    /// # Errors
    /// [`PeerRefused`].
    pub fn of(socket: impl AsFd) -> Result<Peer, PeerRefused> {
        let refused = |error: std::io::Error| PeerRefused(powerband_record::system_words(&error));
        let (pid, uid, gid) = crate::raw::peer_of(socket.as_fd()).map_err(refused)?;
        let mut groups = crate::raw::peer_groups(socket.as_fd()).map_err(refused)?;
        groups.push(gid);
        Ok(Peer { pid, uid, groups })
    }

    /// At the other end of standard input.
    ///
    /// # Errors
    /// [`PeerRefused`].
    pub fn at_stdin() -> Result<Peer, PeerRefused> {
        Peer::of(rustix::stdio::stdin())
    }

    /// Whether its process is in our network namespace, so that a device of one name is the same device.
    #[must_use]
    pub fn shares_network(&self) -> bool {
        let theirs = rustix::fs::stat(format!("/proc/{}/ns/net", self.pid)).ok().map(|found| found.st_ino);
        theirs.is_some() && theirs == crate::files::net_ns()
    }

    /// The CPUs its process may run on, by its control group and its own mask; none when it is gone, or another user's has
    /// its number by now.
    #[must_use]
    pub fn cpus(&self) -> CpuList {
        let status = std::fs::read_to_string(format!("/proc/{}/status", self.pid)).unwrap_or_default();
        let field = |name: &str| status.lines().find_map(|line| line.strip_prefix(name)).map(str::trim);
        let is_its = field("Uid:").is_some_and(|uids| uids.split_whitespace().nth(1) == Some(&self.uid.to_string()));
        let cpus = field("Cpus_allowed_list:").filter(|_| is_its).and_then(|list| list.parse().ok());
        cpus.unwrap_or_else(|| CpuList::new(Vec::new()))
    }
}
