//! CPUs that share a clock, and the step they are at: one process of the daemon.
use crate::{DaemonOptions, Sums, Wish, idle_percent, wish_of};

/// One group of CPUs, with the clocks it goes through, fastest first.
#[derive(Clone, Debug)]
pub struct Group {
    options: DaemonOptions,
    steps_khz: Vec<u32>,
    at: usize,
    before: Vec<Sums>,
}

/// What a look came to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Decision {
    /// Idle time of the CPU that was idle least, %; `None` where no time has passed for any of them.
    pub idle_percent: Option<u32>,
    /// The fastest wish of its CPUs.
    pub wish: Wish,
    /// The clocks to set one after another, kHz, with [`crate::PAUSE_MS`] after each; none where it stays.
    pub walk: Vec<u32>,
}

impl Group {
    /// A group that begins at its fastest step, with its CPUs' sums as they are then. Without steps it stays for ever.
    #[must_use]
    pub fn new(options: DaemonOptions, steps_khz: Vec<u32>, now: Vec<Sums>) -> Self {
        Group { options, steps_khz, at: 0, before: now }
    }

    /// Its options.
    #[must_use]
    pub fn options(&self) -> &DaemonOptions {
        &self.options
    }

    /// The clock it is at, kHz.
    #[must_use]
    pub fn khz(&self) -> Option<u32> {
        self.steps_khz.get(self.at).copied()
    }

    /// An interval is over: what its CPUs wish for, and the clocks to set. The fastest wish of its CPUs counts. A CPU that
    /// was not there before is asked from the next interval on.
    pub fn look(&mut self, now: &[Sums]) -> Decision {
        let each = self.before.iter().zip(now).map(|(before, after)| idle_percent(&self.options, before, after));
        let percents: Vec<Option<u32>> = each.collect();
        self.before = now.to_vec();
        let wish = percents.iter().map(|percent| wish_of(&self.options, *percent)).min().unwrap_or(Wish::Stay);
        Decision { idle_percent: percents.into_iter().flatten().min(), wish, walk: self.go(wish) }
    }

    /// Decides from these sums on: what came before is forgotten.
    pub fn begin_again(&mut self, now: &[Sums]) {
        self.before = now.to_vec();
    }

    /// Goes where a wish leads; the clocks to set one after another, kHz.
    fn go(&mut self, wish: Wish) -> Vec<u32> {
        match wish {
            Wish::Fastest => self.go_to(0),
            Wish::Faster => self.go_to(self.at.saturating_sub(1)),
            Wish::Stay => Vec::new(),
            Wish::Slower => self.go_to(self.at + 1),
        }
    }

    /// Goes to the fastest step; the clocks to set one after another, kHz.
    pub fn go_fastest(&mut self) -> Vec<u32> {
        self.go_to(0)
    }

    /// Goes to the slowest step; the clocks to set one after another, kHz.
    pub fn go_slowest(&mut self) -> Vec<u32> {
        self.go_to(usize::MAX)
    }

    fn go_to(&mut self, step: usize) -> Vec<u32> {
        let to = step.min(self.steps_khz.len().saturating_sub(1));
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
