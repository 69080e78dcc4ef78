//! Files that a user names as input: read whole, never beyond a limit, and given up when a signal asks to stop.
use std::os::fd::AsFd;
use std::path::Path;

use powerband_machine::Errno;
use rustix::event::{PollFd, PollFlags};
use rustix::fs::{FileType, Mode, OFlags};
use thiserror::Error;

use crate::{errno, with_rights_for};

/// How much is read at once, bytes.
const CHUNK_BYTES: usize = 1 << 16;

/// Why a file is no input.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum InputError {
    /// The system refuses.
    #[error("{}", .0.words())]
    Unreadable(Errno),
    /// There is more of it.
    #[error("it is larger than {} MiB", .limit_bytes >> 20)]
    TooLarge {
        /// How much may be read.
        limit_bytes: u64,
    },
    /// A signal came while a pipe or a device was waited for.
    #[error("stopped while it was read")]
    Stopped,
}

/// The bytes of a file, a pipe or a device, with the rights of the user who called sudo where the file is theirs.
///
/// Before a World is open, Ctrl-C ends the process as it ends any. With one, a signal has a handler, which ends the wait here.
///
/// # Errors
/// [`InputError`].
pub fn read_input(path: &Path, limit_bytes: u64) -> Result<Vec<u8>, InputError> {
    let unreadable = |error: rustix::io::Errno| InputError::Unreadable(errno(error));
    // Opening a named pipe must not wait for its writer: polling does, and hears signals.
    let flags = OFlags::RDONLY | OFlags::CLOEXEC | OFlags::NOCTTY | OFlags::NONBLOCK;
    let file = with_rights_for(path, || rustix::fs::open(path, flags, Mode::empty())).map_err(unreadable)?;
    let found = rustix::fs::fstat(&file).map_err(unreadable)?;
    let waits = FileType::from_raw_mode(found.st_mode) != FileType::RegularFile;
    if !waits && u64::try_from(found.st_size).is_ok_and(|size| size > limit_bytes) {
        return Err(InputError::TooLarge { limit_bytes });
    }
    let mut bytes = Vec::new();
    loop {
        if waits {
            match rustix::event::poll(&mut [PollFd::from_borrowed_fd(file.as_fd(), PollFlags::IN)], None) {
                Err(rustix::io::Errno::INTR) => return Err(InputError::Stopped),
                polled => drop(polled.map_err(unreadable)?),
            }
        }
        let begin = bytes.len();
        bytes.resize(begin + CHUNK_BYTES, 0);
        let got = rustix::io::read(&file, &mut bytes[begin..]);
        bytes.truncate(begin + got.unwrap_or(0));
        match got {
            Ok(0) => return Ok(bytes),
            Ok(_) if bytes.len() as u64 > limit_bytes => return Err(InputError::TooLarge { limit_bytes }),
            Ok(_) | Err(rustix::io::Errno::INTR | rustix::io::Errno::AGAIN) => {}
            Err(error) => return Err(unreadable(error)),
        }
    }
}
