//! Sorting of lists by one piece of code for all types, where the standard library's makes four kilobytes for each type and order; and
//! maps and sets that are made without sorting.
use std::cmp::Ordering;
use std::collections::{BTreeMap, BTreeSet};

/// Lists that can be sorted; what compares equal stays in the order it was in. For lists of which much is sorted the standard
/// library's way is quicker.
pub trait InOrder<T> {
    /// Sorts by a comparison.
    fn order_by(&mut self, compare: impl FnMut(&T, &T) -> Ordering);

    /// Sorts by a key.
    fn order_by_key<K: Ord>(&mut self, mut key: impl FnMut(&T) -> K) {
        self.order_by(|a, b| key(a).cmp(&key(b)));
    }
}

impl<T> InOrder<T> for [T] {
    fn order_by(&mut self, mut compare: impl FnMut(&T, &T) -> Ordering) {
        for (a, b) in swaps(self.len(), &mut |a, b| compare(&self[a], &self[b])) {
            self.swap(a, b);
        }
    }
}

/// Iterators that become a map or a set, item by item. Collecting sorts all items first, by the code named above, and is quicker where
/// they are many.
pub trait IntoOrdered: Iterator + Sized {
    /// A map; the last of equal keys stays.
    fn into_map<K: Ord, V>(self) -> BTreeMap<K, V>
    where
        Self: Iterator<Item = (K, V)>,
    {
        let mut map = BTreeMap::new();
        map.extend(self);
        map
    }

    /// A set.
    fn into_set(self) -> BTreeSet<Self::Item>
    where
        Self::Item: Ord,
    {
        let mut set = BTreeSet::new();
        set.extend(self);
        set
    }
}

impl<I: Iterator> IntoOrdered for I {}

/// The swaps that sort `count` things, one after another.
fn swaps(count: usize, compare: &mut dyn FnMut(usize, usize) -> Ordering) -> Vec<(usize, usize)> {
    let mut order: Vec<usize> = (0..count).collect();
    order.sort_by(|&a, &b| compare(a, b));
    let mut swaps = Vec::new();
    for first in 0..count {
        // A swap brings the right one to a place, and what was there to the next place of the same cycle.
        let mut place = first;
        while order[place] != first {
            let from = std::mem::replace(&mut order[place], place);
            swaps.push((place, from));
            place = from;
        }
        order[place] = place;
    }
    swaps
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lists_are_sorted_as_by_the_standard_library() {
        // All lists of seven of three values.
        for list in 0..3_u32.pow(7) {
            let mut ours: Vec<(u32, u32)> = (0..7).map(|place| (list / 3_u32.pow(place) % 3, place)).collect();
            let mut theirs = ours.clone();
            ours.order_by_key(|it| it.0);
            theirs.sort_by_key(|it| it.0);
            assert_eq!(ours, theirs);
        }
    }
}
