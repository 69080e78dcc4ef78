//! Android's governor interactive: jumps to a stated clock under a burst, and otherwise takes the lowest clock at which the
//! load stays below a target.
//!
//! From Android's kernels of 3.4 to 4.9; never in mainline Linux. Each CPU has a timer that waits for the CPU to be awake, and
//! beside it one that does not, only so long as the CPU's target lies above the lowest clock.
use powerband_machine::Errno;

use super::policy::{Context, Policy, State};
use super::table::Relation::{AtLeast, AtMost};
use super::table::Table;
use super::times::Util;
use super::tunables::{After, Tunable};
use super::{dbs, load, number};

/// Most values of a list that are kept; the kernel has no such bound.
const MOST_VALUES: usize = 16;

/// Values by clock: the first holds from the bottom, each other one from its clock (kHz) on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Ladder {
    steps: [(u32, u32); MOST_VALUES],
    len: usize,
}

impl Ladder {
    fn one(value: u32) -> Self {
        let mut steps = [(0, 0); MOST_VALUES];
        steps[0] = (0, value);
        Ladder { steps, len: 1 }
    }

    /// `85 1000000:90 1700000:99`: numbers with blanks or colons between them, an odd count of them.
    fn parse(text: &str) -> Result<Self, Errno> {
        let words = text.trim_ascii().split([' ', ':']).map(number::whole).collect::<Result<Vec<u32>, _>>()?;
        let mut ladder = Ladder::one(*words.first().ok_or(Errno::EINVAL)?);
        for pair in words[1..].chunks(2) {
            let &[khz, value] = pair else { return Err(Errno::EINVAL) };
            *ladder.steps.get_mut(ladder.len).ok_or(Errno::EINVAL)? = (khz, value);
            ladder.len += 1;
        }
        Ok(ladder)
    }

    fn show(&self) -> String {
        let steps = self.steps.iter().take(self.len);
        let words = steps.map(|&(khz, value)| if khz == 0 { value.to_string() } else { format!("{khz}:{value}") });
        words.collect::<Vec<String>>().join(" ")
    }

    fn at(&self, khz: u32) -> u32 {
        let below = self.steps.iter().take(self.len).take_while(|(from, _)| *from <= khz);
        below.last().map_or(0, |(_, value)| *value)
    }
}

/// Its tunables.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Set {
    target_loads: Ladder,
    above_hispeed_delay: Ladder,
    min_sample_us: u32,
    /// 0 until it first starts: then the highest clock allowed.
    pub(crate) hispeed_khz: u32,
    go_hispeed_load: u32,
    rate_us: u32,
    slack_us: i32,
    boost: bool,
    pulse_us: u32,
    io_is_busy: bool,
}

impl Set {
    pub(crate) fn new() -> Self {
        Set {
            target_loads: Ladder::one(90),
            above_hispeed_delay: Ladder::one(20_000),
            min_sample_us: 80_000,
            hispeed_khz: 0,
            go_hispeed_load: 99,
            rate_us: 20_000,
            slack_us: 80_000,
            boost: false,
            pulse_us: 80_000,
            io_is_busy: false,
        }
    }

    pub(crate) fn show(&self, tunable: Tunable) -> String {
        match tunable {
            Tunable::TargetLoads => self.target_loads.show(),
            Tunable::AboveHispeedDelay => self.above_hispeed_delay.show(),
            Tunable::MinSampleTime => self.min_sample_us.to_string(),
            Tunable::HispeedFreq => self.hispeed_khz.to_string(),
            Tunable::GoHispeedLoad => self.go_hispeed_load.to_string(),
            Tunable::TimerRate => self.rate_us.to_string(),
            Tunable::TimerSlack => self.slack_us.to_string(),
            Tunable::Boost => u8::from(self.boost).to_string(),
            Tunable::BoostpulseDuration => self.pulse_us.to_string(),
            _ => u8::from(self.io_is_busy).to_string(),
        }
    }

    pub(crate) fn store(&mut self, tunable: Tunable, text: &str) -> Result<After, Errno> {
        let number = || number::whole(text.trim_ascii());
        match tunable {
            Tunable::TargetLoads => self.target_loads = Ladder::parse(text)?,
            Tunable::AboveHispeedDelay => self.above_hispeed_delay = Ladder::parse(text)?,
            Tunable::MinSampleTime => self.min_sample_us = number()?,
            Tunable::HispeedFreq => self.hispeed_khz = number()?,
            Tunable::GoHispeedLoad => self.go_hispeed_load = number()?,
            Tunable::TimerRate => self.rate_us = number()?.max(1),
            Tunable::TimerSlack => self.slack_us = number::signed(text)?,
            Tunable::Boost => {
                self.boost = number()? > 0;
                return Ok(After::Boost { for_us: 0 });
            }
            Tunable::Boostpulse => {
                number()?;
                return Ok(After::Boost { for_us: self.pulse_us });
            }
            Tunable::BoostpulseDuration => self.pulse_us = number()?,
            _ => self.io_is_busy = number()? > 0,
        }
        Ok(After::Nothing)
    }
}

/// What is kept of one CPU.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Look {
    /// When its timer is due, ns; it may be overdue while the CPU sleeps.
    armed_ns: Option<u64>,
    overdue: bool,
    target_khz: u32,
    /// Below this it does not go until it has been asked for no more for a while; since when, ns.
    floor_khz: u32,
    floor_ns: u64,
    /// When it last did not have to wait above hispeed_freq, ns.
    hispeed_ns: u64,
    /// Since when work is summed up, and up to when it is, ns; the idle sum then.
    since_ns: u64,
    counted_ns: u64,
    idle_ns: u64,
    /// Busy µs times the clock then, kHz.
    work: u64,
    io_is_busy: bool,
}

/// The governor on one policy.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Interactive {
    pub(crate) due_ns: Option<u64>,
    pulse_until_ns: u64,
}

/// What a CPU's next clock depends on beside its own past.
struct Scene<'a> {
    set: &'a Set,
    table: &'a Table,
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

/// A boost began, for so long or until it is taken back: no CPU stays below hispeed_freq.
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
    let (idle_ns, due_ns) = (idle_ns(cpu, set.io_is_busy, cx), dbs::after_ticks(ticks, cx.now_ns, cx.config));
    let look = &mut cx.cpus[cpu as usize].interactive;
    (look.armed_ns, look.overdue, look.io_is_busy) = (Some(due_ns), false, set.io_is_busy);
    (look.since_ns, look.counted_ns, look.idle_ns, look.work) = (cx.now_ns, cx.now_ns, idle_ns, 0);
}

fn idle_ns(cpu: u32, io_is_busy: bool, cx: &Context<'_>) -> u64 {
    cx.times.idle_ns(cpu) + if io_is_busy { 0 } else { cx.times.iowait_ns(cpu) }
}

/// Counts a CPU's work up to now, done at this clock.
fn count(cpu: u32, khz: u32, cx: &mut Context<'_>) {
    let idle_now = idle_ns(cpu, cx.cpus[cpu as usize].interactive.io_is_busy, cx);
    let look = &mut cx.cpus[cpu as usize].interactive;
    let passed = cx.now_ns.saturating_sub(look.counted_ns);
    let busy_us = passed.saturating_sub(idle_now.saturating_sub(look.idle_ns)) / 1_000;
    look.work = look.work.saturating_add(busy_us * u64::from(khz));
    (look.counted_ns, look.idle_ns) = (cx.now_ns, idle_now);
}

/// The policy's clock was another until now.
pub(crate) fn clock_changed(members: &[u32], from_khz: u32, cx: &mut Context<'_>) {
    members.iter().for_each(|&cpu| count(cpu, from_khz, cx));
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
    count(cpu, policy.clock.cur_khz, cx);
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
