//! Where the points lie: coordinates of the levels under each warp, and the sequence hyperparameters are drawn by.

use powerband_stats::distribution::normal_upper_quantile;

use crate::{Factor, FactorKind, Space};

/// Vectors of hyperparameters that are weighed.
pub(super) const VECTORS: usize = 192;

/// Points of the Halton sequence left out, from the origin on, because its first ones lie on lines.
const SKIPPED: u64 = 20;

/// Steps of values count as even when the largest is less than so many times the smallest.
const EVEN: f64 = 1.5;

/// A space as the processes see it. Made once, shared by all of them.
#[derive(Debug, Clone)]
pub struct Coordinates {
    points: usize,
    pub(super) axes: Vec<Axis>,
    /// Level of each factor at each point, row by row.
    levels: Vec<Option<u16>>,
    /// For each vector its coordinates in the unit cube.
    pub(super) vectors: Vec<Unit>,
}

/// One factor's levels.
#[derive(Debug, Clone)]
pub(super) struct Axis {
    /// Positions of the levels from 0 to 1, once for each warp that is in question; empty for a category.
    pub(super) warps: Vec<Vec<f64>>,
}

/// One vector of hyperparameters before the priors' quantiles: lengths and scales as standard normal deviates.
#[derive(Debug, Clone)]
pub(super) struct Unit {
    /// ln ℓ of each factor, in standard deviations from its median.
    pub(super) lengths: Vec<f64>,
    /// The same for the signal's standard deviation.
    pub(super) signal: f64,
    /// The same for the noise's.
    pub(super) noise: f64,
    /// Which of its warps each factor has.
    pub(super) warps: Vec<usize>,
    /// What a difference in each factor, where it has no distance, leaves of the correlation.
    pub(super) kept: Vec<f64>,
}

impl Coordinates {
    /// Of a space that passed its check.
    #[must_use]
    pub fn new(space: &Space) -> Self {
        let axes: Vec<Axis> = space.factors.iter().map(Axis::new).collect();
        let levels: Vec<Option<u16>> = space.points.iter().flatten().copied().collect();
        let conditional = |factor: usize| space.points.iter().any(|point| point[factor].is_none());
        let mismatch: Vec<bool> =
            axes.iter().enumerate().map(|(factor, axis)| axis.warps.is_empty() || conditional(factor)).collect();
        let vectors = (0..VECTORS as u64).map(|index| Unit::new(&axes, &mismatch, index + SKIPPED)).collect();
        Self { points: space.points.len(), axes, levels, vectors }
    }

    /// Number of points.
    #[must_use]
    pub fn points(&self) -> usize {
        self.points
    }

    /// Level of each factor at `point`.
    pub(super) fn levels(&self, point: usize) -> &[Option<u16>] {
        let factors = self.axes.len();
        &self.levels[point * factors..(point + 1) * factors]
    }
}

impl Axis {
    fn new(factor: &Factor) -> Self {
        let warps = match &factor.kind {
            FactorKind::Category(_) => Vec::new(),
            FactorKind::Names(levels) => vec![unit(&(0..*levels).map(|level| level as f64).collect::<Vec<_>>())],
            FactorKind::Number(values) => warped(values),
        };
        Self { warps }
    }
}

/// Positions of numbers under each warp in question: logarithm, root and none, of values shifted so that the smallest
/// equals the smallest step; none alone where the steps are even.
fn warped(values: &[f64]) -> Vec<Vec<f64>> {
    let steps = || values.windows(2).map(|pair| pair[1] - pair[0]);
    let smallest = steps().fold(f64::INFINITY, f64::min);
    let largest = steps().fold(0.0, f64::max);
    if values.len() < 3 || largest < EVEN * smallest {
        return vec![unit(values)];
    }
    let shifted = values.iter().map(|value| value - values[0] + smallest);
    let shifted: Vec<f64> = shifted.collect();
    let by = |warp: fn(f64) -> f64| unit(&shifted.iter().map(|value| warp(*value)).collect::<Vec<_>>());
    vec![by(libm::log), by(libm::sqrt), by(|value| value)]
}

/// Values moved and scaled to run from 0 to 1; the middle where there is only one.
fn unit(values: &[f64]) -> Vec<f64> {
    let (first, last) = (values.first().copied().unwrap_or(0.0), values.last().copied().unwrap_or(0.0));
    let place = |value: &f64| if last > first { (value - first) / (last - first) } else { 0.5 };
    values.iter().map(place).collect()
}

impl Unit {
    /// The `index`-th point of the Halton sequence; a dimension each for lengths, signal, noise, warps and mismatches.
    fn new(axes: &[Axis], mismatch: &[bool], index: u64) -> Self {
        let mut primes = Primes { last: 1 };
        let mut next = || radical_inverse(index, primes.next());
        let ordered = |axis: &Axis| !axis.warps.is_empty();
        let lengths = axes.iter().map(|axis| if ordered(axis) { normal_quantile(next()) } else { 0.0 }).collect();
        let signal = normal_quantile(next());
        let noise = normal_quantile(next());
        let pick = |axis: &Axis, at: f64| ((at * axis.warps.len() as f64) as usize).min(axis.warps.len() - 1);
        let warps = axes.iter().map(|axis| if axis.warps.len() > 1 { pick(axis, next()) } else { 0 }).collect();
        let kept = mismatch.iter().map(|counts| if *counts { beta_2_2_quantile(next()) } else { 1.0 }).collect();
        Self { lengths, signal, noise, warps, kept }
    }
}

struct Primes {
    last: u64,
}

impl Primes {
    fn next(&mut self) -> u64 {
        loop {
            self.last += 1;
            if (2..self.last).take_while(|divisor| divisor * divisor <= self.last).all(|d| !self.last.is_multiple_of(d))
            {
                return self.last;
            }
        }
    }
}

/// The digits of `index` to `base`, mirrored at the point: one coordinate of the Halton sequence.
pub(crate) fn radical_inverse(mut index: u64, base: u64) -> f64 {
    let (mut value, mut place) = (0.0, 1.0 / base as f64);
    while index > 0 {
        value += (index % base) as f64 * place;
        index /= base;
        place /= base as f64;
    }
    value
}

/// The coordinate of the `index`-th point of the Halton sequence in each of `dimensions`.
pub(crate) fn halton(index: u64, dimensions: usize) -> Vec<f64> {
    let mut primes = Primes { last: 1 };
    (0..dimensions).map(|_| radical_inverse(index, primes.next())).collect()
}

/// The z with P(Z ≤ z) = `p`.
pub(crate) fn normal_quantile(p: f64) -> f64 {
    if p > 0.5 { normal_upper_quantile(1.0 - p) } else { -normal_upper_quantile(p) }
}

/// The x with 3x² − 2x³ = `p`: a cubic with three real roots, of which this is the middle one.
fn beta_2_2_quantile(p: f64) -> f64 {
    0.5 - libm::sin(libm::asin(1.0 - 2.0 * p) / 3.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn even_steps_are_not_warped_and_uneven_ones_are() {
        assert_eq!(warped(&[1.0, 2.0, 3.0]), [[0.0, 0.5, 1.0]]);
        let three = warped(&[0.0, 10.0, 100.0]);
        assert_eq!(three.len(), 3);
        // Shifted to 10, 20, 110.
        assert!((three[0][1] - libm::log(2.0) / libm::log(11.0)).abs() < 1e-12);
        assert!((three[2][1] - 0.1).abs() < 1e-12);
        assert_eq!(warped(&[7.0]), [[0.5]]);
    }

    #[test]
    fn quantiles_undo_their_distributions() {
        for p in [0.001, 0.2, 0.5, 0.77, 0.999] {
            let x = beta_2_2_quantile(p);
            assert!((3.0 * x * x - 2.0 * x * x * x - p).abs() < 1e-12, "{p}");
            let z = normal_quantile(p);
            assert!((powerband_stats::distribution::normal_upper(-z) - p).abs() < 1e-9, "{p}");
        }
    }

    #[test]
    fn the_sequence_mirrors_digits() {
        assert_eq!(radical_inverse(6, 2), 0.375); // 110 → 0.011
        assert_eq!(halton(1, 3), [1.0 / 2.0, 1.0 / 3.0, 1.0 / 5.0]);
    }
}
