//! Which points are looked at: all, or where they are too many a spread of them and the neighbours of the best.

use std::collections::{BTreeMap, BTreeSet};

use powerband_stats::{Draws, Purpose};

use crate::Space;
use crate::process::halton;

/// Up to so many points are looked at one by one.
pub(super) const ALL: usize = 3_000;

/// So many of more points are.
const MAX: usize = 2_000;

/// Proposals of the sequence for each point that is wanted; most combinations may be refused ones.
const PROPOSALS: u64 = 20;

/// A spread of at most [`MAX`] points over the knobs; all points where there are no more than [`ALL`].
pub(super) fn spread(space: &Space, seed: u64) -> Vec<usize> {
    let points = space.points.len();
    if points <= ALL {
        return (0..points).collect();
    }
    let index: BTreeMap<&[Option<u16>], usize> =
        space.points.iter().enumerate().map(|(index, point)| (point.as_slice(), index)).collect();
    let mut random = Draws::new(seed, Purpose::Posterior, points as u64, 1);
    let shifts: Vec<f64> = space.factors.iter().map(|_| random.uniform()).collect();
    let mut chosen = BTreeSet::new();
    for proposal in 0..PROPOSALS * MAX as u64 {
        if chosen.len() >= MAX {
            break;
        }
        let at = halton(proposal + 1, space.factors.len());
        let levels = space.factors.iter().zip(&at).zip(&shifts).map(|((factor, at), shift)| {
            let place = at + shift - (at + shift).floor();
            Some(((place * factor.levels() as f64) as usize).min(factor.levels() - 1) as u16)
        });
        chosen.extend(index.get(levels.collect::<Vec<_>>().as_slice()));
    }
    // Conditional knobs make most combinations of all levels impossible: even steps through the list fill up.
    let mut step = 0;
    while chosen.len() < MAX {
        chosen.insert(step * points / MAX);
        step += 1;
        if step > MAX {
            break;
        }
    }
    chosen.into_iter().collect()
}

/// All points that differ from one of `best` in one knob.
pub(super) fn neighbours<'a>(space: &'a Space, best: &'a [usize]) -> impl Iterator<Item = usize> + 'a {
    let near = |point: &usize| best.iter().any(|other| space.differing(*other, *point).take(2).count() == 1);
    (0..space.points.len()).filter(near)
}

/// The point nearest the middle of all knobs by rank; an inactive knob counts as one at an average place.
pub(super) fn middle(space: &Space, open: impl Iterator<Item = usize>) -> Option<usize> {
    const AVERAGE: f64 = 1.0 / 12.0;
    let distance = |point: usize| -> f64 {
        let levels = space.points[point].iter().zip(&space.factors);
        let square = levels.map(|(level, factor)| match level {
            Some(level) if factor.levels() > 1 => {
                let off = f64::from(*level) / (factor.levels() - 1) as f64 - 0.5;
                off * off
            }
            Some(_) => 0.0,
            None => AVERAGE,
        });
        square.sum()
    };
    // `min_by` keeps the first of equal ones.
    open.min_by(|a, b| distance(*a).total_cmp(&distance(*b)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Factor, FactorKind};

    fn grid(sides: &[u16]) -> Space {
        let factor =
            |side: &u16| Factor { name: side.to_string(), kind: FactorKind::Names(usize::from(*side)), switch_s: 0.0 };
        Space::crossed(sides.iter().map(factor).collect())
    }

    #[test]
    fn a_large_space_is_thinned_evenly_and_the_best_keep_their_neighbours() {
        let space = grid(&[30, 30, 30]);
        let chosen = spread(&space, 5);
        assert!(chosen.len() > MAX * 9 / 10 && chosen.len() <= MAX, "{}", chosen.len());
        let low = chosen.iter().filter(|point| space.points[**point][1] < Some(15)).count();
        assert!(low * 10 > chosen.len() * 4 && low * 10 < chosen.len() * 6, "{low}");
        assert_eq!(neighbours(&space, &[0]).count(), 3 * 29);
        assert_eq!(spread(&grid(&[3, 4]), 5), (0..12).collect::<Vec<_>>());
    }

    #[test]
    fn the_first_setting_is_in_the_middle() {
        let space = grid(&[5, 3]);
        let first = middle(&space, 0..15).map(|point| space.points[point].clone());
        assert_eq!(first, Some(vec![Some(2), Some(1)]));
    }
}
