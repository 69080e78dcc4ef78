//! The receiving end of a stream, and an echo.
use std::collections::VecDeque;

use powerband_record::ExitStatus;
use serde_json::json;

use super::datagrams::has_room;
use super::{FRAME_BYTES, Packet, Route, batch_cycles, receive_booking};
use crate::board::{Board, Event};
use crate::noise::scaled;
use crate::process::Body;
use crate::schedule::{State, Task};

/// A receiver: listening, then taking in one stream.
#[derive(Debug)]
pub(crate) struct Receive {
    port: u16,
    pub(crate) route: Option<Route>,
    /// Arrived, not yet taken in; the first is being worked on.
    inbox: VecDeque<Packet>,
    bytes: u64,
    /// When the first byte arrived, and the process's CPU time by then, ns.
    first: Option<(u64, u64)>,
    last_ns: u64,
    /// Whether it only echoes, and how often it has.
    echoes: bool,
    answered: u64,
    /// Datagrams taken in, and bytes of those that wait to be.
    datagrams: u64,
    waiting_bytes: u64,
}

impl Receive {
    pub(crate) fn new(port: u16) -> Self {
        Receive {
            port,
            route: None,
            inbox: VecDeque::new(),
            bytes: 0,
            first: None,
            last_ns: 0,
            echoes: false,
            answered: 0,
            datagrams: 0,
            waiting_bytes: 0,
        }
    }

    pub(super) fn echoes(&self) -> bool {
        self.echoes
    }

    /// One that only echoes.
    pub(crate) fn echo(port: u16) -> Self {
        Receive { echoes: true, ..Receive::new(port) }
    }
}

impl Board {
    pub(crate) fn start_receive(&mut self, process: u32, mut task: Task) {
        (task.urgent, task.booking) = (true, receive_booking(&self.profile.network));
        let task = self.new_task(task);
        let this = self.process(process);
        this.task = Some(task);
        let Body::Receive(receive) = &this.body else { return };
        let port = receive.port;
        self.listeners.insert(port, process);
        self.say_ready(process, port);
    }

    pub(super) fn receiver_gets(&mut self, process: u32, packet: Packet) {
        let now = self.now_ns;
        let this = self.process(process);
        let (Body::Receive(receive), Some(task), spent) = (&mut this.body, this.task, this.user_ns + this.system_ns)
        else {
            return;
        };
        if matches!(packet, Packet::Data { .. } | Packet::Datagrams { .. }) && receive.first.is_none() {
            receive.first = Some((now, spent));
        }
        if let Packet::Datagrams { bytes, .. } = packet {
            if !has_room(receive.waiting_bytes, bytes) {
                return;
            }
            receive.waiting_bytes += bytes;
        }
        let (number, echoes) = (receive.answered, receive.echoes);
        receive.inbox.push_back(packet);
        if receive.inbox.len() == 1 && self.task(task).state == State::Blocked {
            match self.noise.wake_late_ns(process, number) {
                late_ns if late_ns > 0 && echoes => self.plan(now + late_ns, Event::Woken { process }),
                _ => self.receiver_woken(process),
            }
        }
    }

    /// It begins with what has come first.
    pub(crate) fn receiver_woken(&mut self, process: u32) {
        let this = self.process(process);
        let (Body::Receive(receive), Some(task)) = (&this.body, this.task) else { return };
        if let Some(&first) = receive.inbox.front() {
            // What comes while it works is found by looking, without an interrupt.
            let away = receive.route.is_some_and(|route| route.to != self.side);
            let interrupted = away && matches!(first, Packet::Data { .. } | Packet::Datagrams { .. });
            let interrupt = if interrupted { self.profile.network.interrupt_cycles } else { 0 };
            let cycles = self.cost_of_taking(process, first) + interrupt;
            self.task(task).give(cycles);
            self.wake(task);
        }
    }

    fn cost_of_taking(&self, process: u32, packet: Packet) -> u64 {
        let (spec, factor) = (&self.profile.network, self.processes[process as usize].factors.cpu_ppb);
        let cycles = match packet {
            // A frame costs what a full one does, however little is in it.
            Packet::Data { frames, .. } | Packet::Datagrams { frames, .. } => {
                batch_cycles(frames * FRAME_BYTES, spec.receive_millicycles_per_bit, factor)
            }
            Packet::Ping => scaled(spec.exchange_cycles, factor),
            _ => 0,
        };
        cycles.max(1)
    }

    /// The first packet of the inbox has been taken in.
    pub(crate) fn received(&mut self, process: u32) {
        let now = self.now_ns;
        let this = self.process(process);
        let (Body::Receive(receive), Some(task)) = (&mut this.body, this.task) else { return };
        let (Some(packet), Some(route)) = (receive.inbox.pop_front(), receive.route) else { return self.rest(task) };
        let next = receive.inbox.front().copied();
        match packet {
            Packet::Ping => {
                receive.answered += 1;
                self.transmit(&route, Packet::Pong);
            }
            Packet::Data { bytes, .. } => {
                receive.bytes += bytes;
                receive.last_ns = now;
                self.transmit(&route, Packet::Taken { bytes });
            }
            Packet::Datagrams { count, bytes, .. } => {
                receive.datagrams += count;
                receive.bytes += bytes;
                receive.waiting_bytes -= bytes;
                receive.last_ns = now;
            }
            Packet::Close => {
                let datagrams = receive.datagrams;
                let (first_ns, spent) = receive.first.unwrap_or((now, 0));
                let seconds = receive.last_ns.saturating_sub(first_ns) as f64 / 1e9;
                let (bytes, echoes, answered) = (receive.bytes, receive.echoes, receive.answered);
                let cpu_seconds = (this.user_ns + this.system_ns).saturating_sub(spent) as f64 / 1e9;
                self.transmit(&route, Packet::Closed);
                let report = if echoes {
                    json!({ "answered": answered })
                } else if datagrams > 0 {
                    json!({ "bytes": bytes, "datagrams": datagrams, "seconds": seconds, "cpu_seconds": cpu_seconds })
                } else {
                    json!({ "bytes": bytes, "seconds": seconds, "cpu_seconds": cpu_seconds })
                };
                return self.exit(process, ExitStatus::Code(0), Some(report), String::new());
            }
            _ => {}
        }
        match next {
            Some(next) => {
                let cycles = self.cost_of_taking(process, next);
                self.go_on(task, cycles);
            }
            None => self.rest(task),
        }
    }
}
