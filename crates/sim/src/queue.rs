//! The event queue: what happens next, in one total order.
use std::cell::Cell;
use std::cmp::Ordering;
use std::collections::BinaryHeap;
use std::fmt;

/// Where an event stands among those of the same instant: lower classes come first.
pub type Class = u16;

/// Bits of the sequence number below the class in a key.
const SEQUENCE_BITS: u32 = 48;

/// A priority queue keyed by (time, class, order of insertion).
///
/// Most events plan another: the place of the event taken last stays in the heap, empty, and the next one that is planned
/// is put there. One walk down the heap then does for both, and it ends early when that one is due soon.
pub struct EventQueue<E> {
    heap: BinaryHeap<Slot<E>>,
    /// The first place of the heap is empty.
    hollow: bool,
    sequence: u64,
}

struct Slot<E> {
    at_ns: u64,
    rank: u64,
    /// Can be taken without touching the order.
    event: Cell<Option<E>>,
}

impl<E> Slot<E> {
    /// As one number, which is compared without branches.
    #[inline]
    fn key(&self) -> u128 {
        u128::from(self.at_ns) << 64 | u128::from(self.rank)
    }
}

impl<E> PartialEq for Slot<E> {
    fn eq(&self, other: &Self) -> bool {
        self.key() == other.key()
    }
}

impl<E> Eq for Slot<E> {}

impl<E> PartialOrd for Slot<E> {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }

    #[inline]
    fn le(&self, other: &Self) -> bool {
        other.key() <= self.key()
    }
}

/// The earliest is the greatest, as the heap gives the greatest first.
impl<E> Ord for Slot<E> {
    fn cmp(&self, other: &Self) -> Ordering {
        other.key().cmp(&self.key())
    }
}

impl<E> Default for EventQueue<E> {
    fn default() -> Self {
        EventQueue { heap: BinaryHeap::new(), hollow: false, sequence: 0 }
    }
}

impl<E> fmt::Debug for EventQueue<E> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("EventQueue").field("len", &self.len()).finish_non_exhaustive()
    }
}

impl<E> EventQueue<E> {
    /// Plans an event for `at_ns`.
    pub fn push(&mut self, at_ns: u64, class: Class, event: E) {
        let rank = u64::from(class) << SEQUENCE_BITS | self.sequence;
        self.sequence += 1;
        let slot = Slot { at_ns, rank, event: Cell::new(Some(event)) };
        if !std::mem::take(&mut self.hollow) {
            self.heap.push(slot);
        } else if let Some(mut first) = self.heap.peek_mut() {
            *first = slot;
        }
    }

    /// Time and class of the next event.
    #[must_use]
    #[inline]
    pub fn next(&mut self) -> Option<(u64, Class)> {
        self.fill();
        self.heap.peek().map(|slot| (slot.at_ns, (slot.rank >> SEQUENCE_BITS) as Class))
    }

    /// Takes the next event with its time, ns.
    pub fn pop(&mut self) -> Option<(u64, E)> {
        self.fill();
        let first = self.heap.peek()?;
        let event = first.event.take()?;
        self.hollow = true;
        Some((first.at_ns, event))
    }

    /// The place of the event taken last goes, as none was put there.
    #[inline]
    fn fill(&mut self) {
        if std::mem::take(&mut self.hollow) {
            self.heap.pop();
        }
    }

    /// How many events are planned.
    #[must_use]
    pub fn len(&self) -> usize {
        self.heap.len() - usize::from(self.hollow)
    }

    /// Whether none is planned.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn time_then_class_then_insertion() {
        let mut queue = EventQueue::default();
        for (at, class, name) in [(5, 0, 'd'), (3, 1, 'b'), (3, 1, 'c'), (3, 0, 'a'), (9, 0, 'e')] {
            queue.push(at, class, name);
        }
        assert_eq!(queue.next(), Some((3, 0)));
        let order: String = std::iter::from_fn(|| queue.pop().map(|(_, name)| name)).collect();
        assert_eq!(order, "abcde");
        assert!(queue.is_empty());
    }
}
