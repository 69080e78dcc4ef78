//! A trace played: tasks that are runnable from one stated time to another, whatever the clock.
use powerband_machine::ProcessId;
use powerband_record::ExitStatus;

use crate::board::Board;
use crate::process::Body;
use crate::schedule::{State, Task};

/// A stretch of time in which a task wants to run, however much of it that takes at the CPU's clock.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Stretch {
    /// When it becomes runnable, ns since boot.
    pub from_ns: u64,
    /// When it goes back to sleep, ns since boot.
    pub until_ns: u64,
    /// Whether it runs with a positive nice value.
    pub nice: bool,
}

/// The stretches of one task, and the next of them.
#[derive(Debug)]
pub(crate) struct Play {
    stretches: Vec<Stretch>,
    next: usize,
    /// Whether the next stretch has begun.
    awake: bool,
}

impl Play {
    /// Stretches in the order of time; `None` when one ends before it begins, or begins before the last one's end.
    pub(crate) fn new(stretches: Vec<Stretch>) -> Option<Self> {
        let mut at_ns = 0;
        for stretch in &stretches {
            if stretch.from_ns < at_ns || stretch.until_ns < stretch.from_ns {
                return None;
            }
            at_ns = stretch.until_ns;
        }
        Some(Play { stretches, next: 0, awake: false })
    }
}

impl Board {
    /// Plays a task's stretches; the machine stirs by itself no more, for all that happens on it is in the trace.
    pub(crate) fn play(&mut self, play: Play) -> ProcessId {
        self.stop_stirring();
        let (process, id) = self.enter(Body::Play(play));
        let mut task = Task::new(process);
        task.endless = true;
        let task = self.new_task(task);
        self.process(process).task = Some(task);
        self.next_stretch(process);
        self.follow_cpufreq();
        id
    }

    fn next_stretch(&mut self, process: u32) {
        let now = self.now_ns;
        let Body::Play(play) = &self.process(process).body else { return };
        match play.stretches.get(play.next) {
            Some(stretch) => {
                let at_ns = stretch.from_ns.max(now);
                self.set_timer(process, at_ns);
            }
            None => self.exit(process, ExitStatus::Code(0), None, String::new()),
        }
    }

    /// A stretch begins or ends.
    pub(crate) fn play_timer(&mut self, process: u32) {
        let this = self.process(process);
        let (Body::Play(play), Some(task)) = (&mut this.body, this.task) else { return };
        let Some(&stretch) = play.stretches.get(play.next) else { return };
        play.awake = !play.awake;
        if !play.awake {
            play.next += 1;
            self.remove(task, State::Blocked, true);
            self.next_stretch(process);
        } else {
            self.task(task).nice = stretch.nice;
            let until_ns = stretch.until_ns.max(self.now_ns);
            self.set_timer(process, until_ns);
            self.wake(task);
        }
    }
}
