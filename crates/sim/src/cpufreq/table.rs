//! Frequency tables, and how a wished clock becomes one of their entries.
use powerband_machine::Errno;

use super::config::{KernelRules, Step};

/// Which entry is wanted around a target.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TableRelation {
    /// The lowest at or above the target (`L`).
    AtLeast,
    /// The highest at or below the target (`H`).
    AtMost,
    /// The nearest (`C`).
    Closest,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Order {
    Ascending,
    Descending,
    Unsorted,
}

/// A driver's table, in its order.
#[derive(Clone, Debug)]
pub struct FrequencyTable {
    steps: Vec<Step>,
    order: Order,
    rules: KernelRules,
    inefficient: bool,
}

impl FrequencyTable {
    /// Takes a driver's table; an empty one stands for a driver without.
    ///
    /// # Errors
    /// EINVAL when an entry comes twice.
    pub fn new(steps: Vec<Step>, rules: KernelRules) -> Result<Self, Errno> {
        let mut sorted: Vec<u32> = steps.iter().map(|s| s.khz).collect();
        sorted.sort_unstable();
        if sorted.windows(2).any(|pair| pair[0] == pair[1]) {
            return Err(Errno::EINVAL);
        }
        let order = if steps.is_sorted_by(|a, b| a.khz > b.khz) {
            Order::Descending
        } else if steps.is_sorted_by(|a, b| a.khz < b.khz) {
            Order::Ascending
        } else {
            Order::Unsorted
        };
        let inefficient = steps.iter().any(|s| s.inefficient);
        Ok(FrequencyTable { steps, order, rules, inefficient })
    }

    /// Entries in the driver's order.
    #[must_use]
    pub fn steps(&self) -> &[Step] {
        &self.steps
    }

    /// Whether the driver has no table.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.steps.is_empty()
    }

    /// Place of a clock in the table.
    #[must_use]
    pub fn index(&self, khz: u32) -> Option<usize> {
        self.steps.iter().position(|s| s.khz == khz)
    }

    /// Lowest and highest entry, kHz; boost entries only with `boost`.
    #[must_use]
    pub fn bounds(&self, boost: bool) -> Option<(u32, u32)> {
        let usable = || self.steps.iter().filter(|s| boost || !s.boost).map(|s| s.khz);
        Some((usable().min()?, usable().max()?))
    }

    /// Whether an entry lies within the limits.
    #[must_use]
    pub fn any_within(&self, min: u32, max: u32) -> bool {
        self.steps.iter().any(|s| (min..=max).contains(&s.khz))
    }

    /// The lowest entry above `khz`.
    #[must_use]
    pub fn above(&self, khz: u32) -> Option<u32> {
        self.steps.iter().map(|s| s.khz).filter(|&k| k > khz).min()
    }

    /// The entry for a target under limits (all kHz), skipping inefficient ones if `efficient`. Without a table, the
    /// clamped target. `None` if no entry lies within the limits where the rules look nowhere else.
    ///
    /// From Linux 6.1 drivers/cpufreq (sorted tables look at all entries once the target is clamped; of two equally near
    /// ones an ascending table gives the lower, others the higher) and, for the old rules, 2.6.18 freq_table.c.
    #[must_use]
    pub fn resolve(&self, target: u32, limits: (u32, u32), relation: TableRelation, efficient: bool) -> Option<u32> {
        let (min, max) = limits;
        let target = target.min(max).max(min);
        if self.steps.is_empty() {
            return Some(target);
        }
        if self.rules != KernelRules::V6_1 || self.order == Order::Unsorted {
            let within = self.steps.iter().map(|s| s.khz).filter(|k| (min..=max).contains(k));
            return pick(within, target, relation, false);
        }
        let low_on_tie = self.order == Order::Ascending;
        if efficient && self.inefficient {
            let kept = self.steps.iter().filter(|s| !s.inefficient).map(|s| s.khz);
            if let Some(found) = pick(kept, target, relation, low_on_tie)
                && (min..=max).contains(&found)
            {
                return Some(found);
            }
        }
        pick(self.steps.iter().map(|s| s.khz), target, relation, low_on_tie)
    }
}

fn pick(entries: impl Iterator<Item = u32>, target: u32, relation: TableRelation, low_on_tie: bool) -> Option<u32> {
    let (mut below, mut above) = (None::<u32>, None::<u32>);
    for khz in entries {
        if khz <= target {
            below = Some(below.map_or(khz, |b| b.max(khz)));
        }
        if khz >= target {
            above = Some(above.map_or(khz, |a| a.min(khz)));
        }
    }
    match (relation, below, above) {
        (TableRelation::AtLeast, below, above) => above.or(below),
        (TableRelation::AtMost, below, above) => below.or(above),
        (TableRelation::Closest, Some(low), Some(high)) => {
            let (down, up) = (target - low, high - target);
            Some(if down < up || (down == up && low_on_tie) { low } else { high })
        }
        (TableRelation::Closest, below, above) => below.or(above),
    }
}

#[cfg(test)]
mod tests;
