//! Running a program to its end for what it prints.
use std::os::fd::{AsFd, OwnedFd};
use std::process::{Command, Stdio};

use powerband_machine::{CommandPlace, Errno, User};
use rustix::event::{PollFd, PollFlags};
use rustix::process::{Pid, PidfdFlags, Signal};

use crate::capture::Capture;
use crate::refusal::Refusal;
use crate::{errno, io_errno};

/// How long a program that turns something may take, ns.
const RUN_NS: u64 = 10_000_000_000;
/// How much of its output may be told, bytes.
pub(crate) const WORDS_BYTES: usize = 4096;

/// Runs a program with our own rights, see [`run_as`].
pub(crate) fn run(argv: &[String], limit: usize, with_errors: bool) -> Result<String, Refusal> {
    run_as(None, argv, limit, with_errors)
}

/// Runs a program to its end, within 10 s, and answers what it printed, its error output included or not, trimmed and no
/// longer than `limit` bytes; an exit other than 0 is `EIO`, a program that is not there `ENOENT`.
/// With `user` it has that user's rights and environment, and a session of its own.
pub(crate) fn run_as(user: Option<&User>, argv: &[String], limit: usize, with_errors: bool) -> Result<String, Refusal> {
    let open = |pid| rustix::process::pidfd_open(pid, PidfdFlags::empty()).map_err(errno);
    run_watched(user, argv, (limit, with_errors), &open)
}

fn run_watched(
    user: Option<&User>,
    argv: &[String],
    (limit, with_errors): (usize, bool),
    open: &dyn Fn(Pid) -> Result<OwnedFd, Errno>,
) -> Result<String, Refusal> {
    use std::os::unix::process::CommandExt;
    let (program, arguments) = argv.split_first().ok_or(Errno::EINVAL)?;
    let (drain, write) = crate::capture::pipe().map_err(errno)?;
    let errors: Stdio =
        if with_errors { write.try_clone().map_err(|error| io_errno(&error))?.into() } else { Stdio::null() };
    let mut output = Capture::new(drain, limit);
    let mut command = Command::new(program);
    command.args(arguments).stdin(Stdio::null()).stdout(write).stderr(errors);
    match user {
        Some(user) => crate::shim::start_as(&mut command, user),
        None => drop(command.process_group(0)),
    }
    let child = command.spawn().map_err(|error| {
        let errno = match io_errno(&error) {
            errno if crate::child::is_absent(program, errno) => Errno::ENOENT,
            errno => errno,
        };
        Refusal { errno, words: Some(format!("'{program}' cannot be run: {errno}")) }
    })?;
    drop(command);
    let pid = Pid::from_child(&child);
    let pidfd = match open(pid) {
        Ok(pidfd) => pidfd,
        Err(errno) => {
            // Nobody would know when it ends: it must not go on, and it has run.
            let _ = rustix::process::kill_process_group(pid, Signal::KILL);
            let _ = crate::child::reap_within(pid, crate::child::KILLING_NS);
            let why = format!("was ended, because it cannot be watched: {errno}");
            return Err(Refusal { errno: Errno::EIO, words: Some(failure(argv, &why, "")) });
        }
    };
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
        _ if !in_time => {
            Err(Refusal { errno: Errno::ETIMEDOUT, words: Some(failure(argv, "did not end within 10 s", &said)) })
        }
        Some((status, _)) if status.success() => Ok(said),
        Some((status, _)) => Err(Refusal { errno: Errno::EIO, words: Some(failure(argv, &status.to_string(), &said)) }),
        None => Err(Errno::EIO.into()),
    }
}

/// What came of a program, with what it said; of a line for the shell the line, and the last of what it said.
fn failure(argv: &[String], what: &str, said: &str) -> String {
    let (name, said) = match CommandPlace::line_of(argv) {
        Some(line) => (format!("`{line}`"), said.lines().next_back().unwrap_or_default()),
        None => (format!("'{}'", argv.first().map_or("", String::as_str)), said),
    };
    if said.is_empty() { format!("{name}: {what}") } else { format!("{name}: {what}: {said}") }
}

#[cfg(test)]
mod tests {
    use std::cell::Cell;

    use super::*;

    #[test]
    fn a_program_that_cannot_be_watched_is_ended_and_reaped() {
        let started = Cell::new(None);
        let refuse = |pid| {
            started.set(Some(pid));
            Err(Errno(24))
        };
        let argv = ["sleep", "1000"].map(str::to_owned);
        let refusal = run_watched(None, &argv, (WORDS_BYTES, true), &refuse).unwrap_err();
        assert_eq!(refusal.errno, Errno::EIO);
        let gone = rustix::process::test_kill_process(started.get().unwrap());
        assert_eq!(gone, Err(rustix::io::Errno::SRCH), "neither alive nor waiting to be reaped");
    }
}
