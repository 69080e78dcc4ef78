//! The guardian: a process of its own that outlives its owner, and what the two say to each other.
//!
//! The owner holds the only writing end of a pipe that is the guardian's standard input. While it lives it says there
//! which loads run; when the pipe ends without a farewell the owner is dead, however it died.
use std::collections::BTreeMap;
use std::fs::File;
use std::io::Write;
use std::os::fd::{BorrowedFd, OwnedFd};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

use rustix::event::{PollFd, PollFlags};
use rustix::fs::OFlags;
use rustix::pipe::{PipeFlags, pipe_with};
use rustix::process::{Pid, PidfdFlags, Signal};
use serde::{Deserialize, Serialize};

use crate::claim::{Claim, Claimed, claim, name_of_folder};
use crate::in_place::is_at;
use crate::ledger_file::{FileLedger, inherited};
use crate::lock::{Lock, LockError};
use crate::namespaces::remove_unused_folder;
use crate::process::{GUARDIAN_VERB, stat};

/// A guardian is ready in a few milliseconds; more than this means that it hangs, ns.
const READY_NS: u64 = 2_000_000_000;
/// How long the owner waits at its own end for the guardian's, ns.
const PARTING_NS: u64 = 100_000_000;
/// How long what the owner ran may take to die, ns.
const KILLING_NS: u64 = 2_000_000_000;
/// How long the lock of an owner that is gone may take to come free, ns.
const LOCKED_NS: u64 = 5_000_000_000;
/// The lease of an owner that has nothing to say: so often it is looked at, ns. One that is found stopped twice in a row is ended,
/// so that what it holds is back at most two looks after it was stopped.
const LOOK_NS: u64 = 5_000_000_000;

/// What the owner says, one a line.
#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
enum OwnerMessage {
    /// A load runs.
    Runs(Load),
    /// It has ended.
    Ended(i32),
    /// Another file took the place of the ledger's.
    Replaced,
    /// The owner ends well and nothing is held.
    Farewell,
}

/// A load: the leader of a session of its own.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
pub(crate) struct Load {
    pid: i32,
    /// When it was made, in the kernel's ticks since boot: tells it from a later process of the same number.
    start_ticks: u64,
}

impl Load {
    /// Of a child that was not reaped yet.
    pub(crate) fn of(pid: Pid) -> Option<Load> {
        let pid = pid.as_raw_nonzero().get();
        stat(pid).map(|stat| Load { pid, start_ticks: stat.start_ticks })
    }
}

/// The owner's side.
#[derive(Debug)]
pub(crate) struct Guard {
    folder: PathBuf,
    ward: Option<GuardianProcess>,
    /// How often another file took the place of the ledger's, as far as it knows.
    replaced: u32,
    /// Why the last attempt to have one failed.
    missing: Option<String>,
}

/// A guardian that runs.
#[derive(Debug)]
struct GuardianProcess {
    process: Child,
    pidfd: OwnedFd,
    pipe: OwnedFd,
}

impl Guard {
    /// For the ledger of `folder`; starts nothing yet.
    pub(crate) fn new(folder: &Path) -> Guard {
        // The guardian stands in another folder than we do.
        Guard {
            folder: std::path::absolute(folder).unwrap_or_else(|_| folder.into()),
            ward: None,
            replaced: 0,
            missing: None,
        }
    }

    /// Sees to it that one watches, and that it knows what runs. Without one (no process to be had) everything goes on:
    /// then what a killed owner leaves is restored by the next.
    pub(crate) fn ensure(&mut self, program: &Path, ledger: &FileLedger, loads: impl Iterator<Item = Load>) {
        if let Some(ward) = &mut self.ward {
            if matches!(ward.process.try_wait(), Ok(None)) {
                return;
            }
            crate::descendants::ended(Pid::from_child(&ward.process));
            self.ward = None;
        }
        match GuardianProcess::start(program, &self.folder, ledger.copy()) {
            Ok(ward) => (self.ward, self.missing) = (Some(ward), None),
            Err(why) => self.missing = Some(why),
        }
        loads.for_each(|load| self.runs(load));
    }

    /// A load runs.
    pub(crate) fn runs(&mut self, load: Load) {
        self.tell(&OwnerMessage::Runs(load));
    }

    /// A load has ended.
    pub(crate) fn ended(&mut self, pid: Pid) {
        self.tell(&OwnerMessage::Ended(pid.as_raw_nonzero().get()));
    }

    /// So often another file took the place of the ledger's.
    pub(crate) fn follow(&mut self, replaced: u32) {
        if self.replaced != replaced {
            self.replaced = replaced;
            self.tell(&OwnerMessage::Replaced);
        }
    }

    /// Why there is none although one is needed.
    pub(crate) fn missing(&self) -> Option<&str> {
        self.missing.as_deref()
    }

    /// Number of its process.
    pub(crate) fn pid(&self) -> Option<u32> {
        self.ward.as_ref().map(|ward| ward.process.id())
    }

    /// What to poll: its end.
    pub(crate) fn fd(&self) -> Option<&OwnedFd> {
        self.ward.as_ref().map(|ward| &ward.pidfd)
    }

    /// Lets it go. When something is still `held` it takes over once we are gone; else it ends, and is waited for a moment.
    pub(crate) fn dismiss(mut self, held: bool) {
        if !held {
            self.tell(&OwnerMessage::Farewell);
        }
        let Some(GuardianProcess { mut process, pidfd, pipe }) = self.ward.take() else { return };
        drop(pipe);
        if !held {
            let until = crate::time_until(crate::now_ns() + PARTING_NS);
            let _ = rustix::event::poll(&mut [PollFd::new(&pidfd, PollFlags::IN)], Some(&until));
        }
        // One that takes longer is reaped by anyone who reaps us.
        let _ = process.try_wait();
    }

    /// One that does not listen is no guardian: it goes, and the next action starts another.
    fn tell(&mut self, told: &OwnerMessage) {
        let Some(ward) = &mut self.ward else { return };
        let line = serde_json::to_string(told).unwrap_or_default() + "\n";
        // Shorter than PIPE_BUF: written whole or not at all.
        if rustix::io::retry_on_intr(|| rustix::io::write(&ward.pipe, line.as_bytes())) != Ok(line.len()) {
            ward.end();
            self.ward = None;
        }
    }
}

impl GuardianProcess {
    /// Starts one and waits until it is out of the way of whatever may end us.
    fn start(program: &Path, folder: &Path, copy: Option<OwnedFd>) -> Result<GuardianProcess, String> {
        let kernel = |error: rustix::io::Errno| crate::errno(error).to_string();
        let (read, pipe) = pipe_with(PipeFlags::CLOEXEC).map_err(kernel)?;
        // A guardian that is stopped must not stop us.
        rustix::fs::fcntl_setfl(&pipe, OFlags::NONBLOCK).map_err(kernel)?;
        let (ready, says_ready) = pipe_with(PipeFlags::CLOEXEC).map_err(kernel)?;
        let mut command = Command::new(program);
        command.arg0("powerband").arg(GUARDIAN_VERB).arg(folder);
        command.stdin(read).stdout(says_ready).stderr(copy.map_or_else(Stdio::null, Stdio::from));
        let mut process = command.spawn().map_err(|error| crate::io_errno(&error).to_string())?;
        crate::descendants::started(Pid::from_child(&process));
        // With it go our copies of its ends.
        drop(command);
        let pid = Pid::from_child(&process);
        let pidfd = rustix::process::pidfd_open(pid, PidfdFlags::empty()).map_err(|error| {
            let _ = process.kill().and_then(|()| process.wait());
            crate::descendants::ended(pid);
            kernel(error)
        })?;
        let mut ward = GuardianProcess { process, pidfd, pipe };
        if is_said(&ready) {
            return Ok(ward);
        }
        ward.end();
        Err(format!("it was not ready within {} s", READY_NS / 1_000_000_000))
    }

    /// Killed before its pipe is closed, or it would take us for dead.
    fn end(&mut self) {
        let _ = self.process.kill().and_then(|()| self.process.wait());
        crate::descendants::ended(Pid::from_child(&self.process));
    }
}

/// Whether a byte comes in time.
fn is_said(ready: &OwnedFd) -> bool {
    let deadline_ns = crate::now_ns() + READY_NS;
    while crate::now_ns() < deadline_ns {
        let mut fds = [PollFd::new(ready, PollFlags::IN)];
        // Interrupted by a signal: we look again.
        if matches!(rustix::event::poll(&mut fds, Some(&crate::time_until(deadline_ns))), Ok(1..)) {
            return rustix::io::read(ready, &mut [0; 1]) == Ok(1);
        }
    }
    false
}

/// What a guardian restores from, and what keeps others away meanwhile.
#[derive(Debug)]
pub struct Takeover {
    /// The dead owner's ledger, wherever it is by now.
    pub ledger: FileLedger,
    lock: Option<Lock>,
    _claim: Option<Claim>,
}

impl Takeover {
    /// Everything is restored, and the machine that did it is gone.
    pub fn end(self) {
        if let Some(lock) = self.lock {
            remove_unused_folder(lock, None);
        }
    }
}

/// The guardian's side: watches over the owner of `folder`, which started us. When it is gone without a farewell, ends what it
/// ran and answers its ledger; anyone who holds that restores. `None` when there is nothing to do, because the
/// owner ended well or another owner was faster.
#[must_use]
pub fn stand_guard(folder: &Path) -> Option<Takeover> {
    crate::raw::close_inherited();
    let copy = inherited();
    // Held open: a folder that is deleted, moved or replaced takes no entry away.
    let ledger = FileLedger::open_to_follow(folder);
    let owner = rustix::process::getppid().map_or(0, |pid| pid.as_raw_nonzero().get());
    crate::raw::ignore_stop_signals();
    // Refused only to the leader of a group, which a child is not.
    let _ = rustix::process::setsid();
    crate::group::leave_own();
    // Who restores is the last to go when memory runs out; without the right to say that, no earlier than others.
    let _ =
        ["-1000", "0"].iter().find(|adjustment| crate::files::write("/proc/self/oom_score_adj", adjustment).is_ok());
    // Keeps no file system busy.
    let _ = rustix::process::chdir("/");
    say_ready();
    let (loads, ledger) = listen(rustix::stdio::stdin(), owner, (folder, ledger))?;
    end_loads(&loads, crate::now_ns() + KILLING_NS);
    if let Some(ledger) = ledger.filter(|ledger| !is_at(ledger, &folder.join("ledger"))) {
        let copy = copy.filter(|copy| !FileLedger::has_all_of(&ledger, copy));
        return Some(take_over_displaced(folder, copy.unwrap_or(ledger)));
    }
    let lock = take_over(folder, owner)?;
    // Another owner that was faster has closed what it restored: then the copy is out of date.
    let is_owners = lock.follows(owner) || FileLedger::is_empty(folder);
    let ledger = FileLedger::new(folder);
    let lost = copy.filter(|copy| is_owners && !ledger.mend(copy));
    let ledger = lost.map_or(ledger, |copy| FileLedger::in_file(folder, copy));
    Some(Takeover { ledger, lock: Some(lock), _claim: None })
}

/// Another powerband may have begun in a new folder of that name by now: it knows nothing of these entries and is not waited
/// for.
fn take_over_displaced(folder: &Path, ledger: File) -> Takeover {
    let deadline_ns = crate::now_ns() + LOCKED_NS;
    let claim = loop {
        match claim(&name_of_folder(folder)) {
            Claimed::Ours(claim) => break Some(claim),
            Claimed::Theirs { .. } if crate::now_ns() < deadline_ns => crate::pause_until(crate::now_ns() + 2_000_000),
            _ => break None,
        }
    };
    Takeover { ledger: FileLedger::in_file(folder, ledger), lock: None, _claim: claim }
}

/// One byte; after it nothing of ours may reach anybody.
fn say_ready() {
    let mut stdout = std::io::stdout();
    let _ = stdout.write_all(b"\n").and_then(|()| stdout.flush());
    if let Ok(nothing) = rustix::fs::open("/dev/null", OFlags::WRONLY | OFlags::CLOEXEC, rustix::fs::Mode::empty()) {
        let _ = rustix::stdio::dup2_stdout(nothing);
    }
}

/// What runs when the owner is gone, and its ledger; `None` after a farewell. A stopped owner is gone once its lease is over.
fn listen(
    pipe: BorrowedFd<'_>,
    owner: i32,
    (folder, mut ledger): (&Path, Option<File>),
) -> Option<(Vec<Load>, Option<File>)> {
    let (mut loads, mut heard, mut was_stopped) = (BTreeMap::new(), Vec::new(), false);
    loop {
        let look = crate::time_until(crate::now_ns() + LOOK_NS);
        let polled = rustix::event::poll(&mut [PollFd::from_borrowed_fd(pipe, PollFlags::IN)], Some(&look));
        if polled == Ok(0) {
            let stopped = stat(owner).is_some_and(|stat| stat.stopped);
            if stopped && was_stopped {
                end_stopped(owner);
            }
            was_stopped = stopped;
            continue;
        }
        let mut chunk = [0; 4096];
        match rustix::io::read(pipe, &mut chunk) {
            Err(rustix::io::Errno::INTR) => continue,
            // A line the owner died in stays unread.
            Ok(0) | Err(_) => return Some((loads.into_values().collect(), ledger)),
            Ok(got) => heard.extend_from_slice(&chunk[..got]),
        }
        while let Some(end) = heard.iter().position(|&byte| byte == b'\n') {
            match serde_json::from_slice(&heard.drain(..=end).collect::<Vec<u8>>()) {
                Ok(OwnerMessage::Runs(load)) => drop(loads.insert(load.pid, load)),
                Ok(OwnerMessage::Ended(pid)) => drop(loads.remove(&pid)),
                Ok(OwnerMessage::Replaced) => ledger = FileLedger::open_to_follow(folder).or(ledger),
                Ok(OwnerMessage::Farewell) => return None,
                Err(_) => {}
            }
        }
    }
}

/// Kills an owner that holds something and does nothing: its pipe ends, and everything goes the usual way.
fn end_stopped(owner: i32) {
    // As long as it is our parent the number is its own.
    if let Some(pid) = Pid::from_raw(owner).filter(|_| rustix::process::getppid() == Pid::from_raw(owner)) {
        let _ = rustix::process::kill_process(pid, Signal::KILL);
    }
}

/// Kills the sessions of the loads until nobody is left in them: a shell's jobs have process groups of their own.
fn end_loads(loads: &[Load], deadline_ns: u64) {
    let is_other = |load: &&Load| stat(load.pid).is_some_and(|stat| stat.start_ticks != load.start_ticks);
    let sessions: Vec<i32> = loads.iter().filter(|load| !is_other(load)).map(|load| load.pid).collect();
    let mut pause_ns = 500_000;
    while !sessions.is_empty() {
        // A group is killed at once, so that nobody in it forks away meanwhile. None left is as wanted.
        for pid in sessions.iter().filter_map(|&session| Pid::from_raw(session)) {
            let _ = rustix::process::kill_process_group(pid, Signal::KILL);
        }
        let members = members(&sessions);
        if members.is_empty() || crate::now_ns() >= deadline_ns {
            return;
        }
        for pid in members {
            let _ = rustix::process::kill_process(pid, Signal::KILL);
        }
        crate::pause_until(crate::now_ns() + pause_ns);
        pause_ns = (pause_ns * 2).min(20_000_000);
    }
}

/// Who lives in these sessions. The kernel gives no new process a number that is still a session's.
fn members(sessions: &[i32]) -> Vec<Pid> {
    let names = std::fs::read_dir("/proc").into_iter().flatten().flatten().map(|entry| entry.file_name());
    let pids = names.filter_map(|name| name.to_str().and_then(|name| name.parse().ok()));
    let lives = |&pid: &i32| stat(pid).is_some_and(|stat| !stat.ended && sessions.contains(&stat.session));
    pids.filter(lives).filter_map(Pid::from_raw).collect()
}

/// The lock, as soon as the dead owner's is free. Another owner that has it restores by itself.
fn take_over(folder: &Path, owner: i32) -> Option<Lock> {
    let deadline_ns = crate::now_ns() + LOCKED_NS;
    let doing = format!("restoring what powerband {owner} left");
    loop {
        match Lock::acquire_for_a_moment(folder, &doing) {
            Ok(lock) => return Some(lock),
            Err(LockError::Held(holder)) if crate::now_ns() < deadline_ns => {
                if holder.pid != 0 && i64::from(holder.pid) != i64::from(owner) {
                    return None;
                }
            }
            Err(_) => return None,
        }
        crate::pause_until(crate::now_ns() + 2_000_000);
    }
}
