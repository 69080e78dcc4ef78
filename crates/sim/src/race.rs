//! One instant for each of a few contenders, as the end of what each CPU works on: set again and again, seldom reached.
use crate::queue::{Key, NEVER};

/// The contenders' keys, in a tree whose nodes have the lower of the two below them: a key replaces the one before it, where
/// a queue would keep both and hand out one for nothing.
#[derive(Clone, Debug)]
pub(crate) struct Race {
    /// From 1 on, level by level; the last level are the contenders.
    tree: Vec<(Key, u32)>,
}

impl Race {
    pub(crate) fn new(contenders: usize) -> Self {
        Race { tree: vec![(NEVER, 0); 2 * contenders.next_power_of_two()] }
    }

    /// Who is first, and with which key; the key of no event where nobody has one.
    #[inline]
    pub(crate) fn first(&self) -> (Key, u32) {
        self.tree.get(1).copied().unwrap_or((NEVER, 0))
    }

    /// From now on a contender has this key.
    pub(crate) fn set(&mut self, contender: u32, key: Key) {
        let mut node = self.tree.len() / 2 + contender as usize;
        self.tree[node] = (key, contender);
        while node > 1 {
            let (one, other) = (self.tree[node], self.tree[node ^ 1]);
            node /= 2;
            self.tree[node] = if other.0 < one.0 { other } else { one };
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_is_at_hand_however_often_keys_change() {
        for contenders in [1, 2, 3, 5, 8, 40] {
            let mut race = Race::new(contenders as usize);
            let (mut keys, mut state) = (vec![NEVER; contenders as usize], 1_u64);
            for _ in 0..500 {
                state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
                let contender = (state >> 33) as u32 % contenders;
                let key = if state >> 62 == 0 { NEVER } else { Key::from(state >> 20) };
                race.set(contender, key);
                keys[contender as usize] = key;
                let (first, who) = race.first();
                assert_eq!(Some(&first), keys.iter().min());
                assert!(first == NEVER || keys[who as usize] == first);
            }
        }
    }
}
