//! The sending end of a stream: it calls, measures the round trip, then sends as fast as the window lets it.
use powerband_record::{ExitStatus, Work};
use serde_json::json;

use super::sender::{Job, middle_ms};
use super::{Answer, BATCH_BYTES, FRAME_BYTES, Packet, Route, batch_cycles, send_booking};
use crate::board::Board;
use crate::noise::scaled;
use crate::process::Body;
use crate::schedule::Task;

/// A sender.
#[derive(Debug)]
pub(crate) struct Send {
    address: String,
    port: u16,
    for_ns: u64,
    exchanges: u32,
    route: Option<Route>,
    job: Job,
    pinged_ns: u64,
    round_trips_ns: Vec<u64>,
    /// When sending began, and the process's CPU time by then, ns.
    began: Option<(u64, u64)>,
    /// What may be under way at most, where somebody asked for less than the machine's own window.
    asked_bytes: Option<u64>,
    /// Payload of a frame.
    segment: u64,
    /// What the program writes at once, where somebody asked for that.
    write_bytes: Option<u64>,
    /// What may be under way now, and at most.
    window: u64,
    window_most: u64,
    under_way: u64,
    taken: u64,
    last_ns: u64,
    closing: bool,
}

impl Send {
    pub(crate) fn of(work: &Work) -> Option<Send> {
        let Work::StreamSend { address, port, for_ns, rtt_exchanges, window_bytes, segment_bytes, write_bytes } = work
        else {
            return None;
        };
        Some(Send {
            address: address.into(),
            port: *port,
            for_ns: *for_ns,
            exchanges: *rtt_exchanges,
            route: None,
            job: Job::Nothing,
            pinged_ns: 0,
            round_trips_ns: Vec::new(),
            began: None,
            asked_bytes: *window_bytes,
            segment: segment_bytes.map_or(FRAME_BYTES, |bytes| u64::from(bytes).min(FRAME_BYTES)),
            write_bytes: write_bytes.map(|bytes| u64::from(bytes).max(1)),
            window: BATCH_BYTES,
            window_most: BATCH_BYTES,
            under_way: 0,
            taken: 0,
            last_ns: 0,
            closing: false,
        })
    }

    pub(super) fn route(&self) -> Option<Route> {
        self.route
    }

    /// Frames handed over at once: of a small window an eighth, as it would else be full or empty.
    fn batch_frames(&self) -> u64 {
        let most = BATCH_BYTES / FRAME_BYTES;
        if self.window_most >= 4 * most * self.segment { most } else { (self.window_most / 8 / self.segment).max(1) }
    }

    /// What may be on its way of a window for full frames. A receiver charges its buffer for the memory of each frame, which
    /// is the same however little is in it, and offers what is left (tcp(7) `tcp_adv_win_scale`; Linux 6.6 and later measure
    /// that share, `scaling_ratio`): the window shrinks with the payload.
    fn usable(&self, window: u64) -> u64 {
        (window * self.segment / FRAME_BYTES).max(self.segment)
    }
}

impl Board {
    pub(crate) fn start_send(&mut self, process: u32, mut task: Task) {
        task.booking = send_booking(&self.profile.network);
        let task = self.new_task(task);
        let most = self.profile.network.window_bytes;
        let this = self.process(process);
        this.task = Some(task);
        let Body::Send(send) = &mut this.body else { return };
        send.window_most = send.usable(send.asked_bytes.map_or(most, |asked| asked.clamp(FRAME_BYTES, most)));
        send.window = send.batch_frames() * send.segment;
        let (address, port) = (send.address.clone(), send.port);
        self.connect(process, &address, port);
    }

    pub(crate) fn answered(&mut self, answer: &Answer) {
        let process = answer.process;
        let route = answer.accepted.map(|(peer, theirs)| self.route(answer.from, peer, self.terms(process), theirs));
        match &self.process(process).body {
            Body::Ping(_) => return self.ping_begins(process, route),
            Body::Datagrams(_) => return self.datagrams_answered(answer, route),
            _ => {}
        }
        let Body::Send(send) = &self.process(process).body else {
            // It was ended while it called.
            return route.into_iter().for_each(|route| self.transmit(&route, Packet::Reset));
        };
        let Some(route) = route else {
            let why = format!("cannot connect to {}:{}: connection refused", send.address, send.port);
            return self.fail(process, why);
        };
        if let Body::Send(send) = &mut self.process(process).body {
            send.route = Some(route);
        }
        self.send_on(process);
    }

    pub(super) fn sender_gets(&mut self, process: u32, packet: Packet) {
        let now = self.now_ns;
        let Body::Send(send) = &mut self.process(process).body else { return };
        match packet {
            Packet::Pong => {
                send.job = Job::Pong;
                let cycles = self.cost_of_half_an_exchange(process);
                self.start_job(process, cycles);
            }
            Packet::Taken { bytes } => {
                send.under_way -= bytes;
                send.taken += bytes;
                send.window = (send.window + bytes).min(send.window_most);
                send.last_ns = now;
                if send.job == Job::Nothing {
                    self.send_on(process);
                }
            }
            Packet::Closed => self.report(process),
            _ => {}
        }
    }

    /// The task of a sender has done its job.
    pub(crate) fn sent(&mut self, process: u32) {
        let now = self.now_ns;
        let this = self.process(process);
        let (Body::Send(send), Some(task)) = (&mut this.body, this.task) else { return };
        let Some(route) = send.route else { return self.rest(task) };
        match std::mem::replace(&mut send.job, Job::Nothing) {
            Job::Ping => {
                self.transmit(&route, Packet::Ping);
                self.rest(task);
            }
            Job::Pong => {
                let round_trip = now - send.pinged_ns;
                send.round_trips_ns.push(round_trip);
                self.send_on(process);
            }
            Job::Batch(frames) => {
                let bytes = frames * send.segment;
                send.under_way += bytes;
                self.transmit(&route, Packet::Data { bytes, frames });
                self.send_on(process);
            }
            Job::Nothing => self.rest(task),
        }
    }

    /// Decides what a sender does next and lets it begin, go on, or wait.
    fn send_on(&mut self, process: u32) {
        let now = self.now_ns;
        let (spec, factor) = (self.profile.network.clone(), self.process(process).factors.cpu_ppb);
        let side = self.side;
        let this = self.process(process);
        let (Body::Send(send), Some(task), spent) = (&mut this.body, this.task, this.user_ns + this.system_ns) else {
            return;
        };
        if u32::try_from(send.round_trips_ns.len()).is_ok_and(|done| done < send.exchanges) {
            (send.job, send.pinged_ns) = (Job::Ping, now);
            let cycles = self.cost_of_half_an_exchange(process);
            return self.start_job(process, cycles);
        }
        let (began, _) = *send.began.get_or_insert((now, spent));
        if send.last_ns == 0 {
            send.last_ns = began;
        }
        let frames = send.batch_frames();
        let bytes = frames * send.segment;
        if now - began < send.for_ns {
            if send.under_way + bytes <= send.window {
                send.job = Job::Batch(frames);
                // Small writes are joined to full segments (tcp(7), Nagle): they cost time and change no frame.
                let writes = send.write_bytes.map_or(0, |written| bytes.div_ceil(written));
                let writing = writes * spec.write_cycles.unwrap_or(0);
                let away = send.route.is_some_and(|route| route.to != side);
                let told = if away { self.nic.completions(Packet::Data { bytes, frames }.on_the_wire().0) } else { 0 };
                let completing = told * (spec.interrupt_cycles + spec.writer_wake_cycles);
                let cycles = batch_cycles(frames * FRAME_BYTES, spec.send_millicycles_per_bit, factor)
                    + scaled(completing + writing, factor);
                return self.start_job(process, cycles);
            }
        } else if let (0, false, Some(route)) = (send.under_way, send.closing, send.route) {
            send.closing = true;
            self.transmit(&route, Packet::Close);
        }
        self.rest(task);
    }

    fn report(&mut self, process: u32) {
        let this = self.process(process);
        let Body::Send(send) = &this.body else { return };
        let (began, spent) = send.began.unwrap_or((0, 0));
        let report = json!({
            "bytes": send.taken,
            "seconds": send.last_ns.saturating_sub(began) as f64 / 1e9,
            "cpu_seconds": (this.user_ns + this.system_ns).saturating_sub(spent) as f64 / 1e9,
            "retransmits": 0,
            "rtt_ms": middle_ms(&send.round_trips_ns),
        });
        self.exit(process, ExitStatus::Code(0), Some(report), String::new());
    }
}
