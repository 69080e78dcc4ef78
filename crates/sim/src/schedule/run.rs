//! A CPU at work: beginning and leaving a task, booking time, ticks, changes of clock, going offline.
use super::{Booking, Cpu, State};
use crate::board::{Board, Event};
use crate::cpufreq::Util;
use crate::power::WHOLE_PPM;
use crate::schedule::Times;

/// Work retired in this time fits 64 bits at any clock.
const BOOK_AT_LATEST_NS: u64 = 1_000_000_000;

impl Board {
    /// A task becomes the current one of a CPU that has none.
    pub(super) fn begin(&mut self, cpu: u32, task: u32) {
        let now = self.now_ns;
        if self.cpu(cpu).asleep() {
            self.book(cpu);
            let config = &self.profile.cpufreq;
            let ticked = config.ticked(self.cpus[cpu as usize].asleep_ns, now);
            let edges_ns = u64::from(config.idle_edges_ns) + if ticked { u64::from(config.idle_tick_ns) } else { 0 };
            let this = self.cpu(cpu);
            this.idle_ns -= edges_ns.min(now - this.asleep_ns).min(this.idle_ns);
            self.count_asleep(cpu, false);
            self.keep_stirring();
        }
        self.task(task).state = State::Running;
        self.task(task).cpu = cpu;
        let this = self.cpu(cpu);
        (this.current, this.slice_began_ns) = (Some(task), now);
        self.cpufreq.current(cpu, Some(task), now);
        self.start_clocking(task);
        self.aim(cpu);
        self.share_core(cpu);
        self.start_ticking(cpu);
        self.start_looking();
        if std::mem::take(&mut self.task(task).overdue) {
            let process = self.task(task).process;
            let stamp = self.processes[process as usize].stamp;
            self.plan(now, Event::Timer { process, stamp });
        }
    }

    /// The current task of a CPU stops being it; somebody must [`Board::begin`] or [`Board::dispatch`] next.
    pub(super) fn leave(&mut self, cpu: u32) {
        self.book(cpu);
        let this = self.cpu(cpu);
        this.plan = this.plan.wrapping_add(1);
        if let Some(task) = this.current.take() {
            this.changing = true;
            self.plan_retirement(cpu, None);
            self.stop_clocking(task);
            self.share_core(cpu);
        }
    }

    /// A CPU without a current task takes the next one, one from elsewhere, or goes to sleep.
    pub(super) fn dispatch(&mut self, cpu: u32) {
        if let Some(task) = self.cpu(cpu).queue.pop_front() {
            return self.begin(cpu, task);
        }
        if let Some(task) = self.pull(cpu) {
            return self.begin(cpu, task);
        }
        let now = self.now_ns;
        let this = self.cpu(cpu);
        (this.asleep_ns, this.changing) = (now, false);
        self.doze(cpu);
        self.cpufreq.current(cpu, None, now);
    }

    /// A waiting task of the longest queue that may run here; the last one, as it would wait longest.
    pub(super) fn pull(&mut self, cpu: u32) -> Option<u32> {
        if !self.cpu(cpu).online {
            return None;
        }
        if self.balance.is_some() {
            return self.take_newly_idle(cpu);
        }
        let longest = (0_u32..).zip(&self.cpus).filter(|(_, other)| !other.queue.is_empty());
        let (from, _) = longest.max_by_key(|(number, other)| (other.queue.len(), u32::MAX - number))?;
        let may = |task: &u32| self.tasks[*task as usize].allowed.as_ref().is_none_or(|list| list.contains(cpu));
        let place = self.cpus[from as usize].queue.iter().rposition(may)?;
        let task = self.cpu(from).queue.remove(place)?;
        self.cpufreq.dequeued(from, task, false, self.now_ns);
        self.cpufreq.enqueued(cpu, task, self.now_ns);
        self.task(task).came_ns = self.now_ns;
        Some(task)
    }

    /// Books the time since the last booking of a CPU: sums, energy, work, quota.
    pub(crate) fn book(&mut self, cpu: u32) {
        let now = self.now_ns;
        let profile = &self.profile;
        let this = &mut self.cpus[cpu as usize];
        let passed = now - this.since_ns;
        if passed == 0 {
            return;
        }
        let Some(task) = this.current else {
            this.energy_fj = this.energy_fj(&profile.power, now);
            (this.cycles, this.cycling_ns) = this.cycles(now);
            this.since_ns = now;
            this.idle_ns += passed;
            return;
        };
        let standing = this.standing_ns(now);
        let worked = passed - standing;
        this.energy_fj += profile.power.awake_fj(this.power_uw, worked, standing);
        this.cycles += u128::from(this.khz) * u128::from(worked);
        this.cycling_ns += worked;
        this.since_ns = now;
        let task = &mut self.tasks[task as usize];
        let done = worked * this.speed;
        task.retired += u128::from(done);
        if !task.endless {
            task.left = task.left.saturating_sub(done);
        }
        // The kernel's own work belongs to no process.
        let process = self.processes.get_mut(task.process as usize);
        match task.booking {
            Booking::User => {
                this.user_ns += passed;
                process.into_iter().for_each(|process| process.user_ns += passed);
            }
            Booking::Kernel => {
                this.system_ns += passed;
                process.into_iter().for_each(|process| process.system_ns += passed);
            }
            Booking::Network { own_ps, millicycles } => {
                let own_ppm = (own_ps * u64::from(this.khz) / millicycles.max(1)).min(1_000_000);
                let own = passed * own_ppm / 1_000_000;
                this.system_ns += own;
                process.into_iter().for_each(|process| process.system_ns += own);
                this.softirq_ns += passed - own;
            }
        }
        if let Some(group) = task.group {
            self.groups[group as usize].spend(passed);
        }
    }

    /// Plans the moment at which the current task of a CPU has retired its work.
    pub(crate) fn aim(&mut self, cpu: u32) {
        let (max_khz, pace_ppm) = (u64::from(self.max_khz), self.pace_ppm(cpu));
        let this = &mut self.cpus[cpu as usize];
        let Some(task) = this.current else { return };
        let task = &mut self.tasks[task as usize];
        if task.pace.0 != this.khz {
            task.pace = (this.khz, speed(u64::from(this.khz), max_khz, task.memory_ppm));
        }
        this.speed = task.pace.1;
        if let Some(pace_ppm) = pace_ppm {
            this.speed = (this.speed * pace_ppm / WHOLE_PPM).max(1);
        }
        this.plan = this.plan.wrapping_add(1);
        let from = self.now_ns.max(this.stall_until_ns);
        let at = (!task.endless).then(|| from.saturating_add(task.left.div_ceil(this.speed)));
        self.plan_retirement(cpu, at);
    }

    /// A CPU's task should be done now.
    pub(crate) fn retired(&mut self, cpu: u32) {
        let Some(task) = self.cpu(cpu).current else { return };
        self.book(cpu);
        if self.task(task).next_chunk() {
            return self.aim(cpu);
        }
        self.advance(self.tasks[task as usize].process, task);
    }

    /// What the process of a running task wants next on its CPU.
    pub(crate) fn go_on(&mut self, task: u32, cycles: u64) {
        self.task(task).give(cycles.max(1));
        let cpu = self.task(task).cpu;
        self.aim(cpu);
    }

    fn start_ticking(&mut self, cpu: u32) {
        let now = self.now_ns;
        if now < self.cpus[cpu as usize].ticks_until_ns {
            return;
        }
        let (tick, delay) = (self.tick_ns, u64::from(self.profile.cpufreq.tick_delay_ns));
        let number = now.saturating_sub(delay) / tick + 1;
        let until = number * tick + delay;
        let next = until + self.noise.tick_late_ns(number, self.profile.cpufreq.tick_scatter_ns);
        let this = self.cpu(cpu);
        this.ticks_until_ns = until;
        if this.tick_at_ns != next {
            this.tick_at_ns = next;
            self.plan(next, Event::Tick { cpu });
        }
    }

    pub(crate) fn tick(&mut self, cpu: u32) {
        let now = self.now_ns;
        let this = &mut self.cpus[cpu as usize];
        let Some(current) = this.current else { return };
        if this.tick_at_ns != now {
            return;
        }
        this.busy_ticks += 1;
        this.ticked.count(&self.tasks[current as usize], this.softirq_ns, self.tick_ns);
        if self.tasks[current as usize].nice {
            this.nice_ns += self.tick_ns;
        }
        if now - this.since_ns >= BOOK_AT_LATEST_NS {
            self.book(cpu);
        }
        let this = self.cpu(cpu);
        let waited_for = !this.queue.is_empty();
        let ran_ns = now - this.slice_began_ns;
        if waited_for && ran_ns >= self.profile.slice_ns {
            self.leave(cpu);
            self.task(current).state = State::Queued;
            self.cpu(cpu).queue.push_back(current);
            self.dispatch(cpu);
        }
        let times = Times::of(&self.cpus, now, &self.profile);
        self.cpufreq.utilisation(cpu, now, Util::Tick, &times);
        self.start_ticking(cpu);
        self.leave_slow(cpu);
    }

    /// A CPU's clock changes now, and the CPU stands still for a while.
    pub(crate) fn reclock(&mut self, cpu: u32, khz: u32, stall_ns: u64) {
        self.book(cpu);
        let power_uw = self.profile.power.at(khz);
        let now = self.now_ns;
        let this = self.cpu(cpu);
        (this.khz, this.power_uw, this.stall_until_ns) = (khz, power_uw, now + stall_ns);
        self.aim(cpu);
        self.share_core(cpu);
    }

    /// The CPUs in service, or those that are not.
    #[must_use]
    pub fn cpus_online(&self, online: bool) -> Vec<u32> {
        (0..).zip(&self.cpus).filter(|(_, cpu)| cpu.online == online).map(|(cpu, _)| cpu).collect()
    }

    /// Takes a CPU out of service or back, and what follows from it; what ran there moves on.
    pub fn switch(&mut self, cpu: u32, online: bool) {
        self.set_online(cpu, online);
        self.follow_cpufreq();
    }

    /// Takes a CPU out of service or back; what ran there moves on.
    pub(crate) fn set_online(&mut self, cpu: u32, online: bool) {
        if self.cpu(cpu).online == online {
            return;
        }
        self.cpu(cpu).online = online;
        if !online {
            let mut movers: Vec<u32> = self.cpu(cpu).queue.iter().copied().collect();
            movers.extend(self.cpu(cpu).current);
            for &task in &movers {
                self.remove(task, State::Blocked, false);
            }
            for task in movers {
                self.place(task, Util::Enqueue);
            }
        }
        let times = Times::of(&self.cpus, self.now_ns, &self.profile);
        self.cpufreq.set_online(cpu, online, self.now_ns, &times);
        self.follow_service(cpu, online);
        self.follow_files(cpu, online);
    }
}

impl Cpu {
    /// Whether it was asleep until now (and not between two tasks).
    fn asleep(&mut self) -> bool {
        !std::mem::take(&mut self.changing)
    }
}

/// Work retired each ns, millionths of a cycle: 1 / ((1−m)/f + m/fmax) in kHz.
fn speed(khz: u64, max_khz: u64, memory_ppm: u64) -> u64 {
    if memory_ppm == 0 {
        return khz.max(1);
    }
    let whole = 1_000_000;
    let top = u128::from(khz) * u128::from(max_khz) * u128::from(whole);
    let bottom = u128::from(whole - memory_ppm) * u128::from(max_khz) + u128::from(memory_ppm) * u128::from(khz);
    u64::try_from(top / bottom.max(1)).unwrap_or(1).max(1)
}

#[cfg(test)]
mod tests {
    use super::speed;

    #[test]
    fn memory_bound_work_does_not_follow_the_clock() {
        assert_eq!(speed(600_000, 2_400_000, 0), 600_000);
        assert_eq!(speed(600_000, 2_400_000, 1_000_000), 2_400_000);
        assert_eq!(speed(1_200_000, 2_400_000, 500_000), 1_600_000);
    }
}
