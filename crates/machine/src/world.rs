//! Time, and the one call that waits, for all machines of a rig together.
use powerband_record::Side;

use crate::{Errno, Machine, ProcessId};

/// The signal that asked us to stop.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum StopSignal {
    /// Ctrl-C.
    Interrupt,
    /// SIGTERM.
    Terminate,
    /// The terminal went away.
    HangUp,
}

/// A signal whose meaning is the program's own.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum UserSignal {
    /// SIGUSR1.
    One,
    /// SIGUSR2.
    Two,
}

/// Why a wait ended.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub enum Wake {
    /// The time given has come.
    Deadline,
    /// A process ended; ask [`crate::Run::finished`].
    Ended(Side, ProcessId),
    /// Built-in work said something while running, as one JSON value (`{"ready": {"port": 5001}}`).
    Said(Side, ProcessId, serde_json::Value),
    /// We were asked to stop. A second one means: do not wait for the load.
    Stop(StopSignal),
    /// A signal came that [`World::hear_user_signals`] listens for.
    User(UserSignal),
    /// Somebody else wrote to a place that is watched; ask [`crate::Watch::take_writes`]. A machine at a peer does not
    /// tell it by itself.
    Wrote(Side),
    /// A machine can no longer be reached.
    Lost(Side, String),
}

/// The machines of one experiment and their common clock.
pub trait World {
    /// The clock, ns from an arbitrary start; never goes back.
    fn now_ns(&self) -> u64;

    /// How long the machine that keeps the clock was suspended since it booted, ns: that time is not in [`World::now_ns`].
    fn suspended_ns(&self) -> u64 {
        0
    }

    /// One machine; `None` when the rig has none of that side, and for [`Side::Both`] and [`Side::All`]. Of a list the near one is
    /// the first.
    fn machine(&mut self, side: Side) -> Option<&mut dyn Machine>;

    /// Its machines as it calls them, the near one or the first of a list first.
    fn sides(&mut self) -> Vec<Side> {
        [Side::Near, Side::Far].into_iter().filter(|side| self.machine(*side).is_some()).collect()
    }

    /// The machines that something on this side concerns, whether they are there or not: each as this rig calls it.
    fn covered(&mut self, side: Side) -> Vec<Side> {
        match side {
            Side::All => self.sides(),
            Side::Both => vec![Side::Near, Side::Far],
            Side::Near => vec![self.sides().first().copied().unwrap_or_default()],
            one => vec![one],
        }
    }

    /// Waits until something happens or `until_ns` comes; without a deadline, until something happens. In a simulated
    /// World this is where virtual time passes, and nowhere else. What jobs watch is read meanwhile.
    fn wait(&mut self, until_ns: Option<u64>) -> Wake;

    /// Says that for this long the machines will have nothing to tell each other (a load that is measured, ns), so that
    /// nobody takes silence for a loss; 0 when that is over. Nothing to do where machines share one box.
    fn hush(&mut self, _for_ns: u64) {}

    /// From now on SIGUSR1 and SIGUSR2 come as [`Wake::User`] instead of ending the process. Nobody sends them in virtual
    /// time.
    ///
    /// # Errors
    /// The kernel's error number when no pipe could be made.
    fn hear_user_signals(&mut self) -> Result<(), Errno> {
        Ok(())
    }

    /// The machine that can no longer be reached, and why: for good, once [`Wake::Lost`] or a failed call has told.
    fn lost(&self) -> Option<(Side, String)> {
        None
    }
}
