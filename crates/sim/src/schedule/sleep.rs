//! A CPU without work: which idle state it is in, what wakes it, and how long that takes.
use super::Cpu;
use crate::board::{Board, Event};
use crate::cpufreq::Util;
use crate::cpuidle::{NO_LIMIT_NS, Question};
use crate::power::{PowerSpec, WHOLE_PPM};

/// The next timer of a CPU that has none, ns from now.
const NO_TIMER_NS: u64 = 1_000_000_000_000;

/// What a CPU without a task does, where idle states are chosen.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Phase {
    /// Is in a state, since, ns.
    Asleep { state: usize, since_ns: u64 },
    /// Is on its way out of one.
    Waking,
    /// Is out of service.
    Away,
}

/// A CPU without a task, where idle states are chosen.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Nap {
    phase: Phase,
    /// Shares of running power and of leakage that are drawn meanwhile, millionths.
    pub(super) shares_ppm: (u64, u64),
    /// It only waits for work, at its clock.
    polls: bool,
}

impl Nap {
    /// Whether the CPU waits in a loop, awake.
    pub(super) fn polls(self) -> bool {
        self.polls
    }

    /// The deepest state of a core while one of its threads is in this: `any` where it keeps the core in none, `awake` where
    /// the core has to be awake.
    pub(super) fn keeps_core_in(self, any: usize, awake: usize) -> usize {
        match self.phase {
            Phase::Asleep { state, .. } => state,
            Phase::Waking => awake,
            Phase::Away => any,
        }
    }

    /// Energy over a time, fJ.
    pub(super) fn energy_fj(&self, power_uw: (u64, u64), for_ns: u64) -> u128 {
        PowerSpec::share_fj(power_uw, self.shares_ppm, for_ns)
    }
}

impl Cpu {
    /// Whether it neither runs nor is about to.
    pub(crate) fn is_asleep(&self) -> bool {
        self.current.is_none() && self.nap.is_none_or(|nap| matches!(nap.phase, Phase::Asleep { .. }))
    }
}

impl Board {
    /// A CPU counts as asleep for its package, or no longer.
    pub(super) fn count_asleep(&mut self, cpu: u32, asleep: bool) {
        let now = self.now_ns;
        let this = &mut self.cpus[cpu as usize];
        if std::mem::replace(&mut this.counts_asleep, asleep) != asleep {
            self.packages[this.package].turned(&self.profile.power, !asleep, now);
        }
    }

    /// A CPU has nothing to do from now on.
    pub(crate) fn doze(&mut self, cpu: u32) {
        if self.idle.is_none() {
            return self.count_asleep(cpu, true);
        }
        self.cpu(cpu).tick_stopped = false;
        self.enter_state(cpu);
    }

    /// A CPU enters the state that is chosen for it now.
    fn enter_state(&mut self, cpu: u32) {
        self.book(cpu);
        let (now, question) = (self.now_ns, self.question(cpu));
        let Some(idle) = &mut self.idle else { return };
        let choice = idle.choose(cpu, &question);
        let (state, is_deepest) = (idle.state(choice.state), choice.state == idle.deepest());
        let (shares_ppm, polls) = ((state.running_ppm, state.leakage_ppm), state.polls);
        let this = &mut self.cpus[cpu as usize];
        this.nap = Some(Nap { phase: Phase::Asleep { state: choice.state, since_ns: now }, shares_ppm, polls });
        this.naps = this.naps.wrapping_add(1);
        this.tick_stopped |= choice.stops_tick;
        let (stamp, ticks) = (this.naps, !this.tick_stopped);
        self.count_asleep(cpu, is_deepest);
        self.share_core(cpu);
        if ticks && self.stirs() {
            self.plan(now + question.next_tick_ns, Event::IdleTick { cpu, stamp });
        }
    }

    fn question(&self, cpu: u32) -> Question {
        let now = self.now_ns;
        let delay = u64::from(self.profile.cpufreq.tick_delay_ns);
        let tick_at_ns = (now.saturating_sub(delay) / self.tick_ns + 1) * self.tick_ns + delay;
        let timer_at_ns = self.next_timer_ns(cpu).unwrap_or(now + NO_TIMER_NS);
        let next_timer_ns = timer_at_ns.saturating_sub(now).min(NO_TIMER_NS);
        let tick_stopped = self.cpus[cpu as usize].tick_stopped;
        Question {
            next_timer_ns,
            next_tick_ns: if tick_stopped { next_timer_ns } else { tick_at_ns - now },
            tick_ns: self.tick_ns,
            tick_stopped,
            iowaiters: 0,
            limit_ns: self.latency_limit_ns(cpu),
        }
    }

    /// When the next timer of a CPU is due, ns: of a task that last ran there, or of its own kernel thread.
    fn next_timer_ns(&self, cpu: u32) -> Option<u64> {
        let of_tasks = self.timers.iter().filter(|(process, _)| self.timer_cpu(*process) == cpu).map(|(_, at)| *at);
        of_tasks.chain(self.next_stir_ns()).min()
    }

    /// The CPU on which a process's timer goes off.
    pub(crate) fn timer_cpu(&self, process: u32) -> u32 {
        let task = self.processes.get(process as usize).and_then(|process| process.task);
        task.map_or(0, |task| self.tasks[task as usize].cpu)
    }

    /// How long waking up may take, ns.
    fn latency_limit_ns(&self, cpu: u32) -> u64 {
        let everywhere = self.latency.everywhere_us.map_or(NO_LIMIT_NS, |us| u64::from(us) * 1_000);
        let here = self.latency.of_cpu_us.get(cpu as usize).copied().flatten();
        everywhere.min(here.map_or(NO_LIMIT_NS, |us| u64::from(us) * 1_000))
    }

    /// A CPU is needed. True when it is still on its way, and the task has to wait; `ahead` when it was told to be awake
    /// by now.
    pub(super) fn rouse(&mut self, cpu: u32, ahead: bool) -> bool {
        let Some(Nap { phase, .. }) = self.cpus[cpu as usize].nap else { return false };
        let Phase::Asleep { state, since_ns } = phase else { return phase == Phase::Waking };
        let (now, number) = (self.now_ns, self.cpus[cpu as usize].naps);
        let of_core = self.state_of_core(cpu, state);
        let worst_ns = self.idle.as_ref().map_or(0, |idle| idle.state(of_core).exit_ns);
        let exit_ns = if ahead { 0 } else { self.noise.exit_ns(cpu, number, worst_ns) };
        self.book(cpu);
        self.left_state(cpu, state, now - since_ns + exit_ns, false);
        self.count_asleep(cpu, false);
        let this = self.cpu(cpu);
        this.naps = this.naps.wrapping_add(1);
        let stamp = this.naps;
        let waking = Nap { phase: Phase::Waking, shares_ppm: (WHOLE_PPM, WHOLE_PPM), polls: false };
        this.nap = (exit_ns > 0).then_some(waking);
        self.share_core(cpu);
        if exit_ns > 0 {
            self.plan(now + exit_ns, Event::Awake { cpu, stamp });
        }
        exit_ns > 0
    }

    fn left_state(&mut self, cpu: u32, state: usize, for_ns: u64, by_tick: bool) {
        let tick_ns = self.tick_ns;
        if let Some(idle) = &mut self.idle {
            idle.woke(cpu, state, for_ns, by_tick, tick_ns);
        }
    }

    /// A CPU has come out of its state.
    pub(crate) fn awake(&mut self, cpu: u32, stamp: u32) {
        if self.cpu(cpu).naps != stamp {
            return;
        }
        self.book(cpu);
        self.cpu(cpu).nap = None;
        let next = self.cpu(cpu).queue.pop_front();
        match next.or_else(|| self.pull(cpu)) {
            Some(task) => {
                self.begin(cpu, task);
                self.tell_cpufreq(cpu, Util::Enqueue);
            }
            None => self.doze(cpu),
        }
    }

    /// Something short happens on a sleeping CPU, which then chooses again; the tick stays as it is.
    fn disturb(&mut self, cpu: u32, by_tick: bool) {
        let Some(Nap { phase: Phase::Asleep { state, since_ns }, .. }) = self.cpu(cpu).nap else { return };
        let for_ns = self.now_ns - since_ns;
        self.left_state(cpu, state, for_ns, by_tick);
        self.enter_state(cpu);
    }

    /// The tick of an idle CPU that kept it.
    pub(crate) fn idle_tick(&mut self, cpu: u32, stamp: u32) {
        if self.cpu(cpu).naps == stamp {
            self.disturb(cpu, true);
        }
    }

    /// A process's timer went off: if that woke no task there, the CPU only looked.
    pub(crate) fn timer_was_on(&mut self, cpu: u32) {
        let now = self.now_ns;
        let slept = |nap: Nap| matches!(nap.phase, Phase::Asleep { since_ns, .. } if since_ns < now);
        if self.cpus.get(cpu as usize).and_then(|cpu| cpu.nap).is_some_and(slept) {
            self.disturb(cpu, false);
        }
    }

    /// A kernel thread runs for an instant on a sleeping CPU: the tick goes on again.
    pub(crate) fn jog(&mut self, cpu: u32) {
        self.cpu(cpu).tick_stopped = false;
        self.disturb(cpu, false);
    }

    /// A CPU leaves service, or comes back.
    pub(super) fn follow_service(&mut self, cpu: u32, online: bool) {
        let Some(deepest) = self.idle.as_ref().map(|idle| idle.state(idle.deepest()).clone()) else { return };
        self.book(cpu);
        let this = self.cpu(cpu);
        this.naps = this.naps.wrapping_add(1);
        if online {
            self.idle.iter_mut().for_each(|idle| idle.begin_anew(cpu));
            return self.doze(cpu);
        }
        let shares_ppm = (deepest.running_ppm, deepest.leakage_ppm);
        this.nap = Some(Nap { phase: Phase::Away, shares_ppm, polls: false });
        self.share_core(cpu);
        self.count_asleep(cpu, true);
    }
}
