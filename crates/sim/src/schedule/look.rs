//! Looking for work: now and then an idle CPU takes a task that waits on another.
use crate::board::{Board, Event};
use crate::cpufreq::Util;

impl Board {
    /// Sees to it that idle CPUs look for tasks that wait, if any do.
    pub(super) fn plan_look(&mut self) {
        let Some(every_ns) = self.profile.serve.as_ref().map(|serve| serve.look_ns) else { return };
        if self.look_planned || self.cpus.iter().all(|cpu| cpu.queue.is_empty()) {
            return;
        }
        self.look_planned = true;
        let next_ns = (self.now_ns / every_ns + 1) * every_ns;
        self.plan(next_ns, Event::Look);
    }

    /// Idle CPUs look.
    pub(crate) fn look_for_work(&mut self) {
        self.look_planned = false;
        for cpu in 0..u32::try_from(self.cpus.len()).unwrap_or(0) {
            let this = &self.cpus[cpu as usize];
            if this.online
                && this.is_asleep()
                && this.queue.is_empty()
                && let Some(task) = self.pull(cpu)
            {
                self.take_here(cpu, task);
            }
        }
        self.plan_look();
    }

    /// An idle CPU that has taken a task from another runs it, once it is awake.
    fn take_here(&mut self, cpu: u32, task: u32) {
        if self.rouse(cpu, false) {
            return self.wait_for_cpu(cpu, task);
        }
        self.begin(cpu, task);
        self.tell_cpufreq(cpu, Util::Enqueue);
    }
}
