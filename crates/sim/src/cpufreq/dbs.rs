//! The sampling machinery below ondemand and conservative: when a look is taken, and what it leads to.
use super::config::{Config, Governor, Rules};
use super::load;
use super::policy::{Context, Policy, State};
use super::tunables::{After, Tunables};
use super::{conservative, ondemand};

/// A sampling governor on one policy.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Dbs {
    pub(crate) governor: Governor,
    /// When the queued work or timer runs.
    pub(crate) due_ns: Option<u64>,
    last_sample_ns: u64,
    /// The CPU whose callback queued the work, and its idle sum then, ns.
    queued_on: (u32, u64),
    pub(crate) delay_ns: u64,
    pub(crate) rate_mult: u32,
    /// A deferrable timer is overdue and waits for the CPU to wake.
    deferred: bool,
    woken: bool,
    pub(crate) split: ondemand::Split,
    pub(crate) steps: conservative::Steps,
}

/// The tick `n` after the last one, ns.
pub(crate) fn after_ticks(n: u64, now_ns: u64, config: &Config) -> u64 {
    (load::ticks(now_ns, config) + n) * config.tick_ns()
}

/// Ticks to the next common multiple of `period`, so that all CPUs look on the same tick.
fn aligned(period: u64, now_ns: u64, config: &Config) -> u64 {
    period - load::ticks(now_ns, config) % period
}

impl Dbs {
    /// Takes the first snapshots. Under 6.1 the next scheduler event samples; before, timers start.
    pub(crate) fn start(policy: &Policy, governor: Governor, set: &Tunables, cx: &mut Context<'_>) -> Self {
        load::snapshot(&policy.online, set, cx);
        for &cpu in &policy.online {
            cx.cpus[cpu as usize].load.load = 0;
        }
        let period = load::ticks_of_us(set.rate_us, cx.config);
        let due_ns = match cx.config.rules {
            Rules::V2_6_32 => Some(after_ticks(aligned(period, cx.now_ns, cx.config), cx.now_ns, cx.config)),
            Rules::V2_6_18 if governor == Governor::Ondemand => Some(after_ticks(period, cx.now_ns, cx.config)),
            _ => None,
        };
        Dbs {
            governor,
            due_ns,
            last_sample_ns: 0,
            queued_on: (0, 0),
            delay_ns: u64::from(set.rate_us) * 1000,
            rate_mult: 1,
            deferred: false,
            woken: false,
            split: ondemand::Split::default(),
            steps: conservative::Steps::new(policy.clock.cur_khz),
        }
    }

    /// Limits have changed and the clock has followed.
    pub(crate) fn limits_changed(&mut self, cur_khz: u32) {
        self.steps.requested = cur_khz;
        self.delay_ns = 0;
    }

    /// A tunable was written.
    pub(crate) fn tunable_written(&mut self, after: After) {
        match after {
            After::SampleSoon => self.delay_ns = 0,
            After::PlainRate => self.rate_mult = 1,
            After::Nothing | After::Snapshot | After::Boost { .. } => {}
        }
    }

    /// The scheduler's callback (6.1) on a CPU with this sum of idle time: true if a sample is now queued.
    pub(crate) fn scheduler_event(&mut self, now_ns: u64, worker_delay_ns: u32, cpu: u32, idle_ns: u64) -> bool {
        if self.due_ns.is_some() || now_ns.saturating_sub(self.last_sample_ns) < self.delay_ns {
            return false;
        }
        self.last_sample_ns = now_ns;
        self.queued_on = (cpu, idle_ns);
        self.due_ns = Some(now_ns + u64::from(worker_delay_ns));
        true
    }

    /// A CPU with an overdue deferrable timer wakes (2.6.32): true if the timer now runs.
    pub(crate) fn wake(&mut self, now_ns: u64) -> bool {
        let runs = std::mem::take(&mut self.deferred);
        if runs {
            self.due_ns = Some(now_ns);
            self.woken = true;
        }
        runs
    }
}

/// Runs the work that is due on a policy.
pub(crate) fn work(policy: &mut Policy, set: &Tunables, cx: &mut Context<'_>) {
    let State::Dbs(mut dbs) = policy.state else { return };
    let rules = cx.config.rules;
    dbs.due_ns = None;
    let first = policy.online.first().copied().unwrap_or(0);
    if rules == Rules::V2_6_32 && cx.config.nohz && !dbs.woken && !cx.times.running(first) {
        dbs.deferred = true;
        policy.state = State::Dbs(dbs);
        return;
    }
    dbs.woken = false;
    let period = load::ticks_of_us(set.rate_us, cx.config);
    let ondemand = dbs.governor == Governor::Ondemand;
    let ticks = match rules {
        Rules::V6_1 => {
            // Nothing else ran there, but the worker did: its CPU was not idle between callback and look.
            let (cpu, idle_ns) = dbs.queued_on;
            let worked_on = &mut cx.cpus[cpu as usize];
            worked_on.load.worker_ns += cx.times.idle_ns(cpu).saturating_sub(idle_ns);
            // It came and went as a task does: a window that ended meanwhile has been told of.
            worked_on.queue.take_window_end(cx.now_ns);
            let delay_us = if ondemand {
                ondemand::sample(policy, &mut dbs, set, cx)
            } else {
                conservative::sample(policy, &mut dbs, set, cx)
            };
            dbs.delay_ns = u64::from(delay_us) * 1000;
            None
        }
        Rules::V2_6_32 => {
            let high_ticks = if ondemand {
                ondemand::sample_weighted(policy, &mut dbs, set, cx)
            } else {
                conservative::sample_last_cpu(policy, &mut dbs, set, cx);
                None
            };
            Some(high_ticks.unwrap_or_else(|| aligned(period, cx.now_ns, cx.config)))
        }
        Rules::V2_6_18 => {
            ondemand::sample_by_ticks(policy, set, cx);
            Some(period)
        }
    };
    dbs.due_ns = ticks.map(|n| after_ticks(n, cx.now_ns, cx.config));
    policy.state = State::Dbs(dbs);
}
