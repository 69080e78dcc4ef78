//! The scheduler: tasks on CPUs, in turns; what each retires, and the sums of time the kernel would show.
use std::collections::VecDeque;

use powerband_record::CpuList;

use crate::board::Board;
use crate::cpufreq::{CpuTimes, Util};
use crate::power::{PowerSpec, WHOLE_PPM};
use crate::profile::Profile;

mod balance;
mod busiest;
mod domains;
mod group;
mod run;
mod sleep;
mod stay;
mod threads;
mod ticked;

pub(crate) use balance::Balance;
pub use domains::BalanceSpec;
pub(crate) use group::Group;
use sleep::Nap;
use ticked::Ticked;

/// Cycles handed to a task at once: in millionths they must fit 64 bits.
const CHUNK_CYCLES: u64 = 1 << 43;

/// One CPU.
#[derive(Clone, Debug)]
pub(crate) struct Cpu {
    pub(crate) online: bool,
    pub(crate) khz: u32,
    pub(crate) package: usize,
    pub(crate) current: Option<u32>,
    pub(crate) queue: VecDeque<u32>,
    /// Up to when its time is booked, ns.
    since_ns: u64,
    /// When it last fell asleep, ns; meaningful while nothing runs.
    asleep_ns: u64,
    /// Until when it stands still for a change of clock, ns.
    stall_until_ns: u64,
    /// Between two tasks, not asleep.
    changing: bool,
    slice_began_ns: u64,
    /// Work its task retires: millionths of a cycle each ns, which is its clock in kHz if no memory is waited for.
    speed: u64,
    /// How often its work was planned anew, for the log of events.
    pub(crate) plan: u32,
    /// When its next tick is heard, and until when that one is the next, ns.
    tick_at_ns: u64,
    ticks_until_ns: u64,
    busy_ticks: u64,
    ticked: Ticked,
    /// Power of running and leakage at its clock, µW.
    power_uw: (u64, u64),
    energy_fj: u128,
    /// Cycles made, kHz × ns, and the time in which it made any, ns.
    cycles: u128,
    cycling_ns: u64,
    pub(crate) user_ns: u64,
    pub(crate) system_ns: u64,
    pub(crate) softirq_ns: u64,
    /// Time of nice tasks as ticks found it: part of the user time, and the way kernels keep it.
    pub(crate) nice_ns: u64,
    idle_ns: u64,
    /// What it does without a task, where idle states are chosen.
    nap: Option<Nap>,
    /// Idle states entered and left, wrapping.
    naps: u32,
    /// It has no tick while it sleeps.
    tick_stopped: bool,
    /// Its package may sleep as far as it is concerned.
    counts_asleep: bool,
}

impl Cpu {
    /// The present CPUs of a machine, asleep at their first clock.
    pub(crate) fn all(profile: &Profile) -> Vec<Cpu> {
        let cpus = profile.present.as_slice();
        let one = |&cpu: &u32| {
            let policy = profile.cpufreq.policies.iter().find(|policy| policy.cpus.contains(&cpu));
            let khz = policy.map_or(1, |policy| policy.initial_khz);
            Cpu {
                online: true,
                khz,
                package: usize::try_from(profile.package_of(cpu)).unwrap_or(0),
                current: None,
                queue: VecDeque::new(),
                since_ns: 0,
                asleep_ns: 0,
                stall_until_ns: 0,
                changing: false,
                slice_began_ns: 0,
                speed: u64::from(khz),
                plan: 0,
                tick_at_ns: 0,
                ticks_until_ns: 0,
                busy_ticks: 0,
                ticked: Ticked::default(),
                power_uw: profile.power.at(khz),
                energy_fj: 0,
                cycles: 0,
                cycling_ns: 0,
                user_ns: 0,
                system_ns: 0,
                softirq_ns: 0,
                nice_ns: 0,
                idle_ns: 0,
                nap: None,
                naps: 0,
                tick_stopped: false,
                counts_asleep: profile.idle.is_none(),
            }
        };
        cpus.iter().map(one).collect()
    }

    /// Idle time since boot, ns.
    pub(crate) fn idle_ns(&self, now_ns: u64) -> u64 {
        self.idle_ns + if self.current.is_none() { now_ns - self.since_ns } else { 0 }
    }

    /// Energy since boot, fJ.
    #[inline]
    pub(crate) fn energy_fj(&self, spec: &PowerSpec, now_ns: u64) -> u128 {
        self.energy_fj
            + if self.current.is_some() {
                let standing = self.standing_ns(now_ns);
                spec.awake_fj(self.power_uw, now_ns - self.since_ns - standing, standing)
            } else if let Some(nap) = self.nap {
                nap.energy_fj(self.power_uw, now_ns - self.since_ns)
            } else {
                spec.asleep_fj(self.power_uw, self.since_ns - self.asleep_ns, now_ns - self.asleep_ns)
            }
    }

    /// Cycles since boot, kHz × ns, and the time in which it made any, ns: neither asleep nor standing still.
    #[inline]
    pub(crate) fn cycles(&self, now_ns: u64) -> (u128, u64) {
        let cycling_ns = if self.current.is_some() {
            now_ns - self.since_ns - self.standing_ns(now_ns)
        } else if self.nap.is_some_and(Nap::polls) {
            now_ns - self.since_ns
        } else {
            0
        };
        (self.cycles + u128::from(self.khz) * u128::from(cycling_ns), self.cycling_ns + cycling_ns)
    }

    /// How much of the time since the last booking it stood still.
    #[inline]
    fn standing_ns(&self, now_ns: u64) -> u64 {
        self.stall_until_ns.min(now_ns).saturating_sub(self.since_ns)
    }
}

/// Where a task is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum State {
    /// Waits for time, or for the network.
    Blocked,
    /// Waits for a CPU.
    Queued,
    /// Is the current one of a CPU.
    Running,
    /// Waits for its group's next period.
    Throttled,
}

/// To whom running time is booked.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Booking {
    /// The process, in user mode.
    User,
    /// The process, in the kernel.
    Kernel,
    /// The process in the kernel for `own_ps` of what a bit costs, the rest to soft interrupts.
    Network { own_ps: u64, millicycles: u64 },
}

/// One schedulable thing.
#[derive(Clone, Debug)]
pub(crate) struct Task {
    pub(crate) process: u32,
    pub(crate) state: State,
    pub(crate) cpu: u32,
    /// CPUs it may run on, if not all.
    pub(crate) allowed: Option<CpuList>,
    pub(crate) group: Option<u32>,
    /// How long it stays on a CPU that is slower than others, if it is ever moved off, ns.
    pub(crate) stay_ns: Option<u64>,
    /// When it came to its CPU, ns.
    came_ns: u64,
    /// Whether it goes before others when it wakes (soft interrupts).
    pub(crate) urgent: bool,
    /// Whether its nice value is positive.
    pub(crate) nice: bool,
    pub(crate) booking: Booking,
    /// Share of its cycles that waits for memory, millionths.
    pub(crate) memory_ppm: u64,
    /// A clock, kHz, and the work it retires at that each ns, millionths of a cycle: as last worked out.
    pace: (u32, u64),
    /// Runs until it is stopped.
    pub(crate) endless: bool,
    /// Work left of the current chunk, millionths of a cycle.
    left: u64,
    /// Work after the current chunk, cycles.
    rest_cycles: u64,
    /// Work done since it began, millionths of a cycle.
    pub(crate) retired: u128,
    /// Its process's timer came while it was not running.
    pub(crate) overdue: bool,
    /// It stands for one that has run before, on its CPU, when it first wakes.
    pub(crate) settled: bool,
    /// It sees to it that its CPU is awake when it wakes.
    pub(crate) ahead: bool,
}

impl Task {
    pub(crate) fn new(process: u32) -> Self {
        Task {
            process,
            state: State::Blocked,
            cpu: 0,
            allowed: None,
            group: None,
            stay_ns: None,
            came_ns: 0,
            urgent: false,
            nice: false,
            booking: Booking::User,
            memory_ppm: 0,
            pace: (0, 1),
            endless: false,
            left: 0,
            rest_cycles: 0,
            retired: 0,
            overdue: false,
            settled: false,
            ahead: false,
        }
    }

    /// Gives it work to do.
    pub(crate) fn give(&mut self, cycles: u64) {
        let first = cycles.min(CHUNK_CYCLES);
        self.left = first * 1_000_000;
        self.rest_cycles = cycles - first;
    }

    /// Takes the next chunk; false when there is nothing left to do.
    fn next_chunk(&mut self) -> bool {
        let rest = self.rest_cycles;
        if self.left == 0 && rest > 0 {
            self.give(rest);
        }
        self.left > 0 || self.endless
    }
}

/// The kernel's sums of time at one instant, as cpufreq asks for them.
pub(crate) struct Times<'a> {
    pub(crate) cpus: &'a [Cpu],
    pub(crate) now_ns: u64,
    /// Length of a tick, on a kernel that accounts by ticks.
    pub(crate) sampled_tick_ns: Option<u64>,
}

impl<'a> Times<'a> {
    pub(crate) fn of(cpus: &'a [Cpu], now_ns: u64, profile: &Profile) -> Self {
        let sampled_tick_ns = (!profile.cpufreq.nohz).then(|| profile.cpufreq.tick_ns());
        Times { cpus, now_ns, sampled_tick_ns }
    }

    fn cpu(&self, cpu: u32) -> Option<&Cpu> {
        self.cpus.get(usize::try_from(cpu).ok()?)
    }
}

impl CpuTimes for Times<'_> {
    fn idle_ns(&self, cpu: u32) -> u64 {
        let Some(cpu) = self.cpu(cpu) else { return self.now_ns };
        match self.sampled_tick_ns {
            Some(tick) => (self.now_ns / tick).saturating_sub(cpu.busy_ticks) * tick,
            None => cpu.idle_ns(self.now_ns),
        }
    }

    fn iowait_ns(&self, _cpu: u32) -> u64 {
        0
    }

    fn nice_ns(&self, cpu: u32) -> u64 {
        self.cpu(cpu).map_or(0, |cpu| cpu.nice_ns)
    }

    fn running(&self, cpu: u32) -> bool {
        self.cpu(cpu).is_some_and(|cpu| cpu.current.is_some())
    }
}

impl Board {
    pub(crate) fn cpu(&mut self, cpu: u32) -> &mut Cpu {
        &mut self.cpus[cpu as usize]
    }

    pub(crate) fn task(&mut self, task: u32) -> &mut Task {
        &mut self.tasks[task as usize]
    }

    /// A slot for a new task; slots are numbered densely and used again.
    pub(crate) fn new_task(&mut self, task: Task) -> u32 {
        if let Some(slot) = self.free_tasks.pop() {
            *self.task(slot) = task;
            return slot;
        }
        self.tasks.push(task);
        u32::try_from(self.tasks.len() - 1).unwrap_or(u32::MAX)
    }

    fn tell_cpufreq(&mut self, cpu: u32, why: Util) {
        let times = Times::of(&self.cpus, self.now_ns, &self.profile);
        self.cpufreq.utilisation(cpu, self.now_ns, why, &times);
    }

    /// Makes a blocked task runnable.
    pub(crate) fn wake(&mut self, task: u32) {
        if !self.admitted(task) {
            return;
        }
        self.place(task, Util::Enqueue);
    }

    /// Puts a runnable task on a CPU's queue, or lets it run at once.
    pub(crate) fn place(&mut self, task: u32, why: Util) {
        let cpu = self.choose_near(task).unwrap_or_else(|| self.choose(task));
        self.place_on(cpu, task, why);
    }

    fn place_on(&mut self, cpu: u32, task: u32, why: Util) {
        let now = self.now_ns;
        let this = self.task(task);
        if this.cpu != cpu || this.retired == 0 {
            this.came_ns = now;
        }
        (this.cpu, this.state) = (cpu, State::Queued);
        self.cpufreq.enqueued(cpu, task, now);
        let current = self.cpu(cpu).current;
        if current.is_none() && self.rouse(cpu, self.tasks[task as usize].ahead) {
            return self.wait_for_cpu(cpu, task);
        }
        match current {
            None => self.begin(cpu, task),
            Some(current) if self.goes_before(task, current) => {
                self.leave(cpu);
                self.task(current).state = State::Queued;
                self.cpu(cpu).queue.push_front(current);
                self.begin(cpu, task);
            }
            Some(_) => self.cpu(cpu).queue.push_back(task),
        }
        self.tell_cpufreq(cpu, why);
    }

    /// Queues a task on a CPU that is on its way out of an idle state: urgent ones before the others.
    fn wait_for_cpu(&mut self, cpu: u32, task: u32) {
        let (tasks, queue) = (&self.tasks, &mut self.cpus[cpu as usize].queue);
        let urgent = |task: u32| tasks[task as usize].urgent;
        let behind = queue.iter().position(|&queued| urgent(task) && !urgent(queued));
        queue.insert(behind.unwrap_or(queue.len()), task);
    }

    /// Whether a waking task takes the place of the current one.
    fn goes_before(&self, task: u32, current: u32) -> bool {
        self.tasks[task as usize].urgent && !self.tasks[current as usize].urgent
    }

    /// The CPU a waking task goes to: the least loaded it may use, an idle one first, the lowest number of equals.
    fn choose(&self, task: u32) -> u32 {
        let allowed = self.tasks[task as usize].allowed.as_ref();
        let fitting = self.least_loaded(|cpu| allowed.is_none_or(|list| list.contains(cpu)));
        fitting.or_else(|| self.least_loaded(|_| true)).unwrap_or(0)
    }

    /// The CPU in service with the fewest tasks of those that fit; of equals one whose core does nothing else, and the lowest
    /// number.
    fn least_loaded(&self, fits: impl Fn(u32) -> bool) -> Option<u32> {
        let (mut best, mut least) = (None, usize::MAX);
        for (number, cpu) in (0_u32..).zip(&self.cpus) {
            let beside_busy = self.pace_ppm(number).is_some_and(|ppm| ppm < WHOLE_PPM);
            let load = 2 * (cpu.queue.len() + usize::from(cpu.current.is_some())) + usize::from(beside_busy);
            if load < least && cpu.online && fits(number) {
                (best, least) = (Some(number), load);
                if load == 0 {
                    break;
                }
            }
        }
        best
    }

    /// The current task of a CPU stops being runnable (`sleeps`) or is taken elsewhere.
    pub(crate) fn block(&mut self, cpu: u32, state: State, sleeps: bool) {
        let Some(task) = self.cpu(cpu).current else { return };
        self.leave(cpu);
        self.task(task).state = state;
        self.cpufreq.dequeued(cpu, task, sleeps, self.now_ns);
        // Before the CPU goes idle, if it does: schedutil does not slow down a CPU that has not been idle.
        self.tell_cpufreq(cpu, Util::Dequeue);
        self.dispatch(cpu);
    }

    /// Takes a task off wherever it is.
    pub(crate) fn remove(&mut self, task: u32, state: State, sleeps: bool) {
        let cpu = self.task(task).cpu;
        match self.task(task).state {
            State::Running => self.block(cpu, state, sleeps),
            State::Queued => {
                self.cpu(cpu).queue.retain(|&queued| queued != task);
                self.task(task).state = state;
                self.cpufreq.dequeued(cpu, task, sleeps, self.now_ns);
                self.tell_cpufreq(cpu, Util::Dequeue);
            }
            State::Throttled => {
                self.unthrottle(task);
                self.task(task).state = state;
            }
            State::Blocked => {}
        }
    }

    /// Ends a task for good.
    pub(crate) fn retire(&mut self, task: u32) {
        self.remove(task, State::Blocked, true);
        self.free_tasks.push(task);
    }
}
