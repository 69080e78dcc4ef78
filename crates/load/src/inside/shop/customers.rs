//! The customers' side: many of them on a thread, each with a connection of its own.
//!
//! A customer thinks, sends one request, and thinks again once the whole answer is there. What is not answered in time, or not
//! rightly, has failed; the customer then comes again as somebody else.
use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::io::{self, ErrorKind, Write};
use std::net::{SocketAddr, TcpStream};

use rustix::buffer::spare_capacity;
use rustix::event::epoll::{self, EventData, EventFlags};
use rustix::fd::OwnedFd;
use rustix::net::{AddressFamily, SocketFlags, SocketType};
use rustix::time::ClockId;

use super::goods::Product;
use super::http::{receive, take_answer};
use super::visitor::{Ask, Visitor};
use super::{Chance, Failure, Latencies, Plan, Times, now_ns, timespec};

/// An answer that takes longer has failed, ns.
const PATIENCE_NS: u64 = 10_000_000_000;

/// What customers of one thread saw.
pub(super) struct Seen {
    /// Answers within the time measured.
    pub(super) latencies: Latencies,
    /// Orders confirmed within that time.
    pub(super) orders: u64,
    /// Orders confirmed at any time, and what they came to, cents.
    pub(super) confirmed: u64,
    pub(super) confirmed_cents: u64,
    /// Requests that failed, and why the first did.
    pub(super) failed: u64,
    pub(super) why: Option<String>,
}

struct Customer {
    visitor: Visitor,
    stream: Option<TcpStream>,
    /// What is still to be sent, and what has come.
    goes: Vec<u8>,
    comes: Vec<u8>,
    waits: Option<Waiting>,
    /// How often it has sent, so that a deadline of an earlier request is told from one of this.
    turn: u64,
}

struct Waiting {
    ask: Ask,
    sent_ns: u64,
}

/// The customers of one thread.
pub(super) struct Crowd<'a> {
    place: SocketAddr,
    goods: &'a [Product],
    think_ns: u64,
    times: Times,
    epoll: OwnedFd,
    customers: Vec<Customer>,
    /// When each does something next: time, who, and the turn it belongs to.
    due: BinaryHeap<Reverse<(u64, usize, u64)>>,
    waiting: usize,
    seen: Seen,
}

/// Sends customers `numbers` to the shop at `place` until the time is up and every answer is there.
pub(super) fn visit(
    plan: &Plan,
    numbers: impl Iterator<Item = u32>,
    place: SocketAddr,
    goods: &[Product],
    times: Times,
) -> Result<Seen, Failure> {
    let epoll = epoll::create(epoll::CreateFlags::CLOEXEC).map_err(|errno| cannot("watch connections", errno))?;
    let latencies = Latencies::new()?;
    let seen = Seen { latencies, orders: 0, confirmed: 0, confirmed_cents: 0, failed: 0, why: None };
    let customers = numbers.map(|number| Customer::new(Chance::new(plan.seed, number.into()))).collect();
    let due = BinaryHeap::new();
    let mut crowd = Crowd { place, goods, think_ns: plan.think_ns, times, epoll, customers, due, waiting: 0, seen };
    crowd.arrive();
    crowd.run()?;
    Ok(crowd.seen)
}

fn cannot(what: &str, errno: rustix::io::Errno) -> Failure {
    Failure::of(format!("cannot {what}"))(errno.into())
}

impl Customer {
    fn new(chance: Chance) -> Self {
        let visitor = Visitor::new(chance);
        Customer { visitor, stream: None, goes: Vec::new(), comes: Vec::new(), waits: None, turn: 0 }
    }

    /// Sends and receives what there is; the end of the connection is an error.
    fn exchange(&mut self) -> io::Result<()> {
        let Some(stream) = &mut self.stream else { return Ok(()) };
        while !self.goes.is_empty() {
            match stream.write(&self.goes) {
                Ok(sent) => drop(self.goes.drain(..sent)),
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                Err(error) if matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::NotConnected) => return Ok(()),
                Err(error) => return Err(error),
            }
        }
        receive(stream, &mut self.comes, &mut [0; 16 << 10])
    }
}

impl Crowd<'_> {
    /// Everybody comes at a time of the own, within a time to think.
    fn arrive(&mut self) {
        for (who, customer) in self.customers.iter_mut().enumerate() {
            let after_ns = customer.visitor.thinks_ns(self.think_ns);
            self.due.push(Reverse((self.times.start_ns.saturating_add(after_ns), who, 0)));
        }
    }

    fn run(&mut self) -> Result<(), Failure> {
        let mut events = Vec::with_capacity(256);
        loop {
            let now = now_ns(ClockId::Monotonic);
            while let Some(&Reverse((due_ns, who, turn))) = self.due.peek() {
                if due_ns > now {
                    break;
                }
                self.due.pop();
                self.turn_of(who, turn, now)?;
            }
            if now >= self.times.end_ns && self.waiting == 0 {
                return Ok(());
            }
            let next_ns = self.due.peek().map_or(u64::MAX, |&Reverse((due_ns, ..))| due_ns);
            let until_ns = if now < self.times.end_ns { next_ns.min(self.times.end_ns) } else { next_ns };
            let timeout = timespec(until_ns.saturating_sub(now));
            events.clear();
            match epoll::wait(&self.epoll, spare_capacity(&mut events), Some(&timeout)) {
                Ok(_) | Err(rustix::io::Errno::INTR) => {}
                Err(errno) => return Err(cannot("wait for answers", errno)),
            }
            for event in &events {
                self.heard(usize::try_from(event.data.u64()).unwrap_or(usize::MAX));
            }
        }
    }

    /// A time has come: to send, or to give an answer up.
    fn turn_of(&mut self, who: usize, turn: u64, now: u64) -> Result<(), Failure> {
        let Some(customer) = self.customers.get_mut(who) else { return Ok(()) };
        if customer.turn != turn {
            return Ok(());
        }
        if customer.waits.is_some() {
            self.fail(who, format!("no answer came within {} s", PATIENCE_NS / 1_000_000_000));
            return Ok(());
        }
        if now >= self.times.end_ns {
            return Ok(());
        }
        customer.turn += 1;
        self.due.push(Reverse((now.saturating_add(PATIENCE_NS), who, customer.turn)));
        let ask = customer.visitor.ask(self.goods);
        customer.goes = request(&ask);
        customer.waits = Some(Waiting { ask, sent_ns: now });
        self.waiting += 1;
        if customer.stream.is_none() {
            let stream = connect(self.place).map_err(|errno| cannot("connect to the shop", errno))?;
            let flags = EventFlags::IN | EventFlags::OUT | EventFlags::RDHUP | EventFlags::ET;
            epoll::add(&self.epoll, &stream, EventData::new_u64(who as u64), flags)
                .map_err(|errno| cannot("watch a connection", errno))?;
            customer.stream = Some(stream);
        }
        self.heard(who);
        Ok(())
    }

    /// Something may have come for a customer, or may go now.
    fn heard(&mut self, who: usize) {
        let Some(customer) = self.customers.get_mut(who) else { return };
        let exchanged = customer.exchange();
        match take_answer(&mut customer.comes) {
            Ok(Some(answer)) => {
                if answer.closes || exchanged.is_err() {
                    customer.stream = None;
                }
                let Some(Waiting { ask, sent_ns }) = customer.waits.take() else {
                    return self.fail(who, "an answer came to nothing that was asked".into());
                };
                self.waiting -= 1;
                let now = now_ns(ClockId::Monotonic);
                match customer.visitor.look(ask, answer, self.goods) {
                    Ok(confirmed) => {
                        let measured = self.times.measures(now);
                        if measured {
                            self.seen.latencies.record(now.saturating_sub(sent_ns));
                        }
                        if let Some(confirmed) = confirmed {
                            self.seen.confirmed += 1;
                            self.seen.confirmed_cents += confirmed.cents;
                            self.seen.orders += u64::from(measured);
                        }
                        self.think(who, now);
                    }
                    Err(why) => self.fail(who, why),
                }
            }
            Ok(None) => match exchanged {
                Ok(()) => {}
                // A server may end a connection on which nothing is asked.
                Err(_) if customer.waits.is_none() => customer.stream = None,
                Err(error) => self.fail(who, format!("the connection was lost ({error})")),
            },
            Err(why) => self.fail(who, format!("an answer could not be read: {why}")),
        }
    }

    fn think(&mut self, who: usize, now: u64) {
        let Some(customer) = self.customers.get_mut(who) else { return };
        customer.turn += 1;
        let after_ns = customer.visitor.thinks_ns(self.think_ns);
        self.due.push(Reverse((now.saturating_add(after_ns), who, customer.turn)));
    }

    fn fail(&mut self, who: usize, why: String) {
        let Some(customer) = self.customers.get_mut(who) else { return };
        let ask = customer.waits.take();
        self.waiting -= usize::from(ask.is_some());
        customer.stream = None;
        customer.goes.clear();
        customer.comes.clear();
        customer.visitor.start_over();
        self.seen.failed += 1;
        let target = ask.map(|waiting| format!("{}: ", waiting.ask.target)).unwrap_or_default();
        self.seen.why.get_or_insert(format!("{target}{why}"));
        self.think(who, now_ns(ClockId::Monotonic));
    }
}

/// A connection that is being made.
fn connect(place: SocketAddr) -> rustix::io::Result<TcpStream> {
    let flags = SocketFlags::NONBLOCK | SocketFlags::CLOEXEC;
    let socket = rustix::net::socket_with(AddressFamily::INET, SocketType::STREAM, flags, None)?;
    rustix::net::sockopt::set_tcp_nodelay(&socket, true)?;
    match rustix::net::connect(&socket, &place) {
        Ok(()) | Err(rustix::io::Errno::INPROGRESS) => Ok(TcpStream::from(socket)),
        Err(errno) => Err(errno),
    }
}

/// A request as it is sent.
fn request(ask: &Ask) -> Vec<u8> {
    let method = if ask.form.is_some() { "POST" } else { "GET" };
    let mut head = format!("{method} {} HTTP/1.1\r\nHost: shop\r\n", ask.target);
    if let Some(session) = &ask.session {
        head += &format!("Cookie: session={session}\r\n");
    }
    if let Some(form) = &ask.form {
        head += &format!("Content-Type: application/x-www-form-urlencoded\r\nContent-Length: {}\r\n", form.len());
    }
    (head + "\r\n" + ask.form.as_deref().unwrap_or_default()).into_bytes()
}
