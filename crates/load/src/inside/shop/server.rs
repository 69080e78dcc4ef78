//! Our own shop's server: HTTP/1.1 on loopback, by some threads that take turns on all connections.
use std::collections::BTreeMap;
use std::io::{self, ErrorKind, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::os::fd::OwnedFd;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use rustix::buffer::spare_capacity;
use rustix::event::EventfdFlags;
use rustix::event::epoll::{self, EventData, EventFlags};

use super::Failure;
use super::http::{receive, take_request};
use super::pages::{Page, Shop};

/// What epoll tells of: the door, the bell that ends it, or a connection by its number.
const DOOR: u64 = 0;
const BELL: u64 = 1;
const FIRST: u64 = 2;

/// A server that listens. Threads serve until [`Server::stop`].
pub(super) struct Server {
    shop: Shop,
    door: TcpListener,
    bell: OwnedFd,
    epoll: OwnedFd,
    connections: Mutex<BTreeMap<u64, Arc<Mutex<Connection>>>>,
    next: AtomicU64,
}

struct Connection {
    stream: TcpStream,
    comes: Vec<u8>,
    goes: Vec<u8>,
    /// Whether it ends once everything is sent.
    closes: bool,
}

impl Server {
    /// Listens on any free port of loopback.
    pub(super) fn open(shop: Shop) -> Result<Self, Failure> {
        let cannot = || Failure::of("cannot open the shop");
        let door = TcpListener::bind(("127.0.0.1", 0)).map_err(cannot())?;
        door.set_nonblocking(true).map_err(cannot())?;
        // As many as come at once may wait.
        rustix::net::listen(&door, 4096).map_err(|errno| cannot()(errno.into()))?;
        let opened = || -> rustix::io::Result<(OwnedFd, OwnedFd)> {
            let epoll = epoll::create(epoll::CreateFlags::CLOEXEC)?;
            let bell = rustix::event::eventfd(0, EventfdFlags::CLOEXEC | EventfdFlags::NONBLOCK)?;
            epoll::add(&epoll, &bell, EventData::new_u64(BELL), EventFlags::IN)?;
            epoll::add(&epoll, &door, EventData::new_u64(DOOR), EventFlags::IN | EventFlags::ONESHOT)?;
            Ok((epoll, bell))
        };
        let (epoll, bell) = opened().map_err(|errno| cannot()(errno.into()))?;
        Ok(Server { shop, door, bell, epoll, connections: Mutex::default(), next: AtomicU64::new(FIRST) })
    }

    pub(super) fn place(&self) -> io::Result<SocketAddr> {
        self.door.local_addr()
    }

    pub(super) fn shop(&self) -> &Shop {
        &self.shop
    }

    /// Ends all that serve.
    pub(super) fn stop(&self) {
        // A counter from 0 takes one.
        let _ = rustix::io::write(&self.bell, &1_u64.to_ne_bytes());
    }

    /// Serves until it is stopped; any number of threads may.
    pub(super) fn serve(&self) -> Result<(), Failure> {
        let mut events = Vec::with_capacity(1);
        loop {
            events.clear();
            match epoll::wait(&self.epoll, spare_capacity(&mut events), None) {
                Ok(_) | Err(rustix::io::Errno::INTR) => {}
                Err(errno) => return Err(Failure::of("the shop cannot wait for customers")(errno.into())),
            }
            for event in &events {
                match event.data.u64() {
                    BELL => return Ok(()),
                    DOOR => self.let_in().map_err(Failure::of("the shop cannot let customers in"))?,
                    number => self.attend(number),
                }
            }
        }
    }

    fn let_in(&self) -> io::Result<()> {
        loop {
            let stream = match self.door.accept() {
                Ok((stream, _)) => stream,
                Err(error) if matches!(error.kind(), ErrorKind::Interrupted | ErrorKind::ConnectionAborted) => continue,
                Err(error) if error.kind() == ErrorKind::WouldBlock => break,
                Err(error) => return Err(error),
            };
            stream.set_nonblocking(true)?;
            stream.set_nodelay(true)?;
            let number = self.next.fetch_add(1, Ordering::Relaxed);
            let connection = Connection { stream, comes: Vec::new(), goes: Vec::new(), closes: false };
            let connection = Arc::new(Mutex::new(connection));
            locked(&self.connections).insert(number, Arc::clone(&connection));
            let flags = EventFlags::IN | EventFlags::ONESHOT;
            epoll::add(&self.epoll, &locked(&connection).stream, EventData::new_u64(number), flags)?;
        }
        epoll::modify(&self.epoll, &self.door, EventData::new_u64(DOOR), EventFlags::IN | EventFlags::ONESHOT)?;
        Ok(())
    }

    /// Answers what has come on a connection. One that breaks off, or says what is no HTTP, is closed.
    fn attend(&self, number: u64) {
        let Some(connection) = locked(&self.connections).get(&number).map(Arc::clone) else { return };
        let mut connection = locked(&connection);
        let goes_on = connection.attend(&self.shop).and_then(|flags| {
            let data = EventData::new_u64(number);
            Ok(epoll::modify(&self.epoll, &connection.stream, data, flags | EventFlags::ONESHOT)?)
        });
        if goes_on.is_err() {
            locked(&self.connections).remove(&number);
        }
    }
}

fn locked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Connection {
    /// What to wait for next; an error is the end.
    fn attend(&mut self, shop: &Shop) -> io::Result<EventFlags> {
        // What was not sent yet goes first: a customer who does not listen is not answered more.
        if self.send()? {
            receive(&mut self.stream, &mut self.comes, &mut [0; 8 << 10])?;
            while let Some(request) = take_request(&mut self.comes).map_err(io::Error::other)? {
                self.closes |= request.closes;
                self.goes.extend(answer(&shop.answer(&request), self.closes));
            }
        }
        match self.send()? {
            true if self.closes => Err(ErrorKind::UnexpectedEof.into()),
            true => Ok(EventFlags::IN),
            false => Ok(EventFlags::OUT),
        }
    }

    /// Sends what there is; whether all of it went.
    fn send(&mut self) -> io::Result<bool> {
        while !self.goes.is_empty() {
            match self.stream.write(&self.goes) {
                Ok(sent) => drop(self.goes.drain(..sent)),
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                Err(error) if error.kind() == ErrorKind::WouldBlock => return Ok(false),
                Err(error) => return Err(error),
            }
        }
        Ok(true)
    }
}

/// A page as it is sent.
fn answer(page: &Page, closes: bool) -> Vec<u8> {
    let reason = if page.status == 200 { "OK" } else { "Not Found" };
    let mut head = format!(
        "HTTP/1.1 {} {reason}\r\nContent-Type: text/html; charset=utf-8\r\nContent-Length: {}\r\n",
        page.status,
        page.body.len()
    );
    if let Some(session) = &page.session {
        head += &format!("Set-Cookie: session={session}; Path=/; HttpOnly\r\n");
    }
    if closes {
        head += "Connection: close\r\n";
    }
    (head + "\r\n" + &page.body).into_bytes()
}
