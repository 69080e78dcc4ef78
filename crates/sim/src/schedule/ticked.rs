//! Time as kernels that account by ticks keep it: a whole tick for whatever runs when it comes.
use super::{Booking, Cpu, Task};

/// Ticks of one CPU that found it at work, by what it did.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Ticked {
    user: u64,
    nice: u64,
    system: u64,
    softirq: u64,
}

impl Ticked {
    /// A tick finds a task at work. Of a task that shares its time with soft interrupts, as many ticks go to these as
    /// would on average.
    pub(super) fn count(&mut self, task: &Task, softirq_ns: u64, tick_ns: u64) {
        match task.booking {
            Booking::User if task.nice => self.nice += 1,
            Booking::User => self.user += 1,
            Booking::Network { .. } if softirq_ns / tick_ns.max(1) > self.softirq => self.softirq += 1,
            Booking::Kernel | Booking::Network { .. } => self.system += 1,
        }
    }
}

/// What `/proc/stat` shows of a CPU, ns.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Shown {
    pub(crate) user_ns: u64,
    pub(crate) nice_ns: u64,
    pub(crate) system_ns: u64,
    pub(crate) idle_ns: u64,
    pub(crate) softirq_ns: u64,
}

impl Cpu {
    /// What `/proc/stat` shows of it: by its ticks where their length is given, to the nanosecond where it is not.
    pub(crate) fn shown(&self, now_ns: u64, sampled_tick_ns: Option<u64>) -> Shown {
        let Some(tick_ns) = sampled_tick_ns else {
            return Shown {
                user_ns: self.user_ns,
                nice_ns: 0,
                system_ns: self.system_ns,
                idle_ns: self.idle_ns(now_ns),
                softirq_ns: self.softirq_ns,
            };
        };
        let Ticked { user, nice, system, softirq } = self.ticked;
        let idle = (now_ns / tick_ns).saturating_sub(user + nice + system + softirq);
        let [user_ns, nice_ns, system_ns, idle_ns, softirq_ns] =
            [user, nice, system, idle, softirq].map(|ticks| ticks * tick_ns);
        Shown { user_ns, nice_ns, system_ns, idle_ns, softirq_ns }
    }
}
