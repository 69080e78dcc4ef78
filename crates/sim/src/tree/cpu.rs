//! Names of single CPUs, some of which come and go with their CPU, and what is asked and taken by those of idle states.
use powerband_machine::{Errno, LATENCY_DEVICE};

use super::{CPU, Node, Show, Tree};
use crate::board::Board;
use crate::cpufreq::KernelRules;
use crate::cpuidle::{IdleFile, SystemFile};
use crate::profile::{InstructionSet, Profile};

/// Lists of CPUs, and the highest number a kernel could count.
const LISTS: [(&str, Show); 5] = [
    ("possible", Show::Possible),
    ("present", Show::Present),
    ("online", Show::Online),
    ("offline", Show::Offline),
    ("kernel_max", Show::KernelMax),
];

/// A name that has to do with idle states.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Idle {
    System(SystemFile),
    State { cpu: u32, state: usize, file: IdleFile },
    ResumeLatency(u32),
    LatencyDevice,
}

impl Idle {
    pub(super) fn mode(self) -> u32 {
        match self {
            Idle::System(file) => file.mode(),
            Idle::State { file, .. } => file.mode(),
            Idle::ResumeLatency(_) => 0o644,
            Idle::LatencyDevice => 0o600,
        }
    }
}

impl Tree {
    /// What stays whether CPUs are in service or not.
    pub(super) fn add_cpus(&mut self, profile: &Profile) {
        let rules = profile.cpufreq.rules;
        // These came with 2.6.24 to 2.6.28.
        if rules > KernelRules::V2_6_18 {
            for (name, show) in LISTS {
                self.add(format!("{CPU}/{name}"), Node::Show(show));
            }
        }
        // Kernels from 2.6.33 on have them for CPUs that are plugged in, which x86 refuses whatever is written.
        if rules == KernelRules::V2_6_32 && profile.arch == InstructionSet::X86 {
            ["probe", "release"].into_iter().for_each(|name| self.add(format!("{CPU}/{name}"), Node::Refusing));
        }
        for &cpu in profile.present.as_slice() {
            if cpu > 0 {
                self.add(format!("{CPU}/cpu{cpu}/online"), Node::CpuOnline(cpu));
            }
            self.add_service(cpu, profile);
        }
        if profile.idle.is_none() {
            return;
        }
        self.add(LATENCY_DEVICE.into(), Node::Idle(Idle::LatencyDevice));
        for &(name, file) in SystemFile::of(rules) {
            self.add(format!("{CPU}/cpuidle/{name}"), Node::Idle(Idle::System(file)));
        }
        if rules == KernelRules::V6_1 {
            for &cpu in profile.present.as_slice() {
                let path = format!("{CPU}/cpu{cpu}/power/pm_qos_resume_latency_us");
                self.add(path, Node::Idle(Idle::ResumeLatency(cpu)));
            }
        }
    }

    /// What a CPU in service has besides.
    pub(super) fn add_service(&mut self, cpu: u32, profile: &Profile) {
        self.add_topology(cpu, profile);
        self.add_caches(cpu, profile);
        for state in 0..profile.idle.as_ref().map_or(0, |idle| idle.states.len()) {
            for &(name, file) in IdleFile::of(profile.cpufreq.rules) {
                let path = format!("{CPU}/cpu{cpu}/cpuidle/state{state}/{name}");
                self.add(path, Node::Idle(Idle::State { cpu, state, file }));
            }
        }
    }

    /// That goes again with the CPU.
    fn remove_service(&mut self, cpu: u32, rules: KernelRules) {
        for folder in ["topology", "cpuidle", "cache", "thermal_throttle"] {
            let folder = format!("{CPU}/cpu{cpu}/{folder}");
            let below = format!("{folder}/");
            self.nodes.retain(|path, _| *path != folder && !path.starts_with(&below));
            self.lose(&folder);
        }
        // Kernels with folders for policies keep these.
        if rules != KernelRules::V6_1 {
            self.lose(&format!("{CPU}/cpu{cpu}/cpufreq"));
        }
    }
}

impl Board {
    /// The files of a CPU follow it into service and out of it.
    pub(crate) fn follow_files(&mut self, cpu: u32, online: bool) {
        if online {
            self.tree.add_service(cpu, &self.profile);
        } else {
            self.tree.remove_service(cpu, self.profile.cpufreq.rules);
        }
    }

    pub(super) fn show_idle(&self, idle: Idle) -> Result<String, Errno> {
        let cpuidle = self.idle.as_ref().ok_or(Errno::ENODEV)?;
        Ok(match idle {
            Idle::System(file) => cpuidle.show_system(file),
            Idle::State { cpu, state, file } => cpuidle.show(cpu, state, file),
            Idle::ResumeLatency(cpu) => self.latency.show_cpu(cpu),
            Idle::LatencyDevice => self.latency.show(),
        })
    }

    pub(super) fn store_idle(&mut self, idle: Idle, text: &str) -> Result<(), Errno> {
        let cpuidle = self.idle.as_mut().ok_or(Errno::ENODEV)?;
        match idle {
            Idle::System(SystemFile::Governor) => cpuidle.set_governor(text)?,
            Idle::State { cpu, state, file: IdleFile::Disable } => cpuidle.set_disabled(cpu, state, text)?,
            Idle::ResumeLatency(cpu) => self.latency.set_cpu(cpu, text)?,
            // Written and closed in one: the kernel takes the request back at once.
            Idle::LatencyDevice => {}
            Idle::System(_) | Idle::State { .. } => return Err(Errno::EACCES),
        }
        self.keep_stirring();
        Ok(())
    }
}
