//! Draws for stories: one stream by seed and purpose.
use powerband_stats::{Draws, Purpose};

/// A stream of its own.
pub(super) struct Draw(Draws);

impl Draw {
    pub(super) fn new(seed: u64, part: u64) -> Self {
        Draw(Draws::new(seed, Purpose::Trial, 0x0fa1, part))
    }

    pub(super) fn below(&mut self, n: u64) -> u64 {
        self.0.below(n)
    }

    /// True in `times` of `of` cases.
    pub(super) fn chance(&mut self, times: u64, of: u64) -> bool {
        self.below(of) < times
    }

    pub(super) fn pick<T: Clone>(&mut self, from: &[T]) -> T {
        from[usize::try_from(self.below(from.len() as u64)).unwrap()].clone()
    }

    /// From 1 to 2 to the power of `bits`, small numbers as likely as large ones.
    pub(super) fn spread(&mut self, bits: u64) -> u64 {
        let bits = self.below(bits + 1);
        1 + self.below(1 << bits)
    }
}
