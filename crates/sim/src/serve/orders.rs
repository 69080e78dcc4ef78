//! An order system: a worker for each CPU, and batches that come to each at gaps of their own, whatever became of those before.
use std::collections::VecDeque;

use powerband_record::{Arrivals, CpuList, ExitStatus, Schedule};
use serde_json::json;

use super::Window;
use crate::board::Board;
use crate::noise::scaled;
use crate::process::Body;
use crate::schedule::Task;

/// An order system under a rate, or under as much as it can do.
#[derive(Debug)]
pub(crate) struct Orders {
    rate_per_s: Option<f64>,
    asked_workers: Option<u32>,
    bound: bool,
    batch: u32,
    ramp_ns: u64,
    for_ns: u64,
    seed: u64,
    batch_cycles: u64,
    pub(crate) workers: Vec<Worker>,
    window: Window,
    /// Transactions due within what is measured.
    scheduled: u64,
}

/// One thread that works.
#[derive(Debug)]
pub(crate) struct Worker {
    pub(crate) task: u32,
    /// When its batches come; none come where it always has another.
    arrivals: Option<Schedule>,
    /// When the next one comes, ns.
    next_ns: u64,
    /// Batches that wait, and the one in work, by when they were due, ns.
    queue: VecDeque<u64>,
}

impl Orders {
    pub(crate) fn new(
        rate_per_s: Option<f64>,
        (workers, bound): (Option<u32>, bool),
        batch: u32,
        (ramp_ns, for_ns): (u64, u64),
        seed: u64,
    ) -> Self {
        let window = Window::new(0, 0, 0);
        Orders {
            rate_per_s,
            asked_workers: workers,
            bound,
            batch,
            ramp_ns,
            for_ns,
            seed,
            batch_cycles: 1,
            workers: Vec::new(),
            window,
            scheduled: 0,
        }
    }

    fn next_ns(&self) -> u64 {
        self.workers.iter().map(|worker| worker.next_ns).min().unwrap_or(u64::MAX).min(self.window.next_ns())
    }

    /// Something was due.
    fn count_due(&mut self, at_ns: u64) {
        if self.window.holds(at_ns) {
            self.scheduled += u64::from(self.batch);
        }
    }
}

impl Board {
    pub(crate) fn start_orders(&mut self, process: u32, mut task: Task) {
        let (now, online) = (self.now_ns, self.online());
        let factor_ppb = self.process(process).factors.cpu_ppb;
        let Some(spec) = self.profile.serve.clone() else { return };
        let usable: Vec<u32> = (0_u32..).zip(&self.cpus).filter(|(_, cpu)| cpu.online).map(|(cpu, _)| cpu).collect();
        (task.memory_ppm, task.settled) = (spec.memory_ppm, true);
        let Body::Orders(orders) = &mut self.process(process).body else { return };
        orders.window = Window::new(now, orders.ramp_ns, orders.for_ns);
        orders.batch_cycles = scaled(spec.transaction_cycles * u64::from(orders.batch), factor_ppb).max(1);
        let count = orders.asked_workers.unwrap_or(online).max(1);
        let each_per_s = orders.rate_per_s.map(|rate| rate / f64::from(count) / f64::from(orders.batch));
        let (seed, bound) = (orders.seed, orders.bound);
        let mut workers = Vec::new();
        for (number, &cpu) in (0..count).zip(usable.iter().cycle()) {
            task.cpu = cpu;
            if bound {
                task.allowed = Some(CpuList::new(vec![cpu]));
            }
            let task = self.new_task(task.clone());
            // Each worker's own chance; the first gap counts from the beginning.
            let own = seed.wrapping_add(u64::from(number).wrapping_mul(0x9e37_79b9_7f4a_7c15));
            let mut arrivals = each_per_s.map(|rate| Schedule::new(Arrivals::Exponential, rate, own));
            let _from_the_beginning = arrivals.as_mut().and_then(Iterator::next);
            let first_ns = arrivals.as_mut().and_then(Iterator::next);
            let next_ns = first_ns.map_or(u64::MAX, |at_ns| now.saturating_add(at_ns));
            workers.push(Worker { task, arrivals, next_ns, queue: VecDeque::new() });
        }
        let endless: Vec<u32> = workers.iter().filter(|it| it.arrivals.is_none()).map(|it| it.task).collect();
        let Body::Orders(orders) = &mut self.process(process).body else { return };
        orders.workers = workers;
        let (cycles, next_ns) = (orders.batch_cycles, orders.next_ns());
        for worker in &mut orders.workers {
            if worker.arrivals.is_none() {
                worker.queue.push_back(now);
            }
        }
        for task in endless {
            self.task(task).give(cycles);
            self.wake(task);
        }
        self.set_timer(process, next_ns);
    }

    /// A batch is due, or what is measured begins or ends.
    pub(crate) fn orders_timer(&mut self, process: u32) {
        let now = self.now_ns;
        let Body::Orders(orders) = &mut self.process(process).body else { return };
        if !orders.window.began && now >= orders.window.from_ns {
            orders.window.began = true;
            self.begin_measuring(process);
            return self.orders_timer(process);
        }
        if now >= orders.window.until_ns {
            let more = json!({
                "transactions": orders.window.count * u64::from(orders.batch),
                "scheduled": orders.scheduled,
                "workers": orders.workers.len(),
            });
            let report = orders.window.report(more);
            return self.exit(process, ExitStatus::Code(0), Some(report), String::new());
        }
        let (cycles, began_ns) = (orders.batch_cycles, orders.window.from_ns - orders.ramp_ns);
        let mut idle = Vec::new();
        let mut due = 0;
        for worker in orders.workers.iter_mut().filter(|worker| worker.next_ns <= now) {
            worker.queue.push_back(now);
            due += 1;
            let next_ns = worker.arrivals.as_mut().and_then(Iterator::next);
            worker.next_ns = next_ns.map_or(u64::MAX, |at_ns| began_ns.saturating_add(at_ns).max(now + 1));
            if worker.queue.len() == 1 {
                idle.push(worker.task);
            }
        }
        (0..due).for_each(|_| orders.count_due(now));
        let next_ns = orders.next_ns();
        for task in idle {
            self.task(task).give(cycles);
            self.wake(task);
        }
        self.set_timer(process, next_ns);
    }

    /// A worker has done its batch.
    pub(crate) fn batch_done(&mut self, process: u32, task: u32) {
        let now = self.now_ns;
        let Body::Orders(orders) = &mut self.process(process).body else { return };
        let cycles = orders.batch_cycles;
        let Some(worker) = orders.workers.iter_mut().find(|worker| worker.task == task) else { return };
        let due_ns = worker.queue.pop_front().unwrap_or(now);
        if worker.arrivals.is_none() {
            worker.queue.push_back(now);
        }
        let more = !worker.queue.is_empty();
        let endless = worker.arrivals.is_none();
        orders.window.done(now, due_ns);
        if endless {
            orders.count_due(now);
        }
        if more { self.go_on(task, cycles) } else { self.rest(task) }
    }
}
