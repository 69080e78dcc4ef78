//! Doing an action: files, groups, network devices, programs.
use std::os::fd::{AsFd, OwnedFd};
use std::process::{Command, Stdio};

use powerband_machine::{Action, Errno};
use rustix::event::{PollFd, PollFlags};
use rustix::fs::{Mode, OFlags};
use rustix::process::{Pid, PidfdFlags, Signal};

use crate::capture::Capture;
use crate::group::Groups;
use crate::{errno, io_errno};

/// How long a program that turns something may take, ns.
const RUN_NS: u64 = 10_000_000_000;
/// How much of its output may be told, bytes.
const WORDS_BYTES: usize = 4096;

/// The kernel's refusal, or a program's.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Refusal {
    pub(crate) errno: Errno,
    pub(crate) words: Option<String>,
}

impl From<Errno> for Refusal {
    fn from(errno: Errno) -> Self {
        Refusal { errno, words: None }
    }
}

/// What came of an action that was done.
#[derive(Debug, Default)]
pub(crate) struct Effect {
    /// What the action itself can tell of what is now in force.
    pub(crate) reads_back: Option<String>,
    /// What a program said.
    pub(crate) words: Option<String>,
}

/// What acting leaves in this process's hands.
#[derive(Debug, Default)]
pub(crate) struct Actor {
    /// Control groups that were found or made.
    pub(crate) groups: Groups,
    /// Files kept open, by path, the newest last: each holding is a request of its own.
    held: Vec<(String, OwnedFd)>,
}

impl Actor {
    /// Does it.
    pub(crate) fn perform(&mut self, action: &Action) -> Result<Effect, Refusal> {
        match action {
            Action::HoldFile { path, text } => self.hold(path, text),
            Action::ReleaseFile { path } => {
                // One that we do not hold was closed with the process that did.
                if let Some(newest) = self.held.iter().rposition(|(held, _)| held == path) {
                    self.held.remove(newest);
                }
                Ok(Effect::default())
            }
            other => perform(&mut self.groups, other),
        }
    }

    fn hold(&mut self, path: &str, text: &str) -> Result<Effect, Refusal> {
        let flags = OFlags::WRONLY | OFlags::CLOEXEC | OFlags::NOCTTY | OFlags::NONBLOCK;
        let file = rustix::fs::open(path, flags, Mode::empty()).map_err(errno)?;
        rustix::io::write(&file, text.as_bytes()).map_err(errno)?;
        self.held.push((path.to_owned(), file));
        Ok(Effect::default())
    }
}

fn perform(groups: &mut Groups, action: &Action) -> Result<Effect, Refusal> {
    match action {
        Action::WriteFile { path, text } => Ok(crate::files::write(path, text).map(|()| Effect::default())?),
        Action::RemoveFile { path } => Ok(crate::files::remove(path).map(|()| Effect::default())?),
        Action::MakeGroup { group, quota } => {
            groups.make(group, *quota).map(|in_force| Effect { reads_back: Some(in_force), words: None })
        }
        Action::RemoveGroup { group } => groups.remove(group).map(|()| Effect::default()),
        Action::Coalesce { device, values } => crate::coalescing::set(device, values).map(|()| Effect::default()),
        Action::Run { argv } => run(argv, WORDS_BYTES, true).map(|said| Effect { reads_back: None, words: Some(said) }),
        _ => Err(Refusal { errno: Errno::EOPNOTSUPP, words: Some("this powerband cannot do that here".into()) }),
    }
}

/// What a program that reads something prints, a newline at its end; its complaints are no part of it.
pub(crate) fn printed(argv: &[String]) -> Result<String, Errno> {
    run(argv, WORDS_BYTES, false).map(|said| said + "\n").map_err(|refusal| refusal.errno)
}

/// Runs a program to its end, within 10 s, and answers what it printed, its error output included or not, trimmed and no
/// longer than `limit` bytes; an exit other than 0 is `EIO`, a program that is not there `ENOENT`.
pub(crate) fn run(argv: &[String], limit: usize, with_errors: bool) -> Result<String, Refusal> {
    use std::os::unix::process::CommandExt;
    let (program, arguments) = argv.split_first().ok_or(Errno::EINVAL)?;
    let (drain, write) = crate::capture::pipe().map_err(errno)?;
    let errors: Stdio =
        if with_errors { write.try_clone().map_err(|error| io_errno(&error))?.into() } else { Stdio::null() };
    let mut output = Capture::new(drain, limit);
    let mut command = Command::new(program);
    command.args(arguments).stdin(Stdio::null()).stdout(write).stderr(errors).process_group(0);
    let child = command.spawn().map_err(|error| {
        let errno = match io_errno(&error) {
            errno if crate::child::is_absent(program, errno) => Errno::ENOENT,
            errno => errno,
        };
        Refusal { errno, words: Some(format!("'{program}' cannot be run: {errno}")) }
    })?;
    drop(command);
    let pid = Pid::from_child(&child);
    let pidfd = rustix::process::pidfd_open(pid, PidfdFlags::empty()).map_err(errno)?;
    let deadline = crate::now_ns() + RUN_NS;
    let in_time = loop {
        let mut fds = vec![PollFd::new(&pidfd, PollFlags::IN)];
        fds.extend(output.drain.fd().map(|end| PollFd::from_borrowed_fd(end.as_fd(), PollFlags::IN)));
        // Interrupted: we look again; the deadline bounds it.
        let _ = rustix::event::poll(&mut fds, Some(&crate::time_until(deadline)));
        let ended = !fds[0].revents().is_empty();
        drop(fds);
        output.visit();
        if ended || crate::now_ns() >= deadline {
            break ended;
        }
    };
    if !in_time {
        let _ = rustix::process::kill_process_group(pid, Signal::KILL);
    }
    let ended = crate::child::reap_within(pid, crate::child::KILLING_NS);
    let said = output.finish().0.trim().to_owned();
    match ended {
        _ if !in_time => Err(Refusal {
            errno: Errno::ETIMEDOUT,
            words: Some(format!("'{program}' did not end within 10 s; {said}")),
        }),
        Some((status, _)) if status.success() => Ok(said),
        Some((status, _)) => Err(Refusal { errno: Errno::EIO, words: Some(format!("'{program}': {status}: {said}")) }),
        None => Err(Errno::EIO.into()),
    }
}
