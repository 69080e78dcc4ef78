//! What answers an echo request: the kernel, in a soft interrupt, whatever its processes do.
use std::collections::VecDeque;

use super::{Packet, Route};
use crate::board::Board;
use crate::schedule::{Booking, State, Task};

/// Stands where a process's number stands when the kernel itself is meant.
pub(crate) const KERNEL: u32 = u32::MAX;

/// Echo requests of one machine that wait for their answers; the first is being worked on.
#[derive(Debug, Default)]
pub(crate) struct Answering {
    task: Option<u32>,
    inbox: VecDeque<Route>,
}

impl Board {
    /// An echo request was heard; its answer goes this way.
    pub(super) fn asked(&mut self, back: Route) {
        self.answering.inbox.push_back(back);
        let task = match self.answering.task {
            Some(task) => task,
            None => {
                let mut task = Task::new(KERNEL);
                (task.urgent, task.booking) = (true, Booking::Network { own_ps: 0, millicycles: 1 });
                self.new_task(task)
            }
        };
        self.answering.task = Some(task);
        if self.task(task).state == State::Blocked {
            let cycles = self.profile.network.answer_cycles;
            self.task(task).give(cycles.max(1));
            self.wake(task);
        }
    }

    /// The first request has been worked on.
    pub(crate) fn kernel_answered(&mut self) {
        let Some(task) = self.answering.task else { return };
        if let Some(back) = self.answering.inbox.pop_front() {
            self.transmit(&back, Packet::Pong);
        }
        if self.answering.inbox.is_empty() {
            self.rest(task);
        } else {
            let cycles = self.profile.network.answer_cycles;
            self.go_on(task, cycles);
        }
    }
}
