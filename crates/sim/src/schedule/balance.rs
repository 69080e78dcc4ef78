//! Balancing as old kernels did it: where a waking task goes, what an idle CPU takes, and how often it looks.
//!
//! Rules of Linux 2.6.18 to 2.6.32 kernel/sched.c. A task wakes on the CPU it slept on, as its own timer wakes it there; a
//! CPU that falls idle takes what waits elsewhere; idle CPUs look every 1 to 4 ms, busy ones 64 times less often, and move
//! even a task that runs after some looks in vain.
use super::busiest::{Found, Looker, View, find};
use super::domains::{BalanceSpec, Domain, Level, Savings, UNIT, domains};
use super::{Cpu, State};
use crate::board::{Board, Event};
use crate::cpufreq::{KernelRules, Util};

/// By how much longer a busy CPU waits between two looks.
const BUSY_FACTOR: u64 = 64;

/// From which value on what wakes up is gathered too.
const GATHERS_WAKING: u32 = 2;

/// Looks in vain after which a newly idle CPU moves a task that runs, where what wakes up is gathered.
const NEWLY_IDLE_PATIENCE: u32 = 2;

/// One CPU's looks at one of its domains.
#[derive(Clone, Copy, Debug)]
struct Look {
    domain: usize,
    /// Time to the next, ms, while idle.
    every_ms: u64,
    /// Tick of the last.
    last: u64,
    /// How many were in vain.
    failed: u32,
}

/// What balancing remembers.
#[derive(Clone, Debug)]
pub(crate) struct Balance {
    spec: BalanceSpec,
    rules: KernelRules,
    hz: u64,
    savings: Savings,
    domains: Vec<Domain>,
    /// Of each CPU, inside out.
    looks: Vec<Vec<Look>>,
    /// Of each CPU: its load at the last tick, and over a few.
    loads: Vec<[u64; 2]>,
    /// Where waking tasks are gathered.
    preferred: u32,
    /// The next tick is planned.
    ticks: bool,
    last_tick: u64,
}

impl Balance {
    pub(crate) fn new(spec: BalanceSpec, rules: KernelRules, hz: u32, cpus: usize) -> Self {
        let mut balance = Balance {
            spec,
            rules,
            hz: u64::from(hz),
            savings: Savings::default(),
            domains: Vec::new(),
            looks: vec![Vec::new(); cpus],
            loads: vec![[0; 2]; cpus],
            preferred: 0,
            ticks: false,
            last_tick: 0,
        };
        balance.rebuild(0);
        balance
    }

    /// Makes all domains anew.
    fn rebuild(&mut self, tick: u64) {
        self.domains = domains(&self.spec, self.rules, self.savings);
        let (hz, cpus) = (self.hz, self.looks.len());
        for (cpu, looks) in (0_u32..).zip(&mut self.looks) {
            let last = tick + apart(cpu, cpus, hz);
            let mine = self.domains.iter().enumerate().filter(|(_, domain)| domain.cpus().any(|other| other == cpu));
            *looks = mine.map(|(domain, _)| Look { domain, every_ms: 1, last, failed: 0 }).collect();
        }
    }

    /// Time in which no CPU had work is time in which all of them looked in vain.
    fn catch_up(&mut self, tick: u64) {
        let slept = tick.saturating_sub(self.last_tick);
        for load in &mut self.loads {
            let halved = load[1].checked_shr(u32::try_from(slept).unwrap_or(u32::MAX)).unwrap_or(0);
            *load = if slept > 0 { [0, halved] } else { *load };
        }
        let (hz, cpus) = (self.hz, self.looks.len());
        for (cpu, looks) in (0_u32..).zip(&mut self.looks) {
            let tick = tick + apart(cpu, cpus, hz);
            for look in looks {
                let longest_ms = self.domains.get(look.domain).map_or(1, |domain| domain.longest_ms);
                while look.last + ticks(look.every_ms, hz) < tick {
                    let every = ticks(look.every_ms, hz);
                    let looks = if look.every_ms < longest_ms { 1 } else { (tick - 1 - look.last) / every };
                    (look.last, look.failed) = (look.last + looks * every, 0);
                    look.every_ms = (look.every_ms * 2).min(longest_ms);
                }
            }
        }
    }
}

/// By how many ticks a CPU looks before the first one does, so that not all look at once.
fn apart(cpu: u32, cpus: usize, hz: u64) -> u64 {
    u64::from(cpu) * hz / (cpus as u64).max(1)
}

/// Ticks in so many ms, at least one.
fn ticks(ms: u64, hz: u64) -> u64 {
    (ms * hz / 1_000).max(1)
}

/// The machine's CPUs, as a CPU that looks sees them.
struct Seen<'a> {
    cpus: &'a [Cpu],
    loads: &'a [[u64; 2]],
}

impl View for Seen<'_> {
    fn runnable(&self, cpu: u32) -> Option<u64> {
        let cpu = self.cpus.get(cpu as usize).filter(|cpu| cpu.online)?;
        Some(cpu.queue.len() as u64 + u64::from(cpu.current.is_some()))
    }

    fn averaged(&self, cpu: u32, average: usize) -> u64 {
        self.loads.get(cpu as usize).and_then(|loads| loads.get(average.wrapping_sub(1))).copied().unwrap_or(0)
    }
}

impl Board {
    /// Whether a CPU neither runs a task nor has one waiting.
    fn is_idle(&self, cpu: u32) -> bool {
        let this = &self.cpus[cpu as usize];
        this.current.is_none() && this.queue.is_empty()
    }

    fn may_run(&self, task: u32, cpu: u32) -> bool {
        self.tasks[task as usize].allowed.as_ref().is_none_or(|list| list.contains(cpu))
    }

    /// Where a task goes that wakes, by the rules of balancing; `None` where it is new, or its CPU is no longer its.
    pub(super) fn choose_near(&self, task: u32) -> Option<u32> {
        let balance = self.balance.as_ref()?;
        let own = self.tasks[task as usize].cpu;
        let usable = |cpu: u32| self.cpus.get(cpu as usize).is_some_and(|cpu| cpu.online) && self.may_run(task, cpu);
        let new = self.tasks[task as usize].retired == 0 && !self.tasks[task as usize].settled;
        if new || !usable(own) {
            return None;
        }
        if self.is_idle(own) {
            let gathers = balance.savings.mc.max(balance.savings.smt) >= GATHERS_WAKING;
            return Some(if gathers && usable(balance.preferred) { balance.preferred } else { own });
        }
        // Next to a busy thread the other one of its core is as good, and it is free.
        let beside = balance.spec.siblings(own).find(|&cpu| usable(cpu) && self.is_idle(cpu));
        Some(beside.unwrap_or(own))
    }

    /// Some CPU has work: idle ones begin to look.
    pub(super) fn start_looking(&mut self) {
        let tick = self.now_ns / self.tick_ns;
        let Some(balance) = self.balance.as_mut().filter(|balance| !balance.ticks) else { return };
        balance.catch_up(tick);
        balance.ticks = true;
        self.plan((tick + 1) * self.tick_ns, Event::Balance);
    }

    /// A tick: loads are averaged, and every CPU looks whose time it is.
    pub(crate) fn balance_tick(&mut self) {
        let tick = self.now_ns / self.tick_ns;
        let cpus = u32::try_from(self.cpus.len()).unwrap_or(0);
        for cpu in 0..cpus {
            let this = &self.cpus[cpu as usize];
            if !this.online {
                continue;
            }
            let now = (this.queue.len() as u64 + u64::from(this.current.is_some())) * UNIT;
            let Some(balance) = &mut self.balance else { return };
            let [last, longer] = &mut balance.loads[cpu as usize];
            *longer = (*longer + now + u64::from(now > *longer)) / 2;
            (*last, balance.last_tick) = (now, tick);
            self.look_around(cpu, tick);
        }
        let works = self.cpus.iter().any(|cpu| cpu.current.is_some() || !cpu.queue.is_empty());
        if let Some(balance) = &mut self.balance {
            balance.ticks = works;
        }
        if works {
            self.plan((tick + 1) * self.tick_ns, Event::Balance);
        }
    }

    /// A CPU looks at those of its domains whose time it is.
    fn look_around(&mut self, cpu: u32, tick: u64) {
        let (hz, rules) = (u64::from(self.profile.cpufreq.hz), self.profile.cpufreq.rules);
        let mut looker = if self.is_idle(cpu) { Looker::Idle } else { Looker::Busy };
        let tick = tick + apart(cpu, self.cpus.len(), hz);
        let every =
            |look: &Look, looker| ticks(look.every_ms * if looker == Looker::Busy { BUSY_FACTOR } else { 1 }, hz);
        let is_due = |look: &Look, looker| tick.saturating_sub(look.last) >= every(look, looker);
        let Some(looks) = self.balance.as_ref().map(|balance| &balance.looks[cpu as usize]) else { return };
        let Some(first) = looks.iter().position(|look| is_due(look, looker)) else { return };
        for level in first..looks.len() {
            let Some(look) = self.look_at(cpu, level).copied() else { return };
            if !is_due(&look, looker) {
                continue;
            }
            let every = every(&look, looker);
            if self.look(cpu, level, looker) {
                looker = Looker::Busy;
            }
            if let Some(look) = self.look_at(cpu, level) {
                // Kernels of 2.6.18 make up for looks they missed.
                look.last = if rules == KernelRules::V2_6_18 { look.last + every } else { tick };
            }
        }
    }

    fn look_at(&mut self, cpu: u32, level: usize) -> Option<&mut Look> {
        self.balance.as_mut()?.looks.get_mut(cpu as usize)?.get_mut(level)
    }

    /// What a CPU finds in one of its domains, and how patient that domain is.
    fn find_in(&self, cpu: u32, level: usize, looker: Looker) -> Option<(Option<Found>, Level, u64, u32)> {
        let balance = self.balance.as_ref()?;
        let domain = balance.domains.get(balance.looks.get(cpu as usize)?.get(level)?.domain)?;
        let seen = Seen { cpus: &self.cpus, loads: &balance.loads };
        let found = find(domain, cpu, looker, balance.rules, &seen);
        Some((found, domain.level, domain.longest_ms, domain.patience))
    }

    /// One look: true when the CPU is no longer one that looks for work.
    fn look(&mut self, cpu: u32, level: usize, looker: Looker) -> bool {
        let Some((found, kind, longest_ms, patience)) = self.find_in(cpu, level, looker) else { return false };
        // Next to a busy thread an idle one does not count as idle, unless threads are gathered.
        let gathers = self.balance.as_ref().is_some_and(|balance| balance.savings.smt > 0);
        let beside_busy = kind == Level::Threads && !gathers && self.beside_busy(cpu);
        let moved = found.is_some_and(|found| self.take_all(cpu, found));
        let (mut failed, mut doubles) = (0, !moved);
        if let Some(found) = found.filter(|found| !moved && self.could_push(found.cpu, cpu)) {
            (failed, doubles) = (self.look_at(cpu, level).map_or(0, |look| look.failed + 1), false);
            self.prefer(found);
            if failed > patience + 2 {
                self.push(found.cpu, cpu);
                (failed, doubles) = (patience + 1, true);
            }
        }
        if let Some(look) = self.look_at(cpu, level) {
            look.failed = failed;
            look.every_ms = if doubles { (look.every_ms * 2).min(longest_ms) } else { 1 };
        }
        moved || beside_busy
    }

    /// Takes as many waiting tasks as were found to be too many; false if there was none.
    fn take_all(&mut self, cpu: u32, found: Found) -> bool {
        let wanted = (found.load / UNIT).max(1);
        for taken in 0..wanted {
            let Some(task) = self.take_waiting(cpu, found) else { return taken > 0 };
            self.place_on(cpu, task, Util::Enqueue);
        }
        true
    }

    fn beside_busy(&self, cpu: u32) -> bool {
        let siblings = self.balance.as_ref().map(|balance| balance.spec.siblings(cpu));
        siblings.is_some_and(|mut siblings| siblings.any(|other| self.cpus[other as usize].current.is_some()))
    }

    /// Takes a waiting task off the queue of the CPU that was found; the last that may run here, as it would wait longest.
    fn take_waiting(&mut self, cpu: u32, found: Found) -> Option<u32> {
        let place = self.cpus[found.cpu as usize].queue.iter().rposition(|&task| self.may_run(task, cpu))?;
        let from = self.cpu(found.cpu);
        if from.current.is_none() && from.queue.len() < 2 {
            return None;
        }
        let task = from.queue.remove(place)?;
        self.cpufreq.dequeued(found.cpu, task, false, self.now_ns);
        self.task(task).state = State::Blocked;
        Some(task)
    }

    /// Whether a CPU runs a task that may run on another.
    fn could_push(&self, from: u32, to: u32) -> bool {
        self.cpus[from as usize].current.is_some_and(|task| self.may_run(task, to))
    }

    /// Where what wakes up is gathered, the group that leads is remembered.
    fn prefer(&mut self, found: Found) {
        if let (Some(balance), Some(leader)) = (&mut self.balance, found.leader) {
            balance.preferred = leader;
        }
    }

    /// Moves the task that runs on a CPU to one that is idle.
    fn push(&mut self, from: u32, to: u32) {
        let Some(task) = self.cpu(from).current else { return };
        self.remove(task, State::Blocked, false);
        self.place_on(to, task, Util::Enqueue);
    }

    /// What a CPU takes that has just run out of work; the task is its to begin.
    pub(super) fn take_newly_idle(&mut self, cpu: u32) -> Option<u32> {
        let levels = self.balance.as_ref().map_or(0, |balance| balance.looks[cpu as usize].len());
        for level in 0..levels {
            let (found, _, _, patience) = self.find_in(cpu, level, Looker::NewlyIdle)?;
            let Some(found) = found else { continue };
            if let Some(task) = self.take_waiting(cpu, found) {
                self.cpufreq.enqueued(cpu, task, self.now_ns);
                self.task(task).came_ns = self.now_ns;
                return Some(task);
            }
            self.fail_newly_idle(cpu, level, found, patience);
        }
        None
    }

    /// A newly idle CPU that found only a running task leaves it alone, unless what wakes up is gathered too: then it
    /// counts, and its next look moves it.
    fn fail_newly_idle(&mut self, cpu: u32, level: usize, found: Found, patience: u32) {
        let gathers = self.balance.as_ref().is_some_and(|it| it.savings.mc.max(it.savings.smt) >= GATHERS_WAKING);
        if !gathers || found.leader.is_none() {
            return;
        }
        self.prefer(found);
        let Some(look) = self.look_at(cpu, level) else { return };
        look.failed += 1;
        if look.failed > NEWLY_IDLE_PATIENCE {
            (look.failed, look.every_ms) = (patience + 2, 1);
        }
    }

    /// What is written into `sched_mc_power_savings` or, for threads, `sched_smt_power_savings`.
    pub(crate) fn set_savings(&mut self, threads: bool, value: u32) {
        let tick = self.now_ns / self.tick_ns;
        let Some(balance) = &mut self.balance else { return };
        *if threads { &mut balance.savings.smt } else { &mut balance.savings.mc } = value;
        balance.rebuild(tick);
    }
}
