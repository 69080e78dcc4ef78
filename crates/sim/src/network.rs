//! The network: calls and answers, frames on the link, what a stream costs the CPU at each end.
//!
//! A connection's data travels in batches. The sender's CPU prepares a batch, the link takes it as fast as its goodput
//! lets it, the receiver's CPU takes it in, and its acknowledgement frees the window. The three overlap, so the rate is
//! the smallest of what each could do alone. What comes over the cable is heard of when the card interrupts (`nic.rs`).
use powerband_machine::{Errno, SpawnError, Wake};
use powerband_record::Side;
use serde_json::json;

use crate::board::{Board, Event, Outgoing};
use crate::noise::{Factors, scaled};
use crate::process::Body;
use crate::profile::NetworkSpec;
use crate::schedule::Booking;

mod answer;
mod datagrams;
mod ping;
mod receive;
mod send;
mod sender;

pub(crate) use answer::{Answering, KERNEL};
pub(crate) use datagrams::Datagrams;
pub(crate) use ping::Ping;
pub(crate) use receive::Receive;
pub(crate) use send::Send;

/// Data in one frame, and frames the CPU handles at once.
const FRAME_BYTES: u64 = 1_448;
const BATCH_BYTES: u64 = 16 * FRAME_BYTES;

/// First port given out when any will do.
const FIRST_PORT: u16 = 5_001;

/// Linux's EADDRINUSE and EADDRNOTAVAIL.
const ADDRESS_IN_USE: Errno = Errno(98);
const ADDRESS_NOT_AVAILABLE: Errno = Errno(99);

/// One end's part in a connection, with the noise of its process.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Terms {
    kbit_s: u64,
    /// What all clients of a radio channel have together.
    channel_kbit_s: Option<u64>,
    latency_ns: u64,
}

/// Somebody calls a port of this machine, or asks for the machine itself.
#[derive(Debug)]
pub(crate) struct Call {
    port: Option<u16>,
    from: Side,
    process: u32,
    terms: Terms,
}

/// What becomes of a call: the process at the other end and its terms, or nobody listens.
#[derive(Debug)]
pub(crate) struct Answer {
    from: Side,
    process: u32,
    accepted: Option<(u32, Terms)>,
}

/// What travels on a connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Packet {
    /// One byte, to be answered.
    Ping,
    /// The same for the kernel, which answers to this process.
    Request { from: Side, process: u32, latency_ns: u64 },
    /// The answer.
    Pong,
    /// A batch of the stream.
    Data { bytes: u64, frames: u64 },
    /// Datagrams, which nobody acknowledges.
    Datagrams { count: u64, bytes: u64, frames: u64 },
    /// A batch was taken in.
    Taken { bytes: u64 },
    /// The stream has ended.
    Close,
    /// The other end knows.
    Closed,
    /// The other end is gone.
    Reset,
}

/// Headers of one frame, bytes, and the least one has.
const HEADER_BYTES: u64 = 66;

impl Packet {
    /// Frames and bytes it takes on the wire.
    fn on_the_wire(self) -> (u32, u64) {
        match self {
            Packet::Data { bytes, frames } | Packet::Datagrams { bytes, frames, .. } => {
                (u32::try_from(frames).unwrap_or(u32::MAX), bytes + frames * HEADER_BYTES)
            }
            _ => (1, HEADER_BYTES),
        }
    }

    /// What it takes of a link's goodput, bytes; the rest finds room between.
    fn on_the_link(self) -> Option<u64> {
        match self {
            Packet::Data { bytes, frames } | Packet::Datagrams { bytes, frames, .. } => {
                Some(datagrams::as_goodput(bytes, frames))
            }
            _ => None,
        }
    }
}

/// A connection as one of its ends sees it.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Route {
    to: Side,
    peer: u32,
    /// Goodput, kbit/s; nothing limits a connection within a machine.
    kbit_s: Option<u64>,
    /// That of the radio channel it shares with others; it shares the cable when `None`.
    channel_kbit_s: Option<u64>,
    latency_ns: u64,
}

impl Board {
    /// Who is meant by an address.
    fn resolve(&self, address: &str) -> Option<Side> {
        match address {
            "localhost" | "127.0.0.1" | "::1" => Some(self.side),
            "near" => Some(Side::Near),
            "far" if self.has_far => Some(Side::Far),
            _ => None,
        }
    }

    /// The port a receiver gets.
    ///
    /// # Errors
    /// The address is not this machine's, or the port is taken.
    pub(crate) fn free_port(&self, address: &str, port: u16) -> Result<u16, SpawnError> {
        let refused = |errno| SpawnError::Refused { what: format!("a receiver on {address}:{port}"), errno };
        let any = matches!(address, "" | "*" | "0.0.0.0" | "::");
        if !any && self.resolve(address) != Some(self.side) {
            return Err(refused(ADDRESS_NOT_AVAILABLE));
        }
        let free = |port: &u16| !self.listeners.contains_key(port);
        let wanted = if port == 0 { (FIRST_PORT..=u16::MAX).find(free) } else { Some(port).filter(free) };
        wanted.ok_or(refused(ADDRESS_IN_USE))
    }

    fn terms(&self, process: u32) -> Terms {
        let spec = &self.profile.network;
        let factors = self.processes.get(process as usize).map_or(Factors::NONE, |process| process.factors);
        let kbit_s = u128::from(spec.stream_kbit_s()) * 1_000_000_000 / u128::from(factors.link_ppb.max(1));
        Terms {
            kbit_s: u64::try_from(kbit_s).unwrap_or(u64::MAX).max(1),
            channel_kbit_s: spec.client_kbit_s.map(|_| spec.link_kbit_s.max(1)),
            latency_ns: scaled(spec.latency_ns, factors.rtt_ppb),
        }
    }

    fn route(&self, to: Side, peer: u32, mine: Terms, theirs: Terms) -> Route {
        if to == self.side {
            Route { to, peer, kbit_s: None, channel_kbit_s: None, latency_ns: self.profile.network.loopback_ns }
        } else {
            let latency_ns = mine.latency_ns + theirs.latency_ns;
            let channel_kbit_s = mine.channel_kbit_s.into_iter().chain(theirs.channel_kbit_s).min();
            Route { to, peer, kbit_s: Some(mine.kbit_s.min(theirs.kbit_s)), channel_kbit_s, latency_ns }
        }
    }

    /// A call reaches this machine.
    pub(crate) fn called(&mut self, call: &Call) {
        let owner = call.port.and_then(|port| self.listeners.get(&port).copied());
        let waiting = owner.filter(
            |&owner| matches!(&self.processes[owner as usize].body, Body::Receive(receive) if receive.route.is_none()),
        );
        let mut latency_ns = self.profile.network.latency_ns;
        let whoever = waiting.or_else(|| call.port.is_none().then_some(KERNEL));
        let accepted = whoever.map(|process| {
            let terms = self.terms(process);
            let route = self.route(call.from, call.process, terms, call.terms);
            latency_ns = route.latency_ns;
            if process != KERNEL
                && let Body::Receive(receive) = &mut self.process(process).body
            {
                receive.route = Some(route);
            }
            (process, terms)
        });
        let event = Event::Answered(Box::new(Answer { from: self.side, process: call.process, accepted }));
        self.outbox.push(Outgoing { at_ns: self.now_ns + latency_ns, to: call.from, event });
    }

    /// Sends a packet; data waits for the link, the rest finds room between.
    fn transmit(&mut self, route: &Route, packet: Packet) {
        let mut leaves_ns = self.now_ns;
        if route.to != self.side {
            let (frames, bytes) = packet.on_the_wire();
            self.nic.sends(frames, bytes, self.now_ns);
        }
        if let (Some(bytes), Some(kbit_s)) = (packet.on_the_link(), route.kbit_s) {
            let takes_ns = |kbit_s: u64| bytes * 8 * 1_000_000 / kbit_s;
            let shared_ns = self.link_free_ns.max(self.now_ns) + takes_ns(route.channel_kbit_s.unwrap_or(kbit_s));
            self.link_free_ns = shared_ns;
            leaves_ns = shared_ns;
            if route.channel_kbit_s.is_some() {
                // A client alone is slower than the channel: others send meanwhile.
                let own_ns = self.link_free_for(route).max(self.now_ns) + takes_ns(kbit_s);
                leaves_ns = shared_ns.max(own_ns);
                self.clients_free_ns.insert(route.peer, leaves_ns);
            }
        }
        if matches!(packet, Packet::Close | Packet::Reset) {
            self.clients_free_ns.remove(&route.peer);
        }
        let event = Event::Arrived { process: route.peer, packet };
        self.outbox.push(Outgoing { at_ns: leaves_ns + route.latency_ns, to: route.to, event });
    }

    /// When what was handed over on a connection is on its way, ns: by the cable's order, or its client's own.
    fn link_free_for(&self, route: &Route) -> u64 {
        match route.channel_kbit_s {
            Some(_) => self.clients_free_ns.get(&route.peer).copied().unwrap_or(0),
            None => self.link_free_ns,
        }
    }

    /// Something arrives for a process: at once, or when the card interrupts for it.
    pub(crate) fn arrived(&mut self, process: u32, packet: Packet) {
        let from = match packet {
            Packet::Request { from, .. } => Some(from),
            _ => self.route_of(process).map(|route| route.to),
        };
        if from.is_some_and(|from| from != self.side) && packet != Packet::Reset {
            let (frames, bytes) = packet.on_the_wire();
            let due_ns = self.nic.receives(frames, bytes, self.now_ns);
            let heard_ns = due_ns
                + if self.is_timed(process) { self.noise.interrupt_late_ns(self.nic.received.frames) } else { 0 };
            // Behind those that wait already, so that nothing is overtaken.
            if heard_ns > self.now_ns || self.nic.waiting > 0 {
                self.nic.waiting += 1;
                self.nic.heard_ns = self.nic.heard_ns.max(heard_ns);
                return self.plan(self.nic.heard_ns, Event::Heard { process, packet });
            }
        }
        self.delivered(process, packet);
    }

    /// The card has interrupted for something that waited.
    pub(crate) fn heard(&mut self, process: u32, packet: Packet) {
        self.nic.waiting -= 1;
        self.delivered(process, packet);
    }

    /// Whether interrupts are late by chance for it: for pings alone. Those of a stream are in the machine's latency, which
    /// was fitted to a stream's exchanges.
    fn is_timed(&self, process: u32) -> bool {
        match self.processes.get(process as usize).map(|process| &process.body) {
            Some(Body::Receive(receive)) => receive.echoes(),
            Some(Body::Ping(_)) => true,
            other => other.is_none(),
        }
    }

    /// Something is there for a process, if that still is.
    fn delivered(&mut self, process: u32, packet: Packet) {
        if let Packet::Request { from, process, latency_ns } = packet {
            return self.asked(Route { to: from, peer: process, kbit_s: None, channel_kbit_s: None, latency_ns });
        }
        if packet == Packet::Reset {
            if !matches!(self.process(process).body, Body::Gone) {
                self.fail(process, "connection reset by peer".into());
            }
            return;
        }
        match &self.process(process).body {
            Body::Receive(_) => self.receiver_gets(process, packet),
            Body::Send(_) => self.sender_gets(process, packet),
            Body::Datagrams(_) => self.datagram_sender_gets(process, packet),
            Body::Ping(_) => self.pinger_gets(process, packet),
            _ => {}
        }
    }

    /// A process is about to be ended: its peer learns of it.
    pub(crate) fn hang_up(&mut self, process: u32) {
        if let Some(route) = self.route_of(process).filter(|route| route.peer != KERNEL) {
            self.transmit(&route, Packet::Reset);
        }
    }

    /// The connection of a process, if it has one.
    fn route_of(&self, process: u32) -> Option<Route> {
        match &self.processes.get(process as usize)?.body {
            Body::Receive(receive) => receive.route,
            Body::Send(send) => send.route(),
            Body::Datagrams(send) => send.route(),
            Body::Ping(ping) => ping.route(),
            _ => None,
        }
    }

    fn say_ready(&mut self, process: u32, port: u16) {
        let id = self.process(process).id;
        self.wakes.push(Wake::Said(self.side, id, json!({ "ready": { "port": port } })));
    }
}

/// What a bit costs: cycles, thousandths, with the noise of its process.
fn batch_cycles(bytes: u64, millicycles_per_bit: u64, factor_ppb: u64) -> u64 {
    scaled(bytes * 8 * millicycles_per_bit / 1_000, factor_ppb)
}

/// How receiving is booked on a machine.
fn receive_booking(spec: &NetworkSpec) -> Booking {
    Booking::Network { own_ps: spec.receive_own_ps_per_bit, millicycles: spec.receive_millicycles_per_bit }
}

/// How sending is booked on a machine.
fn send_booking(spec: &NetworkSpec) -> Booking {
    Booking::Network { own_ps: spec.send_own_ps_per_bit, millicycles: spec.send_millicycles_per_bit }
}
