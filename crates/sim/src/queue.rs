//! The event queue: what happens next, in one total order.

/// Where an event stands among those of the same instant: lower classes come first.
pub type Class = u16;

/// Bits of the sequence number below the class in a rank.
const SEQUENCE_BITS: u32 = 48;

/// Time and rank as one number, which is compared without branches; later than any event where there is none.
pub(crate) type Key = u128;

/// The key of no event.
pub(crate) const NEVER: Key = Key::MAX;

/// A priority queue keyed by (time, class, order of insertion).
///
/// A binary heap. The place of the event taken last stays at its head, empty, as most events plan another: that one is put
/// there, and one walk down the heap does for both.
#[derive(Debug)]
pub struct EventQueue<E> {
    slots: Vec<Slot<E>>,
    /// The head is empty.
    hollow: bool,
    sequence: u64,
}

#[derive(Debug)]
struct Slot<E> {
    key: Key,
    event: Option<E>,
}

/// The key of an event at a time with a rank.
pub(crate) fn key(at_ns: u64, rank: u64) -> Key {
    Key::from(at_ns) << u64::BITS | Key::from(rank)
}

/// The time in a key, ns.
pub(crate) fn time(key: Key) -> u64 {
    (key >> u64::BITS) as u64
}

/// Time, ns, and class in a key: what counts between machines.
pub(crate) fn turn(key: Key) -> (u64, Class) {
    (time(key), (key as u64 >> SEQUENCE_BITS) as Class)
}

impl<E> Default for EventQueue<E> {
    fn default() -> Self {
        EventQueue { slots: Vec::new(), hollow: false, sequence: 0 }
    }
}

impl<E> EventQueue<E> {
    /// Plans an event for `at_ns`.
    pub fn push(&mut self, at_ns: u64, class: Class, event: E) {
        let key = key(at_ns, self.rank(class));
        let slot = Slot { key, event: Some(event) };
        match self.slots.first_mut().filter(|_| self.hollow) {
            Some(head) => {
                *head = slot;
                self.hollow = false;
                self.sink(key);
            }
            None => {
                self.slots.push(slot);
                self.rise(key);
            }
        }
    }

    /// The rank of an event that is planned now: by its class, then behind all that were planned before.
    #[inline]
    pub(crate) fn rank(&mut self, class: Class) -> u64 {
        self.sequence += 1;
        u64::from(class) << SEQUENCE_BITS | (self.sequence - 1)
    }

    /// Time and class of the next event.
    #[must_use]
    pub fn next(&self) -> Option<(u64, Class)> {
        let key = self.next_key();
        (key != NEVER).then(|| turn(key))
    }

    /// The key of the next event.
    #[inline]
    pub(crate) fn next_key(&self) -> Key {
        let at = |place: usize| self.slots.get(place).map_or(NEVER, |slot| slot.key);
        if self.hollow { at(1).min(at(2)) } else { at(0) }
    }

    /// Takes the next event with its time, ns.
    pub fn pop(&mut self) -> Option<(u64, E)> {
        if std::mem::take(&mut self.hollow) {
            self.slots.swap_remove(0);
            self.sink(self.slots.first()?.key);
        }
        let head = self.slots.first_mut()?;
        let event = head.event.take()?;
        self.hollow = true;
        Some((time(head.key), event))
    }

    /// Brings the head, whose key this is, down to its place.
    fn sink(&mut self, key: Key) {
        let mut place = 0;
        while let Some(left) = self.slots.get(2 * place + 1).map(|slot| slot.key) {
            let right = self.slots.get(2 * place + 2).map_or(NEVER, |slot| slot.key);
            if key < left.min(right) {
                break;
            }
            let child = 2 * place + 1 + usize::from(right < left);
            self.slots.swap(place, child);
            place = child;
        }
    }

    /// Brings the last one, whose key this is, up to its place.
    fn rise(&mut self, key: Key) {
        let mut place = self.slots.len() - 1;
        while place > 0 && key < self.slots[(place - 1) / 2].key {
            self.slots.swap(place, (place - 1) / 2);
            place = (place - 1) / 2;
        }
    }

    /// How many events are planned.
    #[must_use]
    pub fn len(&self) -> usize {
        self.slots.len() - usize::from(self.hollow)
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

    #[test]
    fn what_is_planned_between_comes_in_order_too() {
        let mut queue = EventQueue::default();
        let (mut state, mut planned, mut taken) = (7_u64, Vec::new(), Vec::<(u64, Class, usize)>::new());
        for number in 0..2_000_u64 {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            let (now, count) = (taken.last().map_or(0, |&(at, ..)| at), state >> 62);
            for _ in 0..count {
                let event = (now + (state >> 40) % 50, (number % 3) as Class, planned.len());
                queue.push(event.0, event.1, event);
                planned.push(event);
            }
            if number % 5 < 3 {
                assert_eq!(queue.next().is_none(), queue.is_empty());
                taken.extend(queue.next().zip(queue.pop()).map(|((at, class), (time, event))| {
                    assert_eq!((at, class, time), (event.0, event.1, event.0));
                    event
                }));
                assert_eq!(queue.len(), planned.len() - taken.len());
            }
        }
        taken.extend(std::iter::from_fn(|| queue.pop()).map(|(_, event)| event));
        let left = taken.windows(2).filter(|pair| pair[0] > pair[1]);
        // What is planned for an instant of which later classes have been taken comes after them.
        assert!(
            left.clone().all(|pair| pair[0].0 == pair[1].0 && pair[0].2 < pair[1].2),
            "{:?}",
            left.collect::<Vec<_>>()
        );
        taken.sort_unstable_by_key(|&(.., number)| number);
        assert_eq!(taken, planned);
    }
}
