//! When to look: by the wall's clock where a machine is real, along with it where one is simulated, once where nothing moves.
use std::time::{Duration, Instant};

use powerband_machine::{Wake, World};
use powerband_rig::check_lost;

use super::{WatchEnd, WatchError};

/// How long is waited at most before somebody looks whether to stop, where the World cannot wait for it.
const SLICE: Duration = Duration::from_millis(250);

/// How time goes by.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Time {
    /// With the wall's.
    Real,
    /// In the World's own, which moves along with the wall's, or at once where an end is in sight and nobody looks on.
    Virtual,
    /// Not at all.
    Still,
}

/// The deadlines of samples.
#[derive(Debug)]
pub struct Pace {
    time: Time,
    wall: Instant,
    start_ns: u64,
    pub(super) interval_ns: u64,
    length_ns: Option<u64>,
    count: Option<u64>,
    taken: u64,
    due_ns: u64,
}

impl Pace {
    /// From `start_ns` of the World's clock on, a sample every `interval_ns`, for `length_ns` or `count` samples if either is given.
    #[must_use]
    pub fn new(time: Time, start_ns: u64, interval_ns: u64, length_ns: Option<u64>, count: Option<u64>) -> Self {
        let wall = Instant::now();
        Pace { time, wall, start_ns, interval_ns, length_ns, count, taken: 0, due_ns: start_ns }
    }

    /// Whether nothing moves.
    pub(super) fn still(&self) -> bool {
        self.time == Time::Still
    }

    /// Whether the World's clock is the wall's.
    pub(super) fn real(&self) -> bool {
        self.time == Time::Real
    }

    /// The World's clock at the beginning, ns.
    pub(super) fn start_ns(&self) -> u64 {
        self.start_ns
    }

    /// How long it has been going on, ns.
    pub(super) fn wall_ns(&self) -> u64 {
        u64::try_from(self.wall.elapsed().as_nanos()).unwrap_or(u64::MAX)
    }

    /// A sample was taken; the next one is due an interval after this one was.
    pub(super) fn taken(&mut self) {
        self.taken += 1;
        self.due_ns = self.due_ns.saturating_add(self.interval_ns);
    }

    /// Looks at another pace from now on; the next sample is not later than the new one has it.
    #[cfg(feature = "tui")]
    pub(super) fn set_interval(&mut self, interval_ns: u64) {
        if interval_ns != self.interval_ns {
            self.due_ns = self.due_ns.saturating_sub(self.interval_ns).saturating_add(interval_ns);
            self.interval_ns = interval_ns;
        }
    }

    /// Goes on at `now_ns` where more than one sample was due meanwhile: the others are left out.
    pub(super) fn catch_up(&mut self, now_ns: u64) {
        if self.due_ns.saturating_add(self.interval_ns) <= now_ns {
            self.due_ns = now_ns;
        }
    }

    /// Whether all samples were taken that were asked for; the first one has nothing before it, and does not count where
    /// time goes by.
    pub(super) fn done(&self) -> bool {
        let counted = if self.still() { self.taken } else { self.taken.saturating_sub(1) };
        let over = |length_ns| self.due_ns > self.start_ns.saturating_add(length_ns);
        (self.still() && self.taken > 0)
            || self.count.is_some_and(|count| counted >= count)
            || self.length_ns.is_some_and(over)
    }

    /// When the next one is due, by the World's clock, ns.
    #[cfg(feature = "tui")]
    pub(super) fn due_ns(&self) -> u64 {
        self.due_ns
    }

    /// Now, by the World's clock as it would stand if the World kept up with the wall.
    pub(super) fn now_ns(&self, world: &dyn World) -> u64 {
        if self.real() { world.now_ns() } else { self.start_ns.saturating_add(self.wall_ns()) }
    }

    /// Waits for the next sample where nobody presses keys; answers how to end, if that is asked.
    pub(super) fn wait(&self, world: &mut dyn World) -> Result<Option<WatchEnd>, WatchError> {
        let ends = self.count.is_some() || self.length_ns.is_some();
        while self.time == Time::Virtual && !ends && self.now_ns(world) < self.due_ns {
            let left = Duration::from_nanos(self.due_ns - self.now_ns(world));
            std::thread::park_timeout(left.min(SLICE));
            if let Some(exit) = listen(world, 0)? {
                return Ok(Some(exit));
            }
        }
        listen(world, self.due_ns)
    }
}

/// Lets the World's time go by until `until_ns` and hears what it has to say; answers how to end, if that is asked.
pub(super) fn listen(world: &mut dyn World, until_ns: u64) -> Result<Option<WatchEnd>, WatchError> {
    let until_ns = until_ns.max(world.now_ns());
    loop {
        match world.wait(Some(until_ns)) {
            Wake::Deadline => return Ok(None),
            Wake::Stop(_) => return Ok(Some(WatchEnd::Stopped)),
            Wake::Lost(..) => {
                check_lost(world)?;
                return Err(WatchError::Lost);
            }
            _ => {}
        }
    }
}
