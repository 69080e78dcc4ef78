//! Which policy is due when: a sorted list whose head is at hand.
use std::collections::BTreeSet;

/// Due times of slots 0..n.
#[derive(Clone, Debug)]
pub(crate) struct Agenda {
    sorted: BTreeSet<(u64, u32)>,
    of: Vec<u64>,
    next_ns: u64,
}

impl Agenda {
    pub(crate) fn new(slots: usize) -> Self {
        Agenda { sorted: BTreeSet::new(), of: vec![u64::MAX; slots], next_ns: u64::MAX }
    }

    /// A slot is due at this time, or not at all.
    pub(crate) fn set(&mut self, slot: u32, due_ns: Option<u64>) {
        let due_ns = due_ns.unwrap_or(u64::MAX);
        let old = std::mem::replace(&mut self.of[slot as usize], due_ns);
        if old == due_ns {
            return;
        }
        if old != u64::MAX {
            self.sorted.remove(&(old, slot));
        }
        if due_ns != u64::MAX {
            self.sorted.insert((due_ns, slot));
        }
        self.next_ns = self.sorted.first().map_or(u64::MAX, |&(due, _)| due);
    }

    pub(crate) fn next_ns(&self) -> Option<u64> {
        (self.next_ns != u64::MAX).then_some(self.next_ns)
    }

    /// The first slot that is due by now: earliest time, then lowest slot.
    pub(crate) fn due(&self, now_ns: u64) -> Option<u32> {
        self.sorted.first().filter(|&&(due, _)| due <= now_ns).map(|&(_, slot)| slot)
    }
}
