//! The words of `sim`.
use std::path::PathBuf;

use clap::{Args, Subcommand, ValueEnum};

use super::COMMON;

/// `sim`.
#[derive(Args, Debug)]
pub(crate) struct Sim {
    /// What to do with them.
    #[command(subcommand)]
    pub(crate) verb: SimVerb,
}

/// Verbs of `sim`.
#[derive(Subcommand, Debug)]
pub(crate) enum SimVerb {
    /// List the simulated machines
    List,
    /// Show one: its CPUs, frequencies, power, noise, and what it cannot do
    Show {
        /// Name of the machine
        name: String,
    },
    /// Mount its /sys/devices/system/cpu on a folder, for any program to read and write, until Ctrl-C
    Mount {
        /// Name of the machine
        name: String,
        /// Empty folder to mount on
        #[arg(value_name = "DIR")]
        folder: PathBuf,
        /// Mount all of its files: /sys/devices/system/cpu and node, /proc/cpuinfo, /proc/stat, ...
        #[arg(long, help_heading = COMMON)]
        root: bool,
        /// What the machine runs meanwhile
        #[arg(long, value_name = "NAME", default_value = "idle", help_heading = COMMON)]
        load: MountLoad,
    },
    /// Run a command that sees the simulated machine's CPUs in place of this machine's
    ///
    /// The command runs in a mount namespace of its own, in which /sys/devices/system, /sys/bus/cpu/devices,
    /// /sys/class/powercap, /sys/class/net, /dev/cpu, /proc/cpuinfo and /proc/stat are those of the simulated machine; all
    /// else, such as /proc/sys, is still this machine's. It also has a PID namespace of its own: what it started ends when it
    /// ends; and a network namespace with the loopback device and, if this kernel has TAP devices, a device with the name, address
    /// and speed of the simulated network card. ethtool -c and -C do not reach the simulated driver: the TAP driver answers
    /// them; use `powerband --machine sim:NAME set`. Its exit code is passed on. SYSTEMD_DEVICE_VERIFY_SYSFS=0 is set for it, without which programs that use libudev (TuneD) find no
    /// CPUs, and HWLOC_COMPONENTS and HWLOC_ALLOW, without which lstopo also asks this machine's processor.
    /// Example: powerband sim enter laptop -- lscpu
    Enter {
        /// Name of the machine
        name: String,
        /// What the machine runs meanwhile
        #[arg(long, value_name = "NAME", default_value = "idle", help_heading = COMMON)]
        load: MountLoad,
        /// Command to run
        #[arg(last = true, required = true, value_name = "COMMAND")]
        command: Vec<String>,
    },
}

/// What a mounted machine does.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum MountLoad {
    /// Nothing
    Idle,
    /// One CPU counts
    Counter,
    /// A rank for each CPU counts primes; some seconds, and the machine rests again
    Primes,
}
