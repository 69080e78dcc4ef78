//! Frames over pipes: one direction each, every wait bounded, used by both ends.
use std::cell::RefCell;
use std::os::fd::{AsFd, OwnedFd};

use powerband_machine::wire::{Frames, WireError, frame};
use rustix::event::{PollFd, PollFlags};
use rustix::fs::OFlags;
use serde::Serialize;
use thiserror::Error;

use crate::signals::StopPipes;

/// A connection that is slower than this counts as one that stands still, bytes a second: a long message has the time it
/// takes at this speed beyond the deadline.
const SLOWEST_BYTES_S: u64 = 16 << 10;

/// One of which nothing more comes for this long stands still however long its message is, ns.
const STALLED_NS: u64 = 10_000_000_000;

/// At most this much is read at once, bytes.
const CHUNK_BYTES: usize = 64 << 10;

/// Why nothing more comes or goes.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub(crate) enum Silence {
    /// The stream has ended.
    #[error("the connection ended")]
    Ended,
    /// It ended inside a message.
    #[error("the connection ended in the middle of a message")]
    Torn,
    /// The other end does not take what it is told, or does not answer.
    #[error("no answer in time")]
    TooLate,
    /// We are asked to stop.
    #[error("stopped while waiting for its answer")]
    Stopped,
    /// What came makes no sense.
    #[error(transparent)]
    Wire(#[from] WireError),
}

/// The end one writes to.
#[derive(Debug)]
pub(crate) struct Mouth(OwnedFd);

impl Mouth {
    /// Of a pipe or socket that may be waited for.
    pub(crate) fn new(end: OwnedFd) -> Mouth {
        // Where that is refused a write may wait for its reader; everything else holds.
        let _ = rustix::fs::fcntl_getfl(&end).and_then(|flags| rustix::fs::fcntl_setfl(&end, flags | OFlags::NONBLOCK));
        Mouth(end)
    }

    /// The end itself.
    pub(crate) fn into_end(self) -> OwnedFd {
        self.0
    }

    /// Says one thing, until `deadline_ns` at the latest.
    pub(crate) fn say(&self, message: &impl Serialize, deadline_ns: u64) -> Result<(), Silence> {
        self.put(&frame(message)?, deadline_ns)
    }

    /// The same while `ear` goes on hearing: the other end may be saying something long itself, and would not listen before
    /// that is taken.
    pub(crate) fn say_hearing(&self, message: &impl Serialize, deadline_ns: u64, ear: &mut Ear) -> Result<(), Silence> {
        self.put_all(&frame(message)?, deadline_ns, Some(ear))
    }

    /// Says these bytes, until `deadline_ns` at the latest.
    pub(crate) fn put(&self, bytes: &[u8], deadline_ns: u64) -> Result<(), Silence> {
        self.put_all(bytes, deadline_ns, None)
    }

    fn put_all(&self, bytes: &[u8], deadline_ns: u64, mut ear: Option<&mut Ear>) -> Result<(), Silence> {
        let deadline_ns = deadline_ns.saturating_add(time_of(bytes.len()));
        let mut left = bytes;
        while !left.is_empty() {
            match (rustix::io::write(&self.0, left), &mut ear) {
                (Ok(written), _) => left = &left[written..],
                (Err(rustix::io::Errno::INTR), _) => {}
                (Err(rustix::io::Errno::AGAIN), None) => wait_for(&self.0, PollFlags::OUT, deadline_ns)?,
                (Err(rustix::io::Errno::AGAIN), Some(ear)) => {
                    if wait_for_either(&self.0, &ear.end, deadline_ns)? {
                        ear.listen()?;
                    }
                }
                (Err(_), _) => return Err(Silence::Ended),
            }
        }
        Ok(())
    }
}

/// The end one reads from.
#[derive(Debug)]
pub(crate) struct Ear {
    end: OwnedFd,
    frames: Frames,
    /// When anything came last, ns.
    heard_ns: u64,
}

impl Ear {
    /// Of a pipe or socket.
    pub(crate) fn new(end: OwnedFd) -> Ear {
        Ear { end, frames: Frames::default(), heard_ns: 0 }
    }

    /// Of somebody who has nothing longer than this to say, bytes.
    pub(crate) fn no_longer_than(end: OwnedFd, bytes: usize) -> Ear {
        Ear { frames: Frames::no_longer_than(bytes), ..Ear::new(end) }
    }

    /// Whether something, or the end, is there to be heard now.
    pub(crate) fn has_something(&self) -> bool {
        wait_for(&self.end, PollFlags::IN, crate::now_ns()).is_ok()
    }

    /// When anything came last, ns: part of a message is a sign of life too.
    pub(crate) fn heard_ns(&self) -> u64 {
        self.heard_ns
    }

    /// What to poll.
    pub(crate) fn fd(&self) -> &OwnedFd {
        &self.end
    }

    /// The next message that is here already.
    pub(crate) fn heard(&mut self) -> Result<Option<Vec<u8>>, Silence> {
        Ok(self.frames.next_frame()?)
    }

    /// Reads once what poll(2) said is there.
    pub(crate) fn listen(&mut self) -> Result<(), Silence> {
        let mut chunk = vec![0; CHUNK_BYTES];
        match rustix::io::read(&self.end, &mut chunk) {
            Ok(0) | Err(rustix::io::Errno::IO | rustix::io::Errno::CONNRESET) => {
                Err(if self.frames.is_torn() { Silence::Torn } else { Silence::Ended })
            }
            Ok(got) => {
                self.heard_ns = crate::now_ns();
                self.frames.take_in(&chunk[..got]);
                // Somebody who only speaks, and takes no answer, does not fill our memory.
                if self.frames.is_overfull() {
                    Err(Silence::Wire(WireError::NotOurs("too many at once".into())))
                } else {
                    Ok(())
                }
            }
            Err(rustix::io::Errno::INTR | rustix::io::Errno::AGAIN) => Ok(()),
            Err(_) => Err(Silence::Ended),
        }
    }

    /// The next message, until `deadline_ns` at the latest, or as long as it takes at the slowest speed once it has begun.
    pub(crate) fn hear(&mut self, deadline_ns: u64) -> Result<Vec<u8>, Silence> {
        let mut until_ns = deadline_ns;
        loop {
            if let Some(json) = self.heard()? {
                return Ok(json);
            }
            // By the whole length, known with its first bytes; what is missing later is less.
            until_ns = until_ns.max(deadline_ns.saturating_add(time_of(self.frames.missing_bytes())));
            let stalled_ns = deadline_ns.max(self.heard_ns.saturating_add(STALLED_NS));
            wait_for(&self.end, PollFlags::IN, until_ns.min(stalled_ns))?;
            self.listen()?;
        }
    }
}

/// How long so many bytes take at the slowest speed, ns.
fn time_of(bytes: usize) -> u64 {
    (bytes as u64).saturating_mul(1_000_000_000) / SLOWEST_BYTES_S
}

thread_local! {
    /// While a machine is being reached no World waits for signals yet.
    static STOPS: RefCell<Option<StopPipes>> = const { RefCell::new(None) };
}

/// While it lives, SIGINT, SIGTERM and SIGHUP end the waits of this thread with [`Silence::Stopped`].
#[derive(Debug)]
pub(crate) struct Stoppable(());

impl Stoppable {
    /// From now on. Where no pipes can be had a signal is heeded later, by the World.
    pub(crate) fn begin() -> Stoppable {
        STOPS.set(StopPipes::new().ok());
        Stoppable(())
    }
}

impl Drop for Stoppable {
    fn drop(&mut self) {
        STOPS.set(None);
    }
}

/// Waits for room to write or something to read; whether there is something to read.
fn wait_for_either(out: &OwnedFd, input: &OwnedFd, deadline_ns: u64) -> Result<bool, Silence> {
    loop {
        let mut fds = [PollFd::new(out, PollFlags::OUT), PollFd::new(input, PollFlags::IN)];
        let polled = rustix::event::poll(&mut fds, Some(&crate::time_until(deadline_ns)));
        match (polled, fds[0].revents(), fds[1].revents()) {
            (Ok(1..), _, input) if !input.is_empty() => return Ok(true),
            (Ok(1..), out, _) if out.intersects(PollFlags::OUT) => return Ok(false),
            (Ok(1..), ..) => return Err(Silence::Ended),
            _ if crate::now_ns() >= deadline_ns => return Err(Silence::TooLate),
            _ => {}
        }
    }
}

/// Waits until there is something to read, or room to write.
pub(crate) fn wait_for(end: &OwnedFd, what: PollFlags, deadline_ns: u64) -> Result<(), Silence> {
    STOPS.with_borrow(|stops| wait_or_stop(end, what, deadline_ns, stops.as_ref()))
}

fn wait_or_stop(end: &OwnedFd, what: PollFlags, deadline_ns: u64, stops: Option<&StopPipes>) -> Result<(), Silence> {
    loop {
        let mut fds = vec![PollFd::from_borrowed_fd(end.as_fd(), what)];
        fds.extend(stops.into_iter().flat_map(StopPipes::fds).map(|fd| PollFd::new(fd, PollFlags::IN)));
        let polled = rustix::event::poll(&mut fds, Some(&crate::time_until(deadline_ns)));
        let told = fds[0].revents();
        if matches!(polled, Ok(1..)) && fds[1..].iter().any(|fd| !fd.revents().is_empty()) {
            return Err(Silence::Stopped);
        }
        match polled {
            Ok(1..) if told.intersects(what) => return Ok(()),
            // Anyone who reads finds what is left, then the end. There will never be room to write: a virtio port whose other
            // side has left goes on refusing with EAGAIN.
            Ok(1..) if what == PollFlags::IN => return Ok(()),
            Ok(1..) => return Err(Silence::Ended),
            _ if crate::now_ns() >= deadline_ns => return Err(Silence::TooLate),
            _ => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nobody_waits_for_room_where_nobody_reads_any_more() {
        let (reader, writer) = rustix::pipe::pipe().unwrap();
        let mouth = Mouth::new(writer);
        let far_ns = crate::now_ns() + 60_000_000_000;
        while rustix::io::write(&mouth.0, &[0; 4096]).is_ok() {}
        assert_eq!(mouth.put(b"more", crate::now_ns() + 1_000_000), Err(Silence::TooLate));
        drop(reader);
        // Without a write between, which would tell it by itself: EPIPE.
        assert_eq!(wait_for(&mouth.0, PollFlags::OUT, far_ns), Err(Silence::Ended));
        assert_eq!(mouth.put(b"more", far_ns), Err(Silence::Ended));
    }

    #[test]
    fn whoever_listens_hears_what_was_said_before_the_end() {
        let (reader, writer) = rustix::pipe::pipe().unwrap();
        let far_ns = crate::now_ns() + 60_000_000_000;
        Mouth::new(writer).say(&"last word", far_ns).unwrap();
        let mut ear = Ear::new(reader);
        assert_eq!(ear.hear(far_ns).unwrap(), b"\"last word\"");
        assert_eq!(ear.hear(far_ns), Err(Silence::Ended));
    }

    #[test]
    fn two_that_say_something_long_at_once_both_come_through() {
        let (one_reads, other_writes) = rustix::pipe::pipe().unwrap();
        let (other_reads, one_writes) = rustix::pipe::pipe().unwrap();
        let far_ns = crate::now_ns() + 60_000_000_000;
        // Many times what a pipe holds.
        let says = |input, output| {
            move || {
                let (mouth, mut ear, long) = (Mouth::new(output), Ear::new(input), "x".repeat(1 << 20));
                mouth.say_hearing(&long, far_ns, &mut ear).unwrap();
                ear.hear(far_ns).unwrap().len()
            }
        };
        let other = std::thread::spawn(says(other_reads, other_writes));
        assert_eq!(says(one_reads, one_writes)(), (1 << 20) + 2);
        assert_eq!(other.join().unwrap(), (1 << 20) + 2);
    }

    #[test]
    fn a_long_message_on_a_slow_line_is_no_silence() {
        let (reader, writer) = rustix::pipe::pipe().unwrap();
        let bytes = frame(&"x".repeat(256 << 10)).unwrap();
        // It has begun, and the time for an answer is over.
        rustix::io::write(&writer, &bytes[..16 << 10]).unwrap();
        let slow = std::thread::spawn(move || {
            for part in bytes[16 << 10..].chunks(16 << 10) {
                std::thread::sleep(std::time::Duration::from_millis(20));
                let _ = rustix::io::write(&writer, part);
            }
        });
        let mut ear = Ear::new(reader);
        let heard = ear.hear(crate::now_ns()).map(|json| json.len());
        slow.join().unwrap();
        assert_eq!(heard, Ok((256 << 10) + 2));
        // Of one that has not begun, the deadline is the deadline.
        let (reader, _writer) = rustix::pipe::pipe().unwrap();
        assert_eq!(Ear::new(reader).hear(crate::now_ns() + 1_000_000), Err(Silence::TooLate));
    }
}
