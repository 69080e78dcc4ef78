//! The conservative governor: steps of a share of the maximum, up above one threshold and down below another.
use super::context::Context;
use super::load;
use super::policy::Policy;
use super::state::{Dbs, State};
use super::table::TableRelation::{AtLeast, AtMost};
use super::tunables::Tunables;

fn step_khz(policy: &Policy, set: &Tunables) -> u32 {
    match set.freq_step.wrapping_mul(policy.max) / 100 {
        0 => 5,
        khz => khz,
    }
}

/// One sample under 6.1; gives the delay to the next, µs.
pub(crate) fn sample(policy: &mut Policy, dbs: &mut Dbs, set: &Tunables, cx: &mut Context<'_>) -> u32 {
    let rate = set.rate_us.wrapping_mul(dbs.rate_mult);
    let load = load::evaluate(&policy.online, rate, set, cx);
    let steps = &mut dbs.steps;
    if set.freq_step == 0 {
        return set.rate_us;
    }
    let (min, max) = (policy.min, policy.max);
    if !(min..=max).contains(&steps.requested) {
        steps.requested = policy.clock.cur_khz;
    }
    let step = step_khz(policy, set);
    let lowered = |from: u32, by: u32| if from > min.wrapping_add(by) { from - by } else { min };
    let mut wish = steps.requested;
    if let Some(periods) = load.idle_periods {
        wish = lowered(wish, periods.wrapping_mul(step));
    }
    if load.percent > set.up {
        steps.down_skip = 0;
        steps.requested = wish.wrapping_add(step).min(max);
        policy.aim(steps.requested, AtMost, true, cx);
        return set.rate_us;
    }
    steps.down_skip += 1;
    if steps.down_skip < set.factor {
        return set.rate_us;
    }
    steps.down_skip = 0;
    if load.percent < set.down {
        steps.requested = lowered(wish, step);
        policy.aim(steps.requested, AtLeast, true, cx);
    }
    set.rate_us
}

/// One sample under 2.6.32: the last CPU's load decides, and downwards only well below the threshold.
pub(crate) fn sample_last_cpu(policy: &mut Policy, dbs: &mut Dbs, set: &Tunables, cx: &mut Context<'_>) {
    let mut load = 0;
    for &cpu in &policy.online {
        let (wall, idle) = load::window(cpu, set, cx);
        if wall > 0 && wall >= idle {
            load = 100u32.wrapping_mul(wall - idle) / wall;
        }
    }
    if set.freq_step == 0 {
        return;
    }
    let steps = &mut dbs.steps;
    if load > set.up {
        steps.down_skip = 0;
        if steps.requested != policy.max {
            steps.requested = steps.requested.wrapping_add(step_khz(policy, set)).min(policy.max);
            policy.aim(steps.requested, AtMost, false, cx);
        }
    } else if load < set.down.saturating_sub(10) && policy.clock.cur_khz != policy.min {
        let step = set.freq_step.wrapping_mul(policy.max) / 100;
        steps.requested = steps.requested.wrapping_sub(step).max(policy.min);
        policy.aim(steps.requested, AtMost, false, cx);
    }
}

/// A 2.6.18 policy's turn in the system-wide walk: idle ticks of the managing CPU against the nominal period.
#[expect(clippy::cast_possible_truncation, reason = "the kernel keeps the low 32 bits")]
pub(crate) fn sample_nominal(policy: &mut Policy, set: &Tunables, cx: &mut Context<'_>) {
    let State::Dbs(mut dbs) = policy.state else { return };
    let Some(&first) = policy.online.first() else { return };
    let (_, idle) = load::window(first, set, cx);
    let steps = &mut dbs.steps;
    let period = |us: u32| load::ticks_of_us(us, cx.config) as u32;
    let load = &mut cx.cpus[first as usize].load;
    load.idle_down = load.idle_down.wrapping_add(idle);
    if idle.wrapping_mul(100) < (100 - set.up).wrapping_mul(period(set.rate_us)) {
        steps.down_skip = 0;
        load.idle_down = 0;
        if steps.requested != policy.max {
            steps.requested = steps.requested.wrapping_add(step_khz(policy, set)).min(policy.max);
            policy.aim(steps.requested, AtMost, false, cx);
        }
        policy.state = State::Dbs(dbs);
        return;
    }
    steps.down_skip += 1;
    if steps.down_skip >= set.factor {
        steps.down_skip = 0;
        let idle = std::mem::take(&mut load.idle_down);
        let whole = period(set.rate_us.wrapping_mul(set.factor));
        let down = cx.config.deaf.conservative_down.unwrap_or(set.down);
        let idle_enough = idle.wrapping_mul(100) > 100_u32.saturating_sub(down).wrapping_mul(whole);
        if idle_enough && steps.requested != policy.min && set.freq_step != 0 {
            steps.requested = steps.requested.wrapping_sub(step_khz(policy, set)).max(policy.min);
            policy.aim(steps.requested, AtMost, false, cx);
        }
    }
    policy.state = State::Dbs(dbs);
}
