//! Datagrams: sent as fast as CPU, link and an asked rate let them, and lost where the receiver does not keep up. Nothing is
//! acknowledged. A frame costs a CPU what a full one costs, however little is in it.
use powerband_record::{ExitStatus, Work};
use serde_json::json;

use super::sender::{Job, middle_ms};
use super::{Answer, FRAME_BYTES, Packet, Route, batch_cycles, send_booking};
use crate::board::Board;
use crate::process::Body;
use crate::schedule::Task;

/// Datagrams handed over at once.
const BATCH: u64 = 16;

/// What may wait to be sent, and to be read (net.core.wmem_default and rmem_default of x86), bytes.
const BUFFER_BYTES: u64 = 212_992;

/// Headers of Ethernet, IP and UDP with what stands between frames, and the same of a full frame of TCP, bytes.
const HEADERS: u64 = 66;

/// A sender.
#[derive(Debug)]
pub(crate) struct Datagrams {
    address: String,
    port: u16,
    for_ns: u64,
    size_bytes: u64,
    rate_kbit_s: Option<u64>,
    exchanges: u32,
    route: Option<Route>,
    pinged_ns: u64,
    round_trips_ns: Vec<u64>,
    /// When sending began, and the process's CPU time by then, ns.
    began: Option<(u64, u64)>,
    ended: Option<(u64, u64)>,
    closing: bool,
    sent: u64,
    /// What its task works on.
    job: Job,
}

impl Datagrams {
    pub(crate) fn of(work: &Work) -> Option<Datagrams> {
        let Work::DatagramSend { address, port, for_ns, size_bytes, rate_kbit_s, rtt_exchanges } = work else {
            return None;
        };
        Some(Datagrams {
            address: address.clone(),
            port: *port,
            for_ns: *for_ns,
            size_bytes: u64::from(*size_bytes).max(1),
            rate_kbit_s: *rate_kbit_s,
            exchanges: *rtt_exchanges,
            route: None,
            pinged_ns: 0,
            round_trips_ns: Vec::new(),
            began: None,
            ended: None,
            closing: false,
            sent: 0,
            job: Job::Nothing,
        })
    }

    pub(super) fn route(&self) -> Option<Route> {
        self.route
    }

    /// Frames of one datagram.
    fn frames(&self) -> u64 {
        self.size_bytes.div_ceil(FRAME_BYTES)
    }

    /// When the next batch is due by the asked rate, ns after the first.
    fn due_ns(&self) -> u64 {
        let bits = u128::from(self.sent) * u128::from(self.size_bytes) * 8;
        let ns = self.rate_kbit_s.map_or(0, |rate| bits * 1_000_000 / u128::from(rate.max(1)));
        u64::try_from(ns).unwrap_or(u64::MAX)
    }
}

/// What so much payload takes of a link whose goodput is told for full frames of a connection: as if it were so many bytes.
pub(super) fn as_goodput(bytes: u64, frames: u64) -> u64 {
    (bytes + frames * HEADERS) * FRAME_BYTES / (FRAME_BYTES + HEADERS)
}

/// Whether a receiver has room for more.
pub(super) fn has_room(waiting_bytes: u64, bytes: u64) -> bool {
    waiting_bytes + bytes <= BUFFER_BYTES
}

impl Board {
    pub(crate) fn start_datagrams(&mut self, process: u32, mut task: Task) {
        task.booking = send_booking(&self.profile.network);
        let task = self.new_task(task);
        let this = self.process(process);
        this.task = Some(task);
        let Body::Datagrams(send) = &this.body else { return };
        let (address, port) = (send.address.clone(), send.port);
        self.connect(process, &address, port);
    }

    /// The receiver has been found, or has not.
    pub(super) fn datagrams_answered(&mut self, answer: &Answer, route: Option<Route>) {
        let process = answer.process;
        let Body::Datagrams(send) = &mut self.process(process).body else { return };
        if route.is_none() {
            let why = format!("cannot connect to {}:{}: connection refused", send.address, send.port);
            return self.fail(process, why);
        }
        send.route = route;
        self.pour_on(process);
    }

    pub(super) fn datagram_sender_gets(&mut self, process: u32, packet: Packet) {
        match packet {
            Packet::Pong => {
                if let Body::Datagrams(send) = &mut self.process(process).body {
                    send.job = Job::Pong;
                }
                let cycles = self.cost_of_half_an_exchange(process);
                self.start_job(process, cycles);
            }
            Packet::Closed => self.datagrams_report(process),
            _ => {}
        }
    }

    /// The task of a sender has done its job.
    pub(crate) fn poured(&mut self, process: u32) {
        let now = self.now_ns;
        let this = self.process(process);
        let (Body::Datagrams(send), Some(task)) = (&mut this.body, this.task) else { return };
        let Some(route) = send.route else { return self.rest(task) };
        match std::mem::replace(&mut send.job, Job::Nothing) {
            Job::Ping => {
                self.transmit(&route, Packet::Ping);
                return self.rest(task);
            }
            Job::Pong => {
                let round_trip = now - send.pinged_ns;
                send.round_trips_ns.push(round_trip);
            }
            Job::Batch(count) => {
                send.sent += count;
                let (bytes, frames) = (count * send.size_bytes, count * send.frames());
                self.transmit(&route, Packet::Datagrams { count, bytes, frames });
            }
            Job::Nothing => return self.rest(task),
        }
        self.pour_on(process);
    }

    /// Decides what a sender does next and lets it begin, go on, or wait.
    pub(crate) fn pour_on(&mut self, process: u32) {
        let now = self.now_ns;
        let route = self.route_of(process);
        let link_free_ns = route.map_or(0, |route| self.link_free_for(&route));
        let (spec, factor) = (self.profile.network.clone(), self.process(process).factors.cpu_ppb);
        let side = self.side;
        let this = self.process(process);
        let (Body::Datagrams(send), Some(task), spent) = (&mut this.body, this.task, this.user_ns + this.system_ns)
        else {
            return;
        };
        let Some(route) = send.route.filter(|_| send.job == Job::Nothing) else { return };
        if u32::try_from(send.round_trips_ns.len()).is_ok_and(|done| done < send.exchanges) {
            (send.job, send.pinged_ns) = (Job::Ping, now);
            let cycles = self.cost_of_half_an_exchange(process);
            return self.start_job(process, cycles);
        }
        let (began, _) = *send.began.get_or_insert((now, spent));
        let until = began.saturating_add(send.for_ns);
        if now >= until {
            send.ended.get_or_insert((now, spent));
            // Its last word comes behind what waits for the link.
            if route.kbit_s.is_some() && link_free_ns > now {
                self.set_timer(process, link_free_ns);
            } else if !std::mem::replace(&mut send.closing, true) {
                self.transmit(&route, Packet::Close);
            }
            return self.rest(task);
        }
        let room_ns = route.kbit_s.map_or(0, |kbit_s| {
            let full_ns = BUFFER_BYTES * 8 * 1_000_000 / kbit_s.max(1);
            link_free_ns.saturating_sub(full_ns)
        });
        let at_ns = began.saturating_add(send.due_ns()).max(room_ns);
        if at_ns > now {
            self.rest(task);
            return self.set_timer(process, at_ns.min(until));
        }
        send.job = Job::Batch(BATCH);
        let frames = BATCH * send.frames();
        let told = if route.to == side { 0 } else { self.nic.completions(u32::try_from(frames).unwrap_or(u32::MAX)) };
        let completing = told * (spec.interrupt_cycles + spec.writer_wake_cycles);
        let cycles = batch_cycles(frames * FRAME_BYTES, spec.send_millicycles_per_bit, factor) + completing;
        self.start_job(process, cycles);
    }

    fn datagrams_report(&mut self, process: u32) {
        let Body::Datagrams(send) = &self.process(process).body else { return };
        let ((began, before), (ended, spent)) = (send.began.unwrap_or((0, 0)), send.ended.unwrap_or((0, 0)));
        let report = json!({
            "datagrams": send.sent,
            "bytes": send.sent * send.size_bytes,
            "seconds": ended.saturating_sub(began) as f64 / 1e9,
            "cpu_seconds": spent.saturating_sub(before) as f64 / 1e9,
            "rtt_ms": middle_ms(&send.round_trips_ns),
        });
        self.exit(process, ExitStatus::Code(0), Some(report), String::new());
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn small_frames_fill_a_link_with_headers() {
        assert_eq!(as_goodput(1_448, 1), 1_448);
        assert_eq!(as_goodput(64 * 10, 10) / 64, (64 + 66) * 10 * 1_448 / 1_514 / 64);
        assert!(has_room(0, BUFFER_BYTES) && !has_room(1, BUFFER_BYTES));
    }
}
