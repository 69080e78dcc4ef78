//! Signals that ask us to stop, as bytes in pipes.
use std::os::fd::OwnedFd;
use std::os::unix::net::UnixStream;

use powerband_machine::{Errno, StopSignal};
use signal_hook::SigId;
use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};

use crate::io_errno;

/// One pipe a signal, so that each delivery is known by its name.
pub(crate) struct StopPipes(Vec<StopPipe>);

struct StopPipe {
    signal: StopSignal,
    end: OwnedFd,
    registered: SigId,
}

impl StopPipes {
    /// From now on SIGINT, SIGTERM and SIGHUP come as bytes; SIGHUP stays ignored when our caller ignored it (nohup).
    pub(crate) fn new() -> Result<Self, Errno> {
        let mut pipes = StopPipes(Vec::new());
        for (number, signal) in
            [(SIGINT, StopSignal::Interrupt), (SIGTERM, StopSignal::Terminate), (SIGHUP, StopSignal::HangUp)]
        {
            if number == SIGHUP && is_ignored(number) {
                continue;
            }
            let (end, told) = UnixStream::pair().map_err(|error| io_errno(&error))?;
            end.set_nonblocking(true).map_err(|error| io_errno(&error))?;
            let registered = signal_hook::low_level::pipe::register(number, told).map_err(|error| io_errno(&error))?;
            pipes.0.push(StopPipe { signal, end: end.into(), registered });
        }
        Ok(pipes)
    }

    /// What to poll.
    pub(crate) fn fds(&self) -> impl Iterator<Item = &OwnedFd> {
        self.0.iter().map(|pipe| &pipe.end)
    }

    /// What has come since the last call, each delivery once.
    pub(crate) fn take(&self) -> Vec<StopSignal> {
        let mut came = Vec::new();
        for pipe in &self.0 {
            let mut bytes = [0; 16];
            while let Ok(got @ 1..) = rustix::io::read(&pipe.end, &mut bytes) {
                came.extend(std::iter::repeat_n(pipe.signal, got));
            }
        }
        came
    }
}

impl Drop for StopPipes {
    fn drop(&mut self) {
        for pipe in &self.0 {
            signal_hook::low_level::unregister(pipe.registered);
        }
    }
}

/// From now on the ends of our children are kept for us. Who ignores SIGCHLD, as some servers do, hands that down, and the
/// kernel then forgets how a child ended.
pub fn heed_children() {
    crate::raw::heed_children();
}

/// Whether this process ignores a signal, by the mask the kernel shows (proc(5)).
fn is_ignored(signal: i32) -> bool {
    let status = crate::files::read("/proc/self/status", &mut Vec::new()).unwrap_or_default();
    let mask = status.lines().find_map(|line| line.strip_prefix("SigIgn:"));
    mask.and_then(|hex| u64::from_str_radix(hex.trim(), 16).ok()).is_some_and(|mask| mask >> (signal - 1) & 1 == 1)
}
