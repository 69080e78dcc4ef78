//! What the senders of streams, of datagrams and of pings share: they call, measure round trips, and hand over batches.
use super::Call;
use crate::board::{Board, Event, Outgoing};
use crate::schedule::State;

/// What the task of a sender is working on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Job {
    Nothing,
    Ping,
    Pong,
    /// Frames, or datagrams.
    Batch(u64),
}

/// The middle of round trips, ms.
pub(super) fn middle_ms(round_trips_ns: &[u64]) -> Option<f64> {
    let mut sorted = round_trips_ns.to_vec();
    sorted.sort_unstable();
    let (low, high) = (sorted.get(sorted.len().checked_sub(1)? / 2)?, sorted.get(sorted.len() / 2)?);
    Some((low + high) as f64 / 2e6)
}

impl Board {
    /// Calls a port of an address, or its kernel without one; whether there is a way to it.
    pub(super) fn call(&mut self, process: u32, address: &str, port: Option<u16>) -> bool {
        let terms = self.terms(process);
        let Some(to) = self.resolve(address) else { return false };
        let latency_ns = if to == self.side { self.profile.network.loopback_ns } else { terms.latency_ns };
        let call = Call { port, from: self.side, process, terms };
        self.outbox.push(Outgoing { at_ns: self.now_ns + latency_ns, to, event: Event::Called(Box::new(call)) });
        true
    }

    /// The same of a port that takes what is sent.
    pub(super) fn connect(&mut self, process: u32, address: &str, port: u16) {
        if !self.call(process, address, Some(port)) {
            self.fail(process, format!("cannot connect to {address}:{port}: no route to host"));
        }
    }

    /// Lets the task of a sender work, whether it runs already or not.
    pub(super) fn start_job(&mut self, process: u32, cycles: u64) {
        let Some(task) = self.process(process).task else { return };
        if self.task(task).state == State::Running {
            self.go_on(task, cycles);
        } else {
            self.task(task).give(cycles.max(1));
            self.wake(task);
        }
    }
}
