//! The ondemand governor: straight to the top above a threshold, below it in proportion to load.
use super::context::Context;
use super::load;
use super::policy::Policy;
use super::state::{Dbs, Split};
use super::table::TableRelation::{AtLeast, AtMost, Closest};
use super::tunables::Tunables;

impl Split {
    /// The clock to use first so that the period's average is `bias` thousandths below what `khz` resolves to.
    /// `period` is in µs or ticks, and so are the parts.
    fn biased(&mut self, policy: &Policy, khz: u32, at_least: bool, period: u32, set: &Tunables) -> u32 {
        let limits = (policy.min, policy.max);
        let resolve = |khz, relation, efficient| policy.table.resolve(khz, limits, relation, efficient).unwrap_or(khz);
        (self.low_khz, self.low) = (0, 0);
        if policy.table.is_empty() {
            return khz;
        }
        let asked = resolve(khz, if at_least { AtLeast } else { AtMost }, true);
        let average = asked.wrapping_sub(asked.wrapping_mul(set.bias) / 1000);
        let (low, high) = (resolve(average, AtMost, false), resolve(average, AtLeast, false));
        if low == high {
            return low;
        }
        let part = average.wrapping_sub(low).wrapping_mul(period).wrapping_add((high - low) / 2) / (high - low);
        *self = Split { low_khz: low, low: period.wrapping_sub(part), high: part, sub_sample: self.sub_sample };
        high
    }
}

/// One sample under 6.1; gives the delay to the next, µs.
pub(crate) fn sample(policy: &mut Policy, dbs: &mut Dbs, set: &Tunables, cx: &mut Context<'_>) -> u32 {
    if std::mem::take(&mut dbs.split.sub_sample) && dbs.delay_ns > 0 {
        policy.aim(dbs.split.low_khz, AtMost, true, cx);
        return dbs.split.low;
    }
    dbs.split.low_khz = 0;
    let rate = set.rate_us.wrapping_mul(dbs.rate_mult);
    let load = load::evaluate(&policy.online, rate, set, cx).percent;
    if load > set.up {
        if policy.clock.cur_khz < policy.max {
            dbs.rate_mult = set.factor;
        }
        if set.bias == 0 {
            policy.aim(policy.max, AtMost, true, cx);
        } else {
            let khz = dbs.split.biased(policy, policy.max, false, set.rate_us, set);
            policy.aim(khz, AtLeast, true, cx);
        }
    } else {
        let mut khz = policy.lo.wrapping_add(load.wrapping_mul(policy.hi - policy.lo) / 100);
        dbs.rate_mult = 1;
        if set.bias > 0 {
            khz = dbs.split.biased(policy, khz, true, set.rate_us, set);
        }
        policy.aim(khz, Closest, true, cx);
    }
    if dbs.split.low_khz > 0 {
        dbs.split.sub_sample = true;
        return dbs.split.high;
    }
    set.rate_us.wrapping_mul(dbs.rate_mult)
}

/// One sample under 2.6.18: whole ticks, the least idle CPU counts, the next clock scales from the present one.
#[expect(clippy::cast_possible_truncation, reason = "the kernel keeps the low 32 bits")]
pub(crate) fn sample_by_ticks(policy: &mut Policy, set: &Tunables, cx: &mut Context<'_>) {
    let Some(&first) = policy.online.first() else { return };
    let wall_before = cx.cpus[first as usize].load.wall;
    let total = load::ticks(cx.now_ns, cx.config).wrapping_sub(wall_before) as u32;
    if total == 0 {
        return;
    }
    let idle = policy.online.iter().map(|&cpu| load::window(cpu, set, cx).1).min().unwrap_or(0);
    let load = 100u32.wrapping_mul(total.wrapping_sub(idle)) / total;
    let cur = policy.clock.cur_khz;
    let up = cx.config.deaf.ondemand_up.unwrap_or(set.up);
    let below = up.saturating_sub(set.margin).max(1);
    if load > up {
        policy.aim(policy.max, AtMost, false, cx);
    } else if cur != policy.min && load < below {
        policy.aim(cur.wrapping_mul(load) / below, AtLeast, false, cx);
    }
}

/// One sample under 2.6.32: load weighted with the clock it was served at. Gives the ticks to the step down, if the
/// period is split.
pub(crate) fn sample_weighted(policy: &mut Policy, dbs: &mut Dbs, set: &Tunables, cx: &mut Context<'_>) -> Option<u64> {
    if std::mem::take(&mut dbs.split.sub_sample) && set.bias > 0 {
        policy.aim(dbs.split.low_khz, AtMost, false, cx);
        return None;
    }
    dbs.split.low_khz = 0;
    let cur = policy.clock.cur_khz;
    let mut weighted = 0;
    for &cpu in &policy.online {
        let (wall, idle) = load::window(cpu, set, cx);
        if wall == 0 || wall < idle {
            continue;
        }
        let load = 100u32.wrapping_mul(wall - idle) / wall;
        let served = cx.times.average_khz(cpu).unwrap_or(cur);
        weighted = weighted.max(load.wrapping_mul(served));
    }
    let period = u32::try_from(load::ticks_of_us(set.rate_us, cx.config)).unwrap_or(u32::MAX);
    let below = set.up - set.margin;
    if weighted > set.up.wrapping_mul(cur) {
        if set.bias == 0 {
            policy.aim(policy.max, AtMost, false, cx);
        } else {
            let khz = dbs.split.biased(policy, policy.max, false, period, set);
            policy.aim(khz, AtLeast, false, cx);
        }
    } else if cur != policy.min && weighted < below.wrapping_mul(cur) {
        let mut khz = (weighted / below).max(policy.min);
        if set.bias > 0 {
            khz = dbs.split.biased(policy, khz, true, period, set);
        }
        policy.aim(khz, AtLeast, false, cx);
    }
    dbs.split.sub_sample = dbs.split.low_khz > 0;
    dbs.split.sub_sample.then(|| u64::from(dbs.split.high).max(1))
}
