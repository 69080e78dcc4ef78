//! Leaving a slow CPU: the part of the balancer by which a thread that runs is moved.
use super::State;
use crate::board::Board;
use crate::cpufreq::Util;

impl Board {
    /// The current task of a CPU that is slower than another at work goes to an idle one, once it has stayed long enough.
    pub(super) fn leave_slow(&mut self, cpu: u32) {
        let this = &self.cpus[cpu as usize];
        let Some(number) = this.current else { return };
        let task = &self.tasks[number as usize];
        if task.stay_ns.is_none_or(|stay_ns| self.now_ns - task.came_ns < stay_ns) {
            return;
        }
        let may = |cpu: u32| task.allowed.as_ref().is_none_or(|list| list.contains(cpu));
        let idle = |(_, other): &(u32, &super::Cpu)| other.online && other.is_asleep() && other.queue.is_empty();
        let is_slow = self.cpus.iter().any(|other| other.current.is_some() && other.khz > this.khz);
        let mut others = (0_u32..).zip(&self.cpus).filter(|(number, _)| may(*number));
        if let Some((to, _)) = others.find(idle).filter(|_| is_slow) {
            self.remove(number, State::Blocked, false);
            self.place_on(to, number, Util::Enqueue);
        }
    }
}
