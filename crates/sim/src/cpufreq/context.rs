//! The instant at which something is done to a policy, with all that it may touch.
use super::config::BootConfig;
use super::cpu::Cpu;
use super::times::{CpuTimes, FrequencyChange};

/// The instant at which something is done, and what may be touched meanwhile.
pub(crate) struct Context<'a> {
    pub(crate) now_ns: u64,
    pub(crate) config: &'a BootConfig,
    pub(crate) cpus: &'a mut [Cpu],
    pub(crate) changes: &'a mut Vec<FrequencyChange>,
    pub(crate) times: &'a dyn CpuTimes,
}

impl Context<'_> {
    /// A CPU's idle time so far, ns; waiting for input and output counts as idle unless it `io_is_busy`.
    pub(crate) fn idle_ns(&self, cpu: u32, io_is_busy: bool) -> u64 {
        self.times.idle_ns(cpu) + if io_is_busy { 0 } else { self.times.iowait_ns(cpu) }
    }

    /// Counts a CPU's work up to now for interactive, done at this clock.
    pub(crate) fn count_work(&mut self, cpu: u32, khz: u32) {
        let idle_now = self.idle_ns(cpu, self.cpus[cpu as usize].interactive.io_is_busy);
        let look = &mut self.cpus[cpu as usize].interactive;
        let passed = self.now_ns.saturating_sub(look.counted_ns);
        let busy_us = passed.saturating_sub(idle_now.saturating_sub(look.idle_ns)) / 1_000;
        look.work = look.work.saturating_add(busy_us * u64::from(khz));
        (look.counted_ns, look.idle_ns) = (self.now_ns, idle_now);
    }
}
