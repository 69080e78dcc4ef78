//! The schedutil governor: a clock in proportion to what the scheduler says is needed, plus a quarter.
use super::config::BootConfig;
use super::context::Context;
use super::cpu::Cpu;
use super::policy::Policy;
use super::state::{Schedutil, State};
use super::table::TableRelation::AtLeast;
use super::times::{OtherClasses, Util};
use super::tunables::Tunables;

/// Full capacity, and the highest boost.
const ONE: u32 = 1024;
/// Where a boost for input and output starts; below it there is none.
const MIN_BOOST: u32 = ONE / 8;

/// What a CPU's classes ask together, of its capacity (Linux 6.1 effective_cpu_util, without clamps).
#[must_use]
pub fn demand(fair: u32, other: &OtherClasses, capacity: u32) -> u32 {
    if other.rt_runnable || other.irq >= capacity {
        return capacity;
    }
    let tasks = fair + other.rt;
    if tasks + other.dl >= capacity {
        return capacity;
    }
    let scaled = tasks * (capacity - other.irq) / capacity + other.irq;
    (scaled + other.dl_bandwidth).min(capacity)
}

/// The clock for a demand, kHz, before it is brought to the table: a quarter above proportion.
#[must_use]
pub fn raw_khz(demand: u32, capacity: u32, highest_khz: u32) -> u32 {
    let demand = u64::from(demand + demand / 4);
    u32::try_from(u64::from(highest_khz) * demand / u64::from(capacity.max(1))).unwrap_or(u32::MAX)
}

impl Schedutil {
    pub(crate) fn start(policy: &Policy, cx: &mut Context<'_>) -> Self {
        for &cpu in &policy.online {
            cx.cpus[cpu as usize].boost = super::cpu::IoBoost::default();
        }
        Schedutil {
            worker_due_ns: None,
            limits_changed: false,
            forced: false,
            last_change_ns: 0,
            next_khz: 0,
            raw_khz: 0,
        }
    }

    fn may_evaluate(&mut self, now_ns: u64, set: &Tunables) -> bool {
        if std::mem::take(&mut self.limits_changed) {
            self.forced = true;
            return true;
        }
        now_ns.saturating_sub(self.last_change_ns) >= u64::from(set.rate_limit_us) * 1000
    }
}

/// Notes a callback for the boost of tasks that wake from input or output. Doubles once per evaluation; a gap of more
/// than a tick starts over.
fn note_io(cpu: &mut Cpu, now_ns: u64, io_wake: bool, config: &BootConfig) {
    let boost = &mut cpu.boost;
    let gap = now_ns.saturating_sub(boost.last_update_ns);
    boost.last_update_ns = now_ns;
    if boost.level > 0 && gap > config.tick_ns() {
        (boost.level, boost.pending) = (if io_wake { MIN_BOOST } else { 0 }, io_wake);
        return;
    }
    if io_wake && !boost.pending {
        boost.pending = true;
        boost.level = if boost.level == 0 { MIN_BOOST } else { (boost.level * 2).min(ONE) };
    }
}

/// The boost that counts in this evaluation, of the CPU's capacity. Without a request since the last one it halves.
fn take_boost(cpu: &mut Cpu, capacity: u32) -> u32 {
    let boost = &mut cpu.boost;
    if !std::mem::take(&mut boost.pending) {
        boost.level /= 2;
        if boost.level < MIN_BOOST {
            boost.level = 0;
        }
    }
    boost.level * capacity / ONE
}

fn cpu_demand(cpu: u32, capacity: u32, cx: &mut Context<'_>) -> u32 {
    let other = cx.times.other_classes(cpu);
    let stated = cx.times.fair_util(cpu);
    let state = &mut cx.cpus[cpu as usize];
    state.boost.dl_bandwidth = other.dl_bandwidth;
    let fair = stated.unwrap_or_else(|| {
        state.queue.update(cx.now_ns);
        state.queue.util().max(state.queue.estimate)
    });
    demand(fair.min(capacity), &other, capacity).max(take_boost(state, capacity))
}

/// The scheduler's callback on `cpu` of this policy. True if the worker is now queued, or the clock has changed.
pub(crate) fn scheduler_event(policy: &mut Policy, cpu: u32, why: Util, set: &Tunables, cx: &mut Context<'_>) -> bool {
    let State::Schedutil(mut own) = policy.state else { return false };
    note_io(&mut cx.cpus[cpu as usize], cx.now_ns, why == Util::IoWake, cx.config);
    if cx.times.other_classes(cpu).dl_bandwidth > cx.cpus[cpu as usize].boost.dl_bandwidth {
        own.limits_changed = true;
    }
    let evaluates = own.may_evaluate(cx.now_ns, set);
    let changed = evaluates && evaluate(policy, &mut own, cpu, cx);
    if changed && !policy.config.fast_switch {
        own.worker_due_ns.get_or_insert(cx.now_ns + u64::from(cx.config.worker_delay_ns));
    }
    policy.state = State::Schedutil(own);
    if changed && policy.config.fast_switch {
        let _ = policy.switch(own.next_khz, true, cx);
    }
    changed
}

/// Works out the next clock; true if it is to be set.
fn evaluate(policy: &Policy, own: &mut Schedutil, cpu: u32, cx: &mut Context<'_>) -> bool {
    let capacity = policy.config.capacity.max(1);
    let mut asked = 0;
    let alone = policy.online.len() == 1;
    for &member in &policy.online {
        asked = asked.max(cpu_demand(member, capacity, cx));
    }
    let highest = if policy.config.invariant { policy.hi } else { policy.clock.cur_khz };
    let raw = raw_khz(asked, capacity, highest);
    let raw_before = own.raw_khz;
    let mut next = own.next_khz;
    if own.forced || raw != raw_before {
        own.raw_khz = raw;
        next = policy.table.resolve(raw, (policy.min, policy.max), AtLeast, true).unwrap_or(next);
    }
    if alone {
        let state = &mut cx.cpus[cpu as usize];
        let idle_entries = state.queue.idle_entries;
        let never_idle = std::mem::replace(&mut state.boost.idle_entries, idle_entries) == idle_entries;
        if never_idle && next < own.next_khz && !own.forced {
            next = own.next_khz;
            own.raw_khz = raw_before;
        }
    }
    if !std::mem::take(&mut own.forced) && next == own.next_khz {
        return false;
    }
    own.next_khz = next;
    own.last_change_ns = cx.now_ns;
    true
}

/// The worker: brings the clock to what was worked out last.
pub(crate) fn work(policy: &mut Policy, cx: &mut Context<'_>) {
    let State::Schedutil(own) = &mut policy.state else { return };
    own.worker_due_ns = None;
    let next = own.next_khz;
    policy.aim(next, AtLeast, false, cx);
}
