//! Work that needs no network: the counter, and commands whose demand is stated.
use powerband_record::{Demand, ExitStatus};
use serde_json::json;

use crate::board::Board;
use crate::noise::{WHOLE_PPB, scaled};
use crate::process::Body;
use crate::schedule::{State, Task};

const SECOND_NS: u64 = 1_000_000_000;

/// A counting loop: it spins until a second begins, if asked to, then counts until its time is up.
#[derive(Debug)]
pub(crate) struct Counter {
    for_ns: u64,
    align: bool,
    /// When counting began, ns, and what had been retired by then.
    began: Option<(u64, u128)>,
}

impl Counter {
    pub(crate) fn new(for_ns: u64, align: bool) -> Self {
        Counter { for_ns, align, began: None }
    }
}

/// A command's demand: rounds of cycles, each followed by a sleep.
#[derive(Debug)]
pub(crate) struct Command {
    cycles: u64,
    memory_ppm: u64,
    sleep_ns: u64,
    rounds: u32,
}

impl Command {
    pub(crate) fn new(demand: &Demand) -> Self {
        Command {
            cycles: demand.cycles,
            memory_ppm: (demand.memory_share * 1e6 + 0.5) as u64,
            sleep_ns: demand.sleep_ns,
            rounds: demand.repeat,
        }
    }
}

impl Board {
    pub(crate) fn start_counter(&mut self, process: u32, mut task: Task) {
        // Its first look at the clock is when it first runs.
        (task.endless, task.overdue) = (true, true);
        let task = self.new_task(task);
        self.process(process).task = Some(task);
        self.wake(task);
    }

    /// The counter looks at the clock, which only a running one can.
    pub(crate) fn counter_timer(&mut self, process: u32) {
        let Some(task) = self.process(process).task else { return };
        if self.task(task).state != State::Running {
            self.task(task).overdue = true;
            return;
        }
        let cpu = self.task(task).cpu;
        self.book(cpu);
        let (now, retired) = (self.now_ns, self.task(task).retired);
        let factor_ppb = self.process(process).factors.cpu_ppb;
        let Body::Counter(counter) = &mut self.process(process).body else { return };
        if std::mem::take(&mut counter.align) {
            return self.set_timer(process, (now / SECOND_NS + 1) * SECOND_NS);
        }
        match counter.began {
            None => {
                counter.began = Some((now, retired));
                let until = now.saturating_add(counter.for_ns);
                self.set_timer(process, until);
            }
            Some((began, before)) => {
                let an_iteration = u128::from(scaled(self.profile.counter_millicycles * 1_000, factor_ppb)).max(1);
                let count = u64::try_from((retired - before) / an_iteration).unwrap_or(u64::MAX);
                let seconds = (now - began) as f64 / SECOND_NS as f64;
                let report = json!({ "count": count, "seconds": seconds });
                self.exit(process, ExitStatus::Code(0), Some(report), String::new());
            }
        }
    }

    pub(crate) fn start_command(&mut self, process: u32, mut task: Task) {
        let factor_ppb = self.process(process).factors.cpu_ppb;
        let Body::Command(command) = &mut self.process(process).body else { return };
        let whole = u128::from(command.cycles) * u128::from(factor_ppb) / u128::from(WHOLE_PPB);
        command.cycles = u64::try_from(whole).unwrap_or(u64::MAX);
        task.memory_ppm = command.memory_ppm;
        let task = self.new_task(task);
        self.process(process).task = Some(task);
        self.next_round(process);
    }

    /// Begins the next round of a command that is not running, or ends it.
    fn next_round(&mut self, process: u32) {
        let now = self.now_ns;
        let this = self.process(process);
        let (Body::Command(command), Some(task)) = (&mut this.body, this.task) else { return };
        let (cycles, sleep_ns) = (command.cycles, command.sleep_ns);
        if command.rounds == 0 || (cycles == 0 && sleep_ns == 0) {
            self.exit(process, ExitStatus::Code(0), None, String::new());
        } else if cycles == 0 {
            command.rounds -= 1;
            self.set_timer(process, now.saturating_add(sleep_ns));
        } else {
            self.task(task).give(cycles);
            self.wake(task);
        }
    }

    /// A round's cycles are retired.
    pub(crate) fn command_done(&mut self, process: u32) {
        let now = self.now_ns;
        let this = self.process(process);
        let (Body::Command(command), Some(task)) = (&mut this.body, this.task) else { return };
        command.rounds -= 1;
        let (cycles, sleep_ns, rounds) = (command.cycles, command.sleep_ns, command.rounds);
        if sleep_ns > 0 {
            self.rest(task);
            self.set_timer(process, now.saturating_add(sleep_ns));
        } else if rounds > 0 {
            self.go_on(task, cycles);
        } else {
            self.exit(process, ExitStatus::Code(0), None, String::new());
        }
    }

    /// A command's sleep is over.
    pub(crate) fn command_timer(&mut self, process: u32) {
        self.next_round(process);
    }
}
