//! Switches of the whole machine: threads that share a core, and how old schedulers gather tasks.
use powerband_machine::Errno;

use super::{CPU, Node, Tree};
use crate::board::Board;
use crate::cpufreq::KernelRules;
use crate::profile::{InstructionSet, Profile};

/// Where the daemon cpuspeed is started and stopped.
const DAEMON: &str = "/sys/kernel/powerband/cpuspeed";

/// Whether cores run two threads each.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum Smt {
    #[default]
    On,
    Off,
    ForceOff,
}

/// A name of the whole machine.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Switch {
    SmtControl,
    SmtActive,
    /// Whether the daemon cpuspeed runs.
    Cpuspeed,
    /// Gathering of tasks on few packages, or on few cores by their threads: its value.
    Gathering {
        threads: bool,
        value: u32,
    },
}

impl Switch {
    pub(super) fn mode(self) -> u32 {
        if self == Switch::SmtActive { 0o444 } else { 0o644 }
    }
}

impl Tree {
    pub(super) fn add_switches(&mut self, profile: &Profile) {
        if profile.cpuspeed.is_some() {
            self.add(DAEMON.into(), Node::Switch(Switch::Cpuspeed));
        }
        let (rules, cores) = (profile.cpufreq.rules, profile.present.len() / profile.threads.max(1) as usize);
        if rules == KernelRules::V6_1 {
            if profile.arch == InstructionSet::X86 {
                self.add(format!("{CPU}/smt/control"), Node::Switch(Switch::SmtControl));
                self.add(format!("{CPU}/smt/active"), Node::Switch(Switch::SmtActive));
            }
            return;
        }
        // From 2.6.29 on, a package that holds all CPUs there is room for has no file (mc_capable of asm/topology.h).
        let in_package = profile.present.len() / profile.packages.max(1) as usize;
        let is_whole = rules != KernelRules::V2_6_18 && in_package == profile.possible.len();
        let gathers = cores > profile.packages as usize && !is_whole;
        for (name, threads, there) in
            [("sched_mc_power_savings", false, gathers), ("sched_smt_power_savings", true, profile.threads > 1)]
        {
            if there {
                self.add(format!("{CPU}/{name}"), Node::Switch(Switch::Gathering { threads, value: 0 }));
            }
        }
    }
}

impl Board {
    /// Which thread of its core a CPU is, from 0: cores first, then their second threads.
    fn thread(&self, cpu: u32) -> u32 {
        cpu / self.profile.cores()
    }

    /// Whether a CPU may come into service.
    pub(super) fn may_come(&self, cpu: u32) -> bool {
        self.smt == Smt::On || self.thread(cpu) == 0
    }

    pub(super) fn show_switch(&self, switch: Switch) -> String {
        match switch {
            Switch::SmtControl if self.profile.threads < 2 => "notsupported\n".into(),
            Switch::SmtControl => match self.smt {
                Smt::On => "on\n",
                Smt::Off => "off\n",
                Smt::ForceOff => "forceoff\n",
            }
            .into(),
            Switch::SmtActive => {
                let shared = (0..self.profile.cores()).any(|core| self.cpus_of(super::Shared::Core(core)).len() > 1);
                format!("{}\n", u8::from(shared))
            }
            Switch::Cpuspeed => format!("{}\n", u8::from(self.daemon.runs())),
            Switch::Gathering { value, .. } => format!("{value}\n"),
        }
    }

    /// Writes one; the switch as it is afterwards.
    pub(super) fn store_switch(&mut self, switch: Switch, text: &str) -> Result<Switch, Errno> {
        match switch {
            Switch::SmtActive => Err(Errno::EACCES),
            Switch::Cpuspeed => {
                let on = match text.trim() {
                    "0" => false,
                    "1" => true,
                    _ => return Err(Errno::EINVAL),
                };
                self.set_daemon(on).map(|()| switch)
            }
            Switch::SmtControl => self.set_smt(text.trim()).map(|()| switch),
            Switch::Gathering { threads, .. } => {
                let number = match self.profile.cpufreq.rules {
                    KernelRules::V2_6_18 => {
                        text.get(..1).and_then(|first| first.parse().ok()).filter(|&value| value < 2)
                    }
                    _ => text.trim().parse().ok().filter(|&value| value < 3),
                };
                let value = number.ok_or(Errno::EINVAL)?;
                self.set_savings(threads, value);
                Ok(Switch::Gathering { threads, value })
            }
        }
    }

    fn set_smt(&mut self, word: &str) -> Result<(), Errno> {
        let wanted = match word {
            "on" => Smt::On,
            "off" => Smt::Off,
            "forceoff" => Smt::ForceOff,
            _ => return Err(Errno::EINVAL),
        };
        if self.smt == Smt::ForceOff {
            return Err(Errno::EPERM);
        }
        if self.profile.threads < 2 {
            return Err(Errno::ENODEV);
        }
        // What it is already is not done again: CPUs that were taken out of service one by one stay so (Linux 6.1).
        if wanted == self.smt {
            return Ok(());
        }
        self.smt = wanted;
        for cpu in 0..u32::try_from(self.cpus.len()).unwrap_or(0) {
            if wanted == Smt::On {
                self.set_online(cpu, true);
            } else if self.thread(cpu) > 0 {
                self.set_online(cpu, false);
            }
        }
        self.follow_cpufreq();
        Ok(())
    }
}
