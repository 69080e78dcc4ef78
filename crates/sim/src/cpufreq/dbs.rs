//! The sampling machinery below ondemand and conservative: when a look is taken, and what it leads to.
use super::config::{BootConfig, Governor, KernelRules};
use super::context::Context;
use super::load;
use super::policy::Policy;
use super::state::{Dbs, Split, State, Steps};
use super::tunables::Tunables;
use super::{conservative, ondemand};

/// Ticks to the next common multiple of `period`, so that all CPUs look on the same tick.
fn aligned(period: u64, now_ns: u64, config: &BootConfig) -> u64 {
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
            KernelRules::V2_6_32 => {
                Some(load::after_ticks(aligned(period, cx.now_ns, cx.config), cx.now_ns, cx.config))
            }
            KernelRules::V2_6_18 if governor == Governor::Ondemand => {
                Some(load::after_ticks(period, cx.now_ns, cx.config))
            }
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
            split: Split::default(),
            steps: Steps::new(policy.clock.cur_khz),
        }
    }
}

/// Runs the work that is due on a policy.
pub(crate) fn work(policy: &mut Policy, set: &Tunables, cx: &mut Context<'_>) {
    let State::Dbs(mut dbs) = policy.state else { return };
    let rules = cx.config.rules;
    dbs.due_ns = None;
    let first = policy.online.first().copied().unwrap_or(0);
    if rules == KernelRules::V2_6_32 && cx.config.nohz && !dbs.woken && !cx.times.running(first) {
        dbs.deferred = true;
        policy.state = State::Dbs(dbs);
        return;
    }
    dbs.woken = false;
    let period = load::ticks_of_us(set.rate_us, cx.config);
    let ondemand = dbs.governor == Governor::Ondemand;
    let ticks = match rules {
        KernelRules::V6_1 => {
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
        KernelRules::V2_6_32 => {
            let high_ticks = if ondemand {
                ondemand::sample_weighted(policy, &mut dbs, set, cx)
            } else {
                conservative::sample_last_cpu(policy, &mut dbs, set, cx);
                None
            };
            Some(high_ticks.unwrap_or_else(|| aligned(period, cx.now_ns, cx.config)))
        }
        KernelRules::V2_6_18 => {
            ondemand::sample_by_ticks(policy, set, cx);
            Some(period)
        }
    };
    dbs.due_ns = ticks.map(|n| load::after_ticks(n, cx.now_ns, cx.config));
    policy.state = State::Dbs(dbs);
}
