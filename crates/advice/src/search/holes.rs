//! How far settings lie from all that were tried, by the ranks of their knobs' values.

use std::collections::BTreeSet;

use crate::Space;

/// The settings that were tried.
pub(super) struct Holes<'a> {
    space: &'a Space,
    tried: &'a [usize],
    /// For each factor the levels that were tried.
    levels: Vec<BTreeSet<Option<u16>>>,
}

impl<'a> Holes<'a> {
    pub(super) fn new(space: &'a Space, tried: &'a [usize]) -> Self {
        let levels = |factor| tried.iter().map(|point| space.points[*point][factor]).collect();
        Self { space, tried, levels: (0..space.factors.len()).map(levels).collect() }
    }

    /// Distance of two levels of a factor, of which the farthest lie 1 apart.
    fn between(&self, factor: usize, a: Option<u16>, b: Option<u16>) -> f64 {
        let factor = &self.space.factors[factor];
        match (a, b) {
            (a, b) if a == b => 0.0,
            (Some(a), Some(b)) if factor.is_ordered() => {
                f64::from(a.abs_diff(b)) / factor.levels().saturating_sub(1).max(1) as f64
            }
            _ => 1.0,
        }
    }

    /// Euclidean distance of `point` to the nearest setting tried.
    pub(super) fn distance(&self, point: usize) -> f64 {
        let square = |tried: &usize| -> f64 {
            let levels = self.space.points[point].iter().zip(&self.space.points[*tried]).enumerate();
            levels.map(|(factor, (a, b))| self.between(factor, *a, *b)).map(|off| off * off).sum()
        };
        self.tried.iter().map(square).fold(f64::INFINITY, f64::min).sqrt()
    }

    /// Distances of `point`'s levels to the nearest level tried of the same knob, added up over the knobs.
    pub(super) fn gaps(&self, point: usize) -> f64 {
        let gap = |(factor, level): (usize, &Option<u16>)| {
            let off = self.levels[factor].iter().map(|tried| self.between(factor, *level, *tried));
            off.fold(f64::INFINITY, f64::min)
        };
        self.space.points[point].iter().enumerate().map(gap).sum()
    }
}
