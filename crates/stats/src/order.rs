//! Which trials a block holds and in which order: the randomisation every later claim rests on.

use crate::random::{Draws, Purpose};
use serde::{Deserialize, Serialize};
use std::cmp::Ordering;

/// One trial's place inside a block: a setting and which copy of it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct Slot {
    /// The setting; 0 is the reference.
    pub setting: usize,
    /// Which copy of it, from 0; only the reference ever has a copy 1.
    pub copy: usize,
}

impl Slot {
    /// Copy 0 of a setting.
    #[must_use]
    pub fn first(setting: usize) -> Self {
        Self { setting, copy: 0 }
    }
}

/// The block after which the first look comes. After two blocks a setting noisier than the others passes for a different one
/// in a tenth of the experiments: two of its differences that are near each other by chance hide its noise.
pub const FIRST_LOOK: u32 = 3;

/// The slots of one block: the reference `reference_copies` times, then each open setting once.
#[must_use]
pub fn slots(reference_copies: usize, open_settings: &[usize]) -> Vec<Slot> {
    let reference = (0..reference_copies).map(|copy| Slot { setting: 0, copy });
    reference.chain(open_settings.iter().map(|&setting| Slot::first(setting))).collect()
}

/// Blocks in which no setting stays on one side of its reference or changes sides each time: those a first verdict may rest on.
const BALANCED_BLOCKS: u32 = 3;
/// Draws of the first blocks; of so many that leave a setting on one side or in turns, the one that leaves the fewest.
const BALANCING_DRAWS: u64 = 100;

/// The order of one block, counted from 0: a uniform shuffle keyed by (`seed`, `block`).
///
/// The first three blocks are drawn together, again until every setting has run both before and after the reference, and not
/// in turns (restricted randomisation, Yates 1948): under a steep drift, or interference whose period is one block or two,
/// three blocks in the same order, or in turns, would show a difference with hardly any spread. Later blocks are drawn each
/// for itself: a fixed or alternating order would lose the argument that a setting which does nothing is as likely above its
/// reference as below it.
///
/// The same arguments give the same order on every host.
#[must_use]
pub fn block_order(seed: u64, block: u32, slots: &[Slot]) -> Vec<Slot> {
    open_order(seed, block, slots, slots)
}

/// As [`block_order`] for a block of `slots` in an experiment whose first block had `all`.
#[must_use]
pub fn open_order(seed: u64, block: u32, all: &[Slot], slots: &[Slot]) -> Vec<Slot> {
    if block >= BALANCED_BLOCKS {
        return shuffled(seed, block, 0, slots);
    }
    let mut order = balanced(seed, all).swap_remove(block as usize);
    order.retain(|slot| slots.contains(slot));
    order.extend(slots.iter().filter(|slot| !all.contains(slot)));
    order
}

fn shuffled(seed: u64, block: u32, draw: u64, slots: &[Slot]) -> Vec<Slot> {
    let mut order = slots.to_vec();
    Draws::new(seed, Purpose::Order, u64::from(block), draw).shuffle(&mut order);
    order
}

/// The first blocks, each setting on both sides of the reference wherever that is found, and not in turns.
fn balanced(seed: u64, slots: &[Slot]) -> Vec<Vec<Slot>> {
    let (mut fewest, mut best) = ((usize::MAX, usize::MAX), Vec::new());
    for draw in 0..BALANCING_DRAWS {
        let blocks: Vec<Vec<Slot>> = (0..BALANCED_BLOCKS).map(|block| shuffled(seed, block, draw, slots)).collect();
        let left = unbalanced(&blocks);
        if left < fewest {
            (fewest, best) = (left, blocks);
        }
        if left == (0, 0) {
            break;
        }
    }
    best
}

/// Settings that run on the same side of the reference, the middle of its copies, in every block; and those that run on the
/// other side in each block than in the one before.
fn unbalanced(blocks: &[Vec<Slot>]) -> (usize, usize) {
    let settings = blocks.iter().flatten().map(|slot| slot.setting + 1).max().unwrap_or(0);
    let mut sides = vec![Vec::with_capacity(blocks.len()); settings];
    for order in blocks {
        let places = order.iter().enumerate().filter(|(_, slot)| slot.setting == 0).map(|(place, _)| place);
        let (sum, copies) = places.fold((0, 0), |(sum, copies), place| (sum + place, copies + 1));
        for (place, slot) in order.iter().enumerate().filter(|(_, slot)| slot.setting > 0) {
            sides[slot.setting].push((place * copies).cmp(&sum));
        }
    }
    let stays = |of: &&Vec<Ordering>| of.iter().all(|side| side.is_lt()) || of.iter().all(|side| side.is_gt());
    let alternates = |of: &&Vec<Ordering>| of.windows(2).all(|two| two[0].is_ne() && two[0] == two[1].reverse());
    (sides.iter().skip(1).filter(stays).count(), sides.iter().skip(1).filter(alternates).count())
}
