//! One command in a mount namespace of its own, where a simulated machine's files cover this machine's.
//!
//! Nothing is mounted outside, and the command, with all it started, ends when powerband does, however that ends.
use std::io::{self, PipeWriter, Read as _, Write as _};
use std::os::fd::AsRawFd as _;
use std::os::unix::process::{CommandExt as _, ExitStatusExt as _};
use std::path::Path;
use std::process::{Command, ExitStatus};
use std::sync::mpsc::{Receiver, TryRecvError, channel};

use powerband_machine::{Errno, StopSignal, World};
use powerband_sysfs::{net::NET, power, proc, topology::CPU_BUS, topology::SYSTEM};
use rustix::fs::{Mode, OFlags};
use rustix::mount::{MountFlags, MountPropagationFlags, mount, mount_bind, mount_change};
use rustix::process::{Pid, Signal, kill_process};
use rustix::thread::UnshareFlags;

use crate::init::unshare;
use crate::{Extent, Mount, MountError, init};

/// What is covered, in this order: all of the machine, its CPUs and its memory nodes, is mounted on the last. Below /dev/cpu are
/// registers of processors, which a simulated one does not have.
const COVERED: [&str; 7] = ["/dev/cpu", NET, CPU_BUS, power::POWERCAP, proc::CPUINFO, proc::STAT, SYSTEM];

/// Where the kernel shows devices by their classes.
const CLASSES: &str = "/sys/class";

/// Variables of the command. libudev takes a file system for sysfs by its magic number, which FUSE cannot have, unless it is told
/// not to look. hwloc asks the processor itself, which CPUs this process may use, and which of them are near a PCI device: all
/// three are this machine's, unless it is told to ask the kernel's files alone.
const VARIABLES: [(&str, &str); 3] = [
    ("SYSTEMD_DEVICE_VERIFY_SYSFS", "0"),
    ("HWLOC_COMPONENTS", "-x86,-pci,-linux:pci,-linux:io"),
    ("HWLOC_ALLOW", "all"),
];

/// A mount namespace of this process, whose mounts nobody outside sees.
pub struct Namespace(());

impl Namespace {
    /// Moves this process into a mount namespace of its own; without root into a user namespace as well, where it is root.
    /// Threads that run already stay outside: call it first.
    ///
    /// # Errors
    /// [`MountError::Namespace`].
    pub fn new() -> Result<Self, MountError> {
        let refused = |error: rustix::io::Errno| MountError::Namespace { errno: Errno(error.raw_os_error()) };
        let (uid, gid) = (rustix::process::geteuid(), rustix::process::getegid());
        if uid.is_root() {
            unshare(UnshareFlags::NEWNS).map_err(refused)?;
        } else {
            unshare(UnshareFlags::NEWNS | UnshareFlags::NEWUSER).map_err(refused)?;
            let maps = [
                ("setgroups", "deny".to_owned()),
                ("uid_map", format!("0 {} 1", uid.as_raw())),
                ("gid_map", format!("0 {} 1", gid.as_raw())),
            ];
            for (file, text) in maps {
                std::fs::write(format!("/proc/self/{file}"), text).map_err(|error| MountError::Namespace {
                    errno: Errno(error.raw_os_error().unwrap_or(Errno::EIO.0)),
                })?;
            }
        }
        mount_change("/", MountPropagationFlags::PRIVATE | MountPropagationFlags::REC).map_err(refused)?;
        Ok(Namespace(()))
    }

    /// Runs a command there over the near machine of a World, and serves that machine until the command has ended. Ctrl-C is
    /// the command's; other signals that ask to stop are passed on to it. Returns its exit code as shells give it.
    ///
    /// # Errors
    /// [`MountError`].
    pub fn run(self, world: &mut dyn World, argv: &[String]) -> Result<u8, MountError> {
        let mount = Mount::over(Path::new(SYSTEM), Extent::Root)?;
        let (started, has_started) = channel();
        let (ended, has_ended) = channel();
        let argv = argv.to_vec();
        // It looks into the mounted folder, which is answered here.
        std::thread::spawn(move || {
            let result = start(&argv).and_then(|mut child| {
                // Nobody listens only when the machine has gone; then the command is waited for all the same.
                let _ = started.send(child.id());
                child.wait().map_err(|error| MountError::Failed { folder: SYSTEM.into(), why: error.to_string() })
            });
            let _ = ended.send(result);
        });
        let (mut status, mut pid) = (None, None);
        mount.answer_until(world, |stop| {
            status = finished(&has_ended);
            pid = pid.or_else(|| i32::try_from(has_started.try_recv().ok()?).ok().and_then(Pid::from_raw));
            if let (Some(signal), Some(pid)) = (stop.and_then(passed_on), pid) {
                // It may have ended just now.
                let _ = kill_process(pid, signal);
            }
            status.is_some()
        });
        let served = MountError::Failed { folder: SYSTEM.into(), why: "it was unmounted".into() };
        status.or_else(|| has_ended.recv().ok()).unwrap_or(Err(served)).map(code)
    }
}

fn finished(ended: &Receiver<Result<ExitStatus, MountError>>) -> Option<Result<ExitStatus, MountError>> {
    match ended.try_recv() {
        Ok(result) => Some(result),
        Err(TryRecvError::Empty) => None,
        Err(TryRecvError::Disconnected) => {
            Some(Err(MountError::Failed { folder: SYSTEM.into(), why: "its thread has ended".into() }))
        }
    }
}

/// The terminal sends its own Ctrl-C to the command as well.
fn passed_on(stop: StopSignal) -> Option<Signal> {
    match stop {
        StopSignal::Interrupt => None,
        StopSignal::Terminate => Some(Signal::TERM),
        StopSignal::HangUp => Some(Signal::HUP),
    }
}

/// Covers what there is of this machine with what there is of the other; a folder the other does not have with nothing. A place
/// that cannot be covered is named to `trouble`.
fn cover(trouble: &PipeWriter) -> io::Result<()> {
    let named = |place: &'static str| {
        move |error: rustix::io::Errno| {
            let _ = (&*trouble).write_all(place.as_bytes());
            io::Error::from(error)
        }
    };
    // Process numbers are those of the command's own namespace, here as well.
    let flags = MountFlags::NOSUID | MountFlags::NODEV | MountFlags::NOEXEC;
    mount("proc", "/proc", "proc", flags, None).map_err(named("/proc"))?;
    for place in COVERED {
        let other = format!("{SYSTEM}{place}");
        if place == power::POWERCAP && Path::new(&other).exists() && !Path::new(place).exists() {
            add_class(place).map_err(|error| named(place)(errno_of(&error)))?;
        }
        if !Path::new(place).exists() {
            continue;
        }
        if Path::new(&other).exists() {
            mount_bind(other.as_str(), place).map_err(named(place))?;
        } else if Path::new(place).is_dir() {
            mount("none", place, "tmpfs", MountFlags::RDONLY, None).map_err(named(place))?;
        }
    }
    Ok(())
}

/// Makes room for a class of devices that this kernel does not have: nobody makes a folder in sysfs, so that the other classes
/// are mounted again in a folder that takes its place.
fn add_class(place: &str) -> io::Result<()> {
    let flags = OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC;
    let covered = rustix::fs::open(CLASSES, flags, Mode::empty())?;
    mount("none", CLASSES, "tmpfs", MountFlags::empty(), None)?;
    for class in std::fs::read_dir(format!("/proc/self/fd/{}", covered.as_raw_fd()))? {
        let class = class?;
        let again = Path::new(CLASSES).join(class.file_name());
        std::fs::create_dir(&again)?;
        mount_bind(class.path(), again)?;
    }
    std::fs::create_dir(place)
}

fn errno_of(error: &io::Error) -> rustix::io::Errno {
    rustix::io::Errno::from_raw_os_error(error.raw_os_error().unwrap_or(Errno::EIO.0))
}

/// Starts the command below an init of its own, which is ended when we are killed, as its machine goes with us.
fn start(argv: &[String]) -> Result<std::process::Child, MountError> {
    let refused = |error: rustix::io::Errno| MountError::Namespace { errno: Errno(error.raw_os_error()) };
    let (program, words) = argv.split_first().map_or(("", &[][..]), |(program, words)| (program.as_str(), words));
    let failed = |error: io::Error| MountError::Start { program: program.into(), why: error.to_string() };
    let (mut trouble, to) = io::pipe().map_err(failed)?;
    let mut command = Command::new(program);
    command.args(words).envs(VARIABLES);
    #[expect(unsafe_code, reason = "the namespaces are made between fork and exec")]
    // SAFETY: the C library's fork leaves its allocator usable in the copy, and nothing there takes a lock of ours.
    unsafe {
        command.pre_exec(move || init::begin(|| cover(&to)));
    }
    // It concerns the children of this thread alone, which starts no other thread.
    unshare(UnshareFlags::NEWPID).map_err(refused)?;
    let started = command.spawn();
    drop(command);
    started.map_err(|error| {
        let mut place = String::new();
        match trouble.read_to_string(&mut place) {
            Ok(length) if length > 0 => {
                let errno = Errno(error.raw_os_error().unwrap_or(Errno::EIO.0));
                MountError::Refused { folder: place.into(), errno }
            }
            _ => failed(error),
        }
    })
}

/// The exit code of a command as shells give it.
fn code(status: ExitStatus) -> u8 {
    let code = status.code().unwrap_or_else(|| 128 + status.signal().unwrap_or(0));
    u8::try_from(code & 0xff).unwrap_or(1)
}
