//! The asking end of an echo: packets at times fixed beforehand, whatever the answers do.
use std::collections::{BTreeMap, VecDeque};
use std::iter::Peekable;

use powerband_record::{ExitStatus, Protocol, Schedule, Work};
use serde_json::json;

use super::{Packet, Route, send_booking};
use crate::board::{Board, Event};
use crate::noise::scaled;
use crate::process::Body;
use crate::schedule::{State, Task};

/// What the task of a pinger works on, one after the other.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Job {
    /// Send the packet that was meant to leave then, ns.
    Send(u64),
    /// Take an answer in.
    Take,
}

/// A pinger.
#[derive(Debug)]
pub(crate) struct Ping {
    address: String,
    port: u16,
    for_ns: u64,
    times: Peekable<Schedule>,
    /// Asks the kernel at the other end, not an echo of ours.
    icmp: bool,
    route: Option<Route>,
    began_ns: u64,
    jobs: VecDeque<Job>,
    /// When the packets under way were meant to leave, ns. Nothing is lost and nothing overtakes.
    under_way: VecDeque<u64>,
    sent: u32,
    trips: BTreeMap<u64, u64>,
    closing: bool,
    /// Answers heard of so far, and when it wakes for the one it sleeps for, ns.
    heard: u64,
    wakes_ns: Option<u64>,
}

impl Ping {
    /// Of the work of that kind.
    pub(crate) fn of(work: &Work) -> Option<Self> {
        let Work::Ping { protocol, address, port, for_ns, rate_per_s, arrivals, seed, .. } = work else {
            return None;
        };
        Some(Ping {
            address: address.clone(),
            port: *port,
            for_ns: *for_ns,
            times: Schedule::new(*arrivals, *rate_per_s, *seed).peekable(),
            icmp: *protocol == Protocol::Icmp,
            route: None,
            began_ns: 0,
            jobs: VecDeque::new(),
            under_way: VecDeque::new(),
            sent: 0,
            trips: BTreeMap::new(),
            closing: false,
            heard: 0,
            wakes_ns: None,
        })
    }

    pub(super) fn route(&self) -> Option<Route> {
        self.route
    }

    /// When the next packet is meant to leave, ns since boot.
    fn next_ns(&mut self) -> Option<u64> {
        let (began_ns, for_ns) = (self.began_ns, self.for_ns);
        self.times.peek().filter(|&&after_ns| after_ns < for_ns).map(|after_ns| began_ns + after_ns)
    }

    fn report(&self) -> serde_json::Value {
        let received: u64 = self.trips.values().sum();
        let sum: u128 = self.trips.iter().map(|(&ns, &count)| u128::from(ns) * u128::from(count)).sum();
        let cells: Vec<(u64, u64)> = self.trips.iter().map(|(&ns, &count)| (ns, count)).collect();
        json!({
            "sent": self.sent,
            "received": received,
            "mean_ns": sum as f64 / received.max(1) as f64,
            "max_ns": self.trips.keys().next_back().copied().unwrap_or(0),
            "histogram": cells,
        })
    }
}

/// What is pinged, for people.
fn place(address: &str, port: u16, icmp: bool) -> String {
    if icmp { address.to_owned() } else { format!("{address}:{port}") }
}

impl Board {
    pub(crate) fn start_ping(&mut self, process: u32, mut task: Task) {
        (task.urgent, task.booking) = (true, send_booking(&self.profile.network));
        let task = self.new_task(task);
        let this = self.process(process);
        this.task = Some(task);
        let Body::Ping(ping) = &this.body else { return };
        let (address, port, icmp) = (ping.address.clone(), ping.port, ping.icmp);
        // A machine's own address has to be found, too, before anything can be asked of its kernel.
        if !self.call(process, &address, (!icmp).then_some(port)) {
            self.fail(process, format!("cannot reach {}: no route to host", place(&address, port, icmp)));
        }
    }

    /// The echo has been found, or has not.
    pub(super) fn ping_begins(&mut self, process: u32, route: Option<Route>) {
        let now = self.now_ns;
        let Body::Ping(ping) = &mut self.process(process).body else { return };
        if route.is_none() {
            let place = place(&ping.address, ping.port, ping.icmp);
            return self.fail(process, format!("cannot reach {place}: connection refused"));
        }
        (ping.route, ping.began_ns) = (route, now);
        self.plan_ping(process);
    }

    /// Plans the next packet, or the end.
    fn plan_ping(&mut self, process: u32) {
        let Body::Ping(ping) = &mut self.process(process).body else { return };
        let next = ping.next_ns();
        let finished = next.is_none() && ping.under_way.is_empty() && ping.jobs.is_empty() && !ping.closing;
        let (route, icmp) = (ping.route, ping.icmp);
        ping.closing |= finished;
        match (next, route) {
            (Some(at_ns), _) => self.set_timer(process, at_ns.max(self.now_ns)),
            // A kernel keeps no connection that could be closed.
            _ if finished && icmp => self.end_ping(process),
            (None, Some(route)) if finished => self.transmit(&route, Packet::Close),
            _ => {}
        }
    }

    pub(crate) fn ping_timer(&mut self, process: u32) {
        let Body::Ping(ping) = &mut self.process(process).body else { return };
        let Some(meant_ns) = ping.next_ns() else { return };
        ping.times.next();
        self.add_ping_job(process, Job::Send(meant_ns));
        self.plan_ping(process);
    }

    pub(super) fn pinger_gets(&mut self, process: u32, packet: Packet) {
        match packet {
            Packet::Pong => self.add_ping_job(process, Job::Take),
            Packet::Closed => self.end_ping(process),
            _ => {}
        }
    }

    fn end_ping(&mut self, process: u32) {
        let Body::Ping(ping) = &self.process(process).body else { return };
        let report = ping.report();
        self.exit(process, ExitStatus::Code(0), Some(report), String::new());
    }

    /// It wakes for its own packets ahead of time, and late for the answers it sleeps for.
    fn add_ping_job(&mut self, process: u32, job: Job) {
        let (now, noise) = (self.now_ns, &self.noise);
        let this = &mut self.processes[process as usize];
        let (Body::Ping(ping), Some(task)) = (&mut this.body, this.task) else { return };
        ping.jobs.push_back(job);
        let late_ns = if job == Job::Take {
            ping.heard += 1;
            noise.wake_late_ns(process, ping.heard)
        } else {
            0
        };
        if self.tasks[task as usize].state != State::Blocked || (job == Job::Take && ping.wakes_ns.is_some()) {
            return;
        }
        ping.wakes_ns = Some(now + late_ns);
        if late_ns > 0 { self.plan(now + late_ns, Event::Woken { process }) } else { self.pinger_woken(process) }
    }

    /// It begins with its first job, unless it was woken earlier for another reason.
    pub(crate) fn pinger_woken(&mut self, process: u32) {
        let (now, cycles) = (self.now_ns, self.cost_of_half_an_exchange(process));
        let this = self.process(process);
        let (Body::Ping(ping), Some(task)) = (&mut this.body, this.task) else { return };
        if ping.wakes_ns.take_if(|at_ns| *at_ns == now).is_some() {
            let ahead = matches!(ping.jobs.front(), Some(Job::Send(_)));
            self.task(task).ahead = ahead;
            self.task(task).give(cycles.max(1));
            self.wake(task);
        }
    }

    /// The task of a pinger has done its first job.
    pub(crate) fn pinged(&mut self, process: u32) {
        let (now, side, cycles) = (self.now_ns, self.side, self.cost_of_half_an_exchange(process));
        let this = self.process(process);
        let (Body::Ping(ping), Some(task)) = (&mut this.body, this.task) else { return };
        let (job, route) = (ping.jobs.pop_front(), ping.route);
        let more = !ping.jobs.is_empty();
        match (job, route) {
            (Some(Job::Send(meant_ns)), Some(route)) => {
                ping.sent += 1;
                ping.under_way.push_back(meant_ns);
                let packet = match ping.icmp {
                    true => Packet::Request { from: side, process, latency_ns: route.latency_ns },
                    false => Packet::Ping,
                };
                self.transmit(&route, packet);
            }
            (Some(Job::Take), _) => {
                if let Some(meant_ns) = ping.under_way.pop_front() {
                    *ping.trips.entry(now.saturating_sub(meant_ns)).or_default() += 1;
                }
                self.plan_ping(process);
            }
            _ => {}
        }
        if self.process(process).task.is_none() {
            return;
        }
        if more { self.go_on(task, cycles.max(1)) } else { self.rest(task) }
    }

    pub(super) fn cost_of_half_an_exchange(&self, process: u32) -> u64 {
        scaled(self.profile.network.exchange_cycles / 2, self.processes[process as usize].factors.cpu_ppb)
    }
}
