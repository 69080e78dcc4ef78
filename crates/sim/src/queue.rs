//! The event queue: what happens next, in one total order.
use std::cmp::{Ordering, Reverse};
use std::collections::BinaryHeap;

/// Where an event stands among those of the same instant: lower classes come first.
pub type Class = u16;

/// Bits of the sequence number below the class in a key.
const SEQUENCE_BITS: u32 = 48;

/// A priority queue keyed by (time, class, order of insertion).
#[derive(Debug)]
pub struct EventQueue<E> {
    heap: BinaryHeap<Reverse<Slot<E>>>,
    sequence: u64,
}

#[derive(Debug)]
struct Slot<E> {
    at_ns: u64,
    rank: u64,
    event: E,
}

impl<E> PartialEq for Slot<E> {
    fn eq(&self, other: &Self) -> bool {
        self.cmp(other) == Ordering::Equal
    }
}

impl<E> Eq for Slot<E> {}

impl<E> PartialOrd for Slot<E> {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl<E> Ord for Slot<E> {
    fn cmp(&self, other: &Self) -> Ordering {
        (self.at_ns, self.rank).cmp(&(other.at_ns, other.rank))
    }
}

impl<E> Default for EventQueue<E> {
    fn default() -> Self {
        EventQueue { heap: BinaryHeap::new(), sequence: 0 }
    }
}

impl<E> EventQueue<E> {
    /// Plans an event for `at_ns`.
    pub fn push(&mut self, at_ns: u64, class: Class, event: E) {
        let rank = u64::from(class) << SEQUENCE_BITS | self.sequence;
        self.sequence += 1;
        self.heap.push(Reverse(Slot { at_ns, rank, event }));
    }

    /// Time and class of the next event.
    #[must_use]
    pub fn next(&self) -> Option<(u64, Class)> {
        self.heap.peek().map(|Reverse(slot)| (slot.at_ns, (slot.rank >> SEQUENCE_BITS) as Class))
    }

    /// Takes the next event with its time, ns.
    pub fn pop(&mut self) -> Option<(u64, E)> {
        self.heap.pop().map(|Reverse(slot)| (slot.at_ns, slot.event))
    }

    /// How many events are planned.
    #[must_use]
    pub fn len(&self) -> usize {
        self.heap.len()
    }

    /// Whether none is planned.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.heap.is_empty()
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
