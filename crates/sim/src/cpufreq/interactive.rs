//! Android's governor interactive: jumps to a stated clock under a burst, and otherwise takes the lowest clock at which the
//! load stays below a target.
//!
//! From Android's kernels of 3.4 to 4.9; never in mainline Linux. Each CPU has a timer that waits for the CPU to be awake, and
//! next to it one that does not, only so long as the CPU's target lies above the lowest clock.
pub(super) mod set;

use super::context::Context;
use super::cpu::Look;
use super::load;
use super::policy::Policy;
use super::state::{Interactive, State};
use super::table::FrequencyTable;
use super::table::TableRelation::{AtLeast, AtMost};
use super::times::Util;
use set::Set;

/// What a CPU's next clock depends on next to its own past.
struct Scene<'a> {
    set: &'a Set,
    table: &'a FrequencyTable,
    limits: (u32, u32),
    now_ns: u64,
    boosted: bool,
}

impl Scene<'_> {
    /// The lowest clock at which the load does not exceed its target; `work` is 100 times the clock that would be busy all
    /// the time.
    fn choose(&self, work: u64) -> u32 {
        let (min, max) = self.limits;
        let mut clocks: Vec<u32> = self.table.steps().iter().map(|step| step.khz).collect();
        clocks.retain(|khz| (min..=max).contains(khz));
        clocks.sort_unstable();
        let suits = |khz: &u32| work <= u64::from(self.set.target_loads.at(*khz)) * u64::from(*khz);
        clocks.iter().copied().find(suits).or(clocks.last().copied()).unwrap_or(max)
    }

    /// Decides a CPU's target; false if it must wait for it.
    fn decide(&self, look: &mut Look, work: u64) -> bool {
        let (set, target) = (self.set, look.target_khz);
        let passed = |since_ns: u64, us: u32| self.now_ns.saturating_sub(since_ns) >= u64::from(us) * 1_000;
        let bursts = work / u64::from(target.max(1)) >= u64::from(set.go_hispeed_load) || self.boosted;
        let new = match bursts {
            true if target < set.hispeed_khz => set.hispeed_khz,
            true => self.choose(work).max(set.hispeed_khz),
            false => self.choose(work),
        };
        if target >= set.hispeed_khz && new > target && !passed(look.hispeed_ns, set.above_hispeed_delay.at(target)) {
            return false;
        }
        look.hispeed_ns = self.now_ns;
        let new = self.table.resolve(new, self.limits, AtLeast, false).unwrap_or(target);
        if new < look.floor_khz && !passed(look.floor_ns, set.min_sample_us) {
            return false;
        }
        if !self.boosted || new > set.hispeed_khz {
            (look.floor_khz, look.floor_ns) = (new, self.now_ns);
        }
        look.target_khz = new;
        true
    }
}

impl Interactive {
    pub(crate) fn start(policy: &Policy, set: &Set, cx: &mut Context<'_>) -> Self {
        for &cpu in &policy.online {
            let khz = policy.clock.cur_khz;
            cx.cpus[cpu as usize].interactive =
                Look { target_khz: khz, floor_khz: khz, floor_ns: cx.now_ns, hispeed_ns: cx.now_ns, ..Look::default() };
            arm(cpu, set, cx);
        }
        let mut own = Interactive { due_ns: None, pulse_until_ns: 0 };
        own.due_ns = next_due_ns(policy, set, cx);
        own
    }
}

/// A boost began, for so long or until it is undone: no CPU stays below hispeed_freq.
pub(crate) fn boost(policy: &mut Policy, for_us: u32, set: &Set, cx: &mut Context<'_>) {
    let State::Interactive(own) = &mut policy.state else { return };
    own.pulse_until_ns = own.pulse_until_ns.max(cx.now_ns + u64::from(for_us) * 1_000);
    if !set.boost && for_us == 0 {
        return;
    }
    let khz = set.hispeed_khz.clamp(policy.min, policy.max.max(policy.min));
    for &cpu in &policy.online {
        let look = &mut cx.cpus[cpu as usize].interactive;
        if look.target_khz < khz {
            (look.target_khz, look.hispeed_ns) = (khz, cx.now_ns);
        }
    }
    policy.aim(khz.max(policy.clock.cur_khz), AtMost, false, cx);
}

/// Sets a CPU's timer, and begins its sums anew.
fn arm(cpu: u32, set: &Set, cx: &mut Context<'_>) {
    let ticks = load::ticks_of_us(set.rate_us, cx.config);
    let (idle_ns, due_ns) = (cx.idle_ns(cpu, set.io_is_busy), load::after_ticks(ticks, cx.now_ns, cx.config));
    let look = &mut cx.cpus[cpu as usize].interactive;
    (look.armed_ns, look.overdue, look.io_is_busy) = (Some(due_ns), false, set.io_is_busy);
    (look.since_ns, look.counted_ns, look.idle_ns, look.work) = (cx.now_ns, cx.now_ns, idle_ns, 0);
}

/// When a CPU that sleeps over its timer is looked at all the same.
fn slack_ns(policy: &Policy, look: &Look, set: &Set, cx: &Context<'_>) -> Option<u64> {
    let slack_us = u32::try_from(set.slack_us).ok().filter(|_| look.target_khz > policy.min)?;
    Some(look.armed_ns? + load::ticks_of_us(slack_us, cx.config) * cx.config.tick_ns())
}

fn next_due_ns(policy: &Policy, set: &Set, cx: &Context<'_>) -> Option<u64> {
    let of = |cpu: &u32| {
        let look = &cx.cpus[*cpu as usize].interactive;
        if look.overdue { slack_ns(policy, look, set, cx) } else { look.armed_ns }
    };
    policy.online.iter().filter_map(of).min()
}

/// One CPU's timer runs.
fn look(policy: &mut Policy, cpu: u32, own: &Interactive, set: &Set, cx: &mut Context<'_>) {
    cx.count_work(cpu, policy.clock.cur_khz);
    let boosted = set.boost || cx.now_ns < own.pulse_until_ns;
    let (limits, now_ns) = ((policy.min, policy.max), cx.now_ns);
    let scene = Scene { set, table: &policy.table, limits, now_ns, boosted };
    let look = &mut cx.cpus[cpu as usize].interactive;
    let window_us = now_ns.saturating_sub(look.since_ns) / 1_000;
    let work = (look.work * 100).checked_div(window_us);
    let decided = work.is_some_and(|work| scene.decide(look, work));
    look.armed_ns = None;
    if !decided || look.target_khz != policy.max {
        arm(cpu, set, cx);
    }
    let highest = policy.online.iter().map(|&cpu| cx.cpus[cpu as usize].interactive.target_khz).max();
    policy.aim(highest.unwrap_or(policy.min), AtMost, false, cx);
}

/// Runs the timers that are due on a policy; those of sleeping CPUs wait.
pub(crate) fn work(policy: &mut Policy, set: &Set, cx: &mut Context<'_>) {
    let State::Interactive(mut own) = policy.state else { return };
    for cpu in policy.online.clone() {
        let this = &mut cx.cpus[cpu as usize].interactive;
        if this.armed_ns.is_none_or(|armed| armed > cx.now_ns) {
            continue;
        }
        this.overdue |= !cx.times.running(cpu);
        let this = cx.cpus[cpu as usize].interactive;
        if !this.overdue || slack_ns(policy, &this, set, cx).is_some_and(|due| due <= cx.now_ns) {
            look(policy, cpu, &own, set, cx);
        }
    }
    own.due_ns = next_due_ns(policy, set, cx);
    policy.state = State::Interactive(own);
}

/// A CPU wakes, works or falls asleep.
pub(crate) fn scheduler_event(policy: &mut Policy, cpu: u32, why: Util, set: &Set, cx: &mut Context<'_>) {
    let State::Interactive(mut own) = policy.state else { return };
    let this = cx.cpus[cpu as usize].interactive;
    let sleeps = why == Util::Dequeue && !cx.times.running(cpu);
    match this.armed_ns {
        Some(_) if this.overdue && why != Util::Dequeue => look(policy, cpu, &own, set, cx),
        None if !sleeps || this.target_khz != policy.min => arm(cpu, set, cx),
        _ => return,
    }
    own.due_ns = next_due_ns(policy, set, cx);
    policy.state = State::Interactive(own);
}

/// The limits have changed and the clock has followed: so do the targets.
pub(crate) fn limits_changed(policy: &Policy, cx: &mut Context<'_>) {
    for &cpu in &policy.online {
        let look = &mut cx.cpus[cpu as usize].interactive;
        look.target_khz = look.target_khz.clamp(policy.min, policy.max.max(policy.min));
        look.floor_khz = look.floor_khz.min(look.target_khz);
    }
}

#[cfg(test)]
mod tests;
