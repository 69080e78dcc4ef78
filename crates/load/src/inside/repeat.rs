//! A command that runs several times within one trial: each run is timed by itself.
use std::fs::File;
use std::io;
use std::mem::MaybeUninit;
use std::process::{Command, Stdio};

use powerband_record::Invocation;
use rustix::time::ClockId;
use serde_json::{Value, json};

use super::{CONTROL_FD_VARIABLE, Failure, now_ns};

/// Runs it as often as the invocation says; reports real, user and system time in ns and the largest resident set in KiB.
/// Ends this process with the status of the run that failed, as if that one had been all.
pub(super) fn run(argv: &[String], invocation: &Invocation) -> Result<Value, Failure> {
    let Some((program, arguments)) = argv.split_first() else { return Err(Failure::Work("an empty command".into())) };
    let cannot = || Failure::of(format!("cannot run '{program}'"));
    let mut runs = Vec::new();
    for _ in 0..invocation.runs {
        let mut command = Command::new(program);
        command.args(arguments).env_remove(CONTROL_FD_VARIABLE).envs(&invocation.env);
        redirect(&mut command, invocation)?;
        let began_ns = now_ns(ClockId::Monotonic);
        let child = command.spawn().map_err(cannot())?;
        let (status, usage) = reap(child.id()).map_err(cannot())?;
        let real_ns = now_ns(ClockId::Monotonic).saturating_sub(began_ns);
        let code = exit_code(status);
        if code != 0 && !invocation.any_status {
            std::process::exit(code);
        }
        let kib = u64::try_from(usage.ru_maxrss).unwrap_or(0);
        runs.push(json!([real_ns, timeval_ns(usage.ru_utime), timeval_ns(usage.ru_stime), kib]));
    }
    Ok(json!({ "runs": runs }))
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

/// 128 and its number for a signal, as shells have it.
fn exit_code(status: i32) -> i32 {
    if libc::WIFSIGNALED(status) { 128 + libc::WTERMSIG(status) } else { libc::WEXITSTATUS(status) }
}

fn timeval_ns(time: libc::timeval) -> u64 {
    u64::try_from(time.tv_sec).unwrap_or(0) * 1_000_000_000 + u64::try_from(time.tv_usec).unwrap_or(0) * 1_000
}

/// Waits for a child: how it ended, and what it and those it waited for cost.
#[expect(unsafe_code, reason = "rustix has no wait4, and waitid answers no usage")]
fn reap(pid: u32) -> io::Result<(i32, libc::rusage)> {
    let pid = i32::try_from(pid).map_err(io::Error::other)?;
    let mut status = 0;
    let mut usage = MaybeUninit::<libc::rusage>::zeroed();
    loop {
        // SAFETY: both pointers are to live variables of the right type; zeroed is a valid rusage.
        match unsafe { libc::wait4(pid, &raw mut status, 0, usage.as_mut_ptr()) } {
            -1 if io::Error::last_os_error().kind() == io::ErrorKind::Interrupted => {}
            -1 => return Err(io::Error::last_os_error()),
            // SAFETY: the kernel filled it in.
            _ => return Ok((status, unsafe { usage.assume_init() })),
        }
    }
}
