//! The child process that leads to another machine (ssh, `ip netns exec`, anything): its group, its end, and ours.
use std::os::fd::OwnedFd;
use std::os::unix::process::CommandExt;
use std::process::{Child, Command, ExitStatus, Stdio};

use powerband_machine::Errno;
use rustix::event::{PollFd, PollFlags};
use rustix::process::{Pid, PidfdFlags, Signal};

use crate::{errno, io_errno};

/// How long one that is killed may take to die, ns.
const DYING_NS: u64 = 1_000_000_000;

/// A child in a process group of its own, so that Ctrl-C is for us; the whole group ends with it, and it with us.
#[derive(Debug)]
pub(crate) struct Leading {
    child: Child,
    pidfd: OwnedFd,
    /// How it ended, once it is reaped.
    ended: Option<ExitStatus>,
}

impl Leading {
    /// Starts it; answers its standard input and output too.
    pub(crate) fn start(program: &str, arguments: &[String]) -> Result<(Leading, OwnedFd, OwnedFd), Errno> {
        let mut command = Command::new(program);
        command.args(arguments).stdin(Stdio::piped()).stdout(Stdio::piped()).process_group(0);
        crate::raw::end_with_us(&mut command);
        let mut child = command.spawn().map_err(|error| io_errno(&error))?;
        let pipes = child.stdin.take().zip(child.stdout.take());
        let pidfd = rustix::process::pidfd_open(Pid::from_child(&child), PidfdFlags::empty());
        match (pidfd, pipes) {
            (Ok(pidfd), Some((input, output))) => {
                Ok((Leading { child, pidfd, ended: None }, input.into(), output.into()))
            }
            (pidfd, _) => {
                let _ = child.kill().and_then(|()| child.wait());
                Err(pidfd.map_err(errno).err().unwrap_or(Errno::EPIPE))
            }
        }
    }

    /// Waits until it has ended by itself; whether it has. It is not reaped, so its number is its own.
    pub(crate) fn wait(&self, for_ns: u64) -> bool {
        let until_ns = crate::now_ns() + for_ns;
        loop {
            let mut fds = [PollFd::new(&self.pidfd, PollFlags::IN)];
            let polled = rustix::event::poll(&mut fds, Some(&crate::time_until(until_ns)));
            // Interrupted by a signal: we look again.
            match polled {
                Ok(1..) => return true,
                _ if crate::now_ns() >= until_ns => return false,
                _ => {}
            }
        }
    }

    /// How it ended, when it does so by itself within this time. What is left of its group is killed then.
    pub(crate) fn end_within(&mut self, for_ns: u64) -> Option<ExitStatus> {
        if self.wait(for_ns) { self.end() } else { None }
    }

    /// Ends it and whatever is left of its group; how it ended, unless the kernel does not let it go.
    pub(crate) fn end(&mut self) -> Option<ExitStatus> {
        if self.ended.is_none() {
            // Not reaped yet, so the group is its own. Nobody left in it is as wanted.
            let _ = rustix::process::kill_process_group(Pid::from_child(&self.child), Signal::KILL);
            self.ended = if self.wait(DYING_NS) { self.child.try_wait().ok().flatten() } else { None };
        }
        self.ended
    }
}

impl Drop for Leading {
    fn drop(&mut self) {
        self.end();
    }
}
