//! A process that sleeps until times fixed beforehand, and how late it runs.
use std::collections::BTreeMap;

use powerband_record::ExitStatus;
use serde_json::json;

use crate::board::{Board, Event};
use crate::noise::scaled;
use crate::process::Body;
use crate::schedule::Task;

/// What waking up and looking at the clock takes: an interrupt, the scheduler, a system call. Assumed; about a microsecond
/// at 2.4 GHz.
const CYCLES: u64 = 2_500;

/// A sleeper.
#[derive(Debug)]
pub(crate) struct Sleeper {
    interval_ns: u64,
    for_ns: u64,
    until_ns: u64,
    due_ns: u64,
    wakes: u64,
    late: BTreeMap<u64, u64>,
}

impl Sleeper {
    pub(crate) fn new(for_ns: u64, interval_ns: u64) -> Self {
        Sleeper { interval_ns, for_ns, until_ns: 0, due_ns: 0, wakes: 0, late: BTreeMap::new() }
    }

    fn report(&self) -> serde_json::Value {
        let sum: u128 = self.late.iter().map(|(&ns, &count)| u128::from(ns) * u128::from(count)).sum();
        let cells: Vec<(u64, u64)> = self.late.iter().map(|(&ns, &count)| (ns, count)).collect();
        json!({
            "wakes": self.wakes,
            "mean_ns": sum as f64 / self.wakes.max(1) as f64,
            "max_ns": self.late.keys().next_back().copied().unwrap_or(0),
            "histogram": cells,
        })
    }
}

impl Board {
    /// An ordinary thread that slept goes before one that worked, as a real-time one does; the two are alike here.
    pub(crate) fn start_wake(&mut self, process: u32, mut task: Task) {
        task.urgent = true;
        let (now, task) = (self.now_ns, self.new_task(task));
        let this = self.process(process);
        this.task = Some(task);
        let Body::Sleeper(wake) = &mut this.body else { return };
        wake.until_ns = now.saturating_add(wake.for_ns);
        wake.due_ns = now.saturating_add(wake.interval_ns);
        let due_ns = wake.due_ns;
        self.set_timer(process, due_ns);
    }

    pub(crate) fn wake_timer(&mut self, process: u32) {
        let Body::Sleeper(wake) = &self.process(process).body else { return };
        let number = wake.wakes + 1;
        match self.noise.wake_late_ns(process, number) {
            0 => self.sleeper_woken(process),
            late_ns => self.plan(self.now_ns + late_ns, Event::Woken { process }),
        }
    }

    /// It is put on a CPU, which may have to come out of an idle state first.
    pub(crate) fn sleeper_woken(&mut self, process: u32) {
        let this = &self.processes[process as usize];
        let (Some(task), cycles) = (this.task, scaled(CYCLES, this.factors.cpu_ppb)) else { return };
        self.task(task).give(cycles.max(1));
        self.wake(task);
    }

    /// It has looked at the clock.
    pub(crate) fn looked(&mut self, process: u32) {
        let now = self.now_ns;
        let this = self.process(process);
        let (Body::Sleeper(wake), Some(task)) = (&mut this.body, this.task) else { return };
        *wake.late.entry(now.saturating_sub(wake.due_ns)).or_default() += 1;
        wake.wakes += 1;
        wake.due_ns += wake.interval_ns;
        if wake.due_ns > wake.until_ns {
            let report = wake.report();
            return self.exit(process, ExitStatus::Code(0), Some(report), String::new());
        }
        let at_ns = wake.due_ns.max(now);
        self.rest(task);
        self.set_timer(process, at_ns);
    }
}
