//! CPUs that share a clock, and the step they are at: one process of the daemon.
use crate::{Options, Sums, Wish, wish};

/// One group of CPUs, with the clocks it goes through, fastest first.
#[derive(Clone, Debug)]
pub struct Group {
    options: Options,
    steps_khz: Vec<u32>,
    at: usize,
    before: Vec<Sums>,
}

impl Group {
    /// A group that begins at its fastest step, with its CPUs' sums as they are then. Without steps it stays for ever.
    #[must_use]
    pub fn new(options: Options, steps_khz: Vec<u32>, now: Vec<Sums>) -> Self {
        Group { options, steps_khz, at: 0, before: now }
    }

    /// The clock it is at, kHz.
    #[must_use]
    pub fn khz(&self) -> Option<u32> {
        self.steps_khz.get(self.at).copied()
    }

    /// An interval is over: the clocks to set one after another, kHz, with [`crate::PAUSE_MS`] after each; none where it
    /// stays. The fastest wish of its CPUs counts. A CPU that was not there before is asked from the next interval on.
    pub fn look(&mut self, now: &[Sums]) -> Vec<u32> {
        let wishes = self.before.iter().zip(now).map(|(before, after)| wish(&self.options, before, after));
        let wished = wishes.min().unwrap_or(Wish::Stay);
        self.before = now.to_vec();
        let last = self.steps_khz.len().saturating_sub(1);
        let to = match wished {
            Wish::Fastest => 0,
            Wish::Faster => self.at.saturating_sub(1),
            Wish::Stay => self.at,
            Wish::Slower => (self.at + 1).min(last),
        };
        let from = std::mem::replace(&mut self.at, to);
        let walk = |range: std::ops::Range<usize>| self.steps_khz.get(range).map_or_else(Vec::new, <[u32]>::to_vec);
        if to < from {
            let mut up = walk(to..from);
            up.reverse();
            up
        } else {
            walk(from + 1..to + 1)
        }
    }
}
