//! The stopping boundary: which p value a look may ask for, so that all looks together keep the error rate.
//!
//! Cumulative spending (Lan and DeMets 1983) fixes how much may have been spent by a block; the recursion of
//! Armitage, McPherson and Rowe (1969) turns that into a nominal two-sided p for each look, taking account of how
//! far the looks repeat each other.

use crate::distribution::{normal_density, normal_upper, normal_upper_quantile};
use crate::rules::Spend;
use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, OnceLock, PoisonError};

/// Looks up to this block are computed; later ones continue from it (see [`Spending::nominal`]).
const COMPUTED_BLOCKS: u32 = 200;
/// Steeper than the boundary itself falls beyond a hundred blocks (its exponent is 1.3 there and tends to 1), so the
/// continuation spends less than it may.
const CONTINUED_EXPONENT: f64 = 1.5;

/// Further looks come each time the blocks have grown by one in so many.
const GROWN_BY_ONE_IN: u32 = 100;

/// The block of the look after the one at `block`: the next one as far as boundaries are computed, then one percent later. A
/// look reads all blocks, so the work of all looks together grows with the blocks and not with their square. What is
/// left out was never spent, so the error rate holds.
#[must_use]
pub fn next_look(block: u32) -> u32 {
    let step = if block < COMPUTED_BLOCKS { 1 } else { block / GROWN_BY_ONE_IN };
    block.saturating_add(step)
}

impl Spend {
    /// Error spent by the look after `block`, the first look being after block `first`; `alpha` is all there is.
    #[must_use]
    pub fn cumulative(self, alpha: f64, first: u32, block: u32) -> f64 {
        if block < first {
            return 0.0;
        }
        let since = f64::from(block - first);
        match self {
            Self::OpenEnded => alpha * (1.0 - 2.0 / (since + 3.0)),
            Self::HalfFirst => alpha * (1.0 - 1.0 / (since + 2.0)),
            Self::Once => alpha,
            Self::Uniform { blocks } => alpha * (f64::from(block) / f64::from(blocks.max(first))).min(1.0),
        }
    }
}

/// Boundaries computed so far. Cheap to share: hand the same one to every judge.
///
/// A column costs some tens of microseconds a look and is computed as far as the furthest look asked for.
#[derive(Debug, Default)]
pub struct Spending {
    columns: Mutex<BTreeMap<(Spend, u32, u64), Column>>,
}

impl Spending {
    /// No boundary computed yet.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// The one of this process: boundaries depend on nothing but levels and looks, and take a moment to compute.
    #[must_use]
    pub fn shared() -> Arc<Self> {
        static SHARED: OnceLock<Arc<Spending>> = OnceLock::new();
        Arc::clone(SHARED.get_or_init(Arc::default))
    }

    /// Nominal two-sided p of the look after `block`, for a total of `alpha` and the first look after `first`.
    ///
    /// 0 before the first look and where nothing is left to spend. From block 200 on it is p(200)·(200/block)^1.5,
    /// a little below the exact one.
    #[must_use]
    pub fn nominal(&self, spend: Spend, alpha: f64, first: u32, block: u32) -> f64 {
        let first = first.max(1);
        if block < first || alpha <= 0.0 {
            return 0.0;
        }
        if spend == Spend::Once {
            return alpha;
        }
        let limit = COMPUTED_BLOCKS.max(first);
        let mut columns = self.columns.lock().unwrap_or_else(PoisonError::into_inner);
        let column = columns.entry((spend, first, alpha.to_bits())).or_insert_with(|| Column::new(spend, alpha, first));
        let nominal = column.nominal(block.min(limit));
        if block <= limit {
            return nominal;
        }
        if let Spend::Uniform { blocks } = spend
            && block > blocks
        {
            return 0.0;
        }
        nominal * libm::pow(f64::from(limit) / f64::from(block), CONTINUED_EXPONENT)
    }
}

/// The boundary of one level, and the state from which its next look is computed.
#[derive(Debug)]
struct Column {
    spend: Spend,
    alpha: f64,
    first: u32,
    nominal: Vec<f64>,
    /// Where the sum of normal steps may stand without having crossed, right half only, with its probability.
    paths: Vec<(f64, f64)>,
    /// Boundary of the latest look, on the scale of the sum.
    limit: f64,
}

impl Column {
    fn new(spend: Spend, alpha: f64, first: u32) -> Self {
        Self { spend, alpha, first, nominal: Vec::new(), paths: Vec::new(), limit: 0.0 }
    }

    fn nominal(&mut self, block: u32) -> f64 {
        let wanted = (block - self.first) as usize;
        while self.nominal.len() <= wanted {
            let next = self.first + self.nominal.len() as u32;
            let p = if next == self.first { self.begin() } else { self.extend(next) };
            self.nominal.push(p);
        }
        self.nominal[wanted]
    }

    /// The first look: the sum of `first` steps is normal, nothing has been cut off yet.
    fn begin(&mut self) -> f64 {
        let p = self.spend.cumulative(self.alpha, self.first, self.first);
        let spread = f64::from(self.first).sqrt();
        self.limit = normal_upper_quantile(0.5 * p) * spread;
        self.paths = quadrature(self.limit);
        for (place, mass) in &mut self.paths {
            *mass *= normal_density(*place / spread) / spread;
        }
        p
    }

    /// A later look: one normal step further, then a boundary beyond which lies what this look may spend.
    fn extend(&mut self, block: u32) -> f64 {
        let spent_before = self.spend.cumulative(self.alpha, self.first, block - 1);
        let target = self.spend.cumulative(self.alpha, self.first, block) - spent_before;
        if target <= 0.0 {
            return 0.0;
        }
        self.limit = self.boundary(target);
        let next: Vec<(f64, f64)> =
            quadrature(self.limit).into_iter().map(|(place, width)| (place, width * self.density(place))).collect();
        self.paths = next;
        2.0 * normal_upper(self.limit / f64::from(block).sqrt())
    }

    /// The c with P(no crossing before, |sum| > c now) = `target`.
    fn boundary(&self, target: f64) -> f64 {
        let log_target = libm::log(target);
        let mut c = self.limit;
        for _ in 0..100 {
            let beyond = self.beyond(c);
            // The logarithm of the mass beyond is concave in c: Newton's steps settle from the right.
            let step = (libm::log(beyond) - log_target) * beyond / (2.0 * self.density(c));
            c += step;
            if step.abs() <= 1e-12 * c {
                break;
            }
        }
        c
    }

    /// P(no crossing before, |sum after one more step| > `c`).
    fn beyond(&self, c: f64) -> f64 {
        let half: f64 =
            self.near(c).map(|&(place, mass)| mass * (normal_upper(c - place) + normal_upper(c + place))).sum();
        2.0 * half
    }

    /// Density at `x` of the sum after one more step, on paths that have not crossed.
    fn density(&self, x: f64) -> f64 {
        self.near(x).map(|&(place, mass)| mass * (normal_density(x - place) + normal_density(x + place))).sum()
    }

    /// Starting places from which one step can reach `x` with more than 1e-16 of its density.
    fn near(&self, x: f64) -> impl Iterator<Item = &(f64, f64)> {
        const REACH: f64 = 9.0;
        let from = self.paths.partition_point(|&(place, _)| place < x - REACH);
        let to = self.paths.partition_point(|&(place, _)| place <= x + REACH);
        self.paths[from..to].iter()
    }
}

/// Gauss and Legendre's nodes and weights on 0 ..= `end`, eight to a panel of at most 1.5.
fn quadrature(end: f64) -> Vec<(f64, f64)> {
    const NODES: [(f64, f64); 4] = [
        (0.183_434_642_495_649_8, 0.362_683_783_378_362),
        (0.525_532_409_916_329, 0.313_706_645_877_887_3),
        (0.796_666_477_413_626_7, 0.222_381_034_453_374_5),
        (0.960_289_856_497_536_2, 0.101_228_536_290_376_3),
    ];
    let panels = (end / 1.5).ceil().max(1.0);
    let half = 0.5 * end / panels;
    let mut nodes = Vec::with_capacity(8 * panels as usize);
    for panel in 0..panels as u32 {
        let middle = (2.0 * f64::from(panel) + 1.0) * half;
        nodes.extend(NODES.iter().rev().map(|&(at, weight)| (middle - half * at, half * weight)));
        nodes.extend(NODES.iter().map(|&(at, weight)| (middle + half * at, half * weight)));
    }
    nodes
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Blocks read by all looks up to a number of blocks.
    fn blocks_read(blocks: u32) -> u64 {
        std::iter::successors(Some(1), |&block| Some(next_look(block)))
            .take_while(|&block| block <= blocks)
            .map(u64::from)
            .sum()
    }

    #[test]
    fn every_block_is_looked_at_as_far_as_boundaries_are_computed() {
        assert!((1..COMPUTED_BLOCKS).all(|block| next_look(block) == block + 1));
        assert!((COMPUTED_BLOCKS..100_000).all(|block| f64::from(next_look(block)) <= 1.01 * f64::from(block)));
    }

    #[test]
    fn the_work_of_all_looks_grows_with_the_blocks() {
        for blocks in [2_500, 5_000, 10_000, 20_000, 40_000] {
            let ratio = blocks_read(2 * blocks) as f64 / blocks_read(blocks) as f64;
            assert!(ratio < 2.1, "{blocks}: {ratio}");
        }
    }
}
