//! Control groups with a quota of CPU time: so much in each period of 10 ms, then nothing until the next.
use super::State;
use crate::board::{Board, Event};
use crate::cpufreq::Util;

/// Length of a period, ns.
const PERIOD_NS: u64 = 10_000_000;

/// One control group.
#[derive(Clone, Debug)]
pub(crate) struct Group {
    pub(crate) name: String,
    /// Whether it still exists; numbers are not used again.
    pub(crate) exists: bool,
    /// CPU time of a period, ns.
    quota_ns: u64,
    left_ns: u64,
    /// Which period `left_ns` belongs to, counted from boot.
    period: u64,
    refill_planned: bool,
    running: u32,
    throttled: Vec<u32>,
    stamp: u32,
}

impl Group {
    pub(crate) fn new(name: &str, millionths: u64) -> Self {
        let quota_ns = millionths.saturating_mul(PERIOD_NS / 1_000_000);
        Group {
            name: name.into(),
            exists: true,
            quota_ns,
            left_ns: quota_ns,
            period: 0,
            refill_planned: false,
            running: 0,
            throttled: Vec::new(),
            stamp: 0,
        }
    }

    /// One of its tasks has run for this long.
    pub(crate) fn spend(&mut self, ns: u64) {
        self.left_ns = self.left_ns.saturating_sub(ns);
    }
}

impl Board {
    fn group(&mut self, group: u32) -> &mut Group {
        &mut self.groups[group as usize]
    }

    /// A period that has begun unnoticed brings its quota.
    fn catch_up(&mut self, group: u32) {
        let period = self.now_ns / PERIOD_NS;
        let this = self.group(group);
        if this.period != period {
            (this.period, this.left_ns) = (period, this.quota_ns);
        }
    }

    /// Whether a task that wants to run may; otherwise it waits for its group's next period.
    pub(super) fn admitted(&mut self, task: u32) -> bool {
        let Some(group) = self.task(task).group else { return true };
        self.catch_up(group);
        if self.group(group).left_ns > 0 {
            return true;
        }
        self.throttle(group, task);
        false
    }

    fn throttle(&mut self, group: u32, task: u32) {
        self.task(task).state = State::Throttled;
        self.group(group).throttled.push(task);
        self.plan_refill(group);
    }

    /// A throttled task goes away.
    pub(super) fn unthrottle(&mut self, task: u32) {
        if let Some(group) = self.task(task).group {
            self.group(group).throttled.retain(|&other| other != task);
        }
    }

    fn plan_refill(&mut self, group: u32) {
        let next = (self.now_ns / PERIOD_NS + 1) * PERIOD_NS;
        if !std::mem::replace(&mut self.group(group).refill_planned, true) {
            self.plan(next, Event::QuotaRefill { group });
        }
    }

    /// A task of a group begins to run.
    pub(super) fn start_clocking(&mut self, task: u32) {
        if let Some(group) = self.task(task).group {
            self.book_group(group);
            self.catch_up(group);
            self.group(group).running += 1;
            self.plan_refill(group);
            self.foresee(group);
        }
    }

    /// A task of a group stops running; its time is booked already.
    pub(super) fn stop_clocking(&mut self, task: u32) {
        if let Some(group) = self.task(task).group {
            self.book_group(group);
            self.group(group).running -= 1;
            self.foresee(group);
        }
    }

    /// Books the time of every CPU that runs a task of the group.
    fn book_group(&mut self, group: u32) {
        for cpu in 0..u32::try_from(self.cpus.len()).unwrap_or(0) {
            let runs = self.cpus[cpu as usize].current.and_then(|task| self.tasks[task as usize].group);
            if runs == Some(group) {
                self.book(cpu);
            }
        }
    }

    /// Plans the moment at which the quota is used up.
    fn foresee(&mut self, group: u32) {
        let now = self.now_ns;
        let this = self.group(group);
        this.stamp = this.stamp.wrapping_add(1);
        if this.running > 0 {
            let at = now + this.left_ns.div_ceil(u64::from(this.running));
            let event = Event::QuotaSpent { group, stamp: this.stamp };
            self.plan(at, event);
        }
    }

    pub(crate) fn quota_spent(&mut self, group: u32, stamp: u32) {
        if self.group(group).stamp != stamp {
            return;
        }
        self.book_group(group);
        if self.group(group).left_ns > 0 {
            return self.foresee(group);
        }
        // Those that wait go first, or one of them would take the place of one that ran.
        for state in [State::Queued, State::Running] {
            let fits = |task: &super::Task| task.group == Some(group) && task.state == state;
            let members = (0_u32..).zip(&self.tasks).filter(|(_, task)| fits(task));
            for task in members.map(|(number, _)| number).collect::<Vec<u32>>() {
                self.remove(task, State::Throttled, false);
                self.throttle(group, task);
            }
        }
    }

    pub(crate) fn quota_refill(&mut self, group: u32) {
        self.group(group).refill_planned = false;
        self.book_group(group);
        self.catch_up(group);
        for task in std::mem::take(&mut self.group(group).throttled) {
            if self.group(group).left_ns > 0 {
                self.place(task, Util::Enqueue);
            } else {
                self.throttle(group, task);
            }
        }
        if self.group(group).running > 0 {
            self.plan_refill(group);
            self.foresee(group);
        }
    }
}
