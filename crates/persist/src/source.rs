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

use crate::finding::Phase;
use crate::scene::Scene;

pub(crate) use command_line::option_of as boot_option_of;
pub(crate) use cpupower::CONFIGS as CPUPOWER_CONFIGS;
pub(crate) use link::{file_of as link_file_of, option_of as link_option_of};

/// One source.
pub(crate) struct Source {
    /// When what it finds acts.
    pub(crate) phase: Phase,
    /// Looks, and adds what it finds.
    pub(crate) look: fn(&mut Scene<'_>),
}

const fn source(phase: Phase, look: fn(&mut Scene<'_>)) -> Source {
    Source { phase, look }
}

/// All of them, in the order of time. What comes later in this table is taken to act later.
pub(crate) const ALL: &[Source] = &[
    source(Phase::Kernel, kernel::look),
    source(Phase::CommandLine, command_line::look),
    source(Phase::Driver, driver::look),
    source(Phase::Devices, modprobe::look),
    source(Phase::Devices, link::look),
    source(Phase::Devices, udev::look),
    source(Phase::Settings, sysctl::look),
    source(Phase::Settings, tmpfiles::look),
    source(Phase::Settings, sysfs::look),
    source(Phase::Network, interfaces::look),
    source(Phase::Network, connections::look),
    source(Phase::Services, init_scripts::look),
    source(Phase::Services, cpuspeed::look),
    source(Phase::Services, cpufrequtils::look),
    source(Phase::Services, units::look),
    source(Phase::Services, cpupower::look),
    source(Phase::Daemons, laptop_mode::look),
    source(Phase::Daemons, thermald::look),
    source(Phase::Daemons, power_profiles::look),
    source(Phase::Daemons, tlp::look),
    source(Phase::Daemons, tuned::look),
    source(Phase::Daemons, auto_cpufreq::look),
    source(Phase::Late, rc_local::look),
    source(Phase::Late, kept::look),
    source(Phase::Late, cron::look),
    source(Phase::Late, ondemand::look),
    source(Phase::Running, slurm::look),
    source(Phase::Running, ledger::look),
];
