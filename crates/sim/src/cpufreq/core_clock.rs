//! The clock that two threads of a core share, each with a policy of its own: the highest that one of them asks for.
//!
//! A thread counts while it is idle, and while it is out of service with what it asked for last, as published for AMD's Zen 2
//! (Schöne and others, "Energy Efficiency Aspects of the AMD Zen 2 Architecture", 2021, section V).
use super::{Cpufreq, FrequencyChange};

impl Cpufreq {
    /// The policy of the other thread of a policy's core, where that is another policy.
    fn beside(&self, index: usize) -> Option<usize> {
        let (stride, own) = (self.config.thread_stride?, *self.policies[index].members.first()?);
        let other = if own < stride { own + stride } else { own - stride };
        self.policy_of(other).filter(|&other| other != index)
    }

    /// The clock of a policy's cores, kHz.
    pub(super) fn core_khz(&self, index: usize) -> u32 {
        let own = self.policies[index].clock.silicon_khz;
        self.beside(index).map_or(own, |other| own.max(self.policies[other].clock.silicon_khz))
    }

    /// The clock a policy shows: what it asked for last, or more where another thread of its core asks for more, as x86
    /// hardware measures it.
    pub(super) fn shown_khz(&self, index: usize) -> u32 {
        let asked = self.policies[index].clock.cur_khz;
        self.beside(index).map_or(asked, |other| asked.max(self.policies[other].clock.silicon_khz))
    }

    /// Moves the changes of clock since last asked to the end of `out`, oldest first. A change that one thread asks for is a
    /// change for both threads of its core, or for none.
    pub fn take_changes(&mut self, out: &mut Vec<FrequencyChange>) {
        for change in std::mem::take(&mut self.changes) {
            let index = change.policy as usize;
            let Some(other) = self.beside(index) else {
                out.push(change);
                continue;
            };
            let to_khz = self.core_khz(index);
            for index in [index, other] {
                let policy = &mut self.policies[index];
                let speed = policy.speed_at(to_khz);
                for &cpu in policy.members.iter() {
                    self.cpus[cpu as usize].queue.set_speed(speed, change.at_ns);
                }
                let from_khz = std::mem::replace(&mut policy.of_core_khz, to_khz);
                if from_khz != to_khz {
                    out.push(FrequencyChange { policy: policy.index, from_khz, to_khz, ..change });
                }
            }
        }
    }
}
