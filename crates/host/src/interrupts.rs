//! Stop signals for a World that does not poll: a simulated one asks now and then.
use std::collections::VecDeque;

use powerband_machine::{Errno, StopSignal};

use crate::signals::StopPipes;

/// From now on SIGINT, SIGTERM and SIGHUP no longer end the process; the answer gives them, oldest first.
///
/// # Errors
/// The kernel's error number when no pipe for signals could be made.
pub fn interrupts() -> Result<impl FnMut() -> Option<StopSignal>, Errno> {
    let pipes = StopPipes::new()?;
    let mut waiting = VecDeque::new();
    Ok(move || {
        waiting.extend(pipes.take());
        waiting.pop_front()
    })
}
