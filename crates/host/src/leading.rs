//! The child process that leads to another machine (ssh, `ip netns exec`, anything): its group, what it complains about,
//! its end, and ours.
use std::io::{ErrorKind, Read, Write};
use std::os::fd::OwnedFd;
use std::os::unix::process::CommandExt;
use std::process::{Child, ChildStderr, Command, ExitStatus, Stdio};
use std::thread::JoinHandle;

use powerband_machine::Errno;
use powerband_record::seen;
use rustix::event::{PollFd, PollFlags};
use rustix::process::{Pid, PidfdFlags, Signal};

use crate::{errno, io_errno};

/// How long one that is killed may take to die, ns.
const DYING_NS: u64 = 1_000_000_000;
/// How long what it complained about may take to be passed on once it has ended, ns.
const PASSING_ON_NS: u64 = 200_000_000;

/// A child in a process group of its own, so that Ctrl-C is for us; the whole group ends with it, and it with us.
#[derive(Debug)]
pub(crate) struct Leading {
    child: Child,
    pidfd: OwnedFd,
    /// How it ended, once it is reaped.
    ended: Option<ExitStatus>,
    /// Passes on what comes from its standard error.
    complaints: Option<JoinHandle<()>>,
    /// How long it may take to end by itself once it is no longer needed, ns.
    patience_ns: u64,
}

/// Passes on to our own standard error what a child prints there, without what would move the cursor or hide a letter: it
/// may be the other machine's words.
fn pass_on(mut from: ChildStderr) {
    let (mut chunk, mut heard) = ([0; 4096], Vec::new());
    loop {
        match from.read(&mut chunk) {
            Err(error) if error.kind() == ErrorKind::Interrupted => continue,
            Ok(0) | Err(_) => return,
            Ok(got) => heard.extend_from_slice(&chunk[..got]),
        }
        // A character, or the end of a line, may not have come whole yet.
        let whole = match std::str::from_utf8(&heard) {
            Err(error) if error.error_len().is_none() => error.valid_up_to(),
            _ if heard.ends_with(b"\r") => heard.len() - 1,
            _ => heard.len(),
        };
        let bytes: Vec<u8> = heard.drain(..whole).collect();
        let text = String::from_utf8_lossy(&bytes).replace("\r\n", "\n");
        // Without anybody to read it, it is lost as it would be without us.
        let _ = std::io::stderr().write_all(seen(&text).as_bytes());
    }
}

impl Leading {
    /// Starts it; answers its standard input and output too.
    pub(crate) fn start(program: &str, arguments: &[String]) -> Result<(Leading, OwnedFd, OwnedFd), Errno> {
        let mut command = Command::new(program);
        command.args(arguments).stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped()).process_group(0);
        crate::raw::end_with_us(&mut command);
        let mut child = command.spawn().map_err(|error| io_errno(&error))?;
        let pipes = child.stdin.take().zip(child.stdout.take());
        let pidfd = rustix::process::pidfd_open(Pid::from_child(&child), PidfdFlags::empty());
        match (pidfd, pipes) {
            (Ok(pidfd), Some((input, output))) => {
                let complaints = child.stderr.take().and_then(|from| {
                    std::thread::Builder::new().name("complaints".into()).spawn(move || pass_on(from)).ok()
                });
                Ok((Leading { child, pidfd, ended: None, complaints, patience_ns: 0 }, input.into(), output.into()))
            }
            (pidfd, _) => {
                let _ = child.kill().and_then(|()| child.wait());
                Err(pidfd.map_err(errno).err().unwrap_or(Errno::EPIPE))
            }
        }
    }

    /// Has it end by itself within this time, ns, before it is killed at the latest.
    pub(crate) fn patient(mut self, for_ns: u64) -> Leading {
        self.patience_ns = for_ns;
        self
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

    /// `what`, and how it ended when it does so by itself soon. What is left of its group is killed then.
    pub(crate) fn ending(&mut self, what: &str) -> String {
        let status = if self.wait(DYING_NS) { self.end() } else { None };
        status.map_or_else(|| what.into(), |status| format!("{what} ({status})"))
    }

    /// Ends it and whatever is left of its group; how it ended, unless the kernel does not let it go.
    pub(crate) fn end(&mut self) -> Option<ExitStatus> {
        if self.ended.is_none() {
            // Not reaped yet, so the group is its own. Nobody left in it is as wanted.
            let _ = rustix::process::kill_process_group(Pid::from_child(&self.child), Signal::KILL);
            self.ended = if self.wait(DYING_NS) { self.child.try_wait().ok().flatten() } else { None };
            // A process of it that left the group may keep the pipe open for as long as it likes.
            let until_ns = crate::now_ns() + PASSING_ON_NS;
            let goes_on = || self.complaints.as_ref().is_some_and(|thread| !thread.is_finished());
            while goes_on() && crate::now_ns() < until_ns {
                crate::pause_until(crate::now_ns() + 1_000_000);
            }
        }
        self.ended
    }
}

impl Drop for Leading {
    fn drop(&mut self) {
        if self.ended.is_none() && self.patience_ns > 0 {
            self.wait(self.patience_ns);
        }
        self.end();
    }
}
