//! Confirming from another shell: anyone who waits hears a signal; anyone who confirms waits until it was heard.
use std::os::fd::OwnedFd;
use std::os::unix::net::UnixStream;
use std::path::Path;

use powerband_machine::{EntryId, Errno};
use powerband_record::Hint;
use rustix::event::{PollFd, PollFlags};
use rustix::process::{Pid, Signal};
use signal_hook::SigId;
use signal_hook::consts::SIGUSR1;
use thiserror::Error;

use crate::lock::{Holder, holder};
use crate::{errno, io_errno};

/// How long one that hears may take to write down what it heard, ns.
const HEARING_NS: u64 = 5_000_000_000;

/// Hears confirmations as long as it lives.
#[derive(Debug)]
pub struct Confirmation {
    end: OwnedFd,
    registered: SigId,
}

impl Confirmation {
    /// From now on; SIGUSR1 no longer ends the process.
    ///
    /// # Errors
    /// The kernel's error number when no pipe could be made.
    pub fn listen() -> Result<Self, Errno> {
        let (end, told) = UnixStream::pair().map_err(|error| io_errno(&error))?;
        let registered = signal_hook::low_level::pipe::register(SIGUSR1, told).map_err(|error| io_errno(&error))?;
        Ok(Confirmation { end: end.into(), registered })
    }

    /// Waits for one, at most `within_ns` of real time; whether it came.
    #[must_use]
    pub fn came(&self, within_ns: u64) -> bool {
        let until = crate::time_until(crate::now_ns() + within_ns);
        // Interrupted by another signal: the caller looks again.
        let polled = rustix::event::poll(&mut [PollFd::new(&self.end, PollFlags::IN)], Some(&until));
        matches!(polled, Ok(1..)) && rustix::io::read(&self.end, &mut [0; 16]).is_ok()
    }
}

impl Drop for Confirmation {
    fn drop(&mut self) {
        signal_hook::low_level::unregister(self.registered);
    }
}

/// Why nothing was confirmed.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum ConfirmError {
    /// Nobody waits.
    #[error("nothing waits to be confirmed; it was already restored or kept")]
    Nothing,
    /// Somebody holds the machine and waits for nothing.
    #[error("nothing waits to be confirmed; {0}")]
    Busy(Holder),
    /// Somebody else's.
    #[error("{holder} and cannot be told to keep its settings: {errno}; confirm as the user who set them")]
    Refused {
        /// Who waits.
        holder: Holder,
        /// Why not.
        errno: Errno,
    },
    /// It did not answer.
    #[error("{0} and did not answer")]
    Silent(Holder),
}

impl ConfirmError {
    /// What a person can do about it.
    #[must_use]
    pub fn hint(&self) -> Option<Hint> {
        matches!(self, ConfirmError::Silent(_)).then_some(Hint::ListChanged)
    }
}

/// Confirms what waits in `folder`; on return its owner has written down what came of it. Answers the ledger's step.
///
/// # Errors
/// [`ConfirmError`].
pub fn confirm(folder: &Path) -> Result<EntryId, ConfirmError> {
    let waiting = holder(folder).ok_or(ConfirmError::Nothing)?;
    let step = waiting.to_confirm.ok_or_else(|| ConfirmError::Busy(waiting.clone()))?;
    let pid = i32::try_from(waiting.pid).ok().and_then(Pid::from_raw).ok_or(ConfirmError::Nothing)?;
    rustix::process::kill_process(pid, Signal::USR1)
        .map_err(|error| ConfirmError::Refused { holder: waiting.clone(), errno: errno(error) })?;
    let deadline_ns = crate::now_ns() + HEARING_NS;
    while holder(folder).is_some_and(|holder| holder.pid == waiting.pid && holder.to_confirm.is_some()) {
        if crate::now_ns() >= deadline_ns {
            return Err(ConfirmError::Silent(waiting));
        }
        crate::pause_until(crate::now_ns() + 5_000_000);
    }
    Ok(step)
}
