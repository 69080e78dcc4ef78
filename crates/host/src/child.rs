//! One child: starting it through the shim, listening to it, and what is known when it has ended.
use std::io::{BufRead, BufReader, IoSlice, Write};
use std::mem::MaybeUninit;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Duration;

use powerband_machine::{Errno, Finished, Job, SpawnError, User};
use powerband_record::{ExitStatus, Invocation, Output, Usage, Work};
use rustix::event::{PollFd, PollFlags};
use rustix::net::{SendAncillaryBuffer, SendAncillaryMessage, SendFlags};
use rustix::process::{Gid, Pid, PidfdFlags, Signal, Uid};

use crate::capture::{Capture, Control, Drain, pipe};
use crate::shim::{Answer, INSIDE_VERB, Instructions, SHIM_VERB, Step};
use crate::{errno, io_errno};

/// The shim takes a few milliseconds; more than this means that it hangs.
const SHIM_PATIENCE: Duration = Duration::from_secs(10);

/// How long one that is killed may take to die, ns.
pub(crate) const KILLING_NS: u64 = 2_000_000_000;

/// A load that runs, or ran and was not yet asked for.
#[derive(Debug)]
pub(crate) struct Child {
    pid: Pid,
    pidfd: OwnedFd,
    stdout: Option<Capture>,
    stderr: Option<Capture>,
    control: Option<Control>,
    started_ns: u64,
    group: Option<PathBuf>,
}

impl Child {
    /// Starts a job through `program`, which is ourselves. `before` is called with its process once everything is set up and
    /// nothing but its execution is left.
    pub(crate) fn start(
        program: &Path,
        job: &Job,
        group: Option<PathBuf>,
        before: &mut dyn FnMut(Pid),
    ) -> Result<Child, SpawnError> {
        let refused = |errno| SpawnError::Refused { what: job.work.kind().to_owned(), errno };
        let stream = || -> Result<(Option<Capture>, Stdio), SpawnError> {
            let Some(limit) = job.output_limit else { return Ok((None, Stdio::inherit())) };
            let (drain, end) = pipe_for(job.user.as_ref()).map_err(refused)?;
            Ok((Some(Capture::new(drain, limit)), Stdio::from(end)))
        };
        let ((stdout, out_end), (stderr, err_end)) = (stream()?, stream()?);
        let instructions = instructions(program, job, group.as_deref())?;
        let (control, control_end) = match &job.work {
            Work::Command { invocation, .. } if !invocation.repeats() => (None, None),
            _ => {
                let (drain, end) = pipe_for(job.user.as_ref()).map_err(refused)?;
                (Some(Control::new(drain)), Some(end))
            }
        };
        let starting = crate::descendants::starting();
        let (pid, started_ns) = run_shim(program, &instructions, control_end, (out_end, err_end), before)
            .map_err(|(step, errno)| spawn_error(step, errno, job, &instructions))?;
        crate::descendants::started(pid);
        drop(starting);
        let pidfd = match rustix::process::pidfd_open(pid, PidfdFlags::empty()) {
            Ok(pidfd) => pidfd,
            Err(error) => {
                kill_and_reap(pid);
                return Err(refused(errno(error)));
            }
        };
        Ok(Child { pid, pidfd, stdout, stderr, control, started_ns, group })
    }

    /// Its process.
    pub(crate) fn pid(&self) -> Pid {
        self.pid
    }

    /// What to poll: its end, and the pipes that are open.
    pub(crate) fn fds(&self) -> impl Iterator<Item = BorrowedFd<'_>> {
        let printed = [&self.stdout, &self.stderr].map(|stream| stream.as_ref().map(|capture| &capture.drain));
        let drains = [printed[0], printed[1], self.control.as_ref().map(|c| &c.drain)];
        let pipes = drains.into_iter().flatten().filter_map(|drain| drain.fd());
        std::iter::once(&self.pidfd).chain(pipes).map(AsFd::as_fd)
    }

    /// Takes what is in its pipes; answers what it said.
    pub(crate) fn visit(&mut self) -> Vec<serde_json::Value> {
        self.stdout.as_mut().map(Capture::visit);
        self.stderr.as_mut().map(Capture::visit);
        self.control.as_mut().map(Control::visit).unwrap_or_default()
    }

    /// What it has printed on standard output since the last time, up to its limit.
    pub(crate) fn take_printed(&mut self) -> Vec<u8> {
        self.stderr.as_mut().map(Capture::visit);
        self.stdout.as_mut().map(Capture::take).unwrap_or_default()
    }

    /// The pipe of its standard output, while anything may still come.
    pub(crate) fn printing(&self) -> Option<&OwnedFd> {
        self.stdout.as_ref().and_then(|capture| capture.drain.fd())
    }

    /// Whether it said since the last time that what it waited for has come, and that it begins.
    pub(crate) fn begins(&mut self) -> bool {
        self.control.as_mut().is_some_and(Control::begins)
    }

    /// Reaps it. What a grandchild may still write into its pipes is not waited for.
    pub(crate) fn finish(self, ended_ns: u64) -> Finished {
        // It has ended and is ours alone to reap, so both failures would mean that somebody else reaped it.
        let (status, usage) =
            crate::raw::reap(self.pid, true).ok().flatten().unwrap_or((ExitStatus::Code(-1), Usage::default()));
        crate::descendants::ended(self.pid);
        let (stdout, out_cut) = self.stdout.map(Capture::finish).unwrap_or_default();
        let (stderr, err_cut) = self.stderr.map(Capture::finish).unwrap_or_default();
        Finished {
            status,
            usage: Usage { real_ns: ended_ns.saturating_sub(self.started_ns), ..usage },
            report: self.control.and_then(Control::into_report),
            output: Output { stdout, stderr, cut: out_cut || err_cut },
            around: Vec::new(),
        }
    }

    /// Signals it, its process group and its control group. Not reaped yet, so its number is still its own.
    pub(crate) fn signal(&self, signal: Signal) {
        // None left to signal is as wanted.
        let _ = rustix::process::kill_process_group(self.pid, signal);
        if let Some(group) = &self.group {
            crate::group::signal_members(group, signal);
        }
    }

    /// Kills everything of it and reaps it; a process the kernel does not let go is left after 2 s.
    pub(crate) fn abandon(self) {
        self.signal(Signal::KILL);
        let deadline = crate::now_ns() + 2_000_000_000;
        while matches!(crate::raw::reap(self.pid, false), Ok(None)) && crate::now_ns() < deadline {
            let mut fds = [PollFd::new(&self.pidfd, PollFlags::IN)];
            let _ = rustix::event::poll(&mut fds, Some(&crate::time_until(deadline)));
        }
        crate::descendants::ended(self.pid);
    }
}

/// A pipe whose writing end `user` can also open by name (/dev/stdout, /proc/self/fd/N), as a load does.
fn pipe_for(user: Option<&User>) -> Result<(Drain, OwnedFd), Errno> {
    let (drain, end) = pipe().map_err(errno)?;
    if let Some(&User { uid, gid, .. }) = user {
        rustix::fs::fchown(&end, Some(Uid::from_raw(uid)), Some(Gid::from_raw(gid))).map_err(errno)?;
    }
    Ok((drain, end))
}

fn instructions(program: &Path, job: &Job, group: Option<&Path>) -> Result<Instructions, SpawnError> {
    let (argv, shows_as, invocation) = match &job.work {
        Work::Command { argv, invocation, .. } if !invocation.repeats() => (argv.clone(), None, invocation.clone()),
        work => {
            let json = serde_json::to_string(work)
                .map_err(|_| SpawnError::Refused { what: work.kind().into(), errno: Errno::EINVAL })?;
            let program = program.to_string_lossy().into_owned();
            let shows_as = Some(format!("powerband {}", work.kind()));
            (vec![program, INSIDE_VERB.into(), json], shows_as, Invocation::default())
        }
    };
    Ok(Instructions {
        argv,
        shows_as,
        owner: rustix::process::getpid().as_raw_nonzero().get(),
        enter: group.map(|folder| folder.join("cgroup.procs").to_string_lossy().into_owned()),
        cpus: job.cpus.as_ref().map(|cpus| cpus.as_slice().to_vec()),
        user: job.user.clone(),
        invocation,
    })
}

/// Runs the shim to its end; answers the load's process once it executes, and when that began, ns.
fn run_shim(
    program: &Path,
    instructions: &Instructions,
    control: Option<OwnedFd>,
    (stdout, stderr): (Stdio, Stdio),
    before: &mut dyn FnMut(Pid),
) -> Result<(Pid, u64), (Step, Errno)> {
    let failed = |error: std::io::Error| (Step::Start, io_errno(&error));
    let (mut ours, theirs) = UnixStream::pair().map_err(failed)?;
    let mut shim = Command::new(program);
    shim.arg(SHIM_VERB).stdin(Stdio::from(OwnedFd::from(theirs))).stdout(stdout).stderr(stderr);
    let mut child = shim.spawn().map_err(failed)?;
    // With it go our copies of the pipes' writing ends.
    drop(shim);
    let mut answers = Vec::new();
    let heard = instruct(&mut ours, instructions, control).and_then(|()| hear(&ours, before, &mut answers));
    if heard.is_err() {
        // It hangs or is no shim; once it is dead `wait` returns.
        let _ = child.kill();
    }
    let ended = child.wait();
    let heard = heard.map_err(|errno| (Step::Start, errno)).and_then(|()| ended.map_err(failed).map(drop));
    if let Err(why) = heard {
        // A load that began all the same is nobody's.
        let pids =
            answers.iter().filter_map(|answer| if let Answer::Pid(pid) = answer { Pid::from_raw(*pid) } else { None });
        pids.for_each(kill_and_reap);
        return Err(why);
    }
    let pid = answers.iter().find_map(|answer| match answer {
        Answer::Pid(pid) => Pid::from_raw(*pid),
        _ => None,
    });
    let began_ns = answers.iter().find_map(|answer| match answer {
        Answer::Executes(at_ns) => Some(*at_ns),
        _ => None,
    });
    let refused = answers.iter().find_map(|answer| match answer {
        Answer::Refused { step, errno } => Some((*step, *errno)),
        _ => None,
    });
    match (refused, pid) {
        (None, Some(pid)) => Ok((pid, began_ns.unwrap_or_else(crate::now_ns))),
        // A program that does not know the hidden verb answers nothing.
        (None, None) => Err((Step::Start, Errno::ENOSYS)),
        (Some(refused), pid) => {
            pid.into_iter().for_each(kill_and_reap);
            Err(refused)
        }
    }
}

fn instruct(ours: &mut UnixStream, instructions: &Instructions, control: Option<OwnedFd>) -> Result<(), Errno> {
    ours.set_write_timeout(Some(SHIM_PATIENCE)).map_err(|error| io_errno(&error))?;
    ours.set_read_timeout(Some(SHIM_PATIENCE)).map_err(|error| io_errno(&error))?;
    let mut bytes = serde_json::to_vec(instructions).map_err(|_| Errno::EINVAL)?;
    bytes.push(b'\n');
    let mut sent = 0;
    if let Some(control) = control {
        let rights = [control.as_fd()];
        let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(1))];
        let mut beside = SendAncillaryBuffer::new(&mut space);
        beside.push(SendAncillaryMessage::ScmRights(&rights));
        sent =
            rustix::net::sendmsg(&*ours, &[IoSlice::new(&bytes)], &mut beside, SendFlags::NOSIGNAL).map_err(errno)?;
    }
    ours.write_all(&bytes[sent..]).map_err(|error| io_errno(&error))
}

/// Everything the shim and the load-to-be answer, until the load is executed or both have ended. It is executed once
/// `before` is done.
fn hear(mut ours: &UnixStream, before: &mut dyn FnMut(Pid), answers: &mut Vec<Answer>) -> Result<(), Errno> {
    for line in BufReader::new(ours).lines() {
        let line = line.map_err(|error| match io_errno(&error) {
            Errno::EAGAIN => Errno::ETIMEDOUT,
            other => other,
        })?;
        match serde_json::from_str(&line) {
            Ok(Answer::Waits(pid)) => {
                before(Pid::from_raw(pid).ok_or(Errno::EINVAL)?);
                ours.write_all(b"\n").map_err(|error| io_errno(&error))?;
            }
            Ok(answer) => answers.push(answer),
            Err(_) => {}
        }
    }
    Ok(())
}

/// Kills a load that never became one, with whatever it has started in its session's first group.
fn kill_and_reap(pid: Pid) {
    let _ = rustix::process::kill_process_group(pid, Signal::KILL);
    let _ = rustix::process::kill_process(pid, Signal::KILL);
    reap_within(pid, KILLING_NS);
    crate::descendants::ended(pid);
}

/// Reaps a child as soon as it has ended; one that the kernel does not let go (it waits for a dead disk, say) is left then.
pub(crate) fn reap_within(pid: Pid, for_ns: u64) -> Option<(ExitStatus, Usage)> {
    let deadline_ns = crate::now_ns() + for_ns;
    let mut pause_ns = 100_000;
    loop {
        match crate::raw::reap(pid, false) {
            Ok(None) if crate::now_ns() < deadline_ns => crate::pause_until(crate::now_ns() + pause_ns),
            reaped => return reaped.ok().flatten(),
        }
        pause_ns = (pause_ns * 2).min(20_000_000);
    }
}

fn spawn_error(step: Step, errno: Errno, job: &Job, instructions: &Instructions) -> SpawnError {
    let program = instructions.argv.first().cloned().unwrap_or_default();
    let what = match step {
        Step::Start => format!("{} (no process could be made for it)", job.work.kind()),
        Step::Group => {
            format!("{} in the control group '{}'", job.work.kind(), job.group.as_deref().unwrap_or_default())
        }
        Step::Cpus => format!("{} on CPUs {}", job.work.kind(), job.cpus.clone().unwrap_or_default()),
        Step::User => {
            let name = job.user.as_ref().map_or("", |user| &user.name);
            format!("{} as the user {name} (--as-root runs it as root)", job.work.kind())
        }
        Step::Redirect => {
            let Invocation { input, output, .. } = &instructions.invocation;
            let files: Vec<&str> = input.iter().chain(output).map(String::as_str).collect();
            format!("'{program}' with its input or output in {}", files.join(" and "))
        }
        Step::Execute => match errno {
            Errno::ENOENT if program.contains('/') && Path::new(&program).exists() => {
                format!("'{program}', whose interpreter is missing")
            }
            _ if is_absent(&program, errno) => return SpawnError::NotFound(program),
            Errno::EACCES => {
                return match &job.user {
                    Some(user) => SpawnError::DeniedTo { program, user: user.name.clone() },
                    None => SpawnError::Denied(program),
                };
            }
            _ => format!("'{program}'"),
        },
    };
    SpawnError::Refused { what, errno }
}

/// Whether a refused program is simply not there. A search that met a folder it may not enter ends in `EACCES`
/// (execvp(3)), also when the name stands in none of the others.
pub(crate) fn is_absent(program: &str, errno: Errno) -> bool {
    let stands_in = |folders: std::ffi::OsString| std::env::split_paths(&folders).any(|at| at.join(program).exists());
    match errno {
        Errno::ENOENT => true,
        Errno::EACCES if !program.contains('/') => !crate::surroundings::variable("PATH").is_some_and(stands_in),
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_that_does_not_end_is_not_waited_for_longer_than_said() {
        let mut child = Command::new("sleep").arg("1000").spawn().unwrap();
        let pid = Pid::from_child(&child);
        assert_eq!(reap_within(pid, 1_000_000), None);
        child.kill().unwrap();
        assert!(matches!(reap_within(pid, 60_000_000_000), Some((ExitStatus::Signal(9), _))));
        assert_eq!(reap_within(pid, 60_000_000_000), None, "nobody is left to wait for");
        assert!(child.wait().is_err(), "it was reaped");
    }
}
