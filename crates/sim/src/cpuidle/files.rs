//! The files of idle states: which there are under which rules, what they say, what they take.
use powerband_machine::Errno;

use super::{Cpuidle, IdleGovernor};
use crate::cpufreq::KernelRules;

/// A file of one state of one CPU.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum IdleFile {
    Name,
    Desc,
    Latency,
    Residency,
    Power,
    Usage,
    Time,
    Above,
    Below,
    Rejected,
    Disable,
    DefaultStatus,
}

use IdleFile::{Above, Below, DefaultStatus, Desc, Disable, Latency, Name, Power, Rejected, Residency, Time, Usage};

impl IdleFile {
    /// Those there are: Linux 2.6.32 had six, and no way to keep a state from use.
    pub(crate) fn of(rules: KernelRules) -> &'static [(&'static str, IdleFile)] {
        const ALL: [(&str, IdleFile); 12] = [
            ("name", Name),
            ("desc", Desc),
            ("latency", Latency),
            ("power", Power),
            ("usage", Usage),
            ("time", Time),
            ("residency", Residency),
            ("above", Above),
            ("below", Below),
            ("rejected", Rejected),
            ("disable", Disable),
            ("default_status", DefaultStatus),
        ];
        if rules == KernelRules::V6_1 { &ALL } else { &ALL[..6] }
    }

    pub(crate) fn mode(self) -> u32 {
        if self == Disable { 0o644 } else { 0o444 }
    }
}

/// A file of the machine's `cpuidle` folder.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum SystemFile {
    Driver,
    Governor,
    GovernorReadOnly,
    Available,
}

impl SystemFile {
    /// Those there are: before Linux 5.10 the rule could be changed only where a word on the command line allowed it.
    pub(crate) fn of(rules: KernelRules) -> &'static [(&'static str, SystemFile)] {
        const ALL: [(&str, SystemFile); 4] = [
            ("current_driver", SystemFile::Driver),
            ("current_governor_ro", SystemFile::GovernorReadOnly),
            ("current_governor", SystemFile::Governor),
            ("available_governors", SystemFile::Available),
        ];
        if rules == KernelRules::V6_1 { &ALL } else { &ALL[..2] }
    }

    pub(crate) fn mode(self) -> u32 {
        if self == SystemFile::Governor { 0o644 } else { 0o444 }
    }
}

impl Cpuidle {
    pub(crate) fn show(&self, cpu: u32, state: usize, file: IdleFile) -> String {
        let (spec, usage) = (&self.spec.states[state], &self.devices[cpu as usize].usages[state]);
        match file {
            Name => format!("{}\n", spec.name),
            Desc => format!("{}\n", spec.desc),
            Latency => format!("{}\n", spec.exit_ns / 1_000),
            Residency => format!("{}\n", spec.residency_ns / 1_000),
            // The driver does not say, nothing is refused, and no state is off from the start.
            Power | Rejected => "0\n".into(),
            DefaultStatus => "enabled\n".into(),
            Usage => format!("{}\n", usage.entered),
            Time => format!("{}\n", usage.time_ns / 1_000),
            Above => format!("{}\n", usage.above),
            Below => format!("{}\n", usage.below),
            Disable => format!("{}\n", u8::from(usage.disabled)),
        }
    }

    /// Keeps a state from use, or no longer: any number but 0 does.
    pub(crate) fn set_disabled(&mut self, cpu: u32, state: usize, text: &str) -> Result<(), Errno> {
        let number: u64 = text.trim_end().parse().map_err(|_| Errno::EINVAL)?;
        self.devices[cpu as usize].usages[state].disabled = number != 0;
        Ok(())
    }

    pub(crate) fn show_system(&self, file: SystemFile) -> String {
        match file {
            SystemFile::Driver => format!("{}\n", self.spec.driver),
            SystemFile::Governor | SystemFile::GovernorReadOnly => format!("{}\n", self.governor.name()),
            SystemFile::Available => {
                let names = self.spec.governors.iter().map(|governor| format!("{} ", governor.name()));
                names.collect::<String>() + "\n"
            }
        }
    }

    /// Another rule from now on; what CPUs have learned is lost.
    pub(crate) fn set_governor(&mut self, text: &str) -> Result<(), Errno> {
        let offered = |governor: &&IdleGovernor| governor.name() == text.trim();
        let governor = *self.spec.governors.iter().find(offered).ok_or(Errno::EINVAL)?;
        if std::mem::replace(&mut self.governor, governor) != governor {
            for device in &mut self.devices {
                let usages = std::mem::take(&mut device.usages);
                *device = super::Device { usages, ..super::Device::new(&self.spec.states) };
            }
        }
        Ok(())
    }
}
