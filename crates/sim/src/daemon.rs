//! The daemon cpuspeed on a simulated machine: when its groups look, what they see, and how they walk.
use powerband_cpuspeed::{DaemonOptions, Group, Sums, Walker, discover, within};
use powerband_machine::Errno;

use crate::board::{Board, Event};
use crate::cpufreq::{FrequencyTable, Governor, TableRelation};
use crate::schedule::Times;

const MS_NS: u64 = 1_000_000;

/// One unit of `/proc/stat`, ns (USER_HZ is 100).
const UNIT_NS: u64 = 10_000_000;

/// One of its processes: CPUs that share a clock.
#[derive(Debug)]
struct Process {
    cpus: Vec<u32>,
    /// The clock there was before, kHz.
    found_khz: u32,
    walker: Walker,
}

/// The daemon, while it runs.
#[derive(Debug, Default)]
pub(crate) struct Daemon {
    processes: Vec<Process>,
    /// What was planned before the last start or stop carries another.
    stamp: u32,
}

impl Daemon {
    pub(crate) fn runs(&self) -> bool {
        !self.processes.is_empty()
    }
}

impl Board {
    /// Starts the daemon on every policy in service, or stops it. It runs as with its option `-r`: when it stops it puts
    /// back the clocks it found.
    ///
    /// # Errors
    /// ENODEV where the machine has none; EINVAL when a policy is not under `userspace`, so that it could set nothing.
    pub(crate) fn set_daemon(&mut self, on: bool) -> Result<(), Errno> {
        let options = self.profile.cpuspeed.ok_or(Errno::ENODEV)?;
        match on {
            true if !self.daemon.runs() => self.start_daemon(options),
            true => Ok(()),
            false => {
                self.stop_daemon();
                Ok(())
            }
        }
    }

    /// Ends it, where it runs.
    pub(crate) fn stop_daemon(&mut self) {
        self.daemon.stamp = self.daemon.stamp.wrapping_add(1);
        for process in std::mem::take(&mut self.daemon.processes) {
            self.set_speed(process.cpus.first().copied().unwrap_or(0), process.found_khz);
        }
    }

    /// Starts it with options of its own.
    ///
    /// # Errors
    /// EINVAL when a policy is not under `userspace`, or the options leave it no clock.
    pub(crate) fn start_daemon(&mut self, options: DaemonOptions) -> Result<(), Errno> {
        let mut processes = Vec::new();
        for cpus in self.groups_of_cpus() {
            let first = cpus.first().copied().unwrap_or(0);
            let steps_khz = within(&self.steps_khz(&cpus), options.min_khz, options.max_khz);
            if self.cpufreq.governor(first) != Some(Governor::Userspace) || steps_khz.is_empty() {
                return Err(Errno::EINVAL);
            }
            let group = Group::new(options, steps_khz, self.sums(&cpus));
            processes.push(Process { found_khz: self.cpufreq.khz(first), cpus, walker: Walker::new(group) });
        }
        self.daemon.stamp = self.daemon.stamp.wrapping_add(1);
        self.daemon.processes = processes;
        for place in 0..self.daemon.processes.len() {
            self.wake_daemon(place);
        }
        Ok(())
    }

    /// The CPUs in service of each policy that has any.
    pub(crate) fn groups_of_cpus(&self) -> Vec<Vec<u32>> {
        let online = |cpu: &u32| self.cpus.get(*cpu as usize).is_some_and(|cpu| cpu.online);
        let policies = self.profile.cpufreq.policies.iter();
        let groups = policies.map(|policy| policy.cpus.iter().copied().filter(online).collect::<Vec<u32>>());
        groups.filter(|cpus| !cpus.is_empty()).collect()
    }

    /// The clocks the daemon finds for CPUs, fastest first: those `userspace` makes of the clocks it asks for.
    fn steps_khz(&self, cpus: &[u32]) -> Vec<u32> {
        let Some(policy) = self.profile.cpufreq.policies.iter().find(|policy| policy.cpus.starts_with(&cpus[..1]))
        else {
            return Vec::new();
        };
        let limits = cpus.first().and_then(|&cpu| self.cpufreq.limits_khz(cpu));
        let (Some((min, max)), Ok(table)) =
            (limits, FrequencyTable::new(policy.table.clone(), self.profile.cpufreq.rules))
        else {
            return Vec::new();
        };
        discover(min, max, |khz| table.resolve(khz, (min, max), TableRelation::AtLeast, false))
    }

    /// The CPUs' sums of time as `/proc/stat` shows them, in its units.
    fn sums(&mut self, cpus: &[u32]) -> Vec<Sums> {
        let sampled_tick_ns = Times::of(&self.cpus, self.now_ns, &self.profile).sampled_tick_ns;
        cpus.iter()
            .map(|&cpu| {
                self.book(cpu);
                let shown = self.cpus[cpu as usize].shown(self.now_ns, sampled_tick_ns);
                let [user, nice, system, idle] =
                    [shown.user_ns, shown.nice_ns, shown.system_ns, shown.idle_ns].map(|ns| ns / UNIT_NS);
                Sums { user, nice, system, idle, iowait: 0 }
            })
            .collect()
    }

    /// One of the daemon's processes wakes: it goes on with its walk, or looks.
    pub(crate) fn daemon_due(&mut self, place: u32, stamp: u32) {
        let place = place as usize;
        if self.daemon.stamp != stamp {
            return;
        }
        self.wake_daemon(place);
    }

    /// Asks for a clock as the daemon does: another governor may have come meanwhile, and it does not look whether.
    fn set_speed(&mut self, cpu: u32, khz: u32) {
        let file = format!("/sys/devices/system/cpu/cpu{cpu}/cpufreq/scaling_setspeed");
        let _refused = self.write(&file, &khz.to_string());
    }

    /// Sets the next clock of a walk, or looks first, and sleeps.
    fn wake_daemon(&mut self, place: usize) {
        let Some(process) = self.daemon.processes.get(place) else { return };
        let (cpus, looks) = (process.cpus.clone(), process.walker.looks_next());
        let sums = if looks { self.sums(&cpus) } else { Vec::new() };
        let woken = self.daemon.processes[place].walker.wake(&sums);
        if let Some(khz) = woken.khz {
            self.set_speed(cpus.first().copied().unwrap_or(0), khz);
        }
        let event = Event::Daemon { place: u32::try_from(place).unwrap_or(u32::MAX), stamp: self.daemon.stamp };
        self.plan(self.now_ns + woken.sleep_ms * MS_NS, event);
    }
}
