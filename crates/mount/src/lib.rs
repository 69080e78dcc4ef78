//! A machine as a file system: its /sys/devices/system/cpu, or all of it, served by FUSE, so that any program can read and
//! set it.
//!
//! The file system's own thread only passes on what the kernel asks; [`Mount::serve`] answers on the thread that has the
//! machine's World, and moves that World's clock along with the wall's. A write is a command to the kernel that is
//! modelled, not a turn of powerband's: no ledger remembers it, and the machine is as it was booted the next time.
mod answer;
mod cards;
mod enter;
mod init;
mod window;

use std::path::{Path, PathBuf};
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::time::{Duration, Instant};

use fuser::{BackgroundSession, Config, MountOption, Session, SessionACL};
use powerband_machine::{Errno, StopSignal, Wake, World};
use powerband_record::Side;
use rustix::fs::{AtFlags, Dir, Mode, OFlags, StatxFlags};
use rustix::mount::UnmountFlags;
use thiserror::Error;

use answer::{Ask, answer};
pub use enter::Namespace;
use window::Window;

/// How much of a machine is served.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Extent {
    /// Its /sys/devices/system/cpu.
    Cpus,
    /// All of its files, with /proc and /sys in the folder.
    Root,
}

impl Extent {
    /// The folder of the machine that is the mounted one; `""` is all of it.
    fn root(self) -> &'static str {
        match self {
            Extent::Cpus => powerband_sysfs::topology::CPUS,
            Extent::Root => "",
        }
    }
}

/// How often the machine's clock is moved along when nobody asks.
const TICK: Duration = Duration::from_millis(100);

/// Why a machine cannot be served.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum MountError {
    /// The folder cannot be mounted on.
    #[error("cannot mount on {}: {errno}; {}", folder.display(), cure(*errno, folder))]
    Refused {
        /// The folder.
        folder: PathBuf,
        /// Why.
        errno: Errno,
    },
    /// The file system's thread has failed.
    #[error("the file system on {} has failed: {why}; `umount -l {}` clears it away", folder.display(), folder.display())]
    Failed {
        /// The folder.
        folder: PathBuf,
        /// Why.
        why: String,
    },
    /// No mount namespace can be had.
    #[error(
        "cannot make a mount namespace: {errno}; write `sudo powerband …`, or allow user namespaces (sysctl user.max_user_namespaces)"
    )]
    Namespace {
        /// Why.
        errno: Errno,
    },
    /// The command cannot be started.
    #[error("cannot start {program}: {why}")]
    Start {
        /// Its name.
        program: String,
        /// Why.
        why: String,
    },
}

/// What to type next.
fn cure(errno: Errno, folder: &Path) -> String {
    match errno {
        // What a mount without its server answers to everything.
        Errno::ENOTCONN => {
            format!("a server that was killed has left it; `umount -l {}` clears it away", folder.display())
        }
        Errno::ENOENT => "make the folder first".into(),
        Errno::EPERM | Errno::EACCES => "write `sudo powerband …`, or install fusermount3 (package fuse3)".into(),
        Errno::ENODEV => "the kernel needs FUSE: `modprobe fuse`".into(),
        _ => "name an empty folder".into(),
    }
}

/// A mounted file system whose machine waits to be served.
pub struct Mount {
    folder: PathBuf,
    /// Device number of what is mounted, which tells it from what is below.
    device: (u32, u32),
    session: BackgroundSession,
    asks: Receiver<Ask>,
}

impl Mount {
    /// Mounts on a folder. Until [`Mount::serve`] runs, everyone who looks into it waits.
    ///
    /// # Errors
    /// [`MountError::Refused`].
    pub fn on(folder: &Path, extent: Extent) -> Result<Self, MountError> {
        let refused = |errno| MountError::Refused { folder: folder.into(), errno };
        let found = rustix::fs::stat(folder).map_err(|error| refused(Errno(error.raw_os_error())))?;
        if rustix::fs::FileType::from_raw_mode(found.st_mode) != rustix::fs::FileType::Directory {
            return Err(refused(Errno::ENOTDIR));
        }
        if !is_empty(folder).map_err(|error| refused(Errno(error.raw_os_error())))? {
            return Err(refused(Errno::ENOTEMPTY));
        }
        Self::over(folder, extent)
    }

    /// Mounts on a folder and hides what is in it.
    ///
    /// # Errors
    /// [`MountError::Refused`].
    fn over(folder: &Path, extent: Extent) -> Result<Self, MountError> {
        let refused = |errno| MountError::Refused { folder: folder.into(), errno };
        let mut config = Config::default();
        config.mount_options =
            vec![MountOption::FSName("powerband".into()), MountOption::DefaultPermissions, MountOption::NoExec];
        // What root has mounted is for everybody, as /sys is.
        config.acl = if rustix::process::geteuid().is_root() { SessionACL::All } else { SessionACL::Owner };
        let (ask, asks) = channel();
        let failed = |error: std::io::Error| refused(Errno(error.raw_os_error().unwrap_or(Errno::EIO.0)));
        let session =
            Session::new(Window::new(extent.root(), ask), folder, &config).and_then(Session::spawn).map_err(failed)?;
        let device = device(folder).map_err(|error| refused(Errno(error.raw_os_error())))?;
        Ok(Mount { folder: folder.into(), device, session, asks })
    }

    /// Answers for the near machine of a World until somebody asks to stop or the folder is unmounted, then unmounts.
    ///
    /// # Errors
    /// [`MountError::Failed`].
    pub fn serve(self, world: &mut dyn World) -> Result<(), MountError> {
        if self.answer_until(world, |stop| stop.is_some()) { self.unmount() } else { self.ended() }
    }

    /// Answers until `ends` says so, which is asked after each tick and told of each stop. False when there is nobody left to
    /// answer.
    fn answer_until(&self, world: &mut dyn World, mut ends: impl FnMut(Option<StopSignal>) -> bool) -> bool {
        let (begun, from_ns) = (Instant::now(), world.now_ns());
        loop {
            let asked = self.asks.recv_timeout(TICK);
            let until_ns = from_ns.saturating_add(u64::try_from(begun.elapsed().as_nanos()).unwrap_or(u64::MAX));
            if ends(stop(world, until_ns)) {
                return true;
            }
            match asked {
                Ok(ask) => answer(ask, world.machine(Side::Near)),
                Err(RecvTimeoutError::Timeout) => {}
                Err(RecvTimeoutError::Disconnected) => return false,
            }
        }
    }

    /// Somebody else has unmounted it.
    fn ended(self) -> Result<(), MountError> {
        let Mount { folder, session, .. } = self;
        session.join().map_err(|error| MountError::Failed { folder, why: error.to_string() })
    }

    /// Takes the mount away, also from under those who still have something of it open: they get errors from then on.
    fn unmount(self) -> Result<(), MountError> {
        let Mount { folder, device, session, asks } = self;
        // Nobody waits for an answer that will not come.
        drop(asks);
        drop(session);
        if self::device(&folder) == Ok(device)
            && let Err(error) = rustix::mount::unmount(&folder, UnmountFlags::DETACH)
        {
            return Err(MountError::Failed { folder, why: powerband_record::system_words(&error) });
        }
        Ok(())
    }
}

/// Device number of what is mounted on a folder, without a question to its server: that may be waiting for us.
fn device(folder: &Path) -> rustix::io::Result<(u32, u32)> {
    let flags = AtFlags::STATX_DONT_SYNC | AtFlags::NO_AUTOMOUNT;
    let found = rustix::fs::statx(rustix::fs::CWD, folder, flags, StatxFlags::empty())?;
    Ok((found.stx_dev_major, found.stx_dev_minor))
}

/// Whether nothing is in a folder: a mount would hide it.
fn is_empty(folder: &Path) -> rustix::io::Result<bool> {
    let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
    for entry in Dir::read_from(rustix::fs::open(folder, flags, Mode::empty())?)? {
        if !matches!(entry?.file_name().to_bytes(), b"." | b"..") {
            return Ok(false);
        }
    }
    Ok(true)
}

/// Moves the World's clock on; answers with the signal that asks to stop.
fn stop(world: &mut dyn World, until_ns: u64) -> Option<StopSignal> {
    loop {
        match world.wait(Some(until_ns)) {
            Wake::Deadline => return None,
            Wake::Stop(signal) => return Some(signal),
            Wake::Lost(..) => return Some(StopSignal::HangUp),
            _ => {}
        }
    }
}
