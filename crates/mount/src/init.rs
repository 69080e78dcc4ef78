//! The first process of the PID namespace that a command runs in: it covers the files, starts the command as its child, reaps what
//! is left to it and ends with the command.
//!
//! When it ends, or is ended because powerband was, the kernel ends every process of the namespace, also those that made a
//! session of their own, and the mounts go with them.
use std::io;
use std::sync::atomic::{AtomicI32, Ordering};

use rustix::process::{Signal, set_parent_process_death_signal};
use rustix::thread::UnshareFlags;

use crate::cards;

/// The command, for the signal handler.
static COMMAND: AtomicI32 = AtomicI32::new(0);

/// Runs in the new process, before the command is executed; returns in the one that is to execute it.
///
/// # Errors
/// What the kernel refused; then there is no namespace.
pub(crate) fn begin(cover: impl Fn() -> io::Result<()>) -> io::Result<()> {
    // A powerband that was killed before this line no longer serves the files that are covered below, which fails.
    set_parent_process_death_signal(Some(Signal::KILL))?;
    // Its network cards are not the simulated machine's: none of them can be seen or set there.
    unshare(UnshareFlags::NEWNS | UnshareFlags::NEWNET)?;
    leave_server()?;
    cover()?;
    cards::add()?;
    match fork()? {
        0 => Ok(()),
        command => stay(command),
    }
}

/// Closes this process's copy of the server's end of the file system: as long as one is open, the kernel waits for answers of a
/// server that was killed.
#[expect(unsafe_code, reason = "the descriptor's owner is in the process this one is a copy of")]
fn leave_server() -> io::Result<()> {
    for entry in std::fs::read_dir("/proc/self/fd")? {
        let path = entry?.path();
        let number = path.file_name().and_then(|name| name.to_str()?.parse::<libc::c_int>().ok());
        let is_servers = std::fs::read_link(&path).is_ok_and(|file| file.as_os_str() == "/dev/fuse");
        if let (Some(fd), true) = (number, is_servers) {
            // SAFETY: nothing in this copy uses it before another program is executed.
            unsafe { libc::close(fd) };
        }
    }
    Ok(())
}

/// unshare(2) of namespaces.
pub(crate) fn unshare(flags: UnshareFlags) -> rustix::io::Result<()> {
    #[expect(unsafe_code, reason = "it is unsafe only where file descriptors are unshared")]
    // SAFETY: the flags name namespaces alone; the table of file descriptors stays shared.
    unsafe {
        rustix::thread::unshare_unsafe(flags)
    }
}

#[expect(unsafe_code, reason = "rustix forks only without the C library")]
fn fork() -> io::Result<libc::pid_t> {
    // SAFETY: this process is itself the copy that fork made for a command, and has one thread.
    match unsafe { libc::fork() } {
        -1 => Err(io::Error::last_os_error()),
        pid => Ok(pid),
    }
}

/// Is init until the command has ended, and ends as shells say it did.
#[expect(unsafe_code, reason = "rustix sets no handlers, and no destructors may run in a copy that does not execute")]
fn stay(command: libc::pid_t) -> ! {
    COMMAND.store(command, Ordering::Relaxed);
    let handler = pass_on as extern "C" fn(libc::c_int) as libc::sighandler_t;
    // SAFETY: the handler makes one system call; descriptors are numbers, and nothing here uses any of them again.
    unsafe {
        libc::signal(libc::SIGTERM, handler);
        libc::signal(libc::SIGHUP, handler);
        // The terminal sends these to the command as well.
        libc::signal(libc::SIGINT, libc::SIG_IGN);
        libc::signal(libc::SIGQUIT, libc::SIG_IGN);
        // Anyone who waits for the end of a pipe waits for the command, not for its init.
        libc::syscall(libc::SYS_close_range, 0, libc::c_uint::MAX, 0);
    }
    loop {
        let mut status = 0;
        // SAFETY: the pointer is to a live variable.
        let ended = unsafe { libc::waitpid(-1, &raw mut status, 0) };
        let interrupted = ended == -1 && io::Error::last_os_error().kind() == io::ErrorKind::Interrupted;
        if ended == command || (ended == -1 && !interrupted) {
            let code = if libc::WIFEXITED(status) { libc::WEXITSTATUS(status) } else { 128 + libc::WTERMSIG(status) };
            // SAFETY: it ends this process and nothing else.
            unsafe { libc::_exit(code) }
        }
    }
}

#[expect(unsafe_code, reason = "a handler may call kill(2) and little else")]
extern "C" fn pass_on(signal: libc::c_int) {
    // SAFETY: it sends a signal to our child, whose number is ours until it is reaped.
    unsafe {
        libc::kill(COMMAND.load(Ordering::Relaxed), signal);
    }
}
