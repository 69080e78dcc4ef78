//! The sources, one a file, in the order in which they act at boot.
mod auto_cpufreq;
mod command_line;
mod connections;
mod cpufrequtils;
mod cpupower;
mod cpuspeed;
mod cron;
mod driver;
mod init_scripts;
mod interfaces;
mod kept;
mod kernel;
mod laptop_mode;
mod ledger;
mod link;
mod modprobe;
mod ondemand;
mod power_profiles;
mod rc_local;
mod slurm;
mod sysctl;
mod sysfs;
mod thermald;
mod tlp;
mod tmpfiles;
mod tuned;
mod udev;
mod units;

use crate::finding::BootPhase;
use crate::scene::Scene;

pub(crate) use command_line::option_of as boot_option_of;
pub(crate) use cpupower::CONFIGS as CPUPOWER_CONFIGS;
pub(crate) use link::{file_of as link_file_of, option_of as link_option_of};

/// One source.
pub(crate) struct Source {
    /// When what it finds acts.
    pub(crate) phase: BootPhase,
    /// Looks, and adds what it finds.
    pub(crate) look: fn(&mut Scene<'_>),
}

const fn source(phase: BootPhase, look: fn(&mut Scene<'_>)) -> Source {
    Source { phase, look }
}

/// All of them, in the order of time. What comes later in this table is taken to act later.
pub(crate) const ALL: &[Source] = &[
    source(BootPhase::Kernel, kernel::look),
    source(BootPhase::CommandLine, command_line::look),
    source(BootPhase::Driver, driver::look),
    source(BootPhase::Devices, modprobe::look),
    source(BootPhase::Devices, link::look),
    source(BootPhase::Devices, udev::look),
    source(BootPhase::Settings, sysctl::look),
    source(BootPhase::Settings, tmpfiles::look),
    source(BootPhase::Settings, sysfs::look),
    source(BootPhase::Network, interfaces::look),
    source(BootPhase::Network, connections::look),
    source(BootPhase::Services, init_scripts::look),
    source(BootPhase::Services, cpuspeed::look),
    source(BootPhase::Services, cpufrequtils::look),
    source(BootPhase::Services, units::look),
    source(BootPhase::Services, cpupower::look),
    source(BootPhase::Daemons, laptop_mode::look),
    source(BootPhase::Daemons, thermald::look),
    source(BootPhase::Daemons, power_profiles::look),
    source(BootPhase::Daemons, tlp::look),
    source(BootPhase::Daemons, tuned::look),
    source(BootPhase::Daemons, auto_cpufreq::look),
    source(BootPhase::Late, rc_local::look),
    source(BootPhase::Late, kept::look),
    source(BootPhase::Late, cron::look),
    source(BootPhase::Late, ondemand::look),
    source(BootPhase::Running, slurm::look),
    source(BootPhase::Running, ledger::look),
];
