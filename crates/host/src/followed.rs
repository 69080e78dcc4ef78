//! Programs that print line after line, each kept with the machine's time at which it came: meters that only a program
//! reaches.
use std::collections::VecDeque;
use std::os::fd::OwnedFd;
use std::path::Path;

use powerband_machine::{Errno, Job, LinesPlace, SpawnError};
use powerband_record::Work;
use rustix::event::{PollFd, PollFlags};

use crate::child::Child;

/// How long the first line may take, ns.
const FIRST_LINE_NS: u64 = 8_000_000_000;

/// At most so much of what comes at once is kept, bytes.
const AT_ONCE_BYTES: usize = 1 << 18;

/// The oldest lines are dropped beyond this many.
const MAX_LINES: usize = 50_000;

/// Lines are cut behind this, bytes.
const MAX_LINE: usize = 200;

/// How many lines that were read before are told again: what lies between them and the next begins there.
const TOLD_AGAIN: usize = 2;

/// A program and its lines. It is killed when this is dropped.
#[derive(Debug)]
pub(crate) struct Followed {
    /// Until it is dropped.
    child: Option<Child>,
    partial: Vec<u8>,
    lines: VecDeque<(u64, String)>,
}

impl Followed {
    /// Starts it through `program`, which is ourselves, and waits for its first line.
    ///
    /// # Errors
    /// `ENODEV` when it ends without one, `ETIMEDOUT` when none comes for 8 s, else why it could not be started.
    pub(crate) fn start(program: &Path, place: LinesPlace<'_>) -> Result<Followed, Errno> {
        let work = Work::command(place.argv());
        let limit = Some(AT_ONCE_BYTES);
        let user = crate::account::command_user(place.user).map_err(|refusal| refusal.errno)?;
        let job = Job { work, cpus: None, group: None, user, output_limit: limit, around: Vec::new() };
        let child = Child::start(program, &job, None, &mut |_| {}).map_err(|error| match error {
            SpawnError::Refused { errno, .. } => errno,
            _ => Errno::ENOENT,
        })?;
        let mut followed = Followed { child: Some(child), partial: Vec::new(), lines: VecDeque::new() };
        let deadline = crate::now_ns() + FIRST_LINE_NS;
        while followed.lines.is_empty() {
            let Some(fd) = followed.fd() else { return Err(Errno::ENODEV) };
            if crate::now_ns() >= deadline {
                return Err(Errno::ETIMEDOUT);
            }
            let mut fds = [PollFd::new(fd, PollFlags::IN)];
            let _ = rustix::event::poll(&mut fds, Some(&crate::time_until(deadline)));
            followed.visit();
        }
        Ok(followed)
    }

    /// What to poll, until the program prints no more.
    pub(crate) fn fd(&self) -> Option<&OwnedFd> {
        self.child.as_ref().and_then(Child::printing)
    }

    /// Takes what it has printed.
    pub(crate) fn visit(&mut self) {
        let Some(child) = &mut self.child else { return };
        let printed = child.take_printed();
        let now_ns = crate::now_ns();
        for byte in printed {
            if byte != b'\n' {
                self.partial.push(byte);
                continue;
            }
            self.partial.truncate(MAX_LINE);
            self.lines.push_back((now_ns, String::from_utf8_lossy(&self.partial).trim().to_owned()));
            self.partial.clear();
        }
        // One that never ends its line is no meter, and is not kept either.
        self.partial.truncate(MAX_LINE);
        self.lines.drain(..self.lines.len().saturating_sub(MAX_LINES));
    }

    /// The lines that came since it was read last and two before, each behind its time: `12345 3.2 W`.
    pub(crate) fn read(&mut self) -> String {
        self.visit();
        let text = self.lines.iter().map(|(at_ns, line)| format!("{at_ns} {line}\n")).collect();
        self.lines.drain(..self.lines.len().saturating_sub(TOLD_AGAIN));
        text
    }
}

impl Drop for Followed {
    fn drop(&mut self) {
        if let Some(child) = self.child.take() {
            child.abandon();
        }
    }
}
