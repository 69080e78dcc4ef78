//! Which policy is due when: a list of few, and the head of it at hand.

/// Due times of slots 0..n, ns; `u64::MAX` for one that is not due at all.
#[derive(Clone, Debug)]
pub(crate) struct Agenda {
    of: Vec<u64>,
    next_ns: u64,
}

impl Agenda {
    pub(crate) fn new(slots: usize) -> Self {
        Agenda { of: vec![u64::MAX; slots], next_ns: u64::MAX }
    }

    /// A slot is due at this time, or not at all.
    pub(crate) fn set(&mut self, slot: u32, due_ns: Option<u64>) {
        let due_ns = due_ns.unwrap_or(u64::MAX);
        let old = std::mem::replace(&mut self.of[slot as usize], due_ns);
        if due_ns <= self.next_ns {
            self.next_ns = due_ns;
        } else if old == self.next_ns {
            self.next_ns = self.of.iter().copied().min().unwrap_or(u64::MAX);
        }
    }

    #[inline]
    pub(crate) fn next_ns(&self) -> Option<u64> {
        (self.next_ns != u64::MAX).then_some(self.next_ns)
    }

    /// The first slot that is due by now: earliest time, then lowest slot.
    pub(crate) fn due(&self, now_ns: u64) -> Option<u32> {
        let next_ns = self.next_ns().filter(|&next_ns| next_ns <= now_ns)?;
        (0_u32..).zip(&self.of).find(|&(_, &due_ns)| due_ns == next_ns).map(|(slot, _)| slot)
    }
}
