//! Which trials a block holds and in which order: the randomisation every later claim rests on.

use crate::random::{Draws, Purpose};
use serde::{Deserialize, Serialize};

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

/// Copies of the reference in a block that compares `open_settings` others with it: two from three on.
///
/// Near the square root of the number compared (Dunnett 1955), capped at two. It falls back to one when
/// settings that are decided leave fewer than three.
#[must_use]
pub fn reference_copies(open_settings: usize) -> usize {
    if open_settings >= 3 { 2 } else { 1 }
}

/// The block after which the first look comes: the second when four or more settings face the reference.
#[must_use]
pub fn first_look(settings: usize) -> u32 {
    if settings >= 4 { 2 } else { 3 }
}

/// The slots of one block: the reference `reference_copies` times, then each open setting once.
#[must_use]
pub fn slots(reference_copies: usize, open_settings: &[usize]) -> Vec<Slot> {
    let reference = (0..reference_copies).map(|copy| Slot { setting: 0, copy });
    reference.chain(open_settings.iter().map(|&setting| Slot::first(setting))).collect()
}

/// The order of one block: a fresh uniform shuffle keyed by (`seed`, `block`).
///
/// The same arguments give the same order on every host. A fixed or alternating order would lose the argument
/// that a setting which does nothing is as likely above its reference as below it.
#[must_use]
pub fn block_order(seed: u64, block: u32, slots: &[Slot]) -> Vec<Slot> {
    let mut order = slots.to_vec();
    Draws::new(seed, Purpose::Order, u64::from(block), 0).shuffle(&mut order);
    order
}
