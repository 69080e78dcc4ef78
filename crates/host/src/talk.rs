//! Frames over pipes: one direction each, every wait bounded, used by both ends.
use std::os::fd::{AsFd, OwnedFd};

use powerband_machine::wire::{Frames, WireError, frame};
use rustix::event::{PollFd, PollFlags};
use rustix::fs::OFlags;
use serde::Serialize;
use thiserror::Error;

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

    /// Says one thing, until `deadline_ns` at the latest.
    pub(crate) fn say(&self, message: &impl Serialize, deadline_ns: u64) -> Result<(), Silence> {
        self.put(&frame(message)?, deadline_ns)
    }

    /// Says these bytes, until `deadline_ns` at the latest.
    pub(crate) fn put(&self, bytes: &[u8], deadline_ns: u64) -> Result<(), Silence> {
        let mut left = bytes;
        while !left.is_empty() {
            match rustix::io::write(&self.0, left) {
                Ok(written) => left = &left[written..],
                Err(rustix::io::Errno::INTR) => {}
                Err(rustix::io::Errno::AGAIN) => wait_for(&self.0, PollFlags::OUT, deadline_ns)?,
                Err(_) => return Err(Silence::Ended),
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
}

impl Ear {
    /// Of a pipe or socket.
    pub(crate) fn new(end: OwnedFd) -> Ear {
        Ear { end, frames: Frames::default() }
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
                self.frames.take_in(&chunk[..got]);
                Ok(())
            }
            Err(rustix::io::Errno::INTR | rustix::io::Errno::AGAIN) => Ok(()),
            Err(_) => Err(Silence::Ended),
        }
    }

    /// The next message, until `deadline_ns` at the latest.
    pub(crate) fn hear(&mut self, deadline_ns: u64) -> Result<Vec<u8>, Silence> {
        loop {
            if let Some(json) = self.heard()? {
                return Ok(json);
            }
            wait_for(&self.end, PollFlags::IN, deadline_ns)?;
            self.listen()?;
        }
    }
}

/// Waits until there is something to read, or room to write.
pub(crate) fn wait_for(end: &OwnedFd, what: PollFlags, deadline_ns: u64) -> Result<(), Silence> {
    loop {
        let mut fds = [PollFd::from_borrowed_fd(end.as_fd(), what)];
        let polled = rustix::event::poll(&mut fds, Some(&crate::time_until(deadline_ns)));
        let told = fds[0].revents();
        match polled {
            Ok(1..) if told.intersects(what) => return Ok(()),
            // Whoever reads finds what is left, then the end. There will never be room to write: a virtio port whose other
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
}
