//! From where a CPU that looks for work takes it: uneven groups first, and then, where work is gathered, whom to empty.
use super::domains::{Domain, Group, UNIT};
use crate::cpufreq::KernelRules;

/// How a CPU is that looks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Looker {
    Busy,
    NewlyIdle,
    Idle,
}

/// What can be seen of the CPUs.
pub(super) trait View {
    /// Tasks that run or wait there; `None` where the CPU is out of service.
    fn runnable(&self, cpu: u32) -> Option<u64>;
    /// Its load averaged: 1 as at the last tick, 2 over a few. In [`UNIT`]s.
    fn averaged(&self, cpu: u32, average: usize) -> u64;
}

/// Where to take from, and how much.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Found {
    pub(super) cpu: u32,
    /// Load to move, in [`UNIT`]s of one task.
    pub(super) load: u64,
    /// First CPU of the group that gathers, where that is why.
    pub(super) leader: Option<u32>,
}

/// A group as it is seen.
#[derive(Clone, Copy)]
struct Sum<'a> {
    group: &'a Group,
    /// Load for each unit of its power, averaged towards caution.
    load: u64,
    running: u64,
}

impl<'a> Sum<'a> {
    fn of(group: &'a Group, is_own: bool, average: usize, view: &impl View) -> (Self, u64) {
        let (mut load, mut running) = (0, 0);
        for &cpu in &group.cpus {
            let Some(tasks) = view.runnable(cpu) else { continue };
            running += tasks;
            let (now, before) = (tasks * UNIT, if average == 0 { tasks * UNIT } else { view.averaged(cpu, average) });
            // One's own load rather too high, others' rather too low.
            load += if is_own { now.max(before) } else { now.min(before) };
        }
        (Sum { group, load: load * UNIT / group.power, running }, load)
    }

    fn has_room(&self) -> bool {
        (1..self.group.capacity()).contains(&self.running)
    }
}

/// From which CPU of a domain the CPU `own` should take work, if from any.
pub(super) fn find(domain: &Domain, own: u32, looker: Looker, rules: KernelRules, view: &impl View) -> Option<Found> {
    let gathers = domain.gathers && looker != Looker::Busy;
    // Most looks find nothing to even out.
    let running = |group: &Group| group.cpus.iter().filter_map(|&cpu| view.runnable(cpu)).sum::<u64>();
    if !gathers && domain.groups.iter().all(|group| running(group) <= group.capacity()) {
        return None;
    }
    let average = match looker {
        Looker::Busy => domain.averages[0],
        Looker::NewlyIdle => domain.averages[1],
        Looker::Idle => domain.averages[2],
    };
    let (mut sums, mut whole_load, mut whole_power) = (Vec::new(), 0, 0);
    let mut this = None;
    for group in &domain.groups {
        let is_own = group.cpus.contains(&own);
        let (sum, load) = Sum::of(group, is_own, average, view);
        (whole_load, whole_power) = (whole_load + load, whole_power + group.power);
        if is_own {
            this = Some(sum);
        } else {
            sums.push(sum);
        }
    }
    let (this, mean) = (this?, whole_load * UNIT / whole_power.max(1));
    if let Some((group, load)) = uneven(domain, &this, &sums, mean) {
        return Some(Found { cpu: queue(group, load, view)?, load, leader: None });
    }
    if !gathers || !this.has_room() {
        return None;
    }
    let (leader, least) = ends(&this, &sums, rules)?;
    let is_leader = std::ptr::eq(leader.group, this.group) && !std::ptr::eq(leader.group, least.group);
    let load = UNIT;
    let leader = leader.group.cpus.first().copied();
    if is_leader { Some(Found { cpu: queue(least.group, load, view)?, load, leader }) } else { None }
}

/// The busiest group and how much of its load to move, where groups are uneven.
fn uneven<'a>(domain: &Domain, this: &Sum<'a>, others: &[Sum<'a>], mean: u64) -> Option<(&'a Group, u64)> {
    let overfull = others.iter().filter(|sum| sum.running > sum.group.capacity());
    // Of equals the first.
    let busiest = overfull.reduce(|most, sum| if sum.load > most.load { sum } else { most })?;
    let (high, low) = (busiest.load, this.load);
    if low >= high || low >= mean || 100 * high <= domain.uneven_percent * low {
        return None;
    }
    let (from, to) = (busiest.group.power, this.group.power);
    let load = if high < mean {
        0
    } else {
        let pulled = (high - mean).min(high.saturating_sub(UNIT));
        (pulled * from).min((mean - low) * to) / UNIT
    };
    if load >= UNIT {
        return Some((busiest.group, load));
    }
    // Less than a task: one is moved if two lie between the groups, or if more gets done after.
    let now = from * UNIT.min(high) + to * UNIT.min(low);
    let less = UNIT * UNIT / from;
    let more = if high * from < UNIT * UNIT { high * from / to } else { UNIT * UNIT / to };
    let after = from * UNIT.min(high.saturating_sub(less)) + to * UNIT.min(low + more);
    (high - low >= 2 * UNIT || after / UNIT > now / UNIT).then_some((busiest.group, UNIT))
}

/// The group that is to be filled and the one that is to be emptied: of those with work and room, the one with the most
/// running and the one with the fewest. Which of equals it is, kernels disagree on.
fn ends<'a>(this: &Sum<'a>, others: &[Sum<'a>], rules: KernelRules) -> Option<(Sum<'a>, Sum<'a>)> {
    let old = rules == KernelRules::V2_6_18;
    let first = |sum: &Sum<'_>| i64::from(sum.group.cpus.first().copied().unwrap_or(0));
    let high_first = |sum: &Sum<'_>| if old { first(sum) } else { -first(sum) };
    let with_room = || others.iter().chain([this]).filter(|sum| sum.has_room());
    let leader = with_room().max_by_key(|sum| (sum.running, high_first(sum)))?;
    let least = with_room().min_by_key(|sum| (sum.running, high_first(sum)))?;
    Some((*leader, *least))
}

/// The CPU of a group that has the most; one with a single task only if that one may be moved.
fn queue(group: &Group, load: u64, view: &impl View) -> Option<u32> {
    let tasks = group.cpus.iter().filter_map(|&cpu| Some((cpu, view.runnable(cpu)?)));
    let movable = tasks.filter(|&(_, tasks)| tasks > 1 || (tasks == 1 && load >= UNIT));
    let most = movable.reduce(|most, next| if next.1 > most.1 { next } else { most });
    most.map(|(cpu, _)| cpu)
}

#[cfg(test)]
mod tests;
