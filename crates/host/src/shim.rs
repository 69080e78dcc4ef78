//! The small program between us and a load: what happens in the new process before the load is executed.
//!
//! Its standard input is a socket. Through it come the instructions (a line of JSON, with the control pipe's writing end
//! next to the first byte when there is one) and one more line that lets the load be executed;
//! through it go back the load's process number and, if anything is refused, which step and why. It closes when the load
//! is executed.
use std::ffi::OsString;
use std::io::IoSliceMut;
use std::mem::MaybeUninit;
use std::os::fd::{AsRawFd, OwnedFd};
use std::os::unix::process::CommandExt;
use std::process::Command;

use powerband_machine::{Errno, User};
use powerband_record::Invocation;
use rustix::fs::{Mode, OFlags};
use rustix::io::FdFlags;
use rustix::net::{RecvAncillaryBuffer, RecvAncillaryMessage, RecvFlags};
use rustix::process::{Gid, Pid, Signal, Uid};
use serde::{Deserialize, Serialize};

use crate::caller::surroundings;
use crate::raw::Cloned;
use crate::{errno, io_errno};

/// The hidden verb under which the command calls [`shim_main`].
pub const SHIM_VERB: &str = "__shim";
/// The hidden verb under which the command runs built-in work; the work follows as one argument of JSON.
pub const INSIDE_VERB: &str = "__inside";
/// In the environment of built-in work: the number of the descriptor it says and reports through.
pub const CONTROL_FD_VARIABLE: &str = "POWERBAND_CONTROL_FD";

/// What the shim is to do.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct Instructions {
    /// Program and arguments; for built-in work the program is this one.
    pub(crate) argv: Vec<String>,
    /// What `argv[0]` shows as, when that is not the program's path.
    pub(crate) shows_as: Option<String>,
    /// Who must be the load's parent.
    pub(crate) owner: i32,
    /// The file that takes a process into its control group.
    pub(crate) enter: Option<String>,
    /// CPUs to stay on.
    pub(crate) cpus: Option<Vec<u32>>,
    /// Whom to become.
    pub(crate) user: Option<User>,
    /// Environment and files of a command that runs once.
    #[serde(default)]
    pub(crate) invocation: Invocation,
}

/// What the shim answers, one a line.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Answer {
    /// The load's process.
    Pid(i32),
    /// Everything is set up, and the load, which is this process, waits to be let go.
    Waits(i32),
    /// The load is being executed: the machine's clock right before, ns.
    Executes(u64),
    /// A step was refused.
    Refused {
        /// Which.
        step: Step,
        /// Why.
        errno: Errno,
    },
}

/// Steps that can be refused.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Step {
    /// Starting at all.
    Start,
    /// Entering the control group.
    Group,
    /// Staying on CPUs.
    Cpus,
    /// Becoming the user.
    User,
    /// Opening its input or its output.
    Redirect,
    /// Executing the program.
    Execute,
}

/// Runs the hidden verb [`SHIM_VERB`]; `_arguments` are those behind it, of which there are none so far.
pub fn shim_main(_arguments: &[OsString]) -> ! {
    let Ok(socket) = rustix::io::fcntl_dupfd_cloexec(rustix::stdio::stdin(), 3) else { std::process::exit(125) };
    let code = match start(&socket) {
        Ok(()) => 0,
        Err((step, errno)) => {
            answer(&socket, &Answer::Refused { step, errno });
            125
        }
    };
    std::process::exit(code)
}

/// Clones the load; in the load itself it returns only with an error.
fn start(socket: &OwnedFd) -> Result<(), (Step, Errno)> {
    let at = |step: Step| move |errno: Errno| (step, errno);
    let (instructions, control) = receive(socket).map_err(at(Step::Start))?;
    let nothing = rustix::fs::open("/dev/null", OFlags::RDONLY | OFlags::CLOEXEC, Mode::empty())
        .map_err(|error| (Step::Start, errno(error)))?;
    rustix::stdio::dup2_stdin(nothing).map_err(|error| (Step::Start, errno(error)))?;
    crate::raw::close_all_at_exec();
    match crate::raw::clone_sibling().map_err(|error| (Step::Start, io_errno(&error)))? {
        Cloned::Caller(pid) => {
            answer(socket, &Answer::Pid(pid.as_raw_nonzero().get()));
            Ok(())
        }
        Cloned::Sibling => become_load(&instructions, control.as_ref(), socket),
    }
}

fn become_load(instructions: &Instructions, control: Option<&OwnedFd>, socket: &OwnedFd) -> Result<(), (Step, Errno)> {
    let start = |error: rustix::io::Errno| (Step::Start, errno(error));
    rustix::process::setsid().map_err(start)?;
    die_with(instructions.owner).map_err(|errno| (Step::Start, errno))?;
    if let Some(file) = &instructions.enter {
        crate::files::write(file, "0").map_err(|errno| (Step::Group, errno))?;
    }
    if let Some(cpus) = &instructions.cpus {
        stay_on(cpus).map_err(|errno| (Step::Cpus, errno))?;
    }
    if let Some(user) = &instructions.user {
        become_user(user).map_err(|errno| (Step::User, errno))?;
        // Other rights take the order to die with the owner away.
        die_with(instructions.owner).map_err(|errno| (Step::Start, errno))?;
    }
    redirect(&instructions.invocation).map_err(|errno| (Step::Redirect, errno))?;
    let (program, arguments) = instructions.argv.split_first().ok_or((Step::Execute, Errno::EINVAL))?;
    let mut load = Command::new(program);
    load.args(arguments).env_remove(CONTROL_FD_VARIABLE);
    for (name, value) in instructions.user.iter().flat_map(surroundings::of) {
        match value {
            Some(value) => load.env(name, value),
            None => load.env_remove(name),
        };
    }
    load.envs(&instructions.invocation.env);
    if let Some(name) = &instructions.shows_as {
        load.arg0(name);
    }
    if let Some(control) = control {
        rustix::io::fcntl_setfd(control, FdFlags::empty()).map_err(start)?;
        load.env(CONTROL_FD_VARIABLE, control.as_raw_fd().to_string());
    }
    crate::raw::reset_signals();
    wait_for_word(socket).map_err(|errno| (Step::Start, errno))?;
    answer(socket, &Answer::Executes(crate::now_ns()));
    Err((Step::Execute, io_errno(&load.exec())))
}

/// Opens the files a command reads and writes, with the rights of its user.
fn redirect(invocation: &Invocation) -> Result<(), Errno> {
    let open = |path: &str, flags| rustix::fs::open(path, flags | OFlags::CLOEXEC, Mode::from_raw_mode(0o666));
    if let Some(path) = &invocation.input {
        rustix::stdio::dup2_stdin(open(path, OFlags::RDONLY).map_err(errno)?).map_err(errno)?;
    }
    if let Some(path) = &invocation.output {
        let file = open(path, OFlags::WRONLY | OFlags::CREATE | OFlags::TRUNC).map_err(errno)?;
        rustix::stdio::dup2_stdout(&file).and_then(|()| rustix::stdio::dup2_stderr(&file)).map_err(errno)?;
    }
    Ok(())
}

/// Waits until the guardian knows of us, and the owner has read what it wants to have read before.
fn wait_for_word(socket: &OwnedFd) -> Result<(), Errno> {
    answer(socket, &Answer::Waits(rustix::process::getpid().as_raw_nonzero().get()));
    loop {
        match rustix::io::read(socket, &mut [0; 1]) {
            Err(rustix::io::Errno::INTR) => {}
            // The owner is gone.
            Ok(0) => return Err(Errno::ESRCH),
            heard => return heard.map(drop).map_err(errno),
        }
    }
}

/// The kernel ends this process with its parent, which is `owner`.
fn die_with(owner: i32) -> Result<(), Errno> {
    rustix::process::set_parent_process_death_signal(Some(Signal::KILL)).map_err(errno)?;
    // The owner may have died before the line above could tell us of it.
    if rustix::process::getppid() == Pid::from_raw(owner) { Ok(()) } else { Err(Errno::ESRCH) }
}

/// Gives up every right but those of `user`. This process has one thread.
fn become_user(user: &User) -> Result<(), Errno> {
    let (uid, gid) = (Uid::from_raw(user.uid), Gid::from_raw(user.gid));
    let groups: Vec<Gid> = user.groups.iter().copied().map(Gid::from_raw).collect();
    rustix::thread::set_thread_groups(&groups)
        .and_then(|()| rustix::thread::set_thread_res_gid(gid, gid, gid))
        .and_then(|()| rustix::thread::set_thread_res_uid(uid, uid, uid))
        .map_err(errno)?;
    // Capabilities can outlive the user (SECBIT_NO_SETUID_FIXUP): then there would be a way back.
    let back = !uid.is_root() && rustix::thread::set_thread_uid(Uid::ROOT).is_ok();
    if back || rustix::process::geteuid() != uid { Err(Errno::EPERM) } else { Ok(()) }
}

/// Has a command executed as `user`, in a session of its own, so that it has no way to our terminal.
pub(crate) fn start_as(command: &mut Command, user: &User) {
    for (name, value) in surroundings::of(user) {
        match value {
            Some(value) => command.env(name, value),
            None => command.env_remove(name),
        };
    }
    let user = user.clone();
    crate::raw::before_exec(command, move || rustix::process::setsid().map_err(errno).and_then(|_| become_user(&user)));
}

/// CPUs beyond this are none: a kernel is built for 8,192 at most.
const MAX_CPUS: usize = 1 << 16;

fn stay_on(cpus: &[u32]) -> Result<(), Errno> {
    let wanted = mask_of(cpus)?;
    crate::raw::set_affinity(&wanted).map_err(|error| io_errno(&error))?;
    // The kernel leaves out CPUs that are absent or offline without a word when others remain.
    let got = crate::raw::affinity().map_err(|error| io_errno(&error))?;
    let words = wanted.len().max(got.len());
    let padded = |mask: &[usize]| mask.iter().copied().chain(std::iter::repeat(0)).take(words).collect::<Vec<_>>();
    if padded(&got) == padded(&wanted) { Ok(()) } else { Err(Errno::EINVAL) }
}

/// As many words as the highest CPU takes, however many the kernel has.
fn mask_of(cpus: &[u32]) -> Result<Vec<usize>, Errno> {
    let word = usize::BITS as usize;
    let mut mask = vec![0_usize; 1];
    for &cpu in cpus {
        let cpu = usize::try_from(cpu).ok().filter(|&cpu| cpu < MAX_CPUS).ok_or(Errno::EINVAL)?;
        if mask.len() <= cpu / word {
            mask.resize(cpu / word + 1, 0);
        }
        mask[cpu / word] |= 1 << (cpu % word);
    }
    Ok(mask)
}

fn receive(socket: &OwnedFd) -> Result<(Instructions, Option<OwnedFd>), Errno> {
    let (mut bytes, mut control) = (Vec::new(), None);
    loop {
        let mut chunk = [0; 1 << 14];
        let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(1))];
        let mut beside = RecvAncillaryBuffer::new(&mut space);
        let slices = &mut [IoSliceMut::new(&mut chunk)];
        let got = match rustix::net::recvmsg(socket, slices, &mut beside, RecvFlags::CMSG_CLOEXEC) {
            Err(rustix::io::Errno::INTR) => continue,
            got => got.map_err(errno)?.bytes,
        };
        for message in beside.drain() {
            if let RecvAncillaryMessage::ScmRights(fds) = message {
                control = fds.last().or(control);
            }
        }
        bytes.extend_from_slice(&chunk[..got]);
        if got == 0 || bytes.last() == Some(&b'\n') {
            let instructions = serde_json::from_slice(&bytes).map_err(|_| Errno::EINVAL)?;
            return Ok((instructions, control));
        }
    }
}

/// A line short enough to be written at once; if the owner is gone there is nobody to tell.
fn answer(socket: &OwnedFd, answer: &Answer) {
    let line = serde_json::to_string(answer).unwrap_or_default() + "\n";
    let _ = rustix::io::write(socket, line.as_bytes());
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_mask_has_a_bit_for_every_cpu_of_a_large_machine() {
        let bits = |cpus: &[u32]| mask_of(cpus).unwrap().iter().map(|word| word.count_ones()).sum::<u32>();
        assert_eq!(mask_of(&[0, 2]), Ok(vec![5]));
        for highest in [63, 64, 1_023, 1_024, 1_535, 8_191] {
            let mask = mask_of(&[0, highest]).unwrap();
            assert_eq!(mask.len(), highest as usize / usize::BITS as usize + 1);
            assert_eq!(mask.last().unwrap() >> (highest % usize::BITS), 1, "CPU {highest}");
            assert_eq!(bits(&(0..=highest).collect::<Vec<_>>()), highest + 1);
        }
        assert_eq!(mask_of(&[u32::MAX]), Err(Errno::EINVAL));
    }

    #[test]
    fn what_the_kernel_has_not_is_an_error_and_not_less() {
        // On a thread of its own, because it stays where it was put.
        let answers = std::thread::spawn(|| {
            let own = crate::raw::affinity().unwrap();
            let first = own.iter().position(|&word| word != 0).unwrap();
            let cpu = u32::try_from(first * usize::BITS as usize).unwrap() + own[first].trailing_zeros();
            [stay_on(&[cpu]), stay_on(&[cpu, 60_000]), stay_on(&[60_000])]
        });
        assert_eq!(answers.join().unwrap(), [Ok(()), Err(Errno::EINVAL), Err(Errno::EINVAL)]);
    }
}
