//! A task's own signal, and the estimate of what it will ask when it wakes.
use super::queue::counted;
use super::{Queue, Signal};

/// Differences below this (1 % of 1024) leave the estimate alone.
const MARGIN: u32 = 10;

/// One task as the scheduler remembers it.
#[derive(Clone, Copy, Debug, Default)]
pub struct SchedTask {
    signal: Signal,
    average: u32,
    latest: u32,
    window_since_sleep: bool,
    /// What was added to the queue's estimate at enqueue.
    charged: u32,
    cpu: Option<u32>,
}

impl SchedTask {
    /// What the task is expected to use, 0..=1024: the larger of its last activation and the average over them.
    #[must_use]
    pub fn estimate(&self) -> u32 {
        self.average.max(self.latest)
    }

    /// Utilisation as of the last window's end, 0..=1024.
    #[must_use]
    pub fn util(&self) -> u32 {
        self.signal.util()
    }

    /// The CPU whose clock this task's signal is measured against.
    #[must_use]
    pub fn cpu(&self) -> Option<u32> {
        self.cpu
    }

    /// Brings the signal to the queue's clock; `running` is what was true since the last update.
    pub fn update(&mut self, queue: &Queue, running: bool) {
        let from_ns = running.then_some(queue.ran_from_ns());
        self.window_since_sleep |= counted(&mut self.signal, queue.clock_ns(), from_ns);
    }

    /// The task's signal is measured against `cpu`'s clock, in its windows, from now on. Its time away must have been added by
    /// [`SchedTask::update`] with the old CPU's queue.
    pub fn move_to(&mut self, cpu: u32, queue: &Queue) {
        self.signal.rebase(queue.signal());
        self.cpu = Some(cpu);
    }

    /// The task is runnable on `queue`, whose clock must be at the present.
    pub fn enqueue(&mut self, queue: &mut Queue) {
        self.update(queue, false);
        self.charged = self.estimate();
        queue.estimate += self.charged;
    }

    /// The task leaves `queue`; if it `sleeps`, its estimate learns from this activation. `capacity` is the CPU's.
    ///
    /// Linux 6.1 util_est_update: the average follows a rise at once and a fall by a quarter of the difference.
    pub fn dequeue(&mut self, queue: &mut Queue, ran: bool, sleeps: bool, capacity: u32) {
        self.update(queue, ran);
        queue.estimate -= std::mem::take(&mut self.charged).min(queue.estimate);
        if !sleeps || !std::mem::take(&mut self.window_since_sleep) {
            return;
        }
        let before = std::mem::replace(&mut self.latest, self.signal.util());
        if self.average < self.latest {
            self.average = self.latest;
            return;
        }
        if self.average - self.latest < MARGIN {
            if before.abs_diff(self.latest) < MARGIN {
                self.latest = before;
            }
            return;
        }
        if self.latest > capacity {
            self.latest = before;
            return;
        }
        self.average = (self.average * 4 - (self.average - self.latest)) / 4;
    }
}
