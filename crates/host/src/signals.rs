//! Signals that ask us for something, as bytes in pipes.
use std::os::fd::OwnedFd;
use std::os::unix::net::UnixStream;

use powerband_machine::{Errno, StopSignal, UserSignal};
use signal_hook::SigId;
use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM, SIGUSR1, SIGUSR2};

use crate::io_errno;

/// One pipe a signal, so that each delivery is known by its name.
pub(crate) struct SignalPipes<S>(Vec<SignalPipe<S>>);

struct SignalPipe<S> {
    signal: S,
    end: OwnedFd,
    registered: SigId,
}

/// Those that ask us to stop.
pub(crate) type StopPipes = SignalPipes<StopSignal>;

/// Those whose meaning is the program's own.
pub(crate) type UserPipes = SignalPipes<UserSignal>;

impl StopPipes {
    /// From now on SIGINT, SIGTERM and SIGHUP come as bytes; SIGHUP stays ignored when our caller ignored it (nohup).
    pub(crate) fn new() -> Result<Self, Errno> {
        let hang_up = (!is_ignored(SIGHUP)).then_some((SIGHUP, StopSignal::HangUp));
        let stops = [(SIGINT, StopSignal::Interrupt), (SIGTERM, StopSignal::Terminate)];
        SignalPipes::listen(stops.into_iter().chain(hang_up))
    }
}

impl UserPipes {
    /// From now on SIGUSR1 and SIGUSR2 come as bytes.
    pub(crate) fn new() -> Result<Self, Errno> {
        SignalPipes::listen([(SIGUSR1, UserSignal::One), (SIGUSR2, UserSignal::Two)].into_iter())
    }
}

impl<S: Copy> SignalPipes<S> {
    /// Listens for nothing.
    pub(crate) fn none() -> Self {
        SignalPipes(Vec::new())
    }

    fn listen(signals: impl Iterator<Item = (i32, S)>) -> Result<Self, Errno> {
        let mut pipes = SignalPipes::none();
        if !crate::surroundings::heeds_signals() {
            return Ok(pipes);
        }
        for (number, signal) in signals {
            let (end, told) = UnixStream::pair().map_err(|error| io_errno(&error))?;
            end.set_nonblocking(true).map_err(|error| io_errno(&error))?;
            let registered = signal_hook::low_level::pipe::register(number, told).map_err(|error| io_errno(&error))?;
            pipes.0.push(SignalPipe { signal, end: end.into(), registered });
        }
        Ok(pipes)
    }

    /// What to poll.
    pub(crate) fn fds(&self) -> impl Iterator<Item = &OwnedFd> {
        self.0.iter().map(|pipe| &pipe.end)
    }

    /// What has come since the last call, each delivery once.
    pub(crate) fn take(&self) -> Vec<S> {
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

impl<S> Drop for SignalPipes<S> {
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
