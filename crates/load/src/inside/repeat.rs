//! A command that runs several times within one trial: each run is timed by itself.
use std::collections::VecDeque;
use std::fs::File;
use std::io;
use std::mem::MaybeUninit;
use std::process::{Child, Command, Stdio};

use powerband_record::Invocation;
use rustix::time::ClockId;
use serde_json::{Value, json};

use super::{CONTROL_FD_VARIABLE, Failure, now_ns};

/// So many runs that have ended are left unreaped: who wrote a file is looked up in /proc a moment later.
const UNREAPED: usize = 64;

/// Runs it as often as the invocation says; reports real, user and system time in ns and the largest resident set in KiB, and the
/// statuses of runs that failed.
/// Ends this process with the status of the run that failed, as if that one had been all.
pub(super) fn run(argv: &[String], invocation: &Invocation) -> Result<Value, Failure> {
    let Some((program, arguments)) = argv.split_first() else { return Err(Failure::Work("an empty command".into())) };
    let cannot = || Failure::of(format!("cannot run '{program}'"));
    let (mut runs, mut statuses) = (Vec::new(), Vec::new());
    let mut ended: VecDeque<Child> = VecDeque::new();
    for _ in 0..invocation.runs {
        let mut command = Command::new(program);
        command.args(arguments).env_remove(CONTROL_FD_VARIABLE).envs(&invocation.env);
        redirect(&mut command, invocation)?;
        let began_ns = now_ns(ClockId::Monotonic);
        let child = command.spawn().map_err(cannot())?;
        let (code, usage) = wait(child.id()).map_err(cannot())?;
        let real_ns = now_ns(ClockId::Monotonic).saturating_sub(began_ns);
        ended.push_back(child);
        if ended.len() > UNREAPED
            && let Some(mut oldest) = ended.pop_front()
        {
            oldest.wait().map_err(cannot())?;
        }
        if code != 0 && !invocation.any_status {
            std::process::exit(code);
        }
        statuses.extend((code != 0).then_some(code));
        let kib = u64::try_from(usage.ru_maxrss).unwrap_or(0);
        runs.push(json!([real_ns, timeval_ns(usage.ru_utime), timeval_ns(usage.ru_stime), kib]));
    }
    let mut report = json!({ "runs": runs });
    if !statuses.is_empty() {
        report["statuses"] = json!(statuses);
    }
    Ok(report)
}

/// Each run reads its input and writes its output from the beginning.
fn redirect(command: &mut Command, invocation: &Invocation) -> Result<(), Failure> {
    if let Some(path) = &invocation.input {
        command.stdin(File::open(path).map_err(Failure::of(format!("cannot read {path}")))?);
    } else {
        command.stdin(Stdio::null());
    }
    if let Some(path) = &invocation.output {
        let cannot = || Failure::of(format!("cannot write {path}"));
        let file = File::create(path).map_err(cannot())?;
        command.stderr(file.try_clone().map_err(cannot())?).stdout(file);
    }
    Ok(())
}

fn timeval_ns(time: libc::timeval) -> u64 {
    u64::try_from(time.tv_sec).unwrap_or(0) * 1_000_000_000 + u64::try_from(time.tv_usec).unwrap_or(0) * 1_000
}

/// Waits until a child has ended and leaves it unreaped: its exit status, 128 and the number of a signal as shells have it,
/// and what it and those it waited for cost.
#[expect(unsafe_code, reason = "neither rustix nor libc has the usage that waitid(2) answers to its fifth argument")]
fn wait(pid: u32) -> io::Result<(i32, libc::rusage)> {
    let mut info = MaybeUninit::<libc::siginfo_t>::zeroed();
    let mut usage = MaybeUninit::<libc::rusage>::zeroed();
    let flags = libc::WEXITED | libc::WNOWAIT;
    loop {
        let (info, usage) = (info.as_mut_ptr(), usage.as_mut_ptr());
        // SAFETY: both pointers are to live variables of the types this call fills in.
        if unsafe { libc::syscall(libc::SYS_waitid, libc::P_PID, pid, info, flags, usage) } == 0 {
            break;
        }
        let error = io::Error::last_os_error();
        if error.kind() != io::ErrorKind::Interrupted {
            return Err(error);
        }
    }
    // SAFETY: the kernel filled both in, the first as for SIGCHLD; all zeroes are valid, too.
    let (signalled, status, usage) = unsafe {
        let info = info.assume_init();
        (info.si_code != libc::CLD_EXITED, info.si_status(), usage.assume_init())
    };
    Ok((if signalled { 128 + status } else { status }, usage))
}
